"""The systems that are measured, behind one interface. Each object is one test's module, compiled.

``graphs`` is how many were captured so far; ``hits(calls)`` how many of all calls so far were answered by a graph that
an earlier call captured. ``refusal(error)`` says in words for counting why the system did not capture, and gives None
for an error that is no refusal.
"""
import torch
import torch._dynamo

import magpy

from . import compare


class MagPy:
    def __init__(self, module):
        self.module = module
        self.compiled = magpy.compile(module, backend="eager", fullgraph=True)

    @property
    def graphs(self):
        return magpy.explain(self.compiled).captures

    def hits(self, calls):
        return magpy.explain(self.compiled).hits

    def missed_because(self):
        return (magpy.explain(self.compiled).misses or [""])[-1]

    def state(self):
        return compare.tensors_of(self.module), compare.attributes_of(self.module)

    @staticmethod
    def refusal(error):
        if isinstance(error, magpy.CaptureError):
            return f"{error.reason}: {error.detail}" if error.detail else error.reason
        return None


class Dynamo:
    def __init__(self, module):
        torch._dynamo.reset()
        self.module = module
        self.graphs = 0
        self.compiled = torch.compile(module, backend=self._backend, fullgraph=True, dynamic=False)

    def _backend(self, gm, example_inputs):
        self.graphs += 1
        return gm.forward

    def hits(self, calls):
        return calls - self.graphs

    def missed_because(self):
        return ""

    def state(self):
        attributes = compare.attributes_of(self.module)
        attributes.pop("._is_torch_compile", None)      # its own note
        return compare.tensors_of(self.module), attributes

    @staticmethod
    def refusal(error):
        if isinstance(error, torch._dynamo.exc.TorchDynamoException):
            return f"{type(error).__name__}: {first_line(error)}"
        return None


class TorchScript:
    """What ``torch.jit.script`` compiles is one graph by nature, and is never compiled again."""

    graphs = 1

    def __init__(self, module):
        try:
            self.compiled = torch.jit.script(module)
        except Exception as error:
            raise _NotScripted(f"{type(error).__name__}: {first_line(error)}") from error

    def hits(self, calls):
        return calls - 1

    def missed_because(self):
        return ""

    def state(self):
        """Of the scripted module, which has its own; it has no attributes but those whose types it knows."""
        return compare.tensors_of(self.compiled), None

    @staticmethod
    def refusal(error):
        return str(error) if isinstance(error, _NotScripted) else None


class _NotScripted(Exception):
    """torch.jit.script has no one class for its refusals."""


SYSTEMS = {"magpy": MagPy, "dynamo": Dynamo, "torchscript": TorchScript}


def first_line(error):
    return next((line.strip() for line in str(error).splitlines() if line.strip()), "")


def warm_up(names):
    """One small capture by each, so that no program's time has lazy imports in it."""
    for name in names:
        model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU()).eval()
        SYSTEMS[name](model).compiled(torch.ones(1, 2))
    magpy.reset()
    torch._dynamo.reset()
