"""One way to say "this outside thing changed": a scenario, run once on eager and once compiled.

A scenario is a function that builds a fresh program and returns a ``Case``. The run is always the same: two calls,
the change, two calls, back to the old state, two calls. So each scenario checks three things at once: the change is
seen (never stale), the new state is cached too, and the *old* state is a hit again (no recapture). ``unrelated`` is a
change that can't matter, after which the call must be a hit.
"""
import contextlib
import dataclasses
from typing import Callable

import torch

import magpy
from support import compare
from support.expect import arguments, assert_counts, batch, named


@dataclasses.dataclass
class Case:
    fn: Callable                                   # the program
    change: Callable                               # makes the outside change
    back: Callable                                 # undoes it (may run when nothing was changed)
    unrelated: Callable | None = None              # a change the program can't notice
    args: Callable = lambda i: (batch(i),)         # the i-th call's arguments
    captures: int | None = 2                       # expected in all; None where recapture is allowed
    differs: bool = True                           # eager's result does change (else the test shows nothing)
    observe: Callable | None = None                # what to compare besides the result
    fullgraph: bool = True                         # False where only the right result is asked for


def scenario(build):
    """Decorator: the function that builds the case becomes a test."""
    return named(lambda: run(build), build)


def right(build):
    """Decorator as ``scenario``, for corners where only the right result is asked for, captured or not."""
    def relaxed():
        case = build()
        case.captures, case.fullgraph = None, False
        return case
    return named(lambda: run(relaxed), build)


def run(build):
    """Runs the scenario on eager, then compiled, and compares call by call."""
    torch.manual_seed(0)
    case = build()
    with _undone(case):
        want = list(_steps(case, case.fn))
    if case.differs:
        assert _different(want[1][1], want[2][1]), "the change does not show in eager: a useless scenario"
    torch.manual_seed(0)
    case = build()
    compiled = magpy.compile(case.fn, backend="eager", fullgraph=case.fullgraph)
    with _undone(case):
        for (step, got), (_, expected) in zip(_steps(case, compiled), want, strict=True):
            compare.equal(got, expected, step)
            _count(case, compiled, step)


STEPS = ["first call", "second call", "changed", "changed again", "back", "back again", "unrelated"]
CAPTURES = [1, 1, 2, 2, 2, 2, 2]


def _steps(case, f):
    for n, step in enumerate(STEPS):
        if step == "changed":
            case.change()
        elif step == "back":
            case.back()
        elif step == "unrelated":
            if case.unrelated is None:
                return
            case.unrelated()
        # The changed call gets the very values of the call before it, so that only the change can differ.
        args, kwargs = arguments(case.args(n - 1 if step == "changed" else n))
        torch.manual_seed(n)
        result = f(*args, **kwargs)
        yield step, (result, case.observe() if case.observe else None)


def _count(case, compiled, step):
    n = STEPS.index(step)
    if case.captures == 2:
        assert_counts(compiled, CAPTURES[n], n + 1 - CAPTURES[n], step)
    elif case.captures == 1:
        assert_counts(compiled, 1, n, step)


def _different(a, b):
    try:
        compare.equal(a, b)
    except AssertionError:
        return True
    return False


@contextlib.contextmanager
def _undone(case):
    try:
        yield
    finally:
        case.back()


def sequence(fn, calls, captures, fullgraph=True):
    """Calls ``fn`` compiled and plain with each of ``calls`` (argument makers); checks counts after each."""
    compiled = magpy.compile(fn, backend="eager", fullgraph=fullgraph)
    for i, (make, expected) in enumerate(zip(calls, captures, strict=True)):
        (args, kwargs), (plain_args, plain_kwargs) = arguments(make()), arguments(make())
        comparison = compare.Comparison()
        got, want = compiled(*args, **kwargs), fn(*plain_args, **plain_kwargs)
        comparison.pair_deep([args, kwargs], [plain_args, plain_kwargs])
        comparison.equal(got, want, f"call {i}: result")
        compare.equal([args, kwargs], [plain_args, plain_kwargs], f"call {i}: arguments")
        if expected is not None:
            assert_counts(compiled, expected, i + 1 - expected, f"call {i}")
    return compiled
