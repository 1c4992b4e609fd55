"""Rules of list and tuple.

Reads of outside containers become edges of their base type's content; changes are
noted as the very method that made them, to be redone at replay. An argument whose
items are consumed (``extend``) is copied now: at replay it may be gone.
"""

import gc
from functools import cmp_to_key
from operator import itemgetter

from magpy.recorder.callables.reads import (
    calls, compare, fixed, hashes, index, is_c, items_of, makes_new, nothing, plain, same_or_equal,
    stops, text, value, watch)
from magpy.recorder.callables.registry import add, is_a, rule, slots

ORDERINGS = "__lt__ __le__ __gt__ __ge__"


def copied(r, obj, what):
    """The items that *obj* will give, as a tuple, for an effect that consumes them."""
    items = items_of(r, obj)
    if items is None:
        r.stop("object-write", f"{what} of an outside object, from an iterator")
    return tuple(items)


# ---- sequences ------------------------------------------------------------------

@rule(*slots(list, "__len__"), *slots(tuple, "__len__"))
def sequence_len(r, func, args, kwargs):
    r.read_len(args[0])


@rule(*slots(list, "__getitem__"), *slots(tuple, "__getitem__"))
def sequence_getitem(r, func, args, kwargs):
    sequence, key = args
    if type(key) is int:
        r.read_index(sequence, key)
        return
    r.read_content(sequence)
    if type(key) is slice:
        for part in (key.start, key.stop, key.step):
            index(r, part)
    else:
        index(r, key)


@rule(*slots(list, "__iter__ __reversed__ copy"), *slots(tuple, "__iter__"), kind="allocates")
def sequence_content(r, func, args, kwargs):
    r.read_content(args[0])


@rule(*slots(list, "__contains__ index count"), *slots(tuple, "__contains__ index count"))
def sequence_search(r, func, args, kwargs):
    search(r, args[0], args[1] if len(args) > 1 else None)
    for bound in args[2:]:
        index(r, bound)


def search(r, sequence, wanted):
    r.read_content(sequence)
    base = list if is_a(sequence, list) else tuple
    for item in base.__iter__(sequence):
        same_or_equal(r, item, wanted)
        if item is wanted:
            break


@rule(*slots(list, "__add__ __mul__ __rmul__"), *slots(tuple, "__add__ __mul__ __rmul__"),
      kind="allocates")
def sequence_joined(r, func, args, kwargs):
    for arg in args:
        if is_a(arg, (list, tuple)):
            r.read_content(arg)
        elif func.__name__ != "__add__":
            index(r, arg)


@rule(*slots(list, "__eq__ __ne__"), *slots(tuple, "__eq__ __ne__"))
def sequence_equal(r, func, args, kwargs):
    base = func.__objclass__
    left, right = args
    if not is_a(right, base):
        return
    r.read_content(left)
    r.read_content(right)
    if base.__len__(left) == base.__len__(right) or base is tuple:
        for a, b in zip(base.__iter__(left), base.__iter__(right)):
            same_or_equal(r, a, b)


@rule(*slots(list, ORDERINGS), *slots(tuple, ORDERINGS))
def sequence_order(r, func, args, kwargs):
    base = func.__objclass__
    left, right = args
    if not is_a(right, base):
        return
    r.read_content(left)
    r.read_content(right)
    for a, b in zip(base.__iter__(left), base.__iter__(right)):
        same_or_equal(r, a, b)
        if not fixed(a) or not fixed(b):
            compare(r, a, b, func.__name__)


@rule(*slots(tuple, "__hash__"))
def tuple_hash(r, func, args, kwargs):
    for item in own_items(r, args[0]):
        hashes(r, item)


@rule(*slots(list, "__repr__"), *slots(tuple, "__repr__"))
def sequence_repr(r, func, args, kwargs):
    for item in own_items(r, args[0]):
        text(r, item, "__repr__")


def own_items(r, sequence):
    """What a list or tuple holds, whatever iteration a subclass has."""
    r.read_content(sequence)
    return list((list if isinstance(sequence, list) else tuple).__iter__(sequence))


add(stops("object-read"), "random", *slots(list, "__sizeof__"))


# ---- changes of lists -------------------------------------------------------------

@rule(list.append, list.clear, list.reverse, kind="mutates")
def list_change(r, func, args, kwargs):
    r.mutate(args[0], func, args)


@rule(list.insert, kind="mutates")
def list_insert(r, func, args, kwargs):
    index(r, args[1])
    r.mutate(args[0], func, args)


@rule(list.extend, *slots(list, "__iadd__"), kind="mutates")
def list_extend(r, func, args, kwargs):
    owner, source = args
    if source is owner:         # taken as it is, also where its class has an __iter__ of its own
        r.read_content(owner)
        items = list.__iter__(owner)
    else:
        items = items_of(r, source)
    if r.know(owner) is None:
        return
    if items is None:
        extended_by_iterator(r, owner)
    else:
        r.mutate(owner, list.extend, (owner, tuple(items)))


def extended_by_iterator(r, owner):
    """C code appends to an outside list what an iterator gives: seen afterwards."""
    r.note_write(r.know(owner))
    before, done = list(list.__iter__(owner)), len(r.effects)

    def found():
        if any(effect.args and effect.args[0] is owner for effect in r.effects[done:]):
            r.stop("object-write", "an outside list changed by what it is extended from")
        r.mutate(owner, list.extend, (owner, tuple(list.__iter__(owner))[len(before):]))
    r.at_end(found)


@rule(*slots(list, "__imul__"), kind="mutates")
def list_repeat(r, func, args, kwargs):
    index(r, args[1])
    r.mutate(args[0], func, args)


@rule(list.pop, kind="mutates")
def list_pop(r, func, args, kwargs):
    position = args[1] if len(args) > 1 else -1
    if type(position) is not int:
        index(r, position)
        r.read_content(args[0])
    else:
        r.read_len(args[0])
        r.read_index(args[0], position)
    r.mutate(args[0], func, args)


@rule(list.remove, kind="mutates")
def list_remove(r, func, args, kwargs):
    search(r, *args)
    r.mutate(args[0], func, args)


@rule(*slots(list, "__setitem__"), kind="mutates")
def list_setitem(r, func, args, kwargs):
    owner, key, item = args
    if type(key) is slice:
        for part in (key.start, key.stop, key.step):
            index(r, part)
        if r.know(owner) is None:
            items_of(r, item)
            return
        r.read_len(owner)
        r.mutate(owner, func, (owner, key, list(copied(r, item, "slice assignment"))))
        return
    index(r, key)
    r.read_len(owner)
    r.mutate(owner, func, args)


@rule(*slots(list, "__delitem__"), kind="mutates")
def list_delitem(r, func, args, kwargs):
    r.read_len(args[0])
    r.mutate(args[0], func, args)


@rule(list.sort, kind="mutates")
def list_sort(r, func, args, kwargs):
    owner = args[0]
    r.read_content(owner)
    items = list(list.__iter__(owner))
    if kwargs.get("key") is not None:
        sorts(r, items, kwargs["key"])
    else:
        for a, b in zip(items, items[1:]):
            compare(r, b, a, "__lt__")
    if r.know(owner) is None:
        return
    if kwargs.get("key") is not None or not all(plain(item) for item in items):
        r.stop("object-write", "sort of an outside list of objects")
    r.mutate(owner, func, args, dict(kwargs))


BY_FUNCTION = type(cmp_to_key(lambda a, b: 0))


def sorts(r, source, key):
    """C code calls *key* for each item, and compares what it gives."""
    items = items_of(r, source)
    if not is_c(key):
        calls(r, key, ())
        watch(r, getattr(key, "__func__", key), lambda found: compare(r, found, found, "__lt__"))
        return
    if items is None:
        r.stop("unknown-callable", "an order of items from an iterator, by a C function")
    for item in items:
        calls(r, key, (item,))
    if type(key) is BY_FUNCTION:
        for part in gc.get_referents(key):
            if not is_c(part):
                watch(r, getattr(part, "__func__", part), lambda found: compare(r, found, 0, "__lt__"))
        return
    if type(key) is itemgetter and all(type(item) in (tuple, list, dict) for item in items):
        keys = [key(item) for item in items]
        for a, b in zip(keys, keys[1:]):
            compare(r, b, a, "__lt__")
    elif not makes_new(key) and not all(plain(item) for item in items):
        r.stop("unknown-callable", "an order of objects by a C function")


# ---- constructors -------------------------------------------------------------------

@rule(list, tuple, kind="allocates")
def sequence_type(r, func, args, kwargs):
    for arg in args:
        items_of(r, arg)


add(nothing, "allocates", *slots(list, "__new__"))


@rule(*slots(tuple, "__new__"), kind="allocates")
def tuple_new(r, func, args, kwargs):
    """tuple.__new__(cls, items)"""
    for arg in args[1:]:
        items_of(r, arg)


@rule(*slots(list, "__init__"), kind="mutates")
def list_init(r, func, args, kwargs):
    """list.__init__(self, items); *self* is None when the type is being called."""
    if args[0] is not None and r.know(args[0]) is not None:
        r.stop("object-write", "list.__init__ on an outside object")
    for arg in args[1:]:
        items_of(r, arg)


@rule(*[cls.__dict__["__class_getitem__"] for cls in (list, tuple, dict, set, frozenset)],
      kind="pure")
def parametrized(r, func, args, kwargs):
    """list[int]"""
    for arg in args:
        value(r, arg)
