"""Checks inside a graph: is a value that Python code saw during the recording the same again?

Where Python looks into a tensor (``if x.sum() > 0``), the recorded path holds for one
outcome only. The graph asks again at replay, at the same place in the order of its
operations. Another outcome raises `OutcomeChanged`: nothing outside has been changed up
to there, or it is put back (`Memory`), so the call can be made anew (TorchDynamo breaks the
graph at such a place).
"""

import copy
import functools
import operator

import numpy
import torch

LARGEST_ARRAY = 1 << 16     # bytes


class OutcomeChanged(Exception):
    """A recorded value did not come again. The text says what and where."""


class GraphFailed(Exception):
    """Mock code's word to dispatch: the graph raised ``error``, and has changed nothing
    that the caller can see."""

    def __init__(self, error):
        self.error = error


@functools.lru_cache(maxsize=None)
def value_check(func):
    """The target of a node ``(expected, where, *args)`` that calls *func* and compares."""
    name = getattr(func, "__name__", "value")

    def check(expected, where, *args, **kwargs):
        found = func(*args, **kwargs)
        if not same(found, expected):
            raise OutcomeChanged(f"{where}: {name} was {expected!r:.60}, is {found!r:.60}")

    check.__name__ = check.__qualname__ = f"check_{name.strip('_')}"
    return check


def array_check(func, expected):
    """The target of a node ``(where, *args)`` that compares the numpy array that *func* gives."""
    def check(where, *args, **kwargs):
        if not same(func(*args, **kwargs), expected):
            raise OutcomeChanged(f"{where}: the numbers of a tensor are others")

    check.__name__ = check.__qualname__ = "check_array"
    return check


def shape_check(tensor, expected, dtype, where):
    """The target of a node that asks for a shape which depends on data."""
    if tensor.dtype != dtype:
        raise OutcomeChanged(f"{where}: a dtype was {dtype}, is {tensor.dtype}")
    if tensor.shape != tuple(expected):
        raise OutcomeChanged(f"{where}: a shape was {tuple(expected)}, is {tuple(tensor.shape)}")


def same(a, b):
    """Equal values of equal types, NaN being equal to itself and 0.0 not to -0.0."""
    if type(a) is not type(b):
        return False
    if type(a) in (list, tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if type(a) is float:
        return a == b and (a != 0 or str(a) == str(b)) or a != a and b != b
    if isinstance(a, (numpy.ndarray, numpy.generic)):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if type(a) is complex:
        return same(a.real, b.real) and same(a.imag, b.imag)
    return operator.eq(a, b)


def is_plain(value):
    """Can *value* be compared by `same` and stand in a graph?"""
    if type(value) in (list, tuple):
        return all(map(is_plain, value))
    return type(value) in (bool, int, float, complex, str, type(None))


def is_array(value):
    """A numpy array that a check can keep."""
    return type(value) is numpy.ndarray and value.nbytes <= LARGEST_ARRAY and value.dtype.kind in "biufc"


class Draw:
    """A random number drawn outside torch: drawn again at replay, and compared."""

    __slots__ = ("func", "__name__", "expected", "where")

    def __init__(self, func, name, expected, where):
        self.func = func
        self.__name__ = f"draw_{name}"
        self.expected = copy.copy(expected)
        self.where = f"{where[0]}:{where[1]}"

    def __call__(self, *args, **kwargs):
        found = self.func(*args, **kwargs)
        if not same(found, self.expected):
            raise OutcomeChanged(f"{self.where}: {self.__name__} was {self.expected!r:.60}, is {found!r:.60}")


class OutsideRandom:
    """The states of random generators outside torch: Random, numpy's RandomState and Generator."""

    __slots__ = ("states",)

    def __init__(self, *generators):
        self.states = []
        for generator in {id(each): each for each in generators}.values():
            if hasattr(generator, "getstate"):
                self.states.append((generator.setstate, generator.getstate()))
            elif hasattr(generator, "bit_generator"):
                source = generator.bit_generator
                self.states.append((functools.partial(setattr, source, "state"), source.state))
            else:
                self.states.append((generator.set_state, generator.get_state()))

    def restore(self):
        for restore, state in self.states:
            restore(state)


class RandomState:
    """torch's random state before a graph, for a call that is made anew."""

    __slots__ = ("cpu", "cuda")

    def __init__(self):
        self.cpu = torch.get_rng_state()
        self.cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else None

    def restore(self):
        torch.set_rng_state(self.cpu)
        if self.cuda is not None:
            torch.cuda.set_rng_state_all(self.cuda)


class Memory:
    """What is in the memory of inputs before a graph that changes them, and their versions."""

    __slots__ = ("kept",)

    def __init__(self, *tensors):
        self.kept = [(tensor, tensor.untyped_storage().clone(), None if tensor.is_inference() else tensor._version)
                     for tensor in tensors]

    def restore(self):
        for tensor, content, version in self.kept:
            tensor.untyped_storage().copy_(content)
            if version is not None:
                torch._C._autograd._unsafe_set_version_counter((tensor,), (version,))
