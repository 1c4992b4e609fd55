"""The inputs that a backend compiles for, as they were when the call began.

Backends trace the graph with the tensors that they are given, and specialize on their
metadata. The call has run by then: ``x.squeeze_()`` has given its argument another shape, and
``x.mul_(weight)`` has made it need a gradient. The graph will be called with tensors that
look as the guards say.
"""

import torch


def as_recorded(tensor, meta):
    """*tensor*, or a tensor with its memory, that looks as *meta* says; None if there is none. A constant of the
    graph has no *meta*: nothing may change it."""
    if meta is None or meta.matches(tensor):
        return tensor
    if type(tensor) is not torch.Tensor or meta.requires_grad or meta.strides is None:
        return None
    with torch.no_grad():
        try:
            was = tensor.detach().as_strided(meta.shape, meta.strides, meta.storage_offset)
        except RuntimeError:        # the memory is another one, and smaller
            return None
    return was if meta.matches(was) else None
