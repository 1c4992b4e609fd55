# distutils: language = c++
# cython: language_level=3
"""The hit path: from a call to its entry's mock code, with as little as possible between.

Everything that is not needed for a hit is Python, elsewhere: `Table.on_miss` is called
with the call that found no entry. `Compiled` is only the callable that people hold; the
Table behind it is what explain and reset work on. That split is also what lets a
compiled module be a real nn.Module: its class adds `Compiled`'s C call in front of
``nn.Module.__call__``, and no attribute of ours meets one of the user's.
"""

from magpy.guards.program cimport GuardProgram
from magpy.guards.tensor_meta cimport has_foreign_modes

from magpy import counters
from magpy.fxgraph.outcome import GraphFailed


cdef extern from *:
    """
    static thread_local int magpy_disabled = 0;
    static thread_local int magpy_recording = 0;
    """
    int magpy_disabled
    int magpy_recording

cdef Py_ssize_t hits = 0
cdef Py_ssize_t calls_while_recording = 0
cdef Py_ssize_t calls_while_disabled = 0
cdef Py_ssize_t calls_under_modes = 0


def _counts():
    return {"hits": hits, "bypass:recording": calls_while_recording,
            "bypass:disabled": calls_while_disabled, "bypass:modes": calls_under_modes}


counters.register_source(_counts)


cdef class Entry:
    """One capture: when ``guards`` hold, ``mock(slots, graph)`` is the call."""

    def __init__(self, GuardProgram guards not None, mock, graph, texts):
        self.guards = guards
        self.mock = mock
        self.graph = graph
        self.texts = texts


cdef class Table:
    """A callable, its settings, and its entries. ``on_miss(table, args, kwargs, outcome)``
    makes the call when no entry fits; ``on_failure(error)`` is told of a graph that raised
    without having changed anything, and says which outcome is another one (a text), or None."""

    def __init__(self, fn, settings, history, on_miss, on_failure):
        self.fn = fn
        self.settings = settings
        self.history = history
        self.entries = []
        self.on_miss = on_miss
        self.on_failure = on_failure

    cdef object call(self, tuple args, dict kwargs):
        global hits
        cdef Entry entry
        cdef list slots
        cdef Py_ssize_t i = 0
        cdef object error, outcome = None
        if magpy_recording or magpy_disabled or has_foreign_modes():
            return self.bypass(args, kwargs)
        while i < len(self.entries):    # which a reset may empty
            entry = <Entry>self.entries[i]
            slots = entry.guards.run_c(self.fn, args, kwargs)
            if slots is not None:
                if i:
                    self.move_to_front(entry)
                entry.hits += 1
                hits += 1
                try:
                    return entry.mock(slots, entry.graph)
                except GraphFailed as failure:
                    entry.hits -= 1
                    hits -= 1
                    error = failure.error
                outcome = self.on_failure(error)
                error = None
                if outcome is None:     # the user's own error, if it is one, is raised anew
                    return self.fn(*args, **kwargs)
            i += 1
        return self.on_miss(self, args, kwargs, outcome)

    cdef object bypass(self, tuple args, dict kwargs):
        # In C throughout: while this thread records, a Python frame of ours would be
        # recorded as if it were the user's.
        global calls_while_recording, calls_while_disabled, calls_under_modes
        if magpy_recording:
            calls_while_recording += 1
        elif magpy_disabled:
            calls_while_disabled += 1
        else:
            calls_under_modes += 1
        return self.fn(*args, **kwargs)

    cdef move_to_front(self, Entry entry):
        cdef Py_ssize_t i
        for i in range(len(self.entries)):
            if self.entries[i] is entry:
                del self.entries[i]
                self.entries.insert(0, entry)
                return

    def add(self, Entry entry not None):
        """A new entry, to be tried first."""
        self.entries.insert(0, entry)

    def drop_checked(self):
        """Drop the entries whose graphs check values that depend on tensor data."""
        self.history.hits_of_dropped += sum([e.hits for e in self.entries if e.texts.checks])
        self.entries[:] = [e for e in self.entries if not e.texts.checks]

    def clear(self):
        """Drop all entries."""
        self.entries.clear()


cdef class Compiled:
    """A callable that runs captured graphs."""

    def __init__(self, Table table not None):
        self.table = table

    def __call__(self, *args, **kwargs):
        return self.table.call(args, kwargs)


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
