"""Rules of itertools. Each object is an iterator that hides what is below it, so what it
reads is read when it is made, and a function that it calls must be one that can be
called at any time (see reads.calls_later)."""

import itertools
import types

from magpy.recorder.callables.reads import (
    calls_later, each_item, hashes, index, is_c, items_of, iterates, nothing, number, truth,
    watch)
from magpy.recorder.callables.registry import add, rule, slots

TYPES = [each for each in vars(itertools).values() if isinstance(each, type)]
WITH_FUNCTION = {itertools.starmap: 0, itertools.filterfalse: 0, itertools.takewhile: 0,
                 itertools.dropwhile: 0, itertools.accumulate: 1, itertools.groupby: 1}


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
    return any(calls_c(each) for each in parts if not isinstance(each, int))


@rule(itertools.chain, itertools.product, itertools.zip_longest, itertools.combinations,
      itertools.combinations_with_replacement, itertools.permutations, itertools.islice,
      itertools.compress, itertools.cycle, itertools.pairwise, itertools.batched,
      itertools.tee, kind="allocates")
def composed(r, func, args, kwargs):
    for arg in args:
        if arg is not None and not isinstance(arg, int):
            hidden(r, arg)


@rule(itertools.chain.__dict__["from_iterable"], kind="allocates")
def chained(r, func, args, kwargs):
    """args: the class and the iterable of iterables."""
    items = items_of(r, args[1])
    if items is not None:
        for item in items:
            hidden(r, item)
    elif isinstance(args[1], types.GeneratorType):
        watch(r, args[1], lambda item: hidden(r, item))
    else:
        r.stop("unknown-callable", "chain.from_iterable of an iterator")


@rule(itertools.count, kind="allocates")
def counting(r, func, args, kwargs):
    for arg in (*args, *kwargs.values()):
        number(r, arg)


@rule(itertools.repeat, kind="allocates")
def repeated(r, func, args, kwargs):
    r.know(args[0])
    for arg in args[1:]:
        index(r, arg)


@rule(*WITH_FUNCTION, kind="allocates")
def with_function(r, func, args, kwargs):
    place = WITH_FUNCTION[func]
    callback = kwargs.get("key", kwargs.get("func", args[place] if len(args) > place else None))
    hidden(r, args[1 - place])
    if callback is not None:
        calls_later(r, callback)
    elif func is itertools.filterfalse:
        each_item(r, args[1], lambda item: truth(r, item))
    elif func is itertools.groupby:
        each_item(r, args[0], lambda item: hashes(r, item))
    elif func is itertools.accumulate and items_of(r, args[0]) is None:
        r.stop("unknown-callable", "accumulate of an iterator")


def internal_iterator(r, func, args, kwargs):
    """An iterator that the recording made; what it reads was read then."""
    if r.know(args[0]) is not None:
        r.stop("external-iterator", type(args[0]).__qualname__)


for _kind in (*TYPES, itertools._grouper, itertools._tee, itertools._tee_dataobject):
    add(internal_iterator, "calls", *slots(_kind, "__iter__ __next__ __copy__"))
    add(nothing, "allocates", _kind.__new__)
