"""Instances of classes written in Python: a builtin base's content, ``__slots__``, and
``__dict__``.

Such an object is made by the base's own ``__new__`` and filled by the base's own
methods and descriptors. Running the class's constructor instead would run user
code again, and a frozen dataclass or a ``ModelOutput`` would not even allow the
writes. What else a class overrides (``__setattr__``, ``__getattribute__``,
``__setitem__``, ``__iter__``) plays no part, for the same reason.

Parts: the base's content, then the values of ``__dict__``, then those of the slots.
"""

import collections
import types

import torch

from magpy.refgraph.kinds.base import Filled
from magpy.refgraph.kinds.mapping import flat_items, pairs

_mro_of = type.__dict__["__mro__"].__get__
_own_names_of = type.__dict__["__dict__"].__get__
_flags_of = type.__dict__["__flags__"].__get__
_base_of = type.__dict__["__base__"].__get__
_size_of = type.__dict__["__basicsize__"].__get__

_HEAP_TYPE = 1 << 9         # Py_TPFLAGS_HEAPTYPE
_ABSTRACT = 1 << 20         # Py_TPFLAGS_IS_ABSTRACT
_POINTER = 8
_IDENTITY_HASH = object.__dict__["__hash__"]
_IDENTITY_EQ = object.__dict__["__eq__"]


# --- what a builtin base holds --------------------------------------------------------

class _Nothing:
    """No content: a plain instance."""

    fixed = False           # is the content given to __new__?

    def __init__(self, base):
        self.base = base

    def read(self, obj, d):
        return []

    def make(self, cls, parts, w):
        return f"{self.base.__name__}.__new__({cls})"

    def put(self, parts, name, w):
        return []


class _Elements(_Nothing):
    """A list or set: made empty, then given its elements."""

    def __init__(self, base, method):
        self.base, self.method = base, method

    def read(self, obj, d):
        describe = d.key if self.base is set else d.value
        return [describe(item) for item in self.base.__iter__(obj)]

    def put(self, parts, name, w):
        return [f"{self.base.__name__}.{self.method}({name}, {w.tuple(parts)})"] if parts else []


class _Items(_Nothing):
    """A dict or OrderedDict: item by item, since ``OrderedDict.update`` would run an
    overridden ``__setitem__``."""

    def read(self, obj, d):
        return flat_items(self.base.items(obj), d)

    def put(self, parts, name, w):
        base = self.base.__name__
        return [f"{base}.__setitem__({name}, {w.ref(k)}, {w.ref(v)})" for k, v in pairs(parts)]


class _FixedElements(_Nothing):
    """A tuple (namedtuples too) or frozenset."""

    fixed = True

    def read(self, obj, d):
        describe = d.key if self.base is frozenset else d.value
        return [describe(item) for item in self.base.__iter__(obj)]

    def make(self, cls, parts, w):
        return f"{self.base.__name__}.__new__({cls}, {w.tuple(parts)})"


class _Number(_Nothing):
    """A subclass of int, float or str; *exact* gives the value as the base type."""

    fixed = True

    def __init__(self, base, exact):
        self.base, self.exact = base, exact

    def read(self, obj, d):
        return [d.value(self.exact(obj))]

    def make(self, cls, parts, w):
        return f"{self.base.__name__}.__new__({cls}, {w.ref(parts[0])})"


# By id: a class may have a metaclass whose __hash__ is user code.
_BASES = {id(content.base): content for content in (
    _Nothing(object), _Items(dict), _Items(collections.OrderedDict),
    _Elements(list, "extend"), _Elements(set, "update"),
    _FixedElements(tuple), _FixedElements(frozenset),
    _Number(int, int.__int__), _Number(float, float.__float__), _Number(str, str.__str__))}


# --- the kind ------------------------------------------------------------------------

class _Instance(Filled):
    """One class's way of being made again."""

    def __init__(self, content, has_dict, slots, plain_getattribute):
        self.content = content
        self.has_dict = has_dict
        self.slots = slots                  # (name, member descriptor)
        self.plain_getattribute = plain_getattribute

    def describe(self, obj, new, d):
        content = self.content.read(obj, d)
        attributes = object.__getattribute__(obj, "__dict__") if self.has_dict else {}
        names = [d.key(k) for k in attributes]
        parts = content + [d.value(v) for v in attributes.values()]
        setters = []
        for name, descriptor in self.slots:
            try:
                value = descriptor.__get__(obj)
            except AttributeError:          # an empty slot
                continue
            setters.append((name, descriptor.__set__))
            parts.append(d.value(value))
        new.parts = parts
        new.static = len(content), names, setters

    def first(self, new):
        return new.static[0] if self.content.fixed else 0

    def make(self, new, w):
        return self.content.make(w.type(new.type), new.parts[:self.first(new)], w)

    def fill(self, new, name, w):
        ncontent, names, setters = new.static
        parts = new.parts
        lines = self.content.put(parts[:ncontent], name, w)
        values = parts[ncontent:ncontent + len(names)]
        if values:
            own = f"{name}.__dict__" if self.plain_getattribute else f'object.__getattribute__({name}, "__dict__")'
            items = ", ".join(f"{w.ref(k)}: {w.ref(v)}" for k, v in zip(names, values))
            lines.append(f"{own}.update({{{items}}})")
        for (slot, setter), part in zip(setters, parts[ncontent + len(names):]):
            lines.append(f"{w.constant(setter, f'set_{slot}')}({name}, {w.ref(part)})")
        return lines


def of(cls):
    """The kind of instances of *cls*, or None when they cannot be made again.

    Not cached: a class can change, and this takes microseconds.
    """
    content = _solid_base(cls)
    if content is None or _flags_of(cls) & _ABSTRACT:
        return None
    mro = [c for c in _mro_of(cls) if id(c) not in _BASES]
    if not all(_written_in_python(c) for c in mro):
        return None
    own_dict = look_up(cls, "__dict__")
    if own_dict is not None and type(own_dict) is not types.GetSetDescriptorType:
        return None             # the class hides its __dict__
    slots = [(name, d) for c in mro for name, d in _own_names_of(c).items()
             if type(d) is types.MemberDescriptorType and d.__objclass__ is c]
    # Room for anything but slots means C data that nobody here knows how to copy.
    if _size_of(cls) != _size_of(content.base) + _POINTER * len(slots):
        return None
    plain = type(look_up(cls, "__getattribute__")) is types.WrapperDescriptorType
    return _Instance(content, own_dict is not None, slots, plain)


def _solid_base(cls):
    """What the builtin type that *cls* is built on holds; None for other C types."""
    while id(cls) not in _BASES:
        if not _flags_of(cls) & _HEAP_TYPE:
            return None
        cls = _base_of(cls)
    return _BASES[id(cls)]


def _written_in_python(cls):
    """A class statement's doing, not a C type with fields or a ``__new__`` of its own."""
    names = _own_names_of(cls)
    fields = any(type(d) is types.MemberDescriptorType and d.__objclass__ is cls for d in names.values())
    return (bool(_flags_of(cls) & _HEAP_TYPE) and type(names.get("__new__")) is not types.BuiltinFunctionType
            and ("__slots__" in names or not fields))


def look_up(cls, name):
    """What *name* is along the MRO, as it stands there; None when absent."""
    for c in _mro_of(cls):
        names = _own_names_of(c)
        if name in names:
            return names[name]
    return None


def hashes_by_identity(obj):
    """Can *obj* be a dict key or set element without running user code?"""
    if issubclass(type(obj), torch.Tensor) or type(obj) is types.BuiltinFunctionType:
        return True
    cls = type(obj)
    return (look_up(cls, "__hash__") is _IDENTITY_HASH
            and look_up(cls, "__eq__") is _IDENTITY_EQ)
