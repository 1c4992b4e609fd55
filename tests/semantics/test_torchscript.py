"""TorchScript functions inside a compiled call are operations of the graph."""
import torch

import magpy
from support import compare
from support.expect import batch, check


@torch.jit.script
def halves(x, scale: float):
    a, b = x.chunk(2, -1)
    return torch.cat((-b, a), -1) * scale, a


@torch.jit.script
def double_(x):
    return x.mul_(2)


@torch.jit.script
def positive(x):
    return x[x > 0]


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(4, 4)

    def forward(self, x):
        x, a = halves(self.fc(x), 0.5)
        y = x.clone()
        return double_(y) + y, a, torch.is_grad_enabled()


def test_functions():
    check(Net, train=True)


def test_functions_on_a_compiler():
    check(Net, train=True, backend="aot_eager")


def test_the_input_is_changed():
    check(lambda: lambda x: double_(x) + 1)


def test_a_shape_that_depends_on_data_stops():
    def f(x):
        return positive(x).shape[0]

    compiled = magpy.compile(f, backend="eager")
    for i in range(4):
        compare.equal(compiled(batch(i)), f(batch(i)), f"call {i}")
    assert magpy.explain(compiled).captures == 0


def test_a_function_replaced():
    calls = {"f": halves}

    def f(x):
        return calls["f"](x, 2.0)[0]

    compiled = magpy.compile(f, backend="eager", fullgraph=True)
    compare.equal(compiled(batch(0)), f(batch(0)), "halves")

    @torch.jit.script
    def other(x, scale: float):
        return x * scale, x

    calls["f"] = other
    for i in range(2):
        compare.equal(compiled(batch(i)), f(batch(i)), f"other, call {i}")
    assert magpy.explain(compiled).captures == 2
