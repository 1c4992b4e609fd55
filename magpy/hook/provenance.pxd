from cpython.object cimport PyObject

cdef int begin() except -1
cdef int pause() except -1
cdef int forget() except -1
cdef bint is_created(PyObject *obj) noexcept
cdef void disown(PyObject *obj) noexcept
