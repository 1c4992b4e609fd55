"""What goes with entries in Python: the texts that people read, the settings they were
made with, and the history of one compiled callable."""

import collections
from typing import Any, NamedTuple

from magpy import config
from magpy.refgraph.graph import Stop


class Texts:
    """What explain shows of an entry besides its guards. Strings only: an entry keeps
    nothing of the recorded call alive."""

    __slots__ = ("title", "mock", "graph", "seconds", "checks", "frozen")

    def __init__(self, title, mock, graph, seconds, checks=0, frozen=0):
        self.title = title
        self.mock = mock
        self.graph = graph
        self.seconds = seconds
        self.checks = checks        # how many values that depend on tensor data the graph checks
        self.frozen = frozen        # how many weights are constants of the graph


class Settings:
    """The arguments of magpy.compile. The backend is looked up at the first capture,
    since some take seconds to import, or at once where there is something to check."""

    __slots__ = ("backend", "mode", "options", "dynamic", "fullgraph", "_compiler")

    def __init__(self, backend, mode, options, dynamic, fullgraph):
        self.backend = backend
        self.mode = mode
        self.options = options
        self.dynamic = dynamic
        self.fullgraph = fullgraph
        self._compiler = None

    def compiler(self):
        """The function (gm, example_inputs) -> callable."""
        if self._compiler is None:
            from magpy.backends import registry
            self._compiler = registry.get(self.backend, self.mode, self.options)
        return self._compiler


class MissedCall(NamedTuple):
    """Why no entry fitted a call: what the closest one missed, and what each of the others."""

    text: str
    others: tuple


class KnownStop(NamedTuple):
    """A call for which ``guards`` hold comes to a stop that the user asked for."""

    guards: Any
    reason: str


class MissedRead:
    """How often one read kept the closest entry from fitting, and how it was the last time."""

    __slots__ = ("times", "last")

    def __init__(self):
        self.times = 0
        self.last = ""


class History:
    """What happened to one compiled callable. Texts and numbers only, but for the guards
    of known stops."""

    def __init__(self, name):
        self.name = name
        self.captures = 0
        self.breaks = 0             # captures that stopped
        self.stopped_in_a_row = 0
        self.other_outcomes = 0     # misses because a checked value did not come again
        self.other_weights = 0      # misses because a frozen weight was changed
        self.hits_of_dropped = 0    # of entries that a reset dropped
        self.stops = collections.deque(maxlen=config.history)
        self.misses = collections.deque(maxlen=config.history)      # of MissedCall
        self.miss_counts = collections.Counter()    # text -> how often
        self.missed_reads = {}                      # access path -> its MissedRead
        self.bypasses = collections.Counter()
        self.said = set()           # warnings that were given once
        self.known_stops = []       # of KnownStop

    def miss(self, read, text, others):
        """Note a call that no entry fitted."""
        self.misses.append(MissedCall(text, others))
        self.miss_counts[text] += 1
        missed = self.missed_reads.setdefault(read, MissedRead())
        missed.times += 1
        missed.last = text


def name_of(fn):
    """What to call a callable in texts."""
    name = getattr(fn, "__qualname__", None) or getattr(fn, "__name__", None)
    return name if isinstance(name, str) else type(fn).__qualname__


def place_of(fn):
    """(file, line, name) of the Python code behind a callable, as far as it has one."""
    for candidate in (fn, getattr(fn, "__func__", None), getattr(type(fn), "forward", None),
                      getattr(type(fn), "__call__", None), getattr(fn, "func", None)):
        code = getattr(candidate, "__code__", None)
        if code is not None:
            return code.co_filename, code.co_firstlineno, code.co_qualname
    return None, 0, name_of(fn)


def stop_at(fn, reason, detail):
    """A Stop that is about the whole of *fn*."""
    return Stop(reason, detail, *place_of(fn))
