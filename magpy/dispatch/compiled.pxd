# The C face of dispatch, for other compiled modules.

from cpython.object cimport PyObject
from libc.stdint cimport uint64_t
from libcpp cimport bool as cbool
from libcpp.unordered_map cimport unordered_map
from libcpp.vector cimport vector

from magpy.guards.program cimport Call, GuardProgram, Match


cdef extern from "replay.h" namespace "magpy":
    cdef enum class ReplayOp(unsigned char):
        pass

    cdef cppclass ReplayStep:
        ReplayStep()
        ReplayOp op
        int number
        PyObject *object

    cdef cppclass CReplay "magpy::Replay":
        CReplay()
        vector[ReplayStep] steps
        int ninputs
        int noutputs
        cbool has_graph
        PyObject *run(PyObject *, const Match &, cbool *)


cdef class Replay:
    cdef CReplay native
    cdef list keep
    cdef readonly object again      # the class of errors after which the call is made anew, or None


cdef class Entry:
    cdef readonly GuardProgram guards
    cdef readonly object mock       # function (slots, graph)
    cdef readonly Replay replay     # the same without Python, or None
    cdef readonly object graph      # what the backend made; None when there is nothing to run
    cdef readonly object texts      # what explain shows
    cdef readonly Py_ssize_t hits


cdef class Table:
    cdef readonly object fn
    cdef readonly object settings
    cdef readonly object history
    cdef readonly list entries      # the newest first
    cdef unordered_map[uint64_t, PyObject *] last_hit      # what a call looks like -> its entry
    cdef object on_miss
    cdef object on_failure
    cdef object __weakref__

    cdef object call(self, const Call &call)
    cdef object bypass(self, const Call &call)
    cdef object run(self, Entry entry, const Call &call, Match &match)
    cdef object missed(self, const Call &call, object outcome)


ctypedef object (*vectorcall_type)(object, PyObject *const *, size_t, PyObject *)


cdef class Compiled:
    cdef vectorcall_type vectorcall
    cdef Table table
