# The C face of tensor snapshots, for the guard program and the dispatcher.

from cpython.object cimport PyObject
from libc.stdint cimport int8_t, int16_t, int64_t, uint64_t
from libcpp cimport bool as cbool
from libcpp.string cimport string
from libcpp.vector cimport vector


cdef extern from "tensor_meta.h" namespace "magpy":
    cdef cppclass TensorSnapshot:
        cbool comparable
        cbool strided
        cbool compare_offset
        cbool requires_grad
        int scalar_type
        uint64_t keys
        int64_t offset
        int64_t sparse_dim
        int64_t dense_dim
        int ndim
        const int64_t *sizes() noexcept
        const int64_t *strides() noexcept
        const char *why_not
        cbool take(PyObject *) except +
        cbool matches(PyObject *) noexcept
        PyObject *dtype() except +
        string device_name() except +
        string layout_name() except +
        string key_names() except +

    cdef cppclass WeakImpl:
        WeakImpl(PyObject *) except +
        cbool alive() noexcept
        const void *address() noexcept

    cdef cppclass StateSnapshot:
        vector[int64_t] values
        void take() except +
        cbool matches() noexcept

    cdef cppclass ContentSnapshot:
        size_t bytes
        uint64_t hash
        cbool take(PyObject *) except +
        cbool matches(PyObject *) noexcept

    cbool snapshot_matches(const void *, PyObject *) noexcept
    cbool content_matches(const void *, PyObject *) noexcept
    cbool state_matches(const void *) noexcept
    const void *storage_of(PyObject *) noexcept


cdef extern from "<memory>" namespace "std":
    cdef cppclass unique_ptr[T]:
        pass


cdef extern from "tensor_meta.h" namespace "magpy":
    cdef cppclass TensorPass:
        pass

    unique_ptr[TensorPass] new_tensor_pass() except +


ctypedef unique_ptr[TensorPass] (*pass_maker)()
ctypedef cbool (*tensor_check)(const void *, PyObject *) noexcept
ctypedef cbool (*state_check)(const void *) noexcept
ctypedef const void *(*storage_check)(PyObject *) noexcept

cdef tensor_check tensor_matcher()
cdef tensor_check content_matcher()
cdef state_check state_matcher()
cdef pass_maker tensor_pass_maker()
cdef storage_check storage_getter()

cdef bint has_foreign_modes() noexcept


cdef extern from "guard_program.h" namespace "magpy":
    cdef cppclass Call:
        pass


cdef uint64_t call_key(const Call &call) noexcept


cdef class TensorMeta:
    cdef TensorSnapshot snapshot
    cdef readonly object type

    cdef const void *native(self) noexcept
    cdef bint matches_c(self, PyObject *value) noexcept


cdef class Content:
    cdef ContentSnapshot snapshot

    cdef const void *native(self) noexcept


cdef class GlobalState:
    cdef StateSnapshot snapshot

    cdef const void *native(self) noexcept
    cdef bint matches_c(self) noexcept
