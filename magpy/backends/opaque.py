"""Graphs with opaque operations (autograd.Function): compiled between them.

A compiler that traced into ``apply`` would bake in whatever the user's backward reads,
and nothing guards that: backward has not run when the call is recorded. So a graph is
cut at its opaque operations. They run as they are, and what lies between is compiled,
piece by piece, when it is first reached with its real inputs.
"""

import torch
from torch.fx.passes.split_module import split_module

from magpy.backends import eager
from magpy.fxgraph.values import PART
from magpy.recorder.section import is_opaque


def between_opaque(compiler):
    """*compiler* (``f(gm, example_inputs)``), given the pieces of graphs that have opaque
    operations, and other graphs whole."""
    def compile_graph(gm, example_inputs):
        if not any(is_opaque(node) for node in gm.graph.nodes):
            return compiler(gm, example_inputs)
        if _changes_state(gm):          # a piece could not be run alone
            return eager.compile_graph(gm, example_inputs)
        return _cut(gm, compiler)
    return compile_graph


def _changes_state(gm):
    return any(node.target is torch._C._set_grad_enabled or "autocast" in str(node.target)
               for node in gm.graph.nodes)


def _cut(gm, compiler):
    pieces = {}
    number = 0
    for node in gm.graph.nodes:
        if is_opaque(node):
            number += 2             # odd numbers are the opaque operations
            pieces[node] = number - 1
        elif PART in node.meta:     # pieces hand on tensors, not tuples
            pieces[node] = pieces[node.args[0]]
        else:
            pieces[node] = number
    whole = split_module(gm, gm, pieces.__getitem__, keep_original_order=True)
    for name, part in list(whole.named_children()):
        if not any(is_opaque(node) for node in part.graph.nodes):
            setattr(whole, name, Piece(part, compiler))
    return whole.forward


class Piece(torch.nn.Module):
    """Part of a graph, compiled for the inputs of its first call. Guards have made sure
    that those of later calls look the same."""

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
            self.compiled = self.compiler(self.part.pop(), list(inputs))
        outputs = self.compiled(*inputs)
        return outputs[0] if self.single else outputs
