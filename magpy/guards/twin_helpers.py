"""What the Python twin of a guard program calls: each load and check in plain Python.

It says a second time, independently, what native/guard_program.cpp and native/leaf.cpp
do; tests hold one against the other. Nothing here runs on a hit.
"""

import builtins
import collections
import enum
import struct
import types
import weakref

import torch

from magpy.guards.buffers import same_buffer
from magpy.guards.program import ends_quietly, own_dict
from magpy.guards.tensor_meta import distinct_storages
from magpy.refgraph.graph import ABSENT

_IDENTITIES = (torch.dtype, torch.layout, torch.memory_format, torch.qscheme, type(None), bool,
               type(...), type(NotImplemented), type)


class Miss(Exception):
    """A load from the wrong kind of object: the program fails."""


def _need(condition):
    if not condition:
        raise Miss


def own(obj, name):
    """An instance's own attribute."""
    _need(obj is not ABSENT)
    try:
        return object.__getattribute__(obj, "__dict__").get(name, ABSENT)
    except AttributeError:
        return ABSENT


def item(mapping, key):
    _need(isinstance(mapping, dict))
    return dict.get(mapping, key, ABSENT)


def element(sequence, i):
    _need(isinstance(sequence, (list, tuple)))
    kind = list if isinstance(sequence, list) else tuple
    return kind.__getitem__(sequence, i) if -len(sequence) <= i < len(sequence) else ABSENT


def deque_element(queue, i):
    _need(type(queue) is collections.deque)
    return queue[i] if -len(queue) <= i < len(queue) else ABSENT


def key_at(mapping, i):
    _need(isinstance(mapping, dict))
    keys = keys_of(mapping)
    return keys[i] if -len(keys) <= i < len(keys) else ABSENT


def cell(obj):
    _need(isinstance(obj, types.CellType))
    try:
        return obj.cell_contents
    except ValueError:
        return ABSENT


def closure(function, i):
    _need(isinstance(function, types.FunctionType))
    return element(function.__closure__ or (), i)


def member(obj, descriptor):
    _need(isinstance(obj, descriptor.__objclass__))
    try:
        return descriptor.__get__(obj, type(obj))
    except AttributeError:
        return ABSENT
    except Exception as error:
        raise Miss from error


def instance_dict(obj):
    _need(obj is not ABSENT and not isinstance(obj, type))
    return getattr(obj, "__dict__", ABSENT)


def type_lookup(cls, name):
    for base in type_mro(cls):
        if name in vars(base):
            return vars(base)[name]
    return ABSENT


def type_own(cls, name):
    return type.__getattribute__(cls, "__dict__").get(name, ABSENT)


def type_mro(cls):
    return type.__getattribute__(cls, "__mro__")


def keys_of(mapping):
    if isinstance(mapping, collections.OrderedDict):
        return list(collections.OrderedDict.__iter__(mapping))
    return list(dict.__iter__(mapping))


def is_singleton(value):
    return isinstance(value, _IDENTITIES) or isinstance(type(value), enum.EnumMeta)


def equal(value, expected):
    """The same leaf: exact type and value, floats by bits."""
    if value is expected:
        return True
    kind = type(expected)
    if type(value) is not kind or is_singleton(expected):
        return False
    if kind is float:
        return struct.pack("d", value) == struct.pack("d", expected)
    if kind is complex:
        return equal(value.real, expected.real) and equal(value.imag, expected.imag)
    if isinstance(value, tuple):
        return _equal_all(value, expected)
    if kind in (slice, range):
        parts = ("start", "stop", "step")
        return all(equal(getattr(value, p), getattr(expected, p)) for p in parts)
    if kind is frozenset:
        return has_content(value, expected)
    return value == expected if kind in (int, str, bytes, torch.device) else False


def _equal_all(values, expected):
    values = tuple(values)
    return len(values) == len(expected) and all(map(equal, values, expected))


def has_keys(mapping, keys):
    return isinstance(mapping, dict) and _equal_all(keys_of(mapping), keys)


def has_content(value, content):
    if not isinstance(value, (set, frozenset)) or len(value) != len(content):
        return False
    return _equal_all(value, content)


def len_of(value):
    """The number of elements, of C containers; -1 of others."""
    for kind in (list, tuple, dict, set, frozenset, str, bytes, collections.deque):
        if isinstance(value, kind):
            return kind.__len__(value)
    return -1


def truth_of(value):
    if value is None or type(value) in (bool, int, float, complex):
        return bool(value)
    size = len_of(value)
    return size > 0 if size >= 0 else ABSENT


def distinct(value, other):
    return value is not ABSENT and value is not other


def storages(*tensors):
    return distinct_storages(tensors)


def deref(reference):
    """What a weak reference refers to."""
    _need(type(reference) is weakref.ref)
    return reference()


def unique(*values):
    """No two of *values* are the same object."""
    return len({id(value) for value in values}) == len(values)


def quiet(value, last, content):
    """Each by itself: what ends only with several of them is left to the native program."""
    return value is ABSENT or ends_quietly([value], content)


def apart(flags, *values):
    """Nothing that was written shares its dict with anything else."""
    held = [value if is_dict else own_dict(value) for value, (_, is_dict) in zip(values, flags)]
    counts = collections.Counter(id(each) for each in held if each is not None)
    return all(counts[id(each)] < 2 for each, (written, _) in zip(held, flags) if written and each is not None)


def lacks(mapping, key):
    """A key that hashes by its address."""
    return isinstance(mapping, dict) and type(key).__hash__ is object.__hash__ and not dict.__contains__(mapping, key)


HELPERS = {function.__name__: function for function in (
    own, item, element, deque_element, key_at, cell, closure, member, instance_dict,
    type_lookup, type_own, type_mro, equal, has_keys, has_content, len_of, truth_of,
    distinct, storages, unique, deref, same_buffer, apart, lacks, quiet)}
HELPERS["ABSENT"] = ABSENT
HELPERS |= {name: value for name, value in vars(builtins).items()
            if isinstance(value, (type, types.BuiltinFunctionType))}
