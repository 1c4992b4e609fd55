"""Is an operation's output shape a function of its inputs' metadata alone?

torch's tags answer that for aten operators; operators of extensions carry none, and a
one-element integer tensor may stand where a number is meant (``x.view(n, -1)``,
``torch.zeros(n)``). So a call in doubt is run once more on fake tensors, which have no
data: it works, or its shape (or more) depends on data. This costs a millisecond,
hence only in doubt.

The fakes are made from metadata. `FakeTensorMode.from_tensor` would do less: in 2.14 it
remembers the value of a scalar, and ``item()`` then succeeds.
"""

import logging

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils import _pytree

from magpy.reasons import StopCapture

_log = logging.getLogger("torch._subclasses.fake_tensor")


def check(func, args, kwargs, name):
    """Raise StopCapture unless *func*'s result has a shape fixed by metadata."""
    mode = FakeTensorMode()
    fakes = {}

    def fake(tensor):
        found = fakes.get(id(tensor))
        if found is None:
            found = fakes[id(tensor)] = torch.empty_strided(
                tensor.shape, tensor.stride(), dtype=tensor.dtype, device=tensor.device)
        return found

    quiet, _log.disabled = _log.disabled, True      # a failure here is an answer
    try:
        with torch.no_grad(), mode:
            args, kwargs = _pytree.tree_map_only(torch.Tensor, fake, (args, kwargs))
            func(*args, **kwargs)
    except Exception as error:
        raise StopCapture("dynamic-output-shape",
                          f"{name} ({type(error).__name__} on fake tensors)") from None
    finally:
        _log.disabled = quiet
