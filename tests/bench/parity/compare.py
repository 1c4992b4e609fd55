"""Are two results the same? Structure, shapes, dtypes and values; not strides, sharing or class names of containers.

This is looser than the comparison of MagPy's own tests, since it has to be fair to every system.
"""
import collections
import math
import types
from unittest.mock import Mock

import numpy
import torch

RTOL, ATOL = 1e-3, 1e-5
_LEAVES = (bool, int, float, complex, str, bytes, type(None), torch.dtype, torch.device)
_OWN = frozenset(vars(torch.nn.Module()))


def difference(ours, theirs, at="result", seen=None):
    """Where *ours* first differs from eager's *theirs*, in words; "" if nowhere."""
    seen = set() if seen is None else seen
    if isinstance(theirs, torch.Tensor):
        return _tensor(ours, theirs, at)
    if isinstance(theirs, (numpy.ndarray, numpy.generic)):
        return _array(ours, theirs, at)
    if isinstance(theirs, _LEAVES):
        return _leaf(ours, theirs, at)
    if id(theirs) in seen:
        return ""
    seen.add(id(theirs))
    if isinstance(theirs, dict):
        return _mapping(ours, theirs, at, seen)
    if isinstance(theirs, (list, tuple, collections.deque)):
        return _sequence(ours, theirs, at, seen)
    return _object(ours, theirs, at, seen)


def tensors_of(module):
    """A module's parameters and buffers by name."""
    return {name: tensor.detach() for name, tensor in (*module.named_parameters(), *module.named_buffers())}


def attributes_of(module):
    """What a module and its submodules keep besides: counters, caches, settings."""
    return {f"{name}.{key}": value for name, part in module.named_modules() for key, value in vars(part).items()
            if key not in _OWN and not isinstance(value, (torch.nn.Module, types.FunctionType, types.MethodType))}


def _tensor(ours, theirs, at):
    if not isinstance(ours, torch.Tensor):
        return f"{at}: a {type(ours).__name__}, eager has a tensor"
    for name in ("shape", "dtype", "layout"):
        a, b = getattr(ours, name), getattr(theirs, name)
        if a != b:
            return f"{at}.{name}: {_short(a)}, eager has {_short(b)}"
    if theirs.is_meta or not theirs.numel():
        return ""
    a, b = (_plain(tensor) for tensor in (ours, theirs))
    same = torch.equal(a, b) if b.dtype == torch.bool else torch.allclose(a, b, RTOL, ATOL, equal_nan=True)
    return "" if same else f"{at}: values differ"


def _plain(tensor):
    tensor = tensor.detach()
    if tensor.layout != torch.strided:
        tensor = tensor.to_dense()
    if tensor.is_quantized:
        tensor = tensor.dequantize()
    if tensor.dtype == torch.bool:
        return tensor
    return tensor.to(torch.complex128 if tensor.is_complex() else torch.float64)


def _array(ours, theirs, at):
    if not isinstance(ours, type(theirs)) or ours.shape != theirs.shape or ours.dtype != theirs.dtype:
        return f"{at}: {_short(ours)}, eager has {_short(theirs)}"
    if theirs.dtype.kind in "fciub":
        same = numpy.allclose(ours, theirs, RTOL, ATOL, equal_nan=True)
    else:
        same = bool(numpy.all(ours == theirs))
    return "" if same else f"{at}: values differ"


def _leaf(ours, theirs, at):
    same = isinstance(ours, type(theirs)) and isinstance(ours, bool) == isinstance(theirs, bool)
    if same and isinstance(theirs, float):
        same = math.isclose(ours, theirs, rel_tol=RTOL, abs_tol=ATOL) or (ours != ours and theirs != theirs)
    elif same:
        same = ours == theirs
    return "" if same else f"{at}: {_short(ours)}, eager has {_short(theirs)}"


def _mapping(ours, theirs, at, seen):
    if not isinstance(ours, dict) or [*map(_key, ours)] != [*map(_key, theirs)]:
        return f"{at}: {_short(ours)}, eager has {_short(theirs)}"
    pairs = zip(ours.items(), theirs.items())
    return _first(difference(a, b, f"{at}[{_key(key)}]", seen) for (_, a), (key, b) in pairs)


def _key(key):
    """Keys that are objects are told apart by place alone."""
    return repr(key) if isinstance(key, (*_LEAVES, tuple)) else type(key).__name__


def _sequence(ours, theirs, at, seen):
    if not isinstance(ours, (list, tuple, collections.deque)) or len(ours) != len(theirs):
        return f"{at}: {_short(ours)}, eager has {_short(theirs)}"
    return _first(difference(a, b, f"{at}[{i}]", seen) for i, (a, b) in enumerate(zip(ours, theirs)))


def _object(ours, theirs, at, seen):
    if type(ours).__name__ != type(theirs).__name__:
        return f"{at}: a {type(ours).__name__}, eager has a {type(theirs).__name__}"
    if isinstance(theirs, Mock):
        return ""
    return difference(*(getattr(value, "__dict__", {}) for value in (ours, theirs)), at, seen)


def _first(texts):
    return next(filter(None, texts), "")


def _short(value):
    text = str(list(value)) if isinstance(value, torch.Size) else repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
