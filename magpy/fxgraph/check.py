"""What must hold of a built graph before a backend sees it.

A fault found here names the node; the same fault found by a backend is a traceback
deep inside somebody else's compiler.
"""

import enum

import torch
import torch.fx

from magpy.reasons import StopCapture

LITERALS = (int, float, bool, complex, str, type(None), type(Ellipsis), torch.dtype,
            torch.device, torch.layout, torch.memory_format, range, enum.Enum)


def check(graph, inputs, outputs):
    """Raise AssertionError for a malformed graph, StopCapture for an argument that an
    FX graph cannot hold."""
    placeholders = 0
    for node in graph.nodes:
        if node.op == "placeholder":
            placeholders += 1
        for arg in node.args:
            _check_argument(arg, node)
        for arg in node.kwargs.values():
            _check_argument(arg, node)
    assert placeholders == inputs, (placeholders, inputs)
    given = graph.output_node().args[0]
    assert isinstance(given, tuple) and len(given) == outputs, given
    assert all(isinstance(node, torch.fx.Node) for node in given), given


def _check_argument(arg, node):
    if isinstance(arg, torch.fx.Node) or isinstance(arg, LITERALS):
        return
    if isinstance(arg, (tuple, list)):
        for item in arg:
            _check_argument(item, node)
    elif isinstance(arg, slice):
        _check_argument((arg.start, arg.stop, arg.step), node)
    elif isinstance(arg, dict):
        for key, item in arg.items():
            if not isinstance(key, str):
                raise StopCapture("graph-argument", f"a dict with {type(key).__name__} keys")
            _check_argument(item, node)
    else:
        raise StopCapture("graph-argument", f"{type(arg).__qualname__} in {node.name}")
