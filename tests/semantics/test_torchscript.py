"""TorchScript functions inside a compiled call are operations of the graph."""
import subprocess
import sys

import pytest
import torch

import magpy
from support import compare
from support.expect import assert_counts, batch, check


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


class Inner(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(4, 4)
        self.norm = torch.nn.BatchNorm1d(4)

    def forward(self, x):
        return self.norm(self.fc(x)).relu()


class Outer(torch.nn.Module):
    def __init__(self, scripted):
        super().__init__()
        self.scripted = scripted
        self.last = torch.nn.Linear(4, 2)

    def forward(self, x):
        y = self.scripted(x)
        return self.last(y.float()), y.dtype, y.requires_grad


def test_modules():
    """They run on their state as it is; another dtype of it is seen."""
    torch.manual_seed(0)
    model = Outer(torch.jit.script(Inner().eval())).eval()
    compiled = magpy.compile(model, backend="eager", fullgraph=True)

    def both(i, when):
        x, y = batch(i).requires_grad_(), batch(i).requires_grad_()
        got, want = compiled(x), model(y)
        compare.equal(got[0].detach(), want[0].detach(), when)
        assert got[1:] == want[1:]
        got[0].sum().backward()
        want[0].sum().backward()
        compare.equal(x.grad, y.grad, when)

    both(0, "captured")
    both(1, "hit")
    with torch.no_grad():
        next(model.scripted.parameters()).mul_(2)
    both(2, "parameter changed in place")
    assert_counts(compiled, 1, 2)
    for p in model.scripted.parameters():
        p.requires_grad_(False)
    both(3, "no gradients for parameters")
    assert_counts(compiled, 2, 2)


def test_a_module_in_training_stops():
    model = Outer(torch.jit.script(Inner()))
    compiled = magpy.compile(model, backend="eager")
    compiled(batch(0))
    assert magpy.explain(compiled).stops[-1].reason == "leaf-mutation"


class Scripted(torch.jit.ScriptModule):
    def __init__(self):
        super().__init__()
        self.offset = 3.0
        self.register_buffer("scale", torch.arange(4.0))

    @torch.jit.script_method
    def forward(self, x):
        return x * self.scale + self.offset


def traced():
    return torch.jit.trace(Inner().eval(), torch.ones(2, 4))


def frozen():
    return torch.jit.freeze(torch.jit.script(Inner().eval()))


@pytest.mark.parametrize("build", [Scripted, traced, frozen])
def test_a_module_that_was_never_called(build):
    """Its first call makes the Python objects of its methods and keeps them."""
    check(lambda: Outer(build()).eval())


@pytest.mark.parametrize("build", [Scripted, traced])
def test_a_buffer_of_such_a_module_changes(build):
    model = Outer(build()).eval()
    compiled = magpy.compile(model, backend="eager", fullgraph=True)
    for i in range(4):
        compare.equal(compiled(batch(i))[0], model(batch(i))[0], f"call {i}")
        with torch.no_grad():
            for _, tensor in (*model.scripted.named_buffers(), *model.scripted.named_parameters()):
                tensor += 1
    assert_counts(compiled, 1, 3)


def test_a_library_imported_by_a_rule():
    program = """
import torch, magpy
f = torch.jit.trace(lambda x: x * 2, torch.ones(2))
g = magpy.compile(lambda x: f(x) + 1, backend="eager", fullgraph=True)
for i in range(2):
    assert g(torch.ones(2) * i).tolist() == [2.0 * i + 1] * 2
assert magpy.explain(g).captures == 1
"""
    subprocess.run([sys.executable, "-c", program], check=True)
