"""Lists, tuples, sets and deques of exactly the builtin types, and struct sequences
(``torch.return_types``, ``time.struct_time``). Subclasses are in instance.py."""

import collections

from magpy.reasons import StopCapture
from magpy.refgraph.kinds.base import Filled, Fixed


class _List(Filled):

    def describe(self, obj, new, d):
        new.parts = [d.value(item) for item in list.__iter__(obj)]

    def make(self, new, w):
        return "[]"

    def fill(self, new, name, w):
        return [f"{name}.extend({w.tuple(new.parts)})"] if new.parts else []

    def whole(self, new, w):
        return f"[{w.refs(new.parts)}]"


class _Tuple(Fixed):

    def describe(self, obj, new, d):
        new.parts = [d.value(item) for item in tuple.__iter__(obj)]

    def whole(self, new, w):
        return w.tuple(new.parts)


class _Set(Filled):

    def describe(self, obj, new, d):
        new.parts = [d.key(item) for item in set.__iter__(obj)]

    def make(self, new, w):
        return "set()"

    def fill(self, new, name, w):
        return [f"{name}.update({w.tuple(new.parts)})"] if new.parts else []

    def whole(self, new, w):
        return f"{{{w.refs(new.parts)}}}" if new.parts else "set()"


class _Frozenset(Fixed):

    def describe(self, obj, new, d):
        new.parts = [d.key(item) for item in frozenset.__iter__(obj)]

    def whole(self, new, w):
        return f"frozenset({w.tuple(new.parts)})"


class _Deque(Filled):

    def describe(self, obj, new, d):
        new.parts = [d.value(item) for item in collections.deque.__iter__(obj)]
        new.static = collections.deque.maxlen.__get__(obj)

    def make(self, new, w):
        return f"deque((), {new.static!r})"

    def fill(self, new, name, w):
        return [f"{name}.extend({w.tuple(new.parts)})"] if new.parts else []

    def whole(self, new, w):
        return f"deque({w.tuple(new.parts)}, {new.static!r})"


class _StructSeq(Fixed):

    def describe(self, obj, new, d):
        if type(obj).n_fields != type(obj).n_sequence_fields:
            raise StopCapture("output-kind", f"{type(obj).__name__} has hidden fields")
        new.parts = [d.value(item) for item in tuple.__iter__(obj)]

    def whole(self, new, w):
        return f"{w.type(new.type)}({w.tuple(new.parts)})"


def is_structseq(t):
    """Is *t* a tuple type made by C's PyStructSequence: fixed fields, no user code?"""
    return (t.__base__ is tuple and "n_sequence_fields" in t.__dict__
            and "n_unnamed_fields" in t.__dict__ and "__slots__" not in t.__dict__)


STRUCTSEQ = _StructSeq()
KINDS = {
    list: _List(),
    tuple: _Tuple(),
    set: _Set(),
    frozenset: _Frozenset(),
    collections.deque: _Deque(),
}
