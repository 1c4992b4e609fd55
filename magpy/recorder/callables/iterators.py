"""Rules of what gives items one by one: map, filter, zip, enumerate, reversed, generators.

A C iterator over an outside container counts as a read of that container when it is
made. What it *calls* it calls later; the functions are looked at when somebody takes
items (`pulled`), by looking into the iterator without advancing it.
"""

import operator
import types

from magpy.recorder.callables.reads import (
    TIMELESS, calls, calls_later, index, inputs, is_c, iterates, makes_new, name_of, remaining,
    same_or_equal, truth, unseen, watch)
from magpy.recorder.callables.registry import KINDS, TORCH_OPERATORS, add, is_a, rule, slots

GETTERS = (operator.itemgetter, operator.attrgetter, operator.methodcaller)
CALLABLE_ITERATOR = type(iter(int, 1))


HEAP_TYPE = 1 << 9


def kind_of(func):
    """The kind of the rule of *func*; None when it has none. Bound methods of C types go
    by the method."""
    if type(func).__flags__ & HEAP_TYPE and type(func).__hash__ is not object.__hash__ or type(func).__hash__ is None:
        return None             # it has no rule, and may hash by code of the user's
    if func in TORCH_OPERATORS:
        return "calls"
    kind = KINDS.get(func)
    owner = getattr(func, "__self__", None) if is_a(func, types.BuiltinFunctionType) else None
    if kind is None and is_a(owner, type):
        kind = KINDS.get(next((vars(base)[func.__name__] for base in owner.__mro__
                               if func.__name__ in vars(base)), None))
    elif kind is None and is_a(func, types.BuiltinFunctionType) and owner is not None:
        kind = KINDS.get(getattr(type(owner), func.__name__, None))
    elif kind is None and is_a(func, GETTERS):
        kind = "calls"
    return kind


def changes_own(r, func):
    """Does *func* change an object of the recording's own? When does not matter, then."""
    return kind_of(func) == "mutates" and is_a(func, types.BuiltinFunctionType) \
        and r.know(func.__self__) is None


# ---- making them ----------------------------------------------------------------------

@rule(map, filter, kind="allocates")
def callback_type(r, func, args, kwargs):
    if args and args[0] is not None:
        callback = args[0]
        if is_a(callback, types.FunctionType):
            r.know(callback)
        elif is_a(callback, types.MethodType):
            calls(r, callback, ())
        elif kind_of(callback) not in TIMELESS and not is_a(callback, type) \
                and not changes_own(r, callback):
            r.stop("unknown-callable", f"{func.__name__} of {name_of(callback)}")
    for source in args[1:]:
        iterates(r, source)


@rule(zip, kind="allocates")
def zip_type(r, func, args, kwargs):
    for source in args:
        iterates(r, source)


@rule(enumerate, kind="allocates")
def enumerate_type(r, func, args, kwargs):
    iterates(r, args[0] if args else kwargs["iterable"])
    for start in (*args[1:], *[kwargs[name] for name in kwargs if name == "start"]):
        index(r, start)


@rule(reversed, kind="allocates")
def reversed_type(r, func, args, kwargs):
    sequence = args[0]
    if type(sequence) is tuple:
        r.read_content(sequence)
    elif not r.special("__reversed__", (sequence,)):
        r.special("__len__", (sequence,))
        iterates(r, sequence)


add(lambda r, func, args, kwargs: None, "allocates",
    *[cls.__new__ for cls in (map, filter, zip, enumerate, reversed)])


# ---- taking from them -------------------------------------------------------------------

def pulled(r, iterator):
    """Somebody takes items out of *iterator*: its C callback runs."""
    kind = type(iterator)
    if kind in (map, filter):
        callback = iterator.__reduce__()[1][0]
        columns = [remaining(r, each) for each in inputs(iterator)]
        if kind is filter and callback in (None, bool):
            for source in inputs(iterator):
                unseen(r, source, lambda item: truth(r, item))
        elif kind is filter and not is_c(callback):
            watch(r, getattr(callback, "__func__", callback), lambda found: truth(r, found))
        elif is_c(callback):
            if kind is filter and not makes_new(callback):
                r.stop("unknown-callable", f"filter of {name_of(callback)}")
            if any(column is None for column in columns):
                calls_later(r, callback)
            else:
                for items in zip(*columns):
                    calls(r, callback, items)
    if kind in (map, filter, zip, enumerate):
        for source in inputs(iterator):
            pulled(r, source)


@rule(*[method for cls in (map, filter, zip, enumerate, reversed)
        for method in slots(cls, "__iter__ __next__")], kind="calls")
def composed_iterator(r, func, args, kwargs):
    if r.know(args[0]) is not None:
        r.stop("external-iterator", type(args[0]).__name__)
    pulled(r, args[0])


@rule(*slots(CALLABLE_ITERATOR, "__iter__ __next__"), kind="calls")
def callable_iterator(r, func, args, kwargs):
    """iter(function, sentinel): C compares what the function gives with the sentinel."""
    if r.know(args[0]) is not None:
        r.stop("external-iterator", type(args[0]).__name__)
    parts = args[0].__reduce__()[1]
    if len(parts) == 2 and not is_c(parts[0]):
        watch(r, getattr(parts[0], "__func__", parts[0]),
              lambda found: same_or_equal(r, found, parts[1]))


@rule(*slots(types.GeneratorType, "__iter__ __next__ send throw close"), kind="calls")
def generator_method(r, func, args, kwargs):
    if r.know(args[0]) is not None:
        r.stop("external-generator", args[0].__qualname__)
    for thrown in args[1:] if func.__name__ == "throw" else ():
        if is_a(thrown, BaseException) and r.know(thrown) is not None:
            r.stop("object-write", f"an outside {type(thrown).__qualname__} is thrown")
        if is_a(thrown, type):
            r.call(thrown, (), {})


async def _coroutine():
    pass


async def _asynchronous():
    yield


def asynchronous_types():
    """What a coroutine or an asynchronous generator hands out to be driven."""
    coroutine, generator = _coroutine(), _asynchronous()
    found = [coroutine.__await__(), generator.__anext__(), generator.aclose()]
    for each in found:
        each.close()
    return {type(each) for each in found}


@rule(*slots(types.CoroutineType, "__await__ send throw close"),
      *slots(types.AsyncGeneratorType, "__aiter__ __anext__ asend athrow aclose"),
      *[method for kind in asynchronous_types()
        for method in slots(kind, "__await__ __iter__ __next__ send throw close")], kind="calls")
def coroutine_method(r, func, args, kwargs):
    """One that the recording made runs as generators do; who drives it is recorded, too."""
    if r.know(args[0]) is not None:
        r.stop("async", func.__qualname__)
    for arg in args[1:]:
        r.know(arg)


@rule(aiter, anext, kind="calls")
def asynchronous_item(r, func, args, kwargs):
    if len(args) > 1:
        r.stop("async", "anext with a default")
    r.know(args[0])
    r.special(f"__{func.__name__}__", args)


@rule(next, kind="calls")
def next_item(r, func, args, kwargs):
    iterator = args[0]
    r.know(iterator)
    r.special("__next__", (iterator,))


@rule(iter, kind="allocates")
def iter_made(r, func, args, kwargs):
    if len(args) == 1:
        iterates(r, args[0])
    elif not is_a(args[0], types.FunctionType):
        calls_later(r, args[0])
    else:
        r.know(args[0])
