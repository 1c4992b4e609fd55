"""A call that is one operation of the graph, whatever it does inside.

``autograd.Function.apply`` is the reason for this: its backward is Python code that
only autograd can call, so the graph must call ``apply`` again at replay, and the
operations inside must not be in the graph a second time. While such a section runs,
its operations are looked at (data must not leak from it, nothing outside may be
changed) but not taped; its result is then entered as the result of one operation.
"""

from magpy.guards.tensor_meta import impl_key, storage_key, version
from magpy.reasons import StopCapture
from magpy.recorder.torch_ops import STOP, opaque


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
