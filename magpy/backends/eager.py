"""Run the graph as it is, operation by operation: for debugging, and to tell whether a
wrong result comes from the capture or from a compiler."""

import torch

AUTOCAST_DEVICES = ("cpu", "cuda")


def compile_graph(gm, example_inputs):
    """A callable that runs *gm* with torch's own kernels."""
    return with_state_restored(gm)


def changes_state(node):
    """Does this FX node switch grad mode or autocast?"""
    return node.target is torch._C._set_grad_enabled or "autocast" in str(node.target)


def with_state_restored(gm):
    """``gm.forward``, after which torch's state is as before also when an error leaves it
    in the middle of a no_grad or autocast region."""
    nodes = [node for child in gm.modules() if isinstance(child, torch.fx.GraphModule)
             for node in child.graph.nodes]
    if not any(changes_state(node) for node in nodes):
        return gm.forward

    def run(*inputs):
        before = State()
        try:
            return gm.forward(*inputs)
        except BaseException:
            before.restore()
            raise
    return run


class State:
    """Grad mode and autocast as they are."""

    __slots__ = ("grad", "autocast", "cache", "nesting")

    def __init__(self):
        self.grad = torch.is_grad_enabled()
        self.autocast = [(device, torch.is_autocast_enabled(device), torch.get_autocast_dtype(device))
                         for device in AUTOCAST_DEVICES]
        self.cache = torch.is_autocast_cache_enabled()
        self.nesting = _nesting()

    def restore(self):
        torch._C._set_grad_enabled(self.grad)
        for device, enabled, dtype in self.autocast:
            torch.set_autocast_enabled(device, enabled)
            torch.set_autocast_dtype(device, dtype)
        torch.set_autocast_cache_enabled(self.cache)
        while _nesting() > self.nesting:
            if torch.autocast_decrement_nesting() == 0:
                torch.clear_autocast_cache()


def _nesting():
    """How many autocast contexts are entered."""
    torch.autocast_increment_nesting()
    return torch.autocast_decrement_nesting()
