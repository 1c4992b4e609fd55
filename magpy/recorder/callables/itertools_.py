"""Rules of itertools. Each object is an iterator that hides what is below it, so what it
reads is read when it is made, and a function that it calls must be one that can be
called at any time (see reads.calls_later)."""

import gc
import itertools
import types

from magpy.recorder.callables.reads import (
    calls_later, each_item, index, is_c, items_of, iterates, makes_new, name_of, nothing, number,
    operate, same_or_equal, truth, unseen, watch)
from magpy.recorder.callables.registry import add, is_a, rule, slots

TYPES = [each for each in vars(itertools).values() if is_a(each, type)]
WITH_FUNCTION = {itertools.starmap: 0, itertools.filterfalse: 0, itertools.takewhile: 0,
                 itertools.dropwhile: 0, itertools.accumulate: 1, itertools.groupby: 1}


def by_place(args, kwargs, *names):
    """All arguments by their place, where some were given by one of *names*."""
    given = dict(zip(names, args)) | {name: kwargs[name] for name in names if name in kwargs}
    return tuple([given.get(name) for name in names[:1 + max(map(names.index, given), default=-1)]])


def hidden(r, source):
    """An iterable that goes below an iterator that cannot be looked into."""
    iterates(r, source)
    if type(source) in (map, filter, zip, enumerate) and calls_c(source):
        r.stop("unknown-callable", f"{type(source).__name__} of a C function, within itertools")


def calls_c(iterator):
    kind = type(iterator)
    if kind not in (map, filter, zip, enumerate):
        return False
    parts = iterator.__reduce__()[1]
    if kind in (map, filter) and (parts[0] is None or is_c(parts[0])):
        return True
    return any(calls_c(each) for each in parts if not is_a(each, int))


@rule(itertools.chain, itertools.product, itertools.zip_longest, itertools.combinations,
      itertools.combinations_with_replacement, itertools.permutations, itertools.islice,
      itertools.compress, itertools.cycle, itertools.pairwise, itertools.batched,
      itertools.tee, kind="allocates")
def composed(r, func, args, kwargs):
    if set(kwargs) - {"repeat", "fillvalue", "n", "r", "strict"}:
        r.stop("unknown-callable", f"itertools.{func.__name__} with its iterable by name")
    for arg in args:
        if arg is not None and not is_a(arg, int):
            hidden(r, arg)
    if func is itertools.compress:
        each_item(r, args[1], lambda item: truth(r, item))


@rule(itertools.chain.__dict__["from_iterable"], kind="allocates")
def chained(r, func, args, kwargs):
    """args: the class and the iterable of iterables."""
    items = items_of(r, args[1])
    if items is not None:
        for item in items:
            hidden(r, item)
    else:
        unseen(r, args[1], lambda item: hidden(r, item))


@rule(itertools.count, kind="allocates")
def counting(r, func, args, kwargs):
    for arg in (*args, *kwargs.values()):
        number(r, arg)


@rule(itertools.repeat, kind="allocates")
def repeated(r, func, args, kwargs):
    args = by_place(args, kwargs, "object", "times")
    r.know(args[0])
    for arg in args[1:]:
        index(r, arg)


@rule(*WITH_FUNCTION, kind="allocates")
def with_function(r, func, args, kwargs):
    place = WITH_FUNCTION[func]
    if place:
        args = by_place(args, kwargs, "iterable", "func" if func is itertools.accumulate else "key")
    callback = args[place] if len(args) > place else None
    source = args[1 - place]
    hidden(r, source)
    if func is itertools.starmap:
        each_item(r, source, lambda item: items_of(r, item))
    if callback is not None:
        calls_later(r, callback)
        if is_c(callback) and not makes_new(callback):
            r.stop("unknown-callable", f"{func.__name__} of {name_of(callback)}")
    elif func is itertools.filterfalse:
        each_item(r, source, lambda item: truth(r, item))
    else:
        previous = []       # groupby compares neighbours, accumulate adds them up

        def seen(item):
            for other in previous:
                if func is itertools.groupby:
                    same_or_equal(r, other, item)
                else:
                    operate(r, "add", other, item)
            previous[:] = [item]
        each_item(r, source, seen)


def internal_iterator(r, func, args, kwargs):
    """An iterator that the recording made; what it reads was read then. What its Python
    functions give is looked at by C code, as a truth value or a key."""
    if r.know(args[0]) is not None:
        r.stop("external-iterator", type(args[0]).__qualname__)
    if type(args[0]) in DECIDED_BY:
        for part in gc.get_referents(args[0]):
            if is_a(part, (types.FunctionType, types.MethodType)):
                watch(r, getattr(part, "__func__", part), DECIDED_BY[type(args[0])](r))


DECIDED_BY = dict.fromkeys(
    (itertools.filterfalse, itertools.takewhile, itertools.dropwhile),
    lambda r: lambda found: truth(r, found))
DECIDED_BY[itertools.groupby] = lambda r: lambda found: same_or_equal(r, found, found)


for _kind in (*TYPES, itertools._grouper, itertools._tee, itertools._tee_dataobject):
    add(internal_iterator, "calls", *slots(_kind, "__iter__ __next__ __copy__"))
    add(nothing, "allocates", _kind.__new__)
