# The C face of the guard program, for the dispatcher.

from cpython.object cimport PyObject, PyTypeObject
from libcpp cimport bool as cbool
from libcpp.string cimport string
from libcpp.vector cimport vector


cdef extern from "leaf.h" namespace "magpy":
    cdef cppclass Leaf:
        Leaf()


cdef extern from "guard_program.h" namespace "magpy":
    cdef cppclass Alias:
        Alias()
        vector[int] slots
        vector[int] groups

    cdef cppclass Buffer:
        Buffer()
        PyTypeObject *type
        string format
        vector[Py_ssize_t] shape
        vector[Py_ssize_t] strides
        cbool readonly
        string bytes

    cdef union Expected:
        PyObject *object
        const Leaf *leaf
        const Alias *alias
        const Buffer *buffer
        const void *meta
        Py_ssize_t number

    cdef cppclass Instr:
        unsigned char load
        unsigned char check
        int src
        int dst
        PyObject *key
        Py_ssize_t number
        Expected expected

    cdef cppclass Program:
        Program()
        vector[Instr] instrs
        vector[PyObject *] frame
        vector[PyObject *] kwnames
        vector[int] want
        Py_ssize_t nargs
        Py_ssize_t nslots
        PyObject *absent
        Leaf *new_leaf() except +
        Alias *new_alias() except +
        Buffer *new_buffer() except +
        Py_ssize_t run(PyObject *, PyObject *, PyObject *, Py_ssize_t, PyObject **) except +
        PyObject *probe(PyObject *, PyObject *, PyObject *, Py_ssize_t, int *) except +


cdef class GuardProgram:
    cdef Program *program
    cdef list keep              # owns every object that the native program points to
    cdef readonly tuple instrs
    cdef readonly Py_ssize_t failed

    cdef list run_c(self, object fn, tuple args, dict kwargs)
