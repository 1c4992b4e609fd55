"""Rules of what sorts and searches: bisect, heapq, and how any C code compares many items.

Which two items C compares depends on the items; so each is looked at as if it were compared
with every other one.
"""

import _bisect
import _heapq
import types

from magpy.recorder.callables.reads import (
    calls, compare, compared, index, is_c, items_of, plain, watch)
from magpy.recorder.callables.registry import add, is_a, rule

SEQUENCES = (list, tuple, str, bytes, range)


def all_plain(r, owner, *others):
    """The items of an outside list that is changed by their order: at replay they are
    compared again, which must run no code."""
    if r.know(owner) is not None and not all(plain(item) for item in (*owner, *others)):
        r.stop("object-write", "an outside list of objects kept in order")


# ---- bisect -----------------------------------------------------------------------------------

def searched(r, func, args, kwargs):
    """The sequence, the item that is looked for, bounds, perhaps a key."""
    sequence, wanted, *bounds = arguments(args, kwargs)
    key = kwargs.get("key")
    if type(sequence) not in SEQUENCES:
        r.stop("unknown-callable", f"{func.__name__} in a {type(sequence).__qualname__}")
    for bound in bounds:
        index(r, bound)
    items = items_of(r, sequence)
    compared(r, wanted)
    if key is None:
        for item in items:
            compared(r, item)
    elif is_c(key):
        r.stop("unknown-callable", f"{func.__name__} by a C function")
    else:
        calls(r, key, ())
        watch(r, getattr(key, "__func__", key), lambda found: compared(r, found))


def arguments(args, kwargs):
    given = dict(zip(("a", "x", "lo", "hi"), args))
    given.update(kwargs)
    return [given[name] for name in ("a", "x", "lo", "hi") if name in given]


add(searched, "calls", _bisect.bisect_left, _bisect.bisect_right)


@rule(_bisect.insort_left, _bisect.insort_right, kind="mutates")
def inserted(r, func, args, kwargs):
    searched(r, func, args, kwargs)
    owner, item = arguments(args, kwargs)[:2]
    all_plain(r, owner, item)
    if kwargs.get("key") is not None and r.know(owner) is not None:
        r.stop("object-write", "an outside list kept in order by a key")
    r.mutate(owner, func, args, dict(kwargs))


# ---- heapq ------------------------------------------------------------------------------------

@rule(*[each for each in vars(_heapq).values() if is_a(each, types.BuiltinFunctionType)],
      kind="mutates")
def heap_changed(r, func, args, kwargs):
    heap = args[0]
    if not is_a(heap, list):
        return              # a TypeError is to come
    r.read_content(heap)
    for item in (*list.__iter__(heap), *args[1:]):
        compared(r, item)
    all_plain(r, heap, *args[1:])
    r.mutate(heap, func, args)
