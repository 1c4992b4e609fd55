"""Exceptions that the call made and did not raise: their class, arguments and attributes.

One that was raised refers to the frames that it passed, which nobody can make again.
"""

import types

from magpy.reasons import StopCapture
from magpy.refgraph.kinds.base import Filled

_own_names_of = type.__dict__["__dict__"].__get__
_flags_of = type.__dict__["__flags__"].__get__
_base_of = type.__dict__["__base__"].__get__
_size_of = type.__dict__["__basicsize__"].__get__
_HEAP_TYPE = 1 << 9


class _Exception(Filled):
    """Its arguments are given to the C constructor of its nearest builtin base."""

    def describe(self, obj, new, d):
        if obj.__traceback__ is not None or obj.__context__ is not None or obj.__cause__ is not None:
            raise StopCapture("output-kind", f"a {type(obj).__qualname__} that was raised")
        new.static = list(obj.__dict__), len(obj.args)
        new.parts = [d.value(each) for each in (*obj.args, *obj.__dict__.values())]

    def first(self, new):
        return new.static[1]

    def make(self, new, w):
        args = "".join(f", {w.ref(part)}" for part in new.parts[:new.static[1]])
        return f"{w.constant(BaseException.__new__, 'new_exception')}({w.type(new.type)}{args})"

    def fill(self, new, name, w):
        names, count = new.static
        items = ", ".join(f"{key!r}: {w.ref(part)}" for key, part in zip(names, new.parts[count:]))
        return [f"{name}.__dict__.update({{{items}}})"] if items else []


_KIND = _Exception()


def of(cls):
    """The kind of instances of *cls*; None when they hold more than BaseException does."""
    base = cls
    while _flags_of(base) & _HEAP_TYPE:
        if any(type(each) is types.MemberDescriptorType for each in _own_names_of(base).values()):
            return None         # slots
        base = _base_of(base)
    plain = _size_of(cls) in (_size_of(BaseException), _size_of(BaseException) + 8) and \
        _size_of(base) == _size_of(BaseException)
    return _KIND if plain and base.__new__ is not object.__new__ else None
