"""The oracle sees what it is there to see: each kind of fault, put in on purpose, is a failure."""
import functools

import pytest
import torch

from soundness import oracle, reduce
from soundness.program import Program

SOURCE = """
k = 2.0
log = []
def f(x):
    log.append(1)
    print("called")
    return x * k, log
target = f
"""
STEPS = ("result = run(T(1))", "k = 3.0", "result = run(T(1))")


def stale(f):
    """A compiled function that never looks whether anything has changed."""
    return functools.cache(f)


def forgetful(f):
    def call(x):
        result = f(x)
        del result[1][:]
        return result
    return call


def silent(f):
    def call(x):
        import contextlib
        import io
        with contextlib.redirect_stdout(io.StringIO()):
            return f(x)
    return call


def copies(f):
    return lambda x: (f(x)[0], [1])


def detached(f):
    return lambda x: (f(x.requires_grad_())[0], f.__globals__["log"])


def random(f):
    def call(x):
        torch.rand(1)
        return f(x)
    return call


def raises(f):
    def call(x):
        f(x)
        raise ValueError
    return call


@pytest.mark.parametrize("fault", [forgetful, silent, copies, detached, random, raises])
def test_fault_is_seen(fault):
    program = Program(SOURCE, STEPS)
    ours, plain = oracle.run(program, fault), oracle.run(program, lambda f: f)
    assert any(oracle.difference(a, b) for a, b in zip(ours, plain))


def test_stale_value_is_seen():
    program = Program("k = 2.0\ndef f():\n    return k\ntarget = f", ("result = run()", "k = 3.0", "result = run()"))
    ours, plain = oracle.run(program, stale), oracle.run(program, lambda f: f)
    assert [oracle.difference(a, b) is None for a, b in zip(ours, plain)] == [True, True, False]


def test_equal_runs_are_equal():
    program = Program(SOURCE, STEPS)
    verdict = oracle.check(program)
    assert verdict.failure is None and verdict.outcomes == ["capture", "", "capture"]


def test_reduction_keeps_only_what_fails():
    program = Program("a = 1\nb = 2\nif a:\n    c = 3\n    d = 4\ndef target(x):\n    return x\n", ("b = 5", "c = 7"))
    smallest = reduce.reduce(program, lambda p: "d = 4" in p.source and "c = 7" in p.steps)
    assert smallest.source.split() == ["d", "=", "4"] and smallest.steps == ("c = 7",)
