"""Run the graph as it is, operation by operation: for debugging, and to tell whether a
wrong result comes from the capture or from a compiler."""

import torch


def compile_graph(gm, example_inputs):
    """A callable that runs *gm* with torch's own kernels."""
    if not any(node.target is torch._C._set_grad_enabled or "autocast" in str(node.target)
               for node in gm.graph.nodes):
        return gm.forward

    def run(*inputs):
        # An error inside a no_grad region must not leave the mode switched off.
        grad = torch.is_grad_enabled()
        try:
            return gm.forward(*inputs)
        finally:
            if torch.is_grad_enabled() != grad:
                torch._C._set_grad_enabled(grad)
    return run
