"""Rules of the C parts of collections: OrderedDict, defaultdict, deque, namedtuple's
fields, Counter's helper. The rest of that module is Python, and recorded as such."""

import _collections
from collections import OrderedDict, defaultdict, deque

from magpy.recorder.callables import mappings, sequences
from magpy.recorder.callables.reads import (
    calls, compare, each_item, hashes, index, internal, items_of, known, plain, same_or_equal,
    stops, text)
from magpy.recorder.callables.registry import FIELD_TYPES, KINDS, RULES, add, is_a, rule, slots

# ---- OrderedDict: a dict with its own methods -------------------------------------------------

SAME_AS_DICT = """__getitem__ __contains__ __iter__ __reversed__ __eq__ __ne__ __or__ __ror__
    __ior__ __delitem__ __setitem__ copy keys values items pop popitem setdefault update clear
    get __len__ __lt__ __le__ __gt__ __ge__ __repr__ __init__"""


def like_dict(name):
    inherited = RULES[dict.__dict__[name]]

    def apply(r, func, args, kwargs):
        inherited(r, func, args, kwargs)
    return apply


for _name in SAME_AS_DICT.split():
    if _name in OrderedDict.__dict__ and _name not in ("update", "__ior__"):
        add(like_dict(_name), KINDS[dict.__dict__[_name]], OrderedDict.__dict__[_name])


@rule(OrderedDict.update, *slots(OrderedDict, "__ior__"), kind="mutates")
def ordered_update(r, func, args, kwargs):
    new = mappings.merged(r, args[1:], kwargs, keys=True)
    node = r.know(args[0])
    if node is None:
        return
    if new is None:
        r.stop("object-write", "update of an outside dict, from an iterator")
    if not all(mappings.safe_key(key) for key, _ in new):
        r.stop("dict-key", "an object put into an outside dict")
    new = dict(new)
    if r.mutate(args[0], OrderedDict.update, (args[0], new)):
        for key in new:
            if plain(key):
                r.written_key(node, "dict", key)


@rule(OrderedDict.move_to_end, kind="mutates")
def move_to_end(r, func, args, kwargs):
    hashes(r, args[1])
    r.read_key(args[0], args[1])
    r.mutate(args[0], func, args, dict(kwargs))


@rule(OrderedDict, kind="allocates")
def ordered_dict(r, func, args, kwargs):
    mappings.merged(r, args, kwargs, keys=True)


add(known, "allocates", OrderedDict.__new__, defaultdict.__new__, deque.__new__)
ORDERED_VIEWS = [type(view) for view in (
    OrderedDict().keys(), OrderedDict().values(), OrderedDict().items())]
add(mappings.view_method, "reads", *[
    method for view in ORDERED_VIEWS for method in slots(view, mappings.VIEW_METHODS)])
add(mappings.simple_iterator, "reads",
    *slots(type(iter(OrderedDict())), "__iter__ __next__"))
add(mappings.dict_fromkeys, "allocates", OrderedDict.__dict__["fromkeys"])


# ---- defaultdict ----------------------------------------------------------------------------

FACTORY = defaultdict.__dict__["default_factory"]


@rule(defaultdict, *slots(defaultdict, "__init__"), kind="allocates")
def default_dict(r, func, args, kwargs):
    rest = args if func is defaultdict else args[1:]
    known(r, func, rest[:1], {})
    mappings.merged(r, rest[1:], kwargs)


@rule(*slots(defaultdict, "__missing__"), kind="mutates")
def missing(r, func, args, kwargs):
    """The factory makes the value, and C code puts it in: what it was is seen afterwards."""
    mapping, key = args
    node = r.know(mapping)
    factory = mapping.default_factory
    if node is not None:
        r.edge(node, "member", FACTORY, factory, f"{node.path}.default_factory")
    if factory is None:
        return
    calls(r, factory, ())
    if node is not None:
        r.note_write(node)
        r.at_end(lambda: entry_made(r, mapping, key))


def entry_made(r, mapping, key):
    if dict.__contains__(mapping, key):
        mappings.change_key(r, mapping, key, dict.__setitem__,
                            (mapping, key, dict.__getitem__(mapping, key)))


@rule(*slots(defaultdict, "copy __copy__ __repr__ __or__ __ror__"), kind="reads")
def default_dict_method(r, func, args, kwargs):
    for arg in args:
        if is_a(arg, dict):
            r.read_mapping(arg)
    if func.__name__ in ("__or__", "__ror__"):
        r.read_attr(args[0], "copy")
    elif func.__name__ == "__repr__":
        text(r, args[0].default_factory, "__repr__")
        for item in dict.items(args[0]):
            text(r, item, "__repr__")


# ---- deque ------------------------------------------------------------------------------------

@rule(deque, *slots(deque, "__init__"), kind="allocates")
def deque_made(r, func, args, kwargs):
    rest = args if func is deque else args[1:]
    if func is not deque and args[0] is not None:
        internal(r, args[0])
    given = dict(zip(("iterable", "maxlen"), rest)) | kwargs
    items_of(r, given.get("iterable", ()))
    index(r, given.get("maxlen"))


@rule(deque.append, deque.appendleft, deque.clear, deque.reverse, deque.rotate, kind="mutates")
def deque_change(r, func, args, kwargs):
    r.mutate(args[0], func, args)


@rule(deque.extend, deque.extendleft, *slots(deque, "__iadd__"), kind="mutates")
def deque_extend(r, func, args, kwargs):
    owner, source = args
    if r.know(owner) is None:
        items_of(r, source)
    else:
        method = deque.extend if func.__name__ == "__iadd__" else func
        r.mutate(owner, method, (owner, sequences.copied(r, source, "extend")))


FIELD_TYPES.add(deque)      # maxlen


@rule(*slots(deque, "__len__"), kind="reads")
def deque_len(r, func, args, kwargs):
    r.read_len(args[0])


@rule(*slots(deque, "__getitem__"), kind="reads")
def deque_getitem(r, func, args, kwargs):
    index(r, args[1])
    r.read_index(args[0], args[1])


@rule(*slots(deque, """__iter__ __reversed__ __contains__ __eq__ __ne__ __lt__ __le__ __gt__ __ge__
    __add__ __mul__ __rmul__ __repr__ copy __copy__ count index"""), kind="reads")
def deque_method(r, func, args, kwargs):
    for arg in args:
        if is_a(arg, deque):
            r.read_content(arg)
    if func.__name__ in ("__contains__", "count", "index"):
        for item in args[0]:
            same_or_equal(r, item, args[1])
    elif func.__name__ == "__repr__":
        for item in args[0]:
            text(r, item, "__repr__")
    elif len(args) == 2 and is_a(args[1], deque):
        for a, b in zip(*args):
            same_or_equal(r, a, b)
            if func.__name__ not in ("__eq__", "__ne__", "__add__"):
                compare(r, a, b, func.__name__)


@rule(deque.pop, deque.popleft, kind="mutates")
def deque_pop(r, func, args, kwargs):
    r.read_len(args[0])
    r.read_index(args[0], -1 if func is deque.pop else 0)
    r.mutate(args[0], func, args)


@rule(*slots(deque, "insert remove __setitem__ __delitem__ __imul__"), kind="mutates")
def deque_edit(r, func, args, kwargs):
    r.read_len(args[0])
    if func is deque.remove:
        r.read_content(args[0])
        for item in args[0]:
            same_or_equal(r, item, args[1])
    else:
        index(r, args[1])
    r.mutate(args[0], func, args)


add(mappings.simple_iterator, "reads", *slots(type(iter(deque())), "__iter__ __next__ __length_hint__"),
    *slots(type(reversed(deque())), "__iter__ __next__ __length_hint__"))


# ---- namedtuple, Counter -------------------------------------------------------------------------

@rule(*slots(_collections._tuplegetter, "__get__"), kind="reads")
def namedtuple_field(r, func, args, kwargs):
    descriptor, obj = args[:2]
    if is_a(obj, tuple):
        r.read_index(obj, descriptor.__reduce__()[1][0])


add(known, "allocates", _collections._tuplegetter)
add(stops("object-write"), "mutates", *slots(_collections._tuplegetter, "__set__ __delete__"))


@rule(_collections._count_elements, kind="mutates")
def count_elements(r, func, args, kwargs):
    mapping, source = args
    outside, keys = r.know(mapping) is not None, []

    def counted(item):
        hashes(r, item)
        if outside:
            r.read_key(mapping, item)
            keys.append(item)
    each_item(r, source, counted)
    if outside:
        mappings.changed_at_end(r, mapping, keys)
