# distutils: sources = magpy/native/replay.cpp
# distutils: language = c++
# cython: language_level=3
"""The hit path: from a call to its entry's mock code, with as little as possible between.

Everything that is not needed for a hit is Python, elsewhere: `Table.on_miss` is called
with the call that found no entry. `Compiled` is only the callable that people hold; the
Table behind it is what explain and reset work on. That split is also what lets a
compiled module be a real nn.Module: its class adds `Compiled`'s C call in front of
``nn.Module.__call__``, and no attribute of ours meets one of the user's.
"""

from cpython.object cimport PyObject, PyTypeObject
from cpython.ref cimport Py_XDECREF
from cython.operator cimport dereference
from libc.stdint cimport uint64_t
from libcpp cimport bool as cbool

from magpy.guards.program cimport Call, GuardProgram, Match
from magpy.guards.tensor_meta cimport call_key, has_foreign_modes

from magpy import counters
from magpy.fxgraph.outcome import GraphFailed


cdef extern from *:
    """
    static thread_local int magpy_disabled = 0;
    static thread_local int magpy_recording = 0;
    """
    int magpy_disabled
    int magpy_recording

cdef extern from *:
    """
    #define magpy_steal(o) (o)
    static int magpy_raise(void) { return -1; }
    """
    object magpy_steal(PyObject *)      # takes over a new reference
    int magpy_raise() except -1         # the exception that is set
    ctypedef struct PyListObject:
        PyObject **ob_item
    size_t Py_TPFLAGS_HAVE_VECTORCALL
    Py_ssize_t PyVectorcall_NARGS(size_t)
    object PyObject_Vectorcall(object, PyObject *const *, size_t, PyObject *)
    void PyType_Modified(PyTypeObject *)
    cdef struct PyTypeFields "_typeobject":
        Py_ssize_t tp_vectorcall_offset
        unsigned long tp_flags

cdef Py_ssize_t hits = 0
cdef Py_ssize_t calls_while_recording = 0
cdef Py_ssize_t calls_while_disabled = 0
cdef Py_ssize_t calls_under_modes = 0


def _counts():
    return {"hits": hits, "bypass:recording": calls_while_recording,
            "bypass:disabled": calls_while_disabled, "bypass:modes": calls_under_modes}


counters.register_source(_counts)


cdef class Replay:
    """Mock code as ``steps`` of emit/replay.py. ``again``: see `emit.mock.Again`."""

    def __init__(self, steps, int ninputs, int noutputs, bint has_graph, again):
        cdef ReplayStep step
        self.keep = []
        self.again = again
        self.native.ninputs = ninputs
        self.native.noutputs = noutputs
        self.native.has_graph = has_graph
        for op, number, obj in steps:
            self.keep.append(obj)
            step.op = <ReplayOp><int>op
            step.number = number
            step.object = <PyObject *>obj
            self.native.steps.push_back(step)


cdef class Entry:
    """One capture: when ``guards`` hold, ``mock(slots, graph)`` is the call, and so is
    ``replay`` if there is one."""

    def __init__(self, GuardProgram guards not None, mock, graph, texts, Replay replay=None):
        self.guards = guards
        self.mock = mock
        self.graph = graph
        self.texts = texts
        self.replay = replay


cdef class Table:
    """A callable, its settings, and its entries. ``on_miss(table, args, kwargs, outcome)``
    makes the call when no entry fits; ``on_failure(error)`` is told of a graph that raised
    without having changed anything, and says which outcome is another one (a text), or None.

    Among many entries the one is tried first that fitted the last call that looked like this
    one (types, shapes, plain values and modes: `call_key`). That only chooses the order."""

    def __init__(self, fn, settings, history, on_miss, on_failure):
        self.fn = fn
        self.settings = settings
        self.history = history
        self.entries = []
        self.on_miss = on_miss
        self.on_failure = on_failure

    cdef object call(self, const Call &call):
        cdef Entry entry, first = None
        cdef Py_ssize_t i = 0
        cdef object outcome = None, result
        cdef uint64_t key = 0
        cdef Match match
        if magpy_recording or magpy_disabled or has_foreign_modes():
            return self.bypass(call)
        if len(self.entries) > 1:
            key = call_key(call)
            found = self.last_hit.find(key)
            if found != self.last_hit.end():
                first = <Entry>dereference(found).second
                i = -1
        while i < len(self.entries):    # which a reset may empty
            entry = first if i < 0 else <Entry>self.entries[i]
            i += 1
            if entry is first and i > 0:
                continue
            match = Match()
            if not entry.guards.match_c(call, match):
                continue
            if len(self.entries) > 1:
                self.last_hit[key] = <PyObject *>entry
            result = self.run(entry, call, match)
            if type(result) is not _Failed:
                return result
            outcome = (<_Failed>result).outcome
            if outcome is None:     # the user's own error, if it is one, is raised anew
                return PyObject_Vectorcall(self.fn, call.args, call.nargs, call.kwnames)
        return self.missed(call, outcome)

    cdef object run(self, Entry entry, const Call &call, Match &match):
        """The call's result, or a _Failed."""
        global hits
        cdef object list_of_slots = None, error
        cdef cbool in_graph = False
        cdef PyObject *result
        entry.hits += 1
        hits += 1
        try:
            if entry.replay is None:
                list_of_slots = entry.guards.slots_c(match)
                return entry.mock(list_of_slots, entry.graph)
            result = entry.replay.native.run(<PyObject *>entry.graph, match, &in_graph)
            if result != NULL:
                return magpy_steal(result)
            magpy_raise()
        except GraphFailed as failure:
            error = failure.error
        except BaseException as failure:
            if not in_graph or entry.replay.again is None or not isinstance(failure, entry.replay.again):
                raise
            error = failure
        finally:
            Py_XDECREF(match.list)
            match.list = NULL
        entry.hits -= 1
        hits -= 1
        failed = _Failed()
        failed.outcome = self.on_failure(error)
        return failed

    cdef object missed(self, const Call &call, object outcome):
        args, kwargs = _python_arguments(call)
        return self.on_miss(self, args, kwargs, outcome)

    cdef object bypass(self, const Call &call):
        # In C throughout: while this thread records, a Python frame of ours would be
        # recorded as if it were the user's.
        global calls_while_recording, calls_while_disabled, calls_under_modes
        if magpy_recording:
            calls_while_recording += 1
        elif magpy_disabled:
            calls_while_disabled += 1
        else:
            calls_under_modes += 1
        return PyObject_Vectorcall(self.fn, call.args, call.nargs, call.kwnames)

    def add(self, Entry entry not None):
        """A new entry, to be tried first."""
        self.entries.insert(0, entry)

    def drop(self, dropped):
        """Drop the entries for which *dropped*(entry)."""
        self.history.hits_of_dropped += sum([e.hits for e in self.entries if dropped(e)])
        self.last_hit.clear()
        self.entries[:] = [e for e in self.entries if not dropped(e)]

    def clear(self):
        """Drop all entries."""
        self.last_hit.clear()
        self.entries.clear()


cdef class _Failed:
    """Instead of a result: the graph raised, and nothing outside was changed."""
    cdef object outcome     # which outcome is another one, or None


cdef tuple _python_arguments(const Call &call):
    cdef Py_ssize_t i
    cdef dict kwargs = {}
    args = tuple([<object>call.args[i] for i in range(call.nargs)])
    if call.kwnames != NULL:
        for i, name in enumerate(<tuple>call.kwnames):
            kwargs[name] = <object>call.args[call.nargs + i]
    return args, kwargs


cdef object _vectorcall(object self, PyObject *const *args, size_t nargsf, PyObject *kwnames):
    cdef Call call
    cdef Table table = (<Compiled>self).table
    if table is None:
        raise TypeError("a compiled callable is made by magpy.compile()")
    call.fn = <PyObject *>table.fn
    call.args = args
    call.nargs = PyVectorcall_NARGS(nargsf)
    call.kwnames = kwnames
    return table.call(call)


cdef class Compiled:
    """A callable that runs captured graphs. It is called by the vectorcall protocol (PEP 590)."""

    def __cinit__(self):
        self.vectorcall = _vectorcall

    def __init__(self, Table table not None):
        self.table = table

    def __call__(self, *args, **kwargs):
        # for callers that go through the type's slot
        cdef tuple names = tuple(kwargs)
        cdef list values = [*args, *kwargs.values()]
        return _vectorcall(self, (<PyListObject *><PyObject *>values).ob_item, len(args),
                           <PyObject *>names if names else NULL)


cdef _use_vectorcall():
    # Cython has no way to say so. Subclasses inherit it, as long as they have no __call__ of their own.
    cdef Compiled sample = Compiled.__new__(Compiled)
    cdef PyTypeFields *type = <PyTypeFields *><PyObject *>Compiled
    type.tp_vectorcall_offset = <char *>&sample.vectorcall - <char *><PyObject *>sample
    type.tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL
    PyType_Modified(<PyTypeObject *><PyObject *>Compiled)


_use_vectorcall()


def table_of(Compiled compiled not None):
    """The Table behind a compiled callable."""
    return compiled.table


def set_table(Compiled compiled not None, Table table not None):
    """Give a compiled callable its table, where ``__init__`` is somebody else's."""
    compiled.table = table


# --- this thread's state --------------------------------------------------------------

def enter_recording():
    """From here this thread's compiled calls run as they are, until leave_recording."""
    global magpy_recording
    magpy_recording += 1


def leave_recording():
    global magpy_recording
    magpy_recording -= 1


def enter_disabled():
    """As enter_recording, for magpy.disable (nestable)."""
    global magpy_disabled
    magpy_disabled += 1


def leave_disabled():
    global magpy_disabled
    magpy_disabled -= 1
