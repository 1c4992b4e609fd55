"""Small C objects: slices, partials, bound methods, cells, functions made during the call,
and numpy's numbers."""

import functools
import types

import numpy

from magpy.reasons import StopCapture
from magpy.refgraph.kinds.base import Filled, Fixed


class _Slice(Fixed):

    def describe(self, obj, new, d):
        new.parts = [d.value(obj.start), d.value(obj.stop), d.value(obj.step)]

    def whole(self, new, w):
        return f"slice({w.refs(new.parts)})"


class _Partial(Fixed):

    def describe(self, obj, new, d):
        if obj.__dict__ or not all(type(k) is str and k.isidentifier() for k in obj.keywords):
            raise StopCapture("output-kind", "a functools.partial with attributes or odd keywords")
        new.static = len(obj.args), tuple(obj.keywords)
        new.parts = [d.value(v) for v in (obj.func, *obj.args, *obj.keywords.values())]

    def whole(self, new, w):
        nargs, names = new.static
        args = [w.ref(p) for p in new.parts[:1 + nargs]]
        args += [f"{k}={w.ref(p)}" for k, p in zip(names, new.parts[1 + nargs:])]
        return f"partial({', '.join(args)})"


class _Method(Fixed):

    def describe(self, obj, new, d):
        new.parts = [d.value(obj.__func__), d.value(obj.__self__)]

    def whole(self, new, w):
        return f"MethodType({w.refs(new.parts)})"


class _Cell(Filled):

    def describe(self, obj, new, d):
        try:
            new.parts = [d.value(obj.cell_contents)]
        except ValueError:
            new.parts = []      # an empty cell

    def make(self, new, w):
        return "CellType()"

    def fill(self, new, name, w):
        return [f"{name}.cell_contents = {w.ref(new.parts[0])}"] if new.parts else []

    def whole(self, new, w):
        return f"CellType({w.refs(new.parts)})"


class _Function(Fixed):
    """A function or lambda made by the call: the same code and globals, its own
    defaults and closure. It is never the object that closes a cycle: its cells are."""

    def describe(self, obj, new, d):
        if obj.__dict__ or obj.__type_params__ or obj.__annotations__:
            raise StopCapture("output-kind", f"function {obj.__qualname__} with attributes or annotations")
        new.static = (obj.__code__, obj.__globals__, obj.__name__,
                      (obj.__qualname__, obj.__module__, obj.__doc__))
        new.parts = [d.value(obj.__defaults__), d.value(obj.__closure__), d.value(obj.__kwdefaults__)]

    def whole(self, new, w):
        code, scope, name, names = new.static
        make = w.constant(_make_function, "make_function")
        return (f"{make}({w.constant(code, name)}, {w.constant(scope, 'scope')}, {name!r}, "
                f"{w.constant(names, 'names')}, {w.refs(new.parts)})")


def _make_function(code, scope, name, names, defaults, closure, kwdefaults):
    function = types.FunctionType(code, scope, name, defaults, closure, kwdefaults)
    function.__qualname__, function.__module__, function.__doc__ = names
    return function


class _NumpyScalar(Fixed):
    """A number that the call made with numpy. It cannot change."""

    def describe(self, obj, new, d):
        new.static = obj

    def whole(self, new, w):
        return w.constant(new.static, "number")


KINDS = {
    **{numpy.dtype(code).type: _NumpyScalar() for code in "?bhilqBHILQefdFD"},
    slice: _Slice(),
    functools.partial: _Partial(),
    types.MethodType: _Method(),
    types.CellType: _Cell(),
    types.FunctionType: _Function(),
}
