"""Freezing: weights as constants of a graph, which Inductor folds and packs in advance.

Asked for by ``options={"freezing": True}`` (or Inductor's own setting), for calls without
gradients. Inductor freezes the parameters and buffers that it finds *in* the graph module;
MagPy's graphs take theirs as inputs. So inputs that are weights become buffers of the module
here, and guards then ask whether a weight still holds what was frozen (`Content`).

Constants are copies. Inductor marks the tensors that it is given, and what it does not fold
it uses in place: a constant that was the user's own memory would change when they write
there, also where the guards look at another tensor by then.

What guards ask is the content, all of it. A version counter is raised by most changes in
place, but not by those through ``.data``, numpy, dlpack, ``untyped_storage()``, a fused
optimizer or C code, and no change may go unseen. Reading the weights costs less than their
layers do, but for layers that hardly do more than read them.
"""

import torch
from torch import nn

from magpy.backends import eager
from magpy.fxgraph.values import OPAQUE
from magpy.guards.tensor_meta import Content, storage_key


def weights(gm, inputs, recording, output_memory):
    """Which of *inputs*, the nodes of the placeholders of *gm*, can be constants: parameters and
    buffers of modules that the call does not change and of which it gives no part away
    (*output_memory*: the storages of what it gives)."""
    if any(OPAQUE in node.meta or eager.changes_state(node) for node in gm.graph.nodes):
        return []
    introduced = {edge.child: edge for edge in recording.edges if edge.child is not None}
    kept = output_memory | {storage_key(recording.nodes[ref.node].obj) for ref in recording.tape.mutated_inputs()}
    return [node for node, placeholder in zip(inputs, gm.graph.find_nodes(op="placeholder"), strict=True)
            if _is_weight(node, introduced) and _is_plain(node.obj) and storage_key(node.obj) not in kept
            and not any(map(_works_in_place, placeholder.users))]


def _is_weight(node, introduced):
    """A parameter that is no argument by itself, or a buffer of a module."""
    edge = introduced.get(node)
    if edge is None or edge.load[0] in ("arg", "kwarg"):
        return False
    return type(node.obj) is nn.Parameter or _is_buffers(edge.parent, introduced)


def _is_buffers(node, introduced):
    """Is this the dict in which a module has its buffers?"""
    edge = introduced.get(node)
    return edge is not None and edge.load == ("attr", "_buffers") and isinstance(edge.parent.obj, nn.Module)


def _is_plain(tensor):
    return (type(tensor) in (torch.Tensor, nn.Parameter) and tensor.layout is torch.strided
            and tensor.device.type == "cpu" and tensor.numel() > 0
            and not (tensor.is_quantized or tensor.is_conj() or tensor.is_neg() or tensor.is_nested))


def _works_in_place(user):
    """``weight.requires_grad_()`` changes no data, but the tensor."""
    name = user.target if isinstance(user.target, str) else getattr(user.target, "__name__", "_")
    return name.endswith("_") and not name.endswith("__")


def freeze(gm, inputs, chosen):
    """Make the *chosen* of *inputs* buffers of *gm* instead of inputs. Gives {node: Content}."""
    frozen = {}
    wanted = set(chosen)
    placeholders = gm.graph.find_nodes(op="placeholder")
    first = next(node for node in gm.graph.nodes if node.op != "placeholder")
    with torch.inference_mode(False), torch.no_grad(), gm.graph.inserting_before(first):
        for node, placeholder in zip(inputs, placeholders, strict=True):
            if node not in wanted:
                continue
            copy = node.obj.detach().clone()
            try:
                content = Content(copy)
            except ValueError:
                continue
            if copy.stride() == node.obj.stride():
                frozen[node] = content
                _replace(gm, placeholder, f"frozen_{len(frozen)}", copy)
    return frozen


def _replace(gm, placeholder, name, tensor):
    gm.register_buffer(name, tensor)
    constant = gm.graph.create_node("get_attr", name)
    constant.meta.update(placeholder.meta)
    placeholder.replace_all_uses_with(constant)
    gm.graph.erase_node(placeholder)
