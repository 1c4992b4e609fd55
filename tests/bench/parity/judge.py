"""The verdict on one test, in the process that runs it. `paritybench.py` says what the words mean."""
import time

import torch.utils._pytree as pytree
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from . import compare, program
from .systems import SYSTEMS, first_line

# The inputs of the calls: the first captures, the second should hit, the third brings values not seen before.
CALLS = (11, 11, 22)
_DATA_READS = ("_local_scalar_dense", "nonzero")


def judge(test, system, eager):
    """The verdict of *system*, or for "eager" whether the test runs at all; *eager* is what that found out."""
    try:
        return _eager(test) if system == "eager" else _System(test, SYSTEMS[system], eager).verdict()
    except BaseException as error:      # a program may raise anything, SystemExit too
        return {"verdict": "fails" if system == "eager" else "error", "reason": _words(error)}


def _words(error):
    return f"{type(error).__name__}: {first_line(error)}"[:300]


# --- eager ----------------------------------------------------------------------------

def _eager(test):
    module = test.fresh()
    first = _outcome(module, test.inputs(CALLS[0]))
    again, log = _with_operators(test, CALLS[0])
    stable = not compare.difference(again, first)       # now, since later calls may change what *first* refers to
    for n in CALLS[1:]:
        _outcome(module, test.inputs(n))
    _, other_log = _with_operators(test, CALLS[-1])
    static = log == other_log
    return {"verdict": "runs", "ops": len(log), "static": static, "stable": stable,
            "strict": static and not any(read in name for name, _ in log for read in _DATA_READS)}


def _outcome(module, inputs):
    """What a call gives, and its arguments afterwards."""
    return (program.call(module, inputs), *inputs)


def _with_operators(test, n):
    """The outcome of a fresh module's call, and its ATen operators with the shapes of their results."""
    module, inputs = test.fresh(), test.inputs(n)
    with _Operators() as operators:
        outcome = _outcome(module, inputs)
    return outcome, operators.log


class _Operators(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.log = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        shapes = [tuple(leaf.shape) for leaf in pytree.tree_leaves(out) if isinstance(leaf, Tensor)]
        self.log.append((str(func), shapes))
        return out


# --- a system -------------------------------------------------------------------------

class _System:
    """The test under a system, call by call next to an eager module that sees the same calls."""

    def __init__(self, test, make, eager):
        self.test = test
        self.make = make
        self.eager = eager
        self.found = {}

    def verdict(self):
        reference, module = self.test.fresh(), self.test.fresh()
        wrong = ""
        for number, n in enumerate(CALLS, 1):
            theirs = _outcome(reference, self.test.inputs(n))   # also warms up the kernels for the call that is timed
            inputs = self.test.inputs(n)
            try:
                ours = self.first_call(module, inputs) if number == 1 else _outcome(self.system.compiled, inputs)
            except BaseException as error:
                return self.failed(error, number)
            wrong = wrong or self.different(ours, theirs, f"call {number}")
        return self.finished(wrong or self.state_differs(reference))

    def first_call(self, module, inputs):
        """Timed in CPU seconds, which other processes do not lengthen."""
        started = time.process_time()
        self.system = self.make(module)
        outcome = _outcome(self.system.compiled, inputs)
        self.found["seconds"] = round(time.process_time() - started, 5)
        return outcome

    def failed(self, error, number):
        refusal = self.make.refusal(error)
        if refusal is not None:
            return {"verdict": "refused", "reason": refusal[:300], "call": number}
        return {"verdict": "error", "reason": _words(error), "call": number}

    def different(self, ours, theirs, at):
        """A program that differs from itself in eager has nothing to be compared with."""
        return compare.difference(ours, theirs, at) if self.eager["stable"] else ""

    def state_differs(self, reference):
        tensors, attributes = self.system.state()
        wrong = self.different(tensors, compare.tensors_of(reference), "state")
        if not wrong and attributes is not None:
            wrong = self.different(attributes, compare.attributes_of(reference), "attributes")
        return wrong

    def finished(self, wrong):
        if wrong:
            return {"verdict": "wrong", "reason": wrong[:300], **self.found}
        if self.eager["ops"] and not self.system.graphs:
            return {"verdict": "no-graph", "reason": "the call went through and no graph was made"}
        if self.system.hits(len(CALLS)) < len(CALLS) - 1:
            return {"verdict": "recaptured", "reason": self.system.missed_because()[:300], **self.found}
        return {"verdict": "ok", **self.found}
