"""The names that every generated program has. They are the same objects for both runs, so no snapshot shows them."""
import collections
import contextlib
import copy
import dataclasses
import enum
import functools
import itertools
import math
import operator
import types
import typing
import warnings
import weakref

import torch
from torch import nn
from torch.nn import functional as F


def T(seed, *shape, dtype=torch.float32, grad=False):
    """A small tensor with values of its own."""
    shape = shape or (2, 3)
    count = math.prod(shape)
    values = [((i * 7 + seed * 13) % 31 - 15) / 8 for i in range(count)]
    return torch.tensor(values, dtype=dtype).reshape(shape).requires_grad_(grad)


def P(seed, *shape):
    """A parameter."""
    return nn.Parameter(T(seed, *shape))


_undo = []


def patch(owner, name, value):
    """Set an attribute of something that outlives the program; undone when it ends."""
    own = name in vars(owner)
    old = vars(owner).get(name)
    _undo.append(lambda: setattr(owner, name, old) if own else delattr(owner, name))
    setattr(owner, name, value)


def patch_module(cls, hook):
    """A hook for every module of the process."""
    handle = nn.modules.module.register_module_forward_hook(lambda m, i, o: hook(m, i, o) if isinstance(m, cls) else None)
    _undo.append(handle.remove)
    return 1


@contextlib.contextmanager
def default_dtype(dtype):
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def restore():
    while _undo:
        _undo.pop()()


NAMES = {
    "torch": torch, "nn": nn, "F": F, "T": T, "P": P, "patch": patch, "patch_module": patch_module,
    "default_dtype": default_dtype, "collections": collections,
    "contextlib": contextlib, "copy": copy, "dataclasses": dataclasses, "enum": enum, "functools": functools,
    "itertools": itertools, "math": math, "operator": operator, "types": types, "typing": typing,
    "warnings": warnings, "weakref": weakref, "OrderedDict": collections.OrderedDict, "deque": collections.deque,
    "defaultdict": collections.defaultdict, "namedtuple": collections.namedtuple, "partial": functools.partial,
    "dataclass": dataclasses.dataclass, "Enum": enum.Enum, "SimpleNamespace": types.SimpleNamespace,
    "contextmanager": contextlib.contextmanager,
}
