"""Graphs with opaque operations: compiled between them.

A compiler that traced into an autograd.Function would bake in whatever the user's
backward reads, and nothing guards that: backward has not run when the call is recorded.
Checks of values and shapes that depend on data cannot be traced at all. So a graph is
cut at such operations. They run as they are, and what lies between is compiled, piece
by piece, when it is first reached with its real inputs.
"""

import copy

import torch
from torch.fx.passes.split_module import split_module

from magpy import logs
from magpy.backends import eager
from magpy.fxgraph.values import OPAQUE, PART


def between_opaque(compiler):
    """*compiler* (``f(gm, example_inputs)``), given the pieces of graphs that have opaque
    operations, and other graphs whole."""
    def compile_graph(gm, example_inputs):
        if any(OPAQUE in node.meta for node in gm.graph.nodes):
            return _cut(gm, compiler)
        return compiler(gm, example_inputs)
    return compile_graph


def _cut(gm, compiler):
    pieces = {}
    live = set()                # numbers of the pieces that run as they are
    number = 0
    for node in gm.graph.nodes:
        if OPAQUE in node.meta or eager.changes_state(node):
            number += 2
            live.add(number - 1)
            pieces[node] = number - 1
        elif PART in node.meta:     # pieces hand on tensors, not tuples
            pieces[node] = pieces[node.args[0]]
        else:
            pieces[node] = number
    whole = split_module(gm, gm, pieces.__getitem__, keep_original_order=True)
    for name, part in list(whole.named_children()):
        alive = int(name.rpartition("_")[2]) in live
        setattr(whole, name, Live(part) if alive else Piece(part, compiler))
    return eager.with_state_restored(whole)


class Live(torch.nn.Module):
    """Part of a graph that runs as it is. (A GraphModule would print its code when an
    error passes it.)"""

    def __init__(self, part):
        super().__init__()
        self.part = part

    def forward(self, *inputs):
        return self.part.forward(*inputs)


class Piece(torch.nn.Module):
    """Part of a graph, compiled for the inputs of its first call. Guards and checks have
    made sure that those of later calls look the same."""

    def __init__(self, part, compiler):
        super().__init__()
        self.compiler = compiler
        self.compiled = None
        self.single = not isinstance(part.graph.output_node().args[0], tuple)
        if self.single:             # a compiler wants a tuple
            part.graph.output_node().args = ((part.graph.output_node().args[0],),)
            part.recompile()
        self.part = [part]          # no submodule: it is not ours to be moved or copied

    def forward(self, *inputs):
        if self.compiled is None:
            self.compiled = self.compile(self.part.pop(), inputs)
        outputs = self.compiled(*inputs)
        return outputs[0] if self.single else outputs

    def compile(self, part, inputs):
        """The capture is over: a compiler that fails now must not break the call. It may have
        changed the graph that it got by then."""
        try:
            return self.compiler(copy.deepcopy(part), list(inputs))
        except Exception as error:
            logs.warn("captures", "a part of a graph runs as it is: the backend failed (%s: %s)",
                      type(error).__name__, error)
            return part.forward
