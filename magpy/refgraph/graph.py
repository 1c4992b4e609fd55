"""The RefGraph: the outside state that one recording read and wrote.

Nodes are the external objects that matter, edges the references that were read
(each with the value first seen; both in nodes.pyx), effects the writes, in order. It is plain data:
the recorder fills it, the emitters walk it, and neither imports the other.

An edge is at the same time one guard: *load this from there, and check it so*.
That is why no separate guard tree exists (MagPy, USENIX ATC'24, section 4.2, walks
the graph to find guards; here the order of discovery is already a valid order,
since a parent is always discovered before what hangs on it).
"""

import os
import types
from typing import NamedTuple


class _Absent:
    """What a read yields when nothing is there: a missing key, attribute or method."""

    __slots__ = ()

    def __repr__(self):
        return "ABSENT"


ABSENT = _Absent()


class Place(NamedTuple):
    """Where in the user's code something was read. The line is looked up when asked for,
    which is seldom."""

    code: types.CodeType
    offset: int             # of the instruction, in bytes

    def __str__(self):
        for start, end, line in self.code.co_lines():
            if start <= self.offset < end:
                return f"{short_name(self.code.co_filename)}:{line}"
        return short_name(self.code.co_filename)


def short_name(filename):
    """As people name it: from the current folder, if it is in there."""
    here = os.path.join(os.getcwd(), "")
    return filename.removeprefix(here)


class Effect:
    """One write to an external object, redone at replay as the operation it was."""

    __slots__ = ("func", "args", "kwargs", "where", "operations")

    def __init__(self, func, args, kwargs, where, operations=0):
        self.operations = operations    # of the graph, before it
        self.func = func
        self.args = args
        self.kwargs = kwargs
        self.where = where

    def __repr__(self):
        return f"<Effect {getattr(self.func, '__qualname__', self.func)} at {self.where}>"


class Stop:
    """Why and where a capture ended without an entry."""

    __slots__ = ("reason", "detail", "filename", "lineno", "function")

    def __init__(self, reason, detail, filename, lineno, function):
        self.reason = reason
        self.detail = detail
        self.filename = filename
        self.lineno = lineno
        self.function = function

    def __repr__(self):
        return f"<Stop {self.reason}: {self.detail} at {self.filename}:{self.lineno}>"


class Recording:
    """What one recorded call leaves behind.

    ``result`` (or ``exception``) is what the user's call gave. ``stop`` is set when
    the rest does not describe the whole call. ``release`` drops every live object.
    """

    __slots__ = ("fn", "args", "kwargs", "result", "exception", "stop", "nodes",
                 "edges", "seen", "effects", "tape", "table", "state", "recorder",
                 "events", "seconds", "fault", "outcomes", "draws")

    def __init__(self, fn, args, kwargs):
        self.fn = fn
        self.args = args
        self.kwargs = kwargs
        self.result = None
        self.exception = None
        self.stop = None
        self.nodes = []
        self.edges = []
        self.seen = {}          # reference -> True, for those that an edge tells of
        self.effects = []
        self.tape = None
        self.table = None
        self.state = None
        self.recorder = None
        self.events = 0
        self.seconds = 0.0
        self.draws = []         # Effects: random numbers drawn outside torch, in order
        self.outcomes = False   # may the graph check what depends on tensor data?
        self.fault = None       # the error behind a stop "internal-error"

    def forget_reads(self):
        """The guards are made: what they were made of is not needed any more."""
        self.edges.clear()
        self.seen.clear()

    def release(self):
        for node in self.nodes:
            node.obj = node.snapshot = None
        self.args = self.kwargs = self.recorder = self.table = self.tape = self.fault = None
        self.draws = []
        self.effects = []
