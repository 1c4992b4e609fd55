"""Rules of numpy, as far as model code uses it on plain numbers: ``np.sqrt(dim)``,
``np.prod(shape)``, small arrays made on the way.

An array can be changed by anyone who holds it, and a guard cannot look into it: arrays and
numpy's scalars from outside stop the capture when they are read. Functions of plain values
and of arrays that the recording made are run without being recorded; numpy's Python code
keeps state of its own that does not matter to results.
"""

import types

from magpy.recorder.callables.reads import fixed, is_tensor, value
from magpy.recorder.callables.registry import IDENTITY_TYPES, add

try:
    import numpy
except ImportError:
    numpy = None


def own_numbers(r, func, args, kwargs):
    """Plain values, containers of them, and arrays of the recording's own."""
    for arg in (*args, *kwargs.values()):
        numeric(r, arg, 0)


def numeric(r, arg, depth):
    if isinstance(arg, (list, tuple)) and depth < 10:
        value(r, arg)
        for item in arg:
            numeric(r, item, depth + 1)
    elif isinstance(arg, (numpy.ndarray, numpy.generic, numpy.dtype)):
        if not isinstance(arg, numpy.dtype) and (
                r.know(arg) is not None or arg.dtype.hasobject):
            r.stop("object-read", f"an outside numpy.{type(arg).__name__}")
    elif not fixed(arg) and not is_tensor(arg):     # the tape sees who asks for a tensor's data
        r.stop("unknown-callable", f"numpy with a {type(arg).__qualname__}")


def method(r, func, args, kwargs):
    """Methods of arrays, some of which numpy has written in Python."""
    own_numbers(r, func, args, kwargs)
    r.leaf()


def called(r, func, args, kwargs):
    """A ufunc, or a function that arrays can override."""
    own_numbers(r, func, args[1:], kwargs)
    r.leaf()


FUNCTIONS = "array asarray asanyarray arange zeros ones empty full linspace eye"


def install():
    dispatcher = type(numpy.prod)
    IDENTITY_TYPES.update({numpy.ufunc, dispatcher, *[
        type(numpy.dtype(code)) for code in ("f2", "f4", "f8", "i4", "i8", "?")]})
    add(called, "calls", numpy.ufunc.__call__, dispatcher.__call__)
    add(own_numbers, "allocates", *[
        found for found in (getattr(numpy, name) for name in FUNCTIONS.split())
        if isinstance(found, types.BuiltinFunctionType)])
    kinds = {base for kind in numpy.sctypeDict.values() for base in kind.__mro__
             if issubclass(base, numpy.generic) and not issubclass(base, numpy.void)}
    for kind in (numpy.ndarray, *kinds):
        add(method, "calls", *[
            found for name, found in kind.__dict__.items()
            if isinstance(found, (types.MethodDescriptorType, types.WrapperDescriptorType))
            and name not in ("tofile", "dump", "dumps", "__reduce__", "__reduce_ex__", "setfield",
                             "__setstate__", "__array_function__", "__array_ufunc__", "__init__",
                             "__getattribute__", "__repr__", "__str__")])
    add(own_numbers, "allocates", *kinds)


if numpy is not None:
    install()
