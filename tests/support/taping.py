"""Recording a tape without the interpreter's hook.

`record(fn, *args)` runs *fn* under a Tape whose recorder is a fake: it knows the
tensors in *args* (and a module's parameters and buffers) by name, and nothing else.
"""
import contextlib

import torch

from magpy.fxgraph.builder import build
from magpy.reasons import StopCapture
from magpy.recorder.torch_mode import Tape


class FakeNode:
    def __init__(self, index, path, obj):
        self.index, self.path, self.obj, self.kind = index, path, obj, "tensor"


class FakeRecorder:
    """Knows tensors by identity; remembers the first stop; counts pause and resume."""

    allows_outcomes = False

    def __init__(self):
        self.nodes = {}
        self.stop_reason = None
        self.depth = 0
        self.paused_at_all = 0

    def know(self, tensor, path):
        if id(tensor) not in self.nodes:
            self.nodes[id(tensor)] = FakeNode(len(self.nodes), path, tensor)

    @property
    def paused(self):
        return self.depth

    def pause(self):
        self.depth += 1
        self.paused_at_all += 1

    def resume(self):
        self.depth -= 1

    @property
    def stopped(self):
        return self.stop_reason is not None

    def stop(self, reason, detail=""):
        if self.stop_reason is None:
            self.stop_reason = (reason, detail)
        raise StopCapture(reason, detail)

    def const_node(self, obj, path):
        self.know(obj, path)
        return self.nodes[id(obj)]

    def node_of(self, obj):
        return self.nodes.get(id(obj))

    def external_tensor(self, tensor):
        return self.nodes.get(id(tensor))

    def tensors(self, inputs):
        by_index = {node.index: node.obj for node in self.nodes.values()}
        return [by_index[ref.node] for ref in inputs]


class Taped:
    """One recording: the real result, its tensors as references, and the stop."""

    def __init__(self, recorder, tape, result):
        self.recorder, self.tape, self.result = recorder, tape, result
        self.stop = recorder.stop_reason

    @property
    def names(self):
        return [op.handling.name for op in self.tape.ops]

    def build(self):
        assert self.stop is None, self.stop
        refs = [self.tape.table.known(t) for t in flat(self.result)]
        assert None not in refs
        return build(self.tape, refs)

    def example(self, built):
        return self.recorder.tensors(built.inputs)


def flat(value):
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (tuple, list)):
        return [t for item in value for t in flat(item)]
    return []


def record(fn, *args, know=()):
    recorder = FakeRecorder()
    for i, arg in enumerate(args):
        if isinstance(arg, torch.Tensor):
            recorder.know(arg, f"arg[{i}]")
    for i, tensor in enumerate(know):
        recorder.know(tensor, f"known[{i}]")
    if isinstance(fn, torch.nn.Module):
        for name, tensor in (*fn.named_parameters(), *fn.named_buffers()):
            recorder.know(tensor, f"self.{name}")
        for module in fn.modules():     # nn.LSTM keeps its weights a second time
            for tensor in getattr(module, "_flat_weights", ()):
                recorder.know(tensor, "self.flat")
    tape = Tape(recorder)
    with tape:
        result = fn(*args)
    assert recorder.depth == 0
    return Taped(recorder, tape, result)


def stops(fn, *args):
    """The (reason, detail) that recording *fn* ends with; its result must be eager's."""
    with contextlib.suppress(StopCapture):
        return record(fn, *args).stop
    raise AssertionError("StopCapture reached the user")


def replay(fn, *args, times=2):
    """Record *fn*, build the graph, run it eagerly: results equal those of recording.
    Returns the BuiltGraph."""
    taped = record(fn, *args)
    built = taped.build()
    for _ in range(times):
        outs = built.gm(*taped.example(built))
        expected = {taped.tape.table.known(t): t for t in flat(taped.result)}
        assert isinstance(outs, tuple) and len(outs) == len(built.outputs)
        for ref, out in zip(built.outputs, outs):
            torch.testing.assert_close(out, expected[ref], rtol=0, atol=0, equal_nan=True)
            assert out.stride() == expected[ref].stride()
            assert out.requires_grad == expected[ref].requires_grad
    return built
