"""Rules of list, tuple, dict and its views, set and frozenset, and of what iterates them.

Reads of outside containers become edges of their base type's content; changes are
noted as the very method that made them, to be redone at replay. An argument whose
items are consumed (``extend``) is copied now: at replay it may be gone.
"""

import gc
import types
from collections import OrderedDict
from functools import cmp_to_key
from operator import itemgetter

from magpy.recorder.callables.reads import (
    DICT_VIEWS, SIMPLE_ITERATORS, calls, compare, each_item, fixed, hashes, index, internal,
    is_c, items_of, makes_new, nothing, plain, same_or_equal, stops, text, unseen, value, watch)
from magpy.recorder.callables.registry import add, rule, slots

ORDERINGS = "__lt__ __le__ __gt__ __ge__"


def copied(r, obj, what):
    """The items that *obj* will give, as a tuple, for an effect that consumes them."""
    items = items_of(r, obj)
    if items is None:
        r.stop("object-write", f"{what} of an outside object, from an iterator")
    return tuple(items)


# ---- sequences ------------------------------------------------------------------

@rule(*slots(list, "__len__"), *slots(tuple, "__len__"), *slots(dict, "__len__"),
      *slots(set, "__len__"), *slots(frozenset, "__len__"))
def container_len(r, func, args, kwargs):
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
    base = list if isinstance(sequence, list) else tuple
    for item in base.__iter__(sequence):
        same_or_equal(r, item, wanted)
        if item is wanted:
            break


@rule(*slots(list, "__add__ __mul__ __rmul__"), *slots(tuple, "__add__ __mul__ __rmul__"),
      kind="allocates")
def sequence_joined(r, func, args, kwargs):
    for arg in args:
        if isinstance(arg, (list, tuple)):
            r.read_content(arg)
        elif func.__name__ != "__add__":
            index(r, arg)


@rule(*slots(list, "__eq__ __ne__"), *slots(tuple, "__eq__ __ne__"))
def sequence_equal(r, func, args, kwargs):
    base = func.__objclass__
    left, right = args
    if not isinstance(right, base):
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
    if not isinstance(right, base):
        return
    r.read_content(left)
    r.read_content(right)
    for a, b in zip(base.__iter__(left), base.__iter__(right)):
        same_or_equal(r, a, b)
        if not fixed(a) or not fixed(b):
            compare(r, a, b, func.__name__)


@rule(*slots(tuple, "__hash__"), *slots(frozenset, "__hash__"))
def content_hash(r, func, args, kwargs):
    for item in items_of(r, args[0]):
        hashes(r, item)


@rule(*slots(list, "__repr__"), *slots(tuple, "__repr__"), *slots(dict, "__repr__"),
      *slots(set, "__repr__"), *slots(frozenset, "__repr__"),
      *[method for view in DICT_VIEWS for method in slots(view, "__repr__")])
def content_repr(r, func, args, kwargs):
    items = items_of(r, args[0])
    if isinstance(args[0], (set, frozenset)):
        ordered(r, args[0])
    for item in items:
        text(r, item, "__repr__")
        if isinstance(args[0], dict):
            text(r, dict.__getitem__(args[0], item), "__repr__")


add(stops("object-read"), "random", *slots(list, "__sizeof__"), *slots(dict, "__sizeof__"),
    *slots(set, "__sizeof__"))
add(stops("dict-key"), "pure", *[  # not hashable: a TypeError that is the user's
    each for each in slots(list, "__hash__") + slots(dict, "__hash__") if each is not None])


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
    if r.know(owner) is None:
        items_of(r, source)
    else:
        r.mutate(owner, list.extend, (owner, copied(r, source, "extend")))


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


# ---- dicts ------------------------------------------------------------------------

@rule(dict.get, *slots(dict, "__contains__"))
def dict_lookup(r, func, args, kwargs):
    hashes(r, args[1])
    r.read_key(args[0], args[1])


@rule(*slots(dict, "__getitem__"))
def dict_getitem(r, func, args, kwargs):
    mapping, key = args
    hashes(r, key)
    r.read_key(mapping, key)
    if type(mapping) is not dict and not dict.__contains__(mapping, key):
        r.special("__missing__", (mapping, key))


@rule(*slots(dict, "__iter__ __reversed__ copy keys values items"), kind="allocates")
def dict_content(r, func, args, kwargs):
    r.read_content(args[0])


@rule(*slots(dict, "__eq__ __ne__"))
def dict_equal(r, func, args, kwargs):
    left, right = args
    if not isinstance(right, dict):
        return
    r.read_content(left)
    r.read_content(right)
    if dict.__len__(left) != dict.__len__(right):
        return
    for key in dict.__iter__(left):
        hashes(r, key)
        if dict.__contains__(right, key):
            same_or_equal(r, dict.__getitem__(left, key), dict.__getitem__(right, key))


add(nothing, "pure", *slots(dict, ORDERINGS))


@rule(*slots(dict, "__or__ __ror__"), kind="allocates")
def dict_union(r, func, args, kwargs):
    if all(isinstance(arg, dict) for arg in args):
        for arg in args:
            r.read_content(arg)


@rule(dict.__dict__["fromkeys"], kind="allocates")
def dict_fromkeys(r, func, args, kwargs):
    """args: the class, the keys, perhaps a value."""
    if args[0] is not dict:
        r.stop("unknown-callable", f"{args[0].__qualname__}.fromkeys")
    each_item(r, args[1], lambda key: hashes(r, key))


def change_key(r, owner, key, func, args, kwargs=None):
    """A change of one entry: later reads of that key see the recording's own value."""
    node = r.know(owner)
    if node is not None and r.mutate(owner, func, args, kwargs):
        if fixed(key):
            r.written_key(node, "dict", key)


@rule(*slots(dict, "__setitem__"), kind="mutates")
def dict_setitem(r, func, args, kwargs):
    hashes(r, args[1])
    change_key(r, args[0], args[1], func, args)


@rule(*slots(dict, "__delitem__"), kind="mutates")
def dict_delitem(r, func, args, kwargs):
    hashes(r, args[1])
    r.read_key(args[0], args[1])
    change_key(r, args[0], args[1], func, args)


@rule(dict.setdefault, kind="mutates")
def dict_setdefault(r, func, args, kwargs):
    hashes(r, args[1])
    r.read_key(args[0], args[1])
    if not dict.__contains__(args[0], args[1]):
        change_key(r, args[0], args[1], func, args, kwargs)


@rule(dict.pop, kind="mutates")
def dict_pop(r, func, args, kwargs):
    hashes(r, args[1])
    r.read_key(args[0], args[1])
    if dict.__contains__(args[0], args[1]):
        change_key(r, args[0], args[1], func, args, kwargs)


@rule(dict.popitem, kind="mutates")
def dict_popitem(r, func, args, kwargs):
    r.read_content(args[0])
    r.mutate(args[0], func, args, kwargs)


@rule(dict.clear, kind="mutates")
def dict_clear(r, func, args, kwargs):
    r.mutate(args[0], func, args)


@rule(dict.update, *slots(dict, "__ior__"), kind="mutates")
def dict_update(r, func, args, kwargs):
    owner, others = args[0], args[1:]
    new = merged(r, others, kwargs)
    node = r.know(owner)
    if node is None:
        return
    if new is None:
        r.stop("object-write", "update of an outside dict, from an iterator")
    if r.mutate(owner, dict.update, (owner, new)):
        for key in new:
            if fixed(key):
                r.written_key(node, "dict", key)


def merged(r, others, kwargs):
    """What dict(*others, **kwargs) will hold; None when an iterator will tell."""
    new = {}
    for other in others:
        part = entries(r, other)
        if part is None:
            return None
        new.update(part)
    new.update(kwargs)
    return new


def entries(r, source):
    """The entries of a mapping, or of an iterable of pairs."""
    if isinstance(source, dict):
        r.type_lookup(type(source), "__iter__")
        r.type_lookup(type(source), "keys")
        if type(source).__iter__ not in (dict.__iter__, OrderedDict.__iter__):
            return None
        r.read_content(source)
        return {key: dict.__getitem__(source, key) for key in dict.__iter__(source)}
    if type(source) is types.MappingProxyType:
        internal(r, source)
        return dict(source)
    if hasattr(type(source), "keys"):
        r.read_attr(source, "keys")
        r.type_lookup(type(source), "__getitem__")
        return None
    pairs = items_of(r, source)
    if pairs is None:
        unseen(r, source, lambda pair: items_of(r, pair))
        return None
    for pair in pairs:
        items_of(r, pair)
        if type(pair) not in (tuple, list):
            return None
        hashes(r, pair[0])
    return dict(pairs)


# ---- views and iterators --------------------------------------------------------

VIEW_METHODS = """__len__ __iter__ __reversed__ __contains__ __eq__ __ne__ __lt__ __le__ __gt__
    __ge__ __and__ __rand__ __or__ __ror__ __xor__ __rxor__ __sub__ __rsub__ isdisjoint"""


@rule(*[method for view in DICT_VIEWS for method in slots(view, VIEW_METHODS)])
def view_method(r, func, args, kwargs):
    """A view that the recording made: its dict's content was read then."""
    internal(r, args[0])
    if func.__name__ == "__contains__":
        if type(args[0]) is DICT_VIEWS[1]:
            for item in args[0]:
                same_or_equal(r, item, args[1])
        else:
            hashes(r, args[1])
    elif func.__name__ not in ("__len__", "__iter__", "__reversed__"):
        for arg in args:
            each_item(r, arg, lambda item: hashes(r, item))


class _Sequence:
    def __getitem__(self, i):
        raise IndexError


SEQUENCE_ITERATOR = type(iter(_Sequence()))     # over a class with __getitem__ alone


@rule(*[method for kind in (*SIMPLE_ITERATORS, SEQUENCE_ITERATOR)
        for method in slots(kind, "__iter__ __next__ __length_hint__")])
def simple_iterator(r, func, args, kwargs):
    """Its container was read when it was made, by whoever made it."""
    if not fixed(args[0]) and r.know(args[0]) is not None:
        r.stop("external-iterator", type(args[0]).__name__)


# ---- sets -------------------------------------------------------------------------

def ordered(r, items):
    """The order of a set's items is seen: it must be the same whenever they are."""
    if len(items) > 1 and not all(fixed(item) for item in items):
        r.stop("dict-key", "the order of a set of objects")


def set_items(obj):
    return (set if isinstance(obj, set) else frozenset).__iter__(obj)


@rule(*slots(set, "__iter__"), *slots(frozenset, "__iter__"), kind="allocates")
def set_iter(r, func, args, kwargs):
    r.read_content(args[0])
    ordered(r, list(set_items(args[0])))


@rule(*slots(set, "copy"), *slots(frozenset, "copy"), kind="allocates")
def set_copy(r, func, args, kwargs):
    r.read_content(args[0])


@rule(*slots(set, "__contains__"), *slots(frozenset, "__contains__"))
def set_contains(r, func, args, kwargs):
    r.read_content(args[0])
    hashes(r, args[1])


SET_QUESTIONS = """__eq__ __ne__ __lt__ __le__ __gt__ __ge__ __and__ __rand__ __or__ __ror__
    __xor__ __rxor__ __sub__ __rsub__ difference intersection isdisjoint issubset issuperset
    symmetric_difference union"""


@rule(*slots(set, SET_QUESTIONS), *slots(frozenset, SET_QUESTIONS))
def set_algebra(r, func, args, kwargs):
    for arg in args:
        if isinstance(arg, (set, frozenset)):
            r.read_content(arg)
        elif func.__name__[:2] != "__":
            each_item(r, arg, lambda item: hashes(r, item))


@rule(set.add, set.discard, kind="mutates")
def set_change(r, func, args, kwargs):
    hashes(r, args[1])
    if r.know(args[0]) is not None and not fixed(args[1]):
        r.stop("dict-key", "an object put into an outside set")
    r.mutate(args[0], func, args)


@rule(set.remove, set.pop, set.clear, kind="mutates")
def set_take(r, func, args, kwargs):
    if func is not set.clear:
        r.read_content(args[0])
    if func is set.pop:
        ordered(r, list(set_items(args[0])))
        if r.know(args[0]) is not None:
            r.stop("object-write", "pop of an outside set")
    for item in args[1:]:
        hashes(r, item)
    r.mutate(args[0], func, args)


@rule(set.update, set.difference_update, set.intersection_update,
      set.symmetric_difference_update, *slots(set, "__ior__ __iand__ __isub__ __ixor__"),
      kind="mutates")
def set_update(r, func, args, kwargs):
    owner, others = args[0], args[1:]
    if func.__name__[:2] == "__" and not isinstance(others[0], (set, frozenset)):
        return
    outside = r.know(owner) is not None
    copies = []
    for other in others:
        if isinstance(other, (set, frozenset)):
            r.read_content(other)
        else:
            each_item(r, other, lambda item: hashes(r, item))
        if outside:
            copies.append(frozenset(copied(r, other, func.__name__)))
            if not all(fixed(item) for item in copies[-1]):
                r.stop("dict-key", "objects put into an outside set")
    r.mutate(owner, func, (owner, *copies))


# ---- constructors -------------------------------------------------------------------

@rule(list, tuple, kind="allocates")
def sequence_type(r, func, args, kwargs):
    for arg in args:
        items_of(r, arg)


@rule(set, frozenset, kind="allocates")
def set_type(r, func, args, kwargs):
    for arg in args:
        if isinstance(arg, (set, frozenset)):
            r.read_content(arg)
        else:
            each_item(r, arg, lambda item: hashes(r, item))


@rule(dict, kind="allocates")
def dict_type(r, func, args, kwargs):
    merged(r, args, kwargs)


add(nothing, "allocates", *slots(list, "__new__"), *slots(dict, "__new__"), *slots(set, "__new__"))


@rule(*slots(tuple, "__new__"), *slots(frozenset, "__new__"), kind="allocates")
def immutable_new(r, func, args, kwargs):
    """tuple.__new__(cls, items)"""
    for arg in args[1:]:
        if func is tuple.__new__:
            items_of(r, arg)
        else:
            each_item(r, arg, lambda item: hashes(r, item))


@rule(*slots(list, "__init__"), *slots(set, "__init__"), kind="mutates")
def fill(r, func, args, kwargs):
    """list.__init__(self, items); *self* is None when the type is being called."""
    if args[0] is not None and r.know(args[0]) is not None:
        r.stop("object-write", f"{func.__objclass__.__name__}.__init__ on an outside object")
    for arg in args[1:]:
        if func is list.__init__:
            items_of(r, arg)
        else:
            each_item(r, arg, lambda item: hashes(r, item))


@rule(*slots(dict, "__init__"), kind="mutates")
def fill_dict(r, func, args, kwargs):
    if args[0] is not None and r.know(args[0]) is not None:
        r.stop("object-write", "dict.__init__ on an outside object")
    merged(r, args[1:], kwargs)


@rule(*[cls.__dict__["__class_getitem__"] for cls in (list, tuple, dict, set, frozenset)],
      kind="pure")
def parametrized(r, func, args, kwargs):
    """list[int]"""
    for arg in args:
        value(r, arg)
