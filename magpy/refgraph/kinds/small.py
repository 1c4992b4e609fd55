"""Small C objects that carry references: slices, partials, bound methods, cells, namespaces,
functions made during the call; and small ones that carry none: buffers, streams, dates, numpy's numbers."""

import array
import datetime
import decimal
import functools
import gc
import io
import operator
import re
import struct
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
        if obj.__type_params__:
            raise StopCapture("output-kind", f"function {obj.__qualname__} with type parameters")
        annotations = obj.__annotations__       # made when first asked for
        if d.recorder.node_of(annotations) is not None:
            raise StopCapture("output-kind", f"function {obj.__qualname__} with annotations of another")
        # Who asked for it during the call may have kept it: functools.wraps gives it to the wrapper, too.
        kept = d.recorder.is_internal(annotations)
        names, values = (None, [annotations]) if kept else (tuple(annotations), annotations.values())
        new.static = (obj.__code__, obj.__globals__, obj.__name__,
                      (obj.__qualname__, obj.__module__, obj.__doc__, names, tuple(obj.__dict__)))
        new.parts = [d.value(each) for each in (obj.__defaults__, obj.__closure__, obj.__kwdefaults__,
                                                *values, *obj.__dict__.values())]

    def whole(self, new, w):
        code, scope, name, names = new.static
        make = w.constant(_make_function, "make_function")
        return (f"{make}({w.constant(code, name)}, {w.constant(scope, 'scope')}, {name!r}, "
                f"{w.constant(names, 'names')}, {w.refs(new.parts)})")


def _make_function(code, scope, name, names, defaults, closure, kwdefaults, *rest):
    function = types.FunctionType(code, scope, name, defaults, closure, kwdefaults)
    function.__qualname__, function.__module__, function.__doc__, annotations, attributes = names
    count = 1 if annotations is None else len(annotations)
    if count:
        function.__annotations__ = rest[0] if annotations is None else dict(zip(annotations, rest))
    function.__dict__.update(zip(attributes, rest[count:]))
    return function


class _BuiltinMethod(Fixed):
    """A method in C bound to an object: ``[].append``."""

    def describe(self, obj, new, d):
        method = getattr(type(obj.__self__), obj.__name__, None)
        if type(method) is not types.MethodDescriptorType or method.__get__(obj.__self__) != obj:
            raise StopCapture("output-kind", obj.__qualname__)
        new.static = method
        new.parts = [d.value(obj.__self__)]

    def whole(self, new, w):
        return f"{w.constant(new.static.__get__, new.static.__name__)}({w.ref(new.parts[0])})"


class _Namespace(Filled):

    def describe(self, obj, new, d):
        new.static = [d.key(name) for name in obj.__dict__]
        new.parts = [d.value(each) for each in obj.__dict__.values()]

    def make(self, new, w):
        return f"{w.type(types.SimpleNamespace)}()"

    def fill(self, new, name, w):
        items = ", ".join(f"{w.ref(key)}: {w.ref(part)}" for key, part in zip(new.static, new.parts))
        return [f"{name}.__dict__.update({{{items}}})"] if items else []


class _Proxy(Fixed):

    def describe(self, obj, new, d):
        new.parts = [d.value(gc.get_referents(obj)[0])]

    def whole(self, new, w):
        return f"{w.type(types.MappingProxyType)}({w.ref(new.parts[0])})"


class _Getter(Fixed):
    """operator.itemgetter and attrgetter."""

    def describe(self, obj, new, d):
        new.parts = [d.value(each) for each in obj.__reduce__()[1]]

    def whole(self, new, w):
        return f"{w.type(new.type)}({w.refs(new.parts)})"


class _Buffer(Fixed):
    """A bytearray or array: its bytes as they are at the end."""

    def describe(self, obj, new, d):
        new.static = (obj.typecode, obj.tobytes()) if new.type is array.array else (bytes(obj),)

    def whole(self, new, w):
        return f"{w.type(new.type)}({', '.join(map(w.literal, new.static))})"


class _Stream(Filled):
    """A StringIO or BytesIO: its text and position."""

    def describe(self, obj, new, d):
        if obj.closed:
            raise StopCapture("output-kind", f"a closed {new.type.__name__}")
        *new.static, attributes = obj.__getstate__()
        if attributes:
            raise StopCapture("output-kind", f"a {new.type.__name__} with attributes")

    def make(self, new, w):
        return f"{w.type(new.type)}()"

    def fill(self, new, name, w):
        return [f"{name}.__setstate__(({', '.join(map(w.literal, new.static))}, None))"]


class _Itself(Fixed):
    """An object that cannot change: the one that the recorded call made will do."""

    def describe(self, obj, new, d):
        if getattr(obj, "tzinfo", None) is not None and type(obj.tzinfo) is not datetime.timezone:
            raise StopCapture("output-kind", f"a {type(obj).__name__} with a time zone of its own")
        new.static = obj

    def whole(self, new, w):
        return w.constant(new.static, new.type.__name__)


KINDS = {
    **{numpy.dtype(code).type: _Itself() for code in "?bhilqBHILQefdFD"},
    slice: _Slice(),
    functools.partial: _Partial(),
    types.MethodType: _Method(),
    types.CellType: _Cell(),
    types.FunctionType: _Function(),
    types.BuiltinFunctionType: _BuiltinMethod(),
    types.SimpleNamespace: _Namespace(),
    types.MappingProxyType: _Proxy(),
    **dict.fromkeys((operator.itemgetter, operator.attrgetter), _Getter()),
    **dict.fromkeys((bytearray, array.array), _Buffer()),
    **dict.fromkeys((io.StringIO, io.BytesIO), _Stream()),
    **dict.fromkeys((re.Pattern, struct.Struct, datetime.date, datetime.time, datetime.datetime, datetime.timedelta,
                     datetime.timezone, decimal.Decimal), _Itself()),
}
