"""Rules of numpy: arrays made of known values, functions of them, and what comes from outside.

Arrays and numpy's scalars from outside are guarded by their whole content, if they are small
(guards/buffers.py); whether the call wrote to one is looked at when it is over. So every
array that a call holds has known data. Functions of plain values and of arrays are run
without being recorded; numpy's Python code keeps state of its own that does not matter to
results.
"""

import types

import numpy
import torch

from magpy.recorder.callables.draws import NUMPY_DRAWS, drawn
from magpy.recorder.callables.reads import fixed, is_tensor, stops, value
from magpy.recorder.callables.registry import BUFFER_TYPES, FIELD_TYPES, IDENTITY_TYPES, LEAF_CODE, add, is_a
from magpy.refgraph.graph import ABSENT


def own_numbers(r, func, args, kwargs):
    """Plain values, containers of them, and arrays of numbers."""
    for arg in (*args, *kwargs.values()):
        numeric(r, arg, 0)


def numeric(r, arg, depth):
    if is_a(arg, (list, tuple)) and depth < 10:
        value(r, arg)
        for item in arg:
            numeric(r, item, depth + 1)
    elif type(arg) is slice:
        numeric(r, (arg.start, arg.stop, arg.step), depth + 1)
    elif is_a(arg, (numpy.ndarray, numpy.generic)):
        if arg.dtype.hasobject or type(arg) not in BUFFER_TYPES:
            r.stop("object-read", f"a numpy.{type(arg).__name__} of {arg.dtype}")
        r.read_buffer(arg)
    elif not fixed(arg) and not is_tensor(arg) and not is_a(arg, numpy.dtype):
        # The tape sees who asks for a tensor's data.
        r.stop("unknown-callable", f"numpy with a {type(arg).__qualname__}")


def method(r, func, args, kwargs):
    """Methods of arrays, some of which numpy has written in Python."""
    own_numbers(r, func, args, kwargs)
    r.leaf()


def called(r, func, args, kwargs):
    """A ufunc, or a function that arrays can override."""
    own_numbers(r, func, args[1:], kwargs)
    r.leaf()


def from_numpy(r, func, args, kwargs):
    """The tape does not see it. The tensor shares the array's memory."""
    own_numbers(r, func, args, kwargs)

    def then(result):
        if result is not ABSENT:
            tape = r.recording.tape
            tape.enter_constant(result)
            tape.note_sharing(args[0], result)
    r.after_call(then)


MADE_BY_C = """array asarray asanyarray ascontiguousarray asfortranarray arange zeros empty frombuffer
    fromstring promote_types""".split()
MADE_BY_PYTHON = """ones full eye identity indices tri tril_indices triu_indices diag_indices hanning
    hamming blackman bartlett kaiser broadcast_shapes isscalar issubdtype isfortran""".split()
NO_METHODS = """tofile dump dumps __reduce__ __reduce_ex__ setfield __setstate__ __array_function__
    __array_ufunc__ __init__ __getattribute__ __repr__ __str__""".split()
DTYPES = "? i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8 c8 c16".split()


def methods_of(cls):
    return [found for name, found in cls.__dict__.items()
            if is_a(found, (types.MethodDescriptorType, types.WrapperDescriptorType))
            and name not in NO_METHODS]


GENERATORS = (numpy.random.RandomState, numpy.random.Generator)


def random_functions():
    """Those of a generator's own, and what concerns its state."""
    for cls in GENERATORS:
        yield cls
        for name, found in cls.__dict__.items():
            if callable(found) and not name.startswith("__") and name not in NUMPY_DRAWS:
                yield found
    for found in vars(numpy.random).values():
        if is_a(found, type) or type(found).__name__ == "cython_function_or_method":
            yield found


def install():
    dispatcher = type(numpy.prod)
    scalars = [numpy.dtype(code).type for code in DTYPES]
    BUFFER_TYPES.update((numpy.ndarray, *scalars))
    FIELD_TYPES.add(numpy.dtype)
    IDENTITY_TYPES.update({numpy.ufunc, dispatcher, numpy.finfo, numpy.iinfo, numpy.bool, *[type(numpy.dtype(code)) for code in DTYPES]})
    add(called, "calls", numpy.ufunc.__call__, dispatcher.__call__,
        *[numpy.ufunc.__dict__[name] for name in ("reduce", "accumulate", "reduceat", "outer", "at")])
    add(own_numbers, "pure", numpy.lib.array_utils.normalize_axis_index)
    add(own_numbers, "allocates", *[
        found for found in (getattr(numpy, name) for name in MADE_BY_C)
        if is_a(found, types.BuiltinFunctionType)])
    add(method, "calls", *[getattr(numpy, name) for name in MADE_BY_PYTHON], numpy.finfo, numpy.iinfo)
    kinds = {base for kind in numpy.sctypeDict.values() for base in kind.__mro__
             if issubclass(base, numpy.generic) and not issubclass(base, numpy.void)}
    for kind in (numpy.ndarray, numpy.dtype, *kinds):
        add(method, "calls", *methods_of(kind))
    add(own_numbers, "allocates", *kinds, numpy.dtype)
    for field in (numpy.iinfo.max, numpy.iinfo.min):
        LEAF_CODE.enter(field.fget.__code__)        # they cache
    add(from_numpy, "allocates", torch.from_numpy)
    add(stops("random"), "random", *random_functions())
    add(drawn, "random", *[cls.__dict__[name] for cls in GENERATORS
                           for name in NUMPY_DRAWS if name in cls.__dict__])


install()
