"""The tape as an FX graph: the torch-level calls, as Dynamo hands them to backends.

Nothing is simplified here. Operations keep their order, since in-place changes and
views mean what they mean only in that order, and an operation nobody uses may still
raise or draw random numbers; AOTAutograd removes dead code knowing far more.

One thing is done for speed, through public API: a node is created without arguments
and gets them by assignment. `Graph.create_node` searches its arguments in Python for
symbolic numbers, of which there are none, and that is half its time.
"""

import linecache
import operator
import re

import torch
import torch.fx

from magpy.fxgraph import check
from magpy.fxgraph.text import module_of
from magpy.fxgraph.values import FACTS, OPAQUE, PART
from magpy.recorder.torch_mode import InputRef, OpRef


class BuiltGraph:
    """A GraphModule, the inputs in placeholder order, and what its outputs are."""

    __slots__ = ("gm", "inputs", "outputs")

    def __init__(self, gm, inputs, outputs):
        self.gm = gm
        self.inputs = inputs
        self.outputs = outputs

    @property
    def empty(self):
        """True when there is nothing to run: no operation, only inputs handed through."""
        return all(node.op in ("placeholder", "output") for node in self.gm.graph.nodes)

    def __repr__(self):
        return f"<BuiltGraph {len(self.inputs)} -> {len(self.outputs)}>"


def build(tape, wanted):
    """The BuiltGraph of *tape* whose outputs are the references in *wanted* (each once,
    in order of first mention)."""
    outputs = list(dict.fromkeys(wanted))
    builder = _Builder(tape, outputs)
    for op in tape.prologue:
        builder.create(op)
    for op in tape.ops:
        builder.nodes.append(builder.create(op))
    return BuiltGraph(builder.finish(outputs), builder.inputs, outputs)


class _Builder:
    def __init__(self, tape, outputs):
        self.tape = tape
        self.graph = torch.fx.Graph()
        self.nodes = []             # by operation
        self.leaves = {}            # reference -> node
        self.inputs = []
        self._traces = {}           # place -> text
        used = set()
        for op in (*tape.prologue, *tape.ops):
            _references((op.args, op.kwargs), used)
        used.update(ref for ref in outputs if type(ref) is InputRef)
        for ref, path in tape.paths.items():
            if ref in used:
                self.inputs.append(ref)
                self.leaves[ref] = self.placeholder(path)

    def placeholder(self, path):
        """An input. Its name is its own: `fn.level_0` and `fn.level[0]` make one identifier."""
        node = self.graph.placeholder(identifier(path))
        node.target = node.name
        return node

    def create(self, op):
        """The node of an operation."""
        how = op.handling
        args = tuple([self.value(arg) for arg in op.args])
        if how.getter is not None:
            args += (how.getter,)
        node = self.graph.create_node(how.op, how.target, None, None, how.name)
        node.args = args
        if op.kwargs:
            node.kwargs = {key: self.value(arg) for key, arg in op.kwargs.items()}
        node.meta["stack_trace"] = self.trace(op.place)
        if op.opaque:
            node.meta[OPAQUE] = True
        if op.paths == ((),):
            node.meta[FACTS] = op.metas[0]
        elif all(path == (i,) for i, path in enumerate(op.paths)):
            node.meta[FACTS] = op.metas
        return node

    def value(self, value):
        """*value* with references replaced by nodes."""
        kind = type(value)
        if kind is OpRef or kind is InputRef:
            node = self.leaves.get(value)
            return node if node is not None else self.leaf(value)
        if kind is tuple:
            return tuple([self.value(item) for item in value])
        if kind is list:
            return [self.value(item) for item in value]
        if kind is slice:
            return slice(self.value(value.start), self.value(value.stop),
                         self.value(value.step))
        if kind is dict:
            return {key: self.value(item) for key, item in value.items()}
        return value

    def leaf(self, ref):
        """The node of one tensor in an operation's result."""
        node = self.nodes[ref.op]
        for i in self.tape.ops[ref.op].paths[ref.leaf]:
            item = self.graph.create_node("call_function", operator.getitem, None, None)
            item.args = (node, i)
            item.meta[PART] = True
            item.meta["stack_trace"] = node.meta.get("stack_trace")
            node = item
        node.meta[FACTS] = self.tape.ops[ref.op].metas[ref.leaf]
        self.leaves[ref] = node
        return node

    def trace(self, place):
        text = self._traces.get(place)
        if text is None:
            filename, lineno, function = place
            line = linecache.getline(filename, lineno).strip()
            text = f'  File "{filename}", line {lineno}, in {function}\n    {line}'
            self._traces[place] = text
        return text

    def finish(self, outputs):
        self.graph.output(tuple([self.value(ref) for ref in outputs]))
        check.check(self.graph, len(self.inputs), len(outputs))
        return module_of(self.graph)


def _references(value, found):
    kind = type(value)
    if kind is InputRef:
        found.add(value)
    elif kind is tuple or kind is list:
        for item in value:
            _references(item, found)
    elif kind is slice:
        _references((value.start, value.stop, value.step), found)
    elif kind is dict:
        for item in value.values():
            _references(item, found)


def identifier(path):
    """An access path as a Python name: ``arg[0].fc.weight`` → ``arg_0_fc_weight``."""
    name = re.sub(r"\W+", "_", path).strip("_") or "input"
    return name if not name[0].isdigit() else f"input_{name}"
