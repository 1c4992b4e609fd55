"""What gives items one by one: iterators of the builtin containers, zip and the like, views of
dicts, and generators that have not started.

An iterator is its container and how far it has come; making it again runs no code. That of a
dict or set cannot be made at a position.
"""

import gc
import inspect
import types

from magpy.reasons import StopCapture
from magpy.refgraph.kinds.base import Fixed

LIST, TUPLE, RANGE = (type(iter(each)) for each in ([], (), range(0)))
BACKWARDS = type(reversed([]))
DICT_VIEWS = {type({}.keys()): "keys", type({}.values()): "values", type({}.items()): "items"}


class _Positioned(Fixed):
    """An iterator over a sequence: ``iter(sequence)``, then its position."""

    def describe(self, obj, new, d):
        position = obj.__reduce__()[2:]     # none when it has come to the end
        new.static = position[0] if position else None
        new.parts = [d.value(gc.get_referents(obj)[0])] if position else []

    def whole(self, new, w):
        place = w.constant(_at, "at")
        if not new.parts:
            return f"{place}({w.type(list)}(), {w.type(new.type)}, None)"
        return f"{place}({w.ref(new.parts[0])}, {w.type(new.type)}, {new.static!r})"


def _at(sequence, kind, position):
    if kind is BACKWARDS:
        iterator = list.__reversed__(sequence)
    elif kind is LIST:
        iterator = list.__iter__(sequence)
    else:
        iterator = iter(() if position is None else sequence)
    if position is None:
        for _ in iterator:
            pass
    else:
        iterator.__setstate__(position)
    return iterator


class _Range(Fixed):
    """Nothing but numbers: ``iter(range(...))`` of what is left."""

    def describe(self, obj, new, d):
        new.static, = obj.__reduce__()[1]

    def whole(self, new, w):
        return f"{w.constant(iter, 'iter')}({w.literal(new.static)})"


class _Composed(Fixed):
    """enumerate, zip, map, filter: made of iterators, whose own ``__iter__`` gives themselves."""

    def describe(self, obj, new, d):
        _, parts, *state = obj.__reduce__()
        sources = parts[1:] if type(obj) in (map, filter) else parts[:1] if type(obj) is enumerate else parts
        if not all(_made_in_c(source) for source in sources):
            raise StopCapture("output-kind", f"a {type(obj).__name__} of objects")
        new.static = bool(state)            # strict=True
        new.parts = [d.value(part) for part in parts]

    def whole(self, new, w):
        strict = ", strict=True" if new.static else ""
        return f"{w.type(new.type)}({w.refs(new.parts)}{strict})"


def _made_in_c(source):
    return type(source) in KINDS or type(source) in (LIST, TUPLE, RANGE, BACKWARDS)


class _View(Fixed):
    """d.keys(), d.values(), d.items()"""

    def describe(self, obj, new, d):
        mapping, = gc.get_referents(obj)
        new.parts = [d.value(mapping)]

    def whole(self, new, w):
        return f"{w.constant(getattr(dict, DICT_VIEWS[new.type]), new.type.__name__)}({w.ref(new.parts[0])})"


class _Generator(Fixed):
    """A generator that has not started is its function and the arguments it was called with."""

    def describe(self, obj, new, d):
        if inspect.getgeneratorstate(obj) != inspect.GEN_CREATED or obj.gi_frame.f_trace is not None:
            raise StopCapture("output-kind", "a generator that has started")
        function = next((each for each in gc.get_referents(obj) if isinstance(each, types.FunctionType)
                         and each.__code__ is obj.gi_code), None)
        if function is None:
            raise StopCapture("output-kind", "a generator")
        code, given = obj.gi_code, obj.gi_frame.f_locals
        names = code.co_varnames
        nargs, nkeywords = code.co_argcount, code.co_kwonlyargcount
        positional = [given[name] for name in names[:nargs]]
        keywords = [(name, given[name]) for name in names[nargs:nargs + nkeywords]]
        rest = names[nargs + nkeywords:]
        if code.co_flags & inspect.CO_VARARGS:
            positional += given[rest[0]]
            rest = rest[1:]
        if code.co_flags & inspect.CO_VARKEYWORDS:
            keywords += given[rest[0]].items()
        if (obj.__name__, obj.__qualname__) != (function.__name__, function.__qualname__):
            raise StopCapture("output-kind", "a generator with a name of its own")
        new.static = len(positional), [name for name, _ in keywords]
        new.parts = [d.value(each) for each in (function, *positional, *[item for _, item in keywords])]

    def whole(self, new, w):
        count, names = new.static
        keywords = ", ".join(f"{name!r}: {w.ref(part)}" for name, part in zip(names, new.parts[1 + count:]))
        return (f"{w.constant(_start, 'generator')}({w.ref(new.parts[0])}, {w.tuple(new.parts[1:1 + count])}, "
                f"{{{keywords}}})")


def _start(function, positional, keywords):
    return function(*positional, **keywords)


KINDS = {
    LIST: _Positioned(), TUPLE: _Positioned(), BACKWARDS: _Positioned(), RANGE: _Range(),
    types.GeneratorType: _Generator(),
    **dict.fromkeys((enumerate, zip, map, filter), _Composed()),
    **dict.fromkeys(DICT_VIEWS, _View()),
}
