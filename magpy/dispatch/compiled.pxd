# The C face of dispatch, for other compiled modules.

from magpy.guards.program cimport GuardProgram


cdef class Entry:
    cdef readonly GuardProgram guards
    cdef readonly object mock       # function (slots, graph)
    cdef readonly object graph      # what the backend made; None when there is nothing to run
    cdef readonly object texts      # what explain shows
    cdef readonly Py_ssize_t hits


cdef class Table:
    cdef readonly object fn
    cdef readonly object settings
    cdef readonly object history
    cdef readonly list entries      # most recently hit first
    cdef object on_miss
    cdef object on_failure
    cdef object __weakref__

    cdef object call(self, tuple args, dict kwargs)
    cdef object bypass(self, tuple args, dict kwargs)
    cdef move_to_front(self, Entry entry)


cdef class Compiled:
    cdef Table table
