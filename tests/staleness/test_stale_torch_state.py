"""Global torch state that operators read, and the training flag."""
import contextlib

import pytest
import torch
from torch import nn

import magpy
from support import compare
from support.expect import assert_counts, batch
from support.scenario import Case, scenario


def net():
    return nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5), nn.BatchNorm1d(4))


@scenario
def test_training_flag():
    m = net()
    return Case(m, m.eval, m.train)


@scenario
def test_training_flag_of_one_submodule():
    m = net()
    return Case(m, m[1].eval, m[1].train)


@scenario
def test_training_flag_set_directly():
    m = net()
    return Case(m, lambda: setattr(m[2], "training", False), lambda: setattr(m[2], "training", True))


@scenario
def test_training_flag_through_the_compiled_module():
    """train() and eval() of the compiled module are the original's."""
    m = net()
    compiled = magpy.compile(m, backend="eager")
    return Case(m, compiled.eval, compiled.train)


@scenario
def test_dropout_probability():
    m = net()
    return Case(m, lambda: setattr(m[1], "p", 0.1), lambda: setattr(m[1], "p", 0.5))


CONTEXTS = {
    "no_grad": torch.no_grad,
    "inference_mode": torch.inference_mode,
    "autocast bfloat16": lambda: torch.autocast("cpu", torch.bfloat16),
    "autocast float16": lambda: torch.autocast("cpu", torch.float16),
    "float64 by default": lambda: default_dtype(torch.float64),
    "deterministic": lambda: deterministic(),
}


@contextlib.contextmanager
def default_dtype(dtype):
    old = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(old)


@contextlib.contextmanager
def deterministic():
    torch.use_deterministic_algorithms(True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(False)


class Reads(nn.Module):
    """Its result shows the global state: dtype of a factory, of a product, of a gradient, of a branch."""

    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(4, 4)

    def forward(self, x):
        grad = 1.0 if torch.is_grad_enabled() else 2.0
        return self.lin(x) * grad, torch.ones(2) + 0.5, torch.is_inference_mode_enabled(), torch.get_default_dtype()


@pytest.mark.parametrize("name", CONTEXTS)
def test_global_state(name):
    plain = Reads()
    compiled = magpy.compile(plain, backend="eager", fullgraph=True)
    calls = 0
    for context, captures in [(contextlib.nullcontext, 1), (CONTEXTS[name], 2), (contextlib.nullcontext, 2), (CONTEXTS[name], 2)]:
        for _ in range(2):
            with context():
                compare.equal(compiled(batch(calls)), plain(batch(calls)), f"{name}, call {calls}")
            calls += 1
            done = captures if captures == 1 or calls != 3 else 2
            assert_counts(compiled, done, calls - done, f"{name}, call {calls}")


def test_all_global_states_one_after_the_other():
    """Each state has its own entry, and none is taken for another."""
    plain = Reads()
    compiled = magpy.compile(plain, backend="eager", fullgraph=True)
    for _ in range(2):
        for name, context in CONTEXTS.items():
            with context():
                compare.equal(compiled(batch(0)), plain(batch(0)), name)
    assert_counts(compiled, len(CONTEXTS), len(CONTEXTS))


def test_gradient_flows_after_a_first_call_under_no_grad():
    plain = nn.Linear(4, 4)
    compiled = magpy.compile(plain, backend="eager", fullgraph=True)
    with torch.no_grad():
        compiled(batch(0))
    compiled(batch(1)).sum().backward()
    assert plain.weight.grad is not None


def test_autocast_cache_is_not_part_of_the_result():
    plain = nn.Linear(4, 4)
    compiled = magpy.compile(plain, backend="eager", fullgraph=True)
    for i in range(4):
        with torch.autocast("cpu", torch.bfloat16):
            compare.equal(compiled(batch(i)), plain(batch(i)))
        with torch.no_grad():
            plain.weight.add_(1)
    assert_counts(compiled, 1, 3)
