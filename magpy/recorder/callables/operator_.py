"""Rules of the operator module: each function is the instruction of the same meaning."""

import operator
from collections import deque

from magpy.recorder.callables.reads import (
    calls, compare, convert, each_item, fixed, index, iterates, known, nothing, operate, plain,
    same_or_equal, truth)
from magpy.recorder.callables.registry import IDENTITY_TYPES, add, rule, slots

BINARY = "add and_ floordiv lshift matmul mul mod or_ pow rshift sub truediv xor".split()


NEVER_REFUSES = (list, deque)      # their in-place operators take anything, or raise
SETS = (set, frozenset)


def done_in_place(left, right):
    return type(left) in NEVER_REFUSES or type(left) is set and type(right) in SETS \
        or type(left) is dict and type(right) is dict


def binary(name, inplace):
    def apply(r, func, args, kwargs):
        left, right = args
        if inplace and not plain(left):
            if r.special(f"__i{name}__", args) and done_in_place(left, right):
                return
        operate(r, name, left, right)
    return apply


for _name in BINARY:
    _plain = _name.rstrip("_")
    add(binary(_plain, False), "calls", getattr(operator, _name))
    add(binary(_plain, True), "calls", getattr(operator, f"i{_plain}"))

for _name in "lt le eq ne gt ge".split():
    def _compare(r, func, args, kwargs, name=f"__{_name}__"):
        compare(r, *args, name)
    add(_compare, "calls", getattr(operator, _name))


@rule(operator.neg, operator.pos, operator.abs, operator.invert, operator.inv, kind="calls")
def unary(r, func, args, kwargs):
    if not plain(args[0]):
        r.special({"inv": "__invert__"}.get(func.__name__, f"__{func.__name__}__"), args)


@rule(operator.call, kind="calls")
def called(r, func, args, kwargs):
    calls(r, args[0], args[1:], kwargs)


@rule(operator.index, kind="calls")
def as_index(r, func, args, kwargs):
    index(r, args[0])


@rule(operator.truth, operator.not_, kind="calls")
def as_truth(r, func, args, kwargs):
    truth(r, args[0])


@rule(operator.is_, operator.is_not, kind="reads")
def identity(r, func, args, kwargs):
    r.compare_identity(*args)


@rule(operator.getitem, operator.setitem, operator.delitem, kind="calls")
def item_access(r, func, args, kwargs):
    if not plain(args[0]):
        r.special(f"__{func.__name__}__", args)


@rule(operator.contains, kind="calls")
def contains(r, func, args, kwargs):
    if plain(args[0]):
        return
    if not r.special("__contains__", args):
        iterates(r, args[0])


@rule(operator.concat, kind="calls")
def concat(r, func, args, kwargs):
    operate(r, "add", *args)


@rule(operator.iconcat, kind="calls")
def concat_inplace(r, func, args, kwargs):
    if not r.special("__iadd__", args):
        operate(r, "add", *args)


@rule(operator.countOf, operator.indexOf, kind="calls")
def search(r, func, args, kwargs):
    each_item(r, args[0], lambda item: same_or_equal(r, item, args[1]))


@rule(operator.length_hint, kind="calls")
def length_hint(r, func, args, kwargs):
    if not plain(args[0]) and not r.special("__len__", args[:1]):
        convert(r, args[0], "__length_hint__")


# ---- itemgetter, attrgetter, methodcaller ----------------------------------------------------

GETTERS = (operator.itemgetter, operator.attrgetter, operator.methodcaller)
IDENTITY_TYPES.update(GETTERS)
add(known, "allocates", *GETTERS, *[cls.__new__ for cls in GETTERS])
add(nothing, "pure", *[method for cls in GETTERS for method in slots(cls, "__init__")])


def arguments(getter):
    """What the getter was made with. No guard can read that, but it cannot change."""
    return getter.__reduce__()[1]


@rule(*slots(operator.itemgetter, "__call__"), kind="calls")
def get_items(r, func, args, kwargs):
    for key in arguments(args[0]):
        if not plain(args[1]):
            r.special("__getitem__", (args[1], key))


@rule(*slots(operator.attrgetter, "__call__"), kind="calls")
def get_attributes(r, func, args, kwargs):
    for name in arguments(args[0]):
        obj = args[1]
        for part in name.split("."):
            r.read_attr(obj, part)
            if "." in name:
                obj = step(r, obj, part)


def step(r, obj, name):
    """obj.name for a dotted name, if no code can run on the way."""
    if not hasattr(obj, "__dict__") or name not in vars(obj):
        r.stop("object-read", f"attribute {name!r} within a dotted attrgetter")
    return vars(obj)[name]


@rule(*slots(operator.methodcaller, "__call__"), kind="calls")
def call_named(r, func, args, kwargs):
    getter, obj = args
    state = arguments(getter)
    if getter.__reduce__()[0] is not operator.methodcaller:
        r.stop("unknown-callable", "methodcaller with keyword arguments")
    name, rest = state[0], state[1:]
    r.read_attr(obj, name)
    method = r.type_lookup(type(obj), name)
    if not fixed(method) and not hasattr(method, "__code__"):
        r.stop("unknown-callable", f"methodcaller({name!r}) on a {type(obj).__qualname__}")
    calls(r, method, (obj, *rest))
