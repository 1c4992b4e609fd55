"""Rules of dict, its views, and the iterators of the builtin containers.

A change of a single entry is told apart from others: what the recording has written there
itself needs no guard when it is read again.
"""

import types
from collections import OrderedDict

from magpy.recorder.callables.reads import (
    DICT_VIEWS, SIMPLE_ITERATORS, each_item, fixed, hashes, internal, items_of, nothing,
    safe_key, same_or_equal, stops, text, unseen, watch)
from magpy.recorder.callables.registry import add, is_a, rule, slots
from magpy.refgraph.graph import ABSENT

# ---- dicts ------------------------------------------------------------------------

def by_keys(func):
    """The methods of OrderedDict ask any mapping but a dict itself for its keys and what it has under them."""
    return getattr(func, "__objclass__", func) is OrderedDict


@rule(*slots(dict, "__len__"))
def dict_len(r, func, args, kwargs):
    r.read_len(args[0])


@rule(*slots(dict, "__repr__"), *[
    method for view in DICT_VIEWS for method in slots(view, "__repr__")])
def dict_repr(r, func, args, kwargs):
    """A dict's text, or a view's: the views that a recording has are of a mapping that it has read."""
    if is_a(args[0], dict):
        r.read_content(args[0])
        if by_keys(func) and not r.read_mapping(args[0], True):
            r.stop("object-read", f"text of {type(args[0]).__qualname__}, which has keys of its own")
        shown = [part for item in dict.items(args[0]) for part in item]
    else:
        shown = items_of(r, args[0])
    for part in shown:
        text(r, part, "__repr__")


add(stops("object-read"), "random", *slots(dict, "__sizeof__"))


@rule(dict.get, *slots(dict, "__contains__"))
def dict_lookup(r, func, args, kwargs):
    hashes(r, args[1])
    r.read_key(args[0], args[1])


@rule(*slots(dict, "__getitem__"))
def dict_getitem(r, func, args, kwargs):
    mapping, key = args
    hashes(r, key)
    r.read_key(mapping, key)
    if type(mapping) is not dict and (r.know(mapping) is None or not dict.__contains__(mapping, key)):
        r.special("__missing__", (mapping, key))


@rule(*slots(dict, "__iter__ __reversed__ keys values items"), kind="allocates")
def dict_content(r, func, args, kwargs):
    r.read_content(args[0])


@rule(dict.copy, kind="allocates")
def dict_copy(r, func, args, kwargs):
    r.read_mapping(args[0], by_keys(func))


@rule(*slots(dict, "__eq__ __ne__"))
def dict_equal(r, func, args, kwargs):
    left, right = args
    if not is_a(right, dict):
        return
    r.read_content(left)
    r.read_content(right)
    if dict.__len__(left) != dict.__len__(right):
        return
    for key in dict.__iter__(left):
        hashes(r, key)
        if not safe_key(key):
            r.stop("dict-key", f"dicts that have a {type(key).__qualname__} as key are compared")
    for key in dict.__iter__(left):
        if dict.__contains__(right, key):
            same_or_equal(r, dict.__getitem__(left, key), dict.__getitem__(right, key))


add(nothing, "pure", *slots(dict, "__lt__ __le__ __gt__ __ge__"))


@rule(*slots(dict, "__or__ __ror__"), kind="allocates")
def dict_union(r, func, args, kwargs):
    if all(is_a(arg, dict) for arg in args):
        for arg in args:
            r.read_mapping(arg, by_keys(func))


@rule(dict.__dict__["fromkeys"], kind="allocates")
def dict_fromkeys(r, func, args, kwargs):
    """args: the class, the keys, perhaps a value."""
    if args[0] not in (dict, OrderedDict):
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
    if r.know(args[0]) is not None and not dict.__contains__(args[0], args[1]):
        change_key(r, args[0], args[1], func, args, kwargs)


@rule(dict.pop, kind="mutates")
def dict_pop(r, func, args, kwargs):
    hashes(r, args[1])
    r.read_key(args[0], args[1])
    if r.know(args[0]) is not None and dict.__contains__(args[0], args[1]):
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
        changes_by_generator(r, owner, others, kwargs)
    elif not all(safe_key(key) for key, _ in new):
        r.stop("dict-key", "an object put into an outside dict")
    elif r.mutate(owner, dict.update, (owner, dict(new))):
        for key, _ in new:
            if fixed(key):
                r.written_key(node, "dict", key)


def changes_by_generator(r, owner, sources, kwargs):
    """C code puts into an outside dict what a generator gives; which keys that are is seen as
    they come, and what became of them afterwards."""
    if len(sources) != 1 or type(sources[0]) is not types.GeneratorType:
        r.stop("object-write", "update of an outside dict, from an iterator")
    keys = []

    def given(pair):
        if type(pair) not in (tuple, list) or len(pair) != 2:
            r.stop("object-write", "update of an outside dict by no plain pair")
        if not safe_key(pair[0]):
            r.stop("dict-key", "an object put into an outside dict")
        keys.append(pair[0])
    watch(r, sources[0], given)
    changed_at_end(r, owner, keys, kwargs)


def changed_at_end(r, owner, keys, more=()):
    """The entries of *keys*, a list that grows while C code changes them, are an effect."""
    node = r.know(owner)
    if not all(safe_key(key) for key in dict.__iter__(owner)):
        r.stop("dict-key", "an outside dict that has objects as keys is updated")
    r.note_write(node)
    done = len(r.effects)

    def found():
        if any(effect.args and effect.args[0] is owner for effect in r.effects[done:]):
            r.stop("object-write", "an outside dict changed by what it is updated from")
        new = {key: dict.__getitem__(owner, key) for key in (*keys, *more) if dict.__contains__(owner, key)}
        if is_a(owner, OrderedDict):    # dict.update() knows nothing of its order
            for key, item in new.items():
                r.mutate(owner, OrderedDict.__setitem__, (owner, key, item))
        elif new:
            r.mutate(owner, dict.update, (owner, new))
        for key in new:
            if fixed(key):
                r.written_key(node, "dict", key)
    r.at_end(found)


def merged(r, others, kwargs, keys=False):
    """The pairs of which dict(*others, **kwargs) is made; None when an iterator will tell. *keys*: see by_keys()."""
    new = []
    for other in others:
        part = entries(r, other, keys)
        if part is None:
            return None
        new += part
    return new + list(kwargs.items())


def entries(r, source, keys=False):
    """The entries of a mapping, or of an iterable of pairs, as pairs: a dict of them would hash the keys."""
    if type(source) is types.MappingProxyType:
        internal(r, source)
        return entries(r, r.behind_proxy(source), keys)
    if is_a(source, dict):
        if r.read_mapping(source, keys):
            return list((OrderedDict if is_a(source, OrderedDict) else dict).items(source))
        return None
    r.read_attr(source, "keys")
    if hasattr(type(source), "keys") or r.own_attribute(source, "keys") is not ABSENT:
        r.read_mapping(source)
        return None
    pairs = items_of(r, source)
    if pairs is None:
        unseen(r, source, lambda pair: items_of(r, pair))
        return None
    for pair in pairs:
        items_of(r, pair)
        if type(pair) not in (tuple, list) or len(pair) != 2:
            return None
        hashes(r, pair[0])
    return pairs


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


# ---- constructors -------------------------------------------------------------------

@rule(dict, kind="allocates")
def dict_type(r, func, args, kwargs):
    merged(r, args, kwargs)


add(nothing, "allocates", *slots(dict, "__new__"))


@rule(*slots(dict, "__init__"), kind="mutates")
def dict_init(r, func, args, kwargs):
    """dict.__init__(self, ...); *self* is None when the type is being called."""
    if args[0] is not None and r.know(args[0]) is not None:
        r.stop("object-write", "dict.__init__ on an outside object")
    merged(r, args[1:], kwargs, by_keys(func))
