"""Rules of functools: partial objects, reduce, caches."""

import functools
import gc
import sys
import types

from magpy.refgraph.graph import ABSENT
from magpy.recorder.callables.sequences import BY_FUNCTION
from magpy.recorder.callables.reads import (
    calls, fixed, hashes, is_c, items_of, iterates, known, nothing, plain, stops)
from magpy.recorder.callables.registry import IDENTITY_TYPES, add, is_a, rule, slots

PARTIAL = functools.partial
CACHED = functools._lru_cache_wrapper
IDENTITY_TYPES.add(CACHED)


@rule(PARTIAL, PARTIAL.__new__, kind="allocates")
def partial_made(r, func, args, kwargs):
    """partial(partial(f, ...), ...) takes over what the inner one holds."""
    inner = args[1] if func is PARTIAL.__new__ else args[0]
    known(r, func, args[1:], kwargs)
    if is_a(inner, PARTIAL):
        parts_of(r, inner)
    elif not is_a(inner, types.FunctionType):
        r.know(inner)


add(nothing, "pure", *slots(PARTIAL, "__init__"))


def parts_of(r, partial):
    """Function, arguments and keywords of a partial object, read as C does: its fields."""
    node = r.know(partial)
    parts = (partial.func, partial.args, partial.keywords)
    if node is not None:
        for name, part in zip(("func", "args", "keywords"), parts):
            r.edge(node, "member", PARTIAL.__dict__[name], part, f"{node.path}.{name}")
        r.read_content(parts[1])
        r.read_content(parts[2])
    return parts


@rule(*slots(PARTIAL, "__call__"), kind="calls")
def partial_called(r, func, args, kwargs):
    inner, first, named = parts_of(r, args[0])
    calls(r, inner, (*first, *args[1:]), {**named, **kwargs})


@rule(functools.reduce, kind="calls")
def reduced(r, func, args, kwargs):
    """The function sees each item once, next to the result so far."""
    callback = args[0]
    if not is_c(callback):
        calls(r, callback, ())
        iterates(r, args[1])
        return
    items = items_of(r, args[1])
    if items is None:
        r.stop("unknown-callable", "reduce() of an iterator by a C function")
    items = [*args[2:], *items]
    for pair in zip(items, items[1:]):
        calls(r, callback, pair)


# ---- caches ---------------------------------------------------------------------------------

@rule(*slots(CACHED, "__call__"), kind="calls")
def cached_call(r, func, args, kwargs):
    """An lru_cache lives outside the call. Where its arguments and result are plain values,
    the guard asks it again; it answers from what it keeps, or makes the call anew."""
    cached, rest = args[0], args[1:]
    wrapped = cached.__wrapped__
    if r.is_internal(cached):
        for arg in (*rest, *kwargs.values()):
            hashes(r, arg)
        calls(r, wrapped, rest, kwargs)
        return
    name = f"{wrapped.__module__}.{wrapped.__qualname__}"
    if wrapped.__module__ == "transformers.utils.logging":
        if not all(plain(arg) for arg in rest[1:]):
            r.stop("effect", name)
        r.effect(cached, rest, dict(kwargs))        # warns once, also at replay
        r.leaf()
    elif not all(fixed(arg) for arg in (*rest, *kwargs.values())) or \
            cached.cache_parameters()["maxsize"] == 0:
        r.stop("unknown-callable", f"{name}, through functools.lru_cache")
    else:
        r.leaf()
        key = (cached, repr((rest, kwargs)))
        if key not in r.asked:
            r.after_call(lambda result: answered(r, cached, rest, kwargs, name, key, result))


def answered(r, cached, args, kwargs, name, key, result):
    """The cache has given *result*, which it keeps unless it raised."""
    if result is ABSENT:
        r.stop("unknown-callable", f"{name}, through functools.lru_cache, raises")
    if not fixed(result):
        r.stop("unknown-callable", f"{name}: functools.lru_cache keeps an object")
    if cached.__wrapped__.__module__ in sys.stdlib_module_names:
        return              # Optional[int]: nothing else decides
    info = cached.cache_info()
    if info.currsize == info.maxsize:       # each question pushes another answer out
        r.stop("unknown-callable", f"{name}: functools.lru_cache is full")
    r.asked.add(key)
    kept, key_there = kept_answers(cached), (args[0] if len(args) == 1 and type(args[0]) in (int, str) else args)
    if kwargs or cached.cache_parameters()["typed"] or kept is None or key_there not in kept:
        r.stop("unknown-callable", f"{name}, through functools.lru_cache")
    # Asked anew, the function would run within a guard.
    r.read_state(f"{name}{key[1]} is kept", True, functools.partial(dict.__contains__, kept, key_there))
    r.read_state(f"{name}{key[1]}", result, functools.partial(cached, *args, **kwargs))


def kept_answers(cached):
    """The dict of a cache (Modules/_functoolsmodule.c), which it shows to nobody but the collector."""
    own = cached.__dict__
    found = [each for each in gc.get_referents(cached) if type(each) is dict and each is not own]
    return found[0] if len(found) == 1 else None


add(known, "allocates", CACHED, CACHED.__new__)
add(nothing, "pure", *slots(CACHED, "__get__"))
add(stops("object-write"), "mutates", CACHED.cache_clear)
add(stops("object-read"), "state", CACHED.cache_info)


@rule(functools.cmp_to_key, kind="allocates")
def cmp_to_key(r, func, args, kwargs):
    for arg in (*args, *kwargs.values()):
        if is_c(arg):
            r.stop("unknown-callable", "cmp_to_key of a C function")
        calls(r, arg, ())


add(nothing, "calls", *slots(BY_FUNCTION, "__call__ __lt__ __le__ __gt__ __ge__ __eq__ __ne__"))
