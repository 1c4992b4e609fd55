"""What autograd knows of a tensor, changed and read within the call; and changes that it does not notice (x.data)."""
import pytest
import torch

import magpy
from support.expect import assert_counts, batch, built, check

BACKENDS = pytest.mark.parametrize("backend", ["eager", "aot_eager"])


@BACKENDS
@pytest.mark.parametrize("make", [
    lambda x: x.clone().requires_grad_(), lambda x: x.detach().requires_grad_(True), lambda x: torch.ones(3, 4, requires_grad=True) ,
    lambda x: torch.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)])
def test_leaves_made_inside(make, backend):
    def f(x):
        leaf = make(x)
        y = (leaf * x).tanh()
        y.retain_grad()
        return y * 2, y, leaf, y.grad_fn is None, leaf.grad_fn is None, leaf.is_leaf, y.is_leaf, x.grad_fn, x.is_leaf
    compiled = magpy.compile(f, backend=backend, fullgraph=True)
    for i in range(3):
        results = []
        for each in (compiled, f):
            out = each(batch(i))
            out[0].sum().backward()
            results.append(out)
        for a, b in zip(results[0][:3], results[1][:3]):
            torch.testing.assert_close(a, b)
            torch.testing.assert_close(a.grad, b.grad) if a is not results[0][0] else None
        assert results[0][3:] == results[1][3:]
    assert_counts(compiled, 1, 2)


@BACKENDS
def test_requires_grad_by_assignment(backend):
    def f(x, w):
        y = x * 2
        y.requires_grad = True
        z = (w * 3)
        z.detach_()
        return y * w, z, y, y.requires_grad, z.requires_grad
    check(lambda: f, lambda i: (batch(i), batch(i + 9).requires_grad_()), backend=backend)


@BACKENDS
def test_an_input_begins_to_require_grad(backend):
    def f(x):
        x.requires_grad_()
        return x * 2
    check(lambda: f, backend=backend, train=True)
    x = batch(0)
    compiled = magpy.compile(f, backend=backend, fullgraph=True)
    compiled(batch(1)), compiled(x), compiled(x)
    assert_counts(compiled, 2, 1)       # the second time it requires grad already


@BACKENDS
def test_a_state_that_is_detached_each_time(backend):
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = torch.nn.Linear(4, 4)
            self.state = torch.zeros(3, 4)

        def forward(self, x):
            self.state.detach_()
            self.state = torch.tanh(self.fc(self.state) + x)
            return self.state * 1
    check(Net, backend=backend, captures=2, calls=5, train=True)


class Clamped(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(4, 4)

    def forward(self, x):
        self.fc.weight.data.clamp_(-0.3, 0.3)
        self.fc.weight.data[0].mul_(0.5)
        return self.fc(x)


class Replaced(Clamped):
    def forward(self, x):
        self.fc.weight.data = self.fc.weight.data / self.fc.weight.data.norm()
        return self.fc(x)


class Late(Clamped):
    """The weight that backward sees is the changed one, and autograd does not complain."""

    def forward(self, x):
        y = self.fc(x)
        self.fc.weight.data.mul_(2)
        return self.fc(torch.tanh(y)) + y


class Copied(Clamped):
    def forward(self, x):
        self.fc.weight.data.copy_(self.fc.weight.data.t().clone())
        self.fc.bias.data.fill_(0.5)
        return self.fc(x)


@BACKENDS
@pytest.mark.parametrize("net", [Clamped, Replaced, Late, Copied])
def test_changes_behind_autograds_back(net, backend):
    check(net, lambda i: batch(i).requires_grad_(), train=True, backend=backend, state=lambda m: list(m.parameters()))


@built(train=True)
def test_data_moves_to_other_memory():
    class Net(Clamped):
        def forward(self, x):
            y = x * 2
            z = x.clone()
            z.data = y
            y.add_(1)
            return self.fc(z), z, y
    return Net()


def test_the_first_owner_of_replaced_memory_keeps_it():
    net = Replaced()
    before = net.fc.weight.data
    copy = before.clone()
    compiled = magpy.compile(net, backend="eager", fullgraph=True)
    for i in range(3):
        compiled(batch(i))
        assert torch.equal(before, copy) and before.data_ptr() != net.fc.weight.data_ptr()
    assert_counts(compiled, 1, 2)


def test_grad_of_an_outside_tensor():
    """Guards do not hold it."""
    w = torch.ones(4, requires_grad=True)
    compiled = magpy.compile(lambda x: x if w.grad is None else x * w.grad, backend="eager")
    for i in range(2):
        assert torch.equal(compiled(batch(i)), batch(i))
    w.grad = torch.full((4,), 2.0)
    assert torch.equal(compiled(batch(0)), batch(0) * 2)
    assert {stop.reason for stop in magpy.explain(compiled).stops} == {"autograd-in-graph"}
