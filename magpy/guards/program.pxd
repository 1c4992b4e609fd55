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

    cdef cppclass Pushed

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

    cdef cppclass Call:
        Call()
        PyObject *fn
        PyObject *const *args
        Py_ssize_t nargs
        PyObject *kwnames

    cdef cppclass Match:
        Match()
        PyObject *const *slots
        PyObject *list

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
        Py_ssize_t run(const Call &, PyObject **) except +
        Py_ssize_t match(const Call &, Match *) except +
        PyObject *probe(const Call &, Py_ssize_t, int *) except +
        void disarm()
        const Pushed *armed()


cdef extern from "push.h" namespace "magpy":
    cbool verify_guards

    cdef cppclass Pushed:
        cbool is_armed()
        size_t polls()
        size_t tensor_polls()
        size_t versions()
        size_t watches()


cdef class GuardProgram:
    cdef Program *program
    cdef list keep              # owns every object that the native program points to
    cdef readonly tuple instrs
    cdef readonly Py_ssize_t failed

    cdef bint match_c(self, const Call &call, Match &match) except -1
    cdef list slots_c(self, Match &match)
