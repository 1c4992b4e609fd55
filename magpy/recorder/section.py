"""A call that is one operation of the graph, whatever it does inside.

``autograd.Function.apply`` is the reason for this: its backward is Python code that
only autograd can call, so the graph must call ``apply`` again at replay, and the
operations inside must not be in the graph a second time. While such a section runs,
its operations are looked at (data must not leak from it, nothing outside may be
changed) but not taped; its result is then entered as the result of one operation.
"""

import enum
from typing import NamedTuple

import numpy
import torch

from magpy.guards.tensor_meta import impl_key, storage_key, version
from magpy.reasons import StopCapture
from magpy.recorder.torch_ops import STOP, opaque

# What an opaque call gets as it is. Unlike an operation of torch it may ask of which type an
# argument is, so nothing is put in the place of anything else.
UNCHANGING = (bool, int, float, complex, str, bytes, type(None), type(Ellipsis), range, torch.dtype, torch.device,
              torch.layout, torch.memory_format, torch.Size)


class Hole(NamedTuple):
    """Where the index-th tensor belongs."""

    index: int


class Arguments:
    """The arguments of an opaque call: its ``tensors``, which the graph hands over, and all
    the rest, which is made again around them at each call. A call that *keeps* arguments
    (for its backward) must get outside containers themselves: they stop the capture."""

    def __init__(self, args, kwargs, recorder, keeps):
        self.tensors = []
        self._recorder = recorder
        self._keeps = keeps
        self._containers = set()
        self._args = self._open(args)
        self._kwargs = self._open(kwargs)
        self._recorder = self._containers = None

    def filled(self, tensors):
        """(args, kwargs) with these tensors."""
        return _fill(self._args, tensors), _fill(self._kwargs, tensors)

    def _open(self, value):
        kind = type(value)
        if isinstance(value, torch.Tensor):
            self.tensors.append(value)
            return Hole(len(self.tensors) - 1)
        if kind in UNCHANGING or isinstance(value, (enum.Enum, numpy.generic)) or \
                isinstance(value, type) and not self._recorder.is_internal(value):
            return value
        if kind is tuple:
            return tuple([self._open(item) for item in value])
        if kind is slice:
            return slice(self._open(value.start), self._open(value.stop), self._open(value.step))
        if kind not in (list, dict) or id(value) in self._containers or \
                self._keeps and self._recorder.node_of(value) is not None:
            raise StopCapture("graph-argument", kind.__qualname__)
        self._containers.add(id(value))
        if kind is list:
            return [self._open(item) for item in value]
        return {self._open(key): self._open(item) for key, item in value.items()}


def _fill(value, tensors):
    kind = type(value)
    if kind is Hole:
        return tensors[value.index]
    if kind is tuple or kind is list:
        return kind([_fill(item, tensors) for item in value])
    if kind is slice:
        return slice(_fill(value.start, tensors), _fill(value.stop, tensors), _fill(value.step, tensors))
    if kind is dict:
        return {_fill(key, tensors): _fill(item, tensors) for key, item in value.items()}
    return value


class Section:
    """The opaque call that runs: its TapeOp, its tensor arguments, and what it touched."""

    __slots__ = ("op", "tensors", "versions", "made", "foreign", "_arguments")

    def __init__(self, op, tensors):
        self.op = op
        self.tensors = tensors
        self.versions = [version(tensor) for tensor in tensors]
        self.made = set()       # impl keys of the tensors made inside
        self.foreign = set()    # storages of outside tensors that are no arguments
        self._arguments = {impl_key(tensor) for tensor in tensors}

    @property
    def name(self):
        return self.op.handling.name

    @staticmethod
    def own(name, args):
        """Something that ``apply`` does by itself: an argument that it marks dirty loses
        its hooks."""
        return name == "_backward_hooks.__set__" and args[1] is None

    def changed(self):
        """The arguments that were changed in place."""
        return [tensor for tensor, old in zip(self.tensors, self.versions) if version(tensor) != old]

    def use(self, tensor, ref, is_input):
        """An operation inside takes *tensor*, known as *ref*."""
        key = impl_key(tensor)
        if key in self.made or key in self._arguments:
            return
        if not is_input:
            raise StopCapture("autograd-in-graph", f"{self.name} uses a tensor of the call that is not its argument")
        self.foreign.add(storage_key(tensor))

    def change(self, tensors):
        """An operation inside changed *tensors* in place."""
        if any(storage_key(tensor) in self.foreign for tensor in tensors):
            raise StopCapture("autograd-in-graph", f"{self.name} changes a tensor that is not its argument")


def with_arguments(how, arguments):
    """*how*, an opaque operation, as one that takes the tensors of *arguments* only."""
    def call(*tensors):
        args, kwargs = arguments.filled(tensors)
        return how.target(*args, **kwargs)
    handling = opaque(call, how.name)
    handling.rng = how.rng
    return handling


def handling_of(cls):
    """The Handling of ``cls.apply`` for an autograd.Function. Its target is an ordinary
    function, which prints well in a graph's code."""
    def apply(*args, **kwargs):
        return cls.apply(*args, **kwargs)
    return opaque(apply, cls.__name__.rstrip("_") or "apply")


def handling_of_script(target, name):
    """The Handling of a TorchScript function or method that *target* calls."""
    def call(*args, **kwargs):
        return target(*args, **kwargs)
    handling = opaque(call, name)
    handling.rng = True         # for all that is known
    return handling


def operation_of(function):
    """The Handling of a function that the user made one operation (magpy.allow_in_graph)."""
    def call(*args, **kwargs):
        return function(*args, **kwargs)
    return opaque(call, function.__name__.strip("_<>") or "operation")


class Live:
    """A call that runs again at replay, after the graph, tensor operations and all: they
    are not the graph's. So they must not change what the graph knows."""

    def __init__(self, name, tensors):
        self.name = name
        self.tensors = [(tensor, version(tensor)) for tensor in tensors]
        self.made = set()       # storages of tensors made inside

    def check(self, how, tensors, changed, found):
        """*found* are the tensors that an operation inside gave."""
        if how.rng:
            raise StopCapture("random", f"{how.name} in {self.name}, which runs behind the graph")
        if how.kind is STOP and how.reason not in ("tensor-data", "dynamic-output-shape"):
            raise StopCapture(how.reason, f"{how.name} in {self.name}")
        if how.mutates or how.hidden_update:
            changed = tensors
        if any(storage_key(tensor) not in self.made for tensor in changed):
            raise StopCapture("leaf-mutation", f"{how.name} in {self.name}, which runs behind the graph")
        given = {storage_key(tensor) for tensor in tensors}
        self.made.update({storage_key(tensor) for tensor in found} - given)

    def end(self):
        """C code may change a tensor without being seen."""
        if any(version(tensor) != old for tensor, old in self.tensors):
            raise StopCapture("leaf-mutation", f"{self.name} changes a tensor")
