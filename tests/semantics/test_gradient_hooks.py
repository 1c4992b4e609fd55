"""Gradient hooks that a call puts on tensors of its own, and backward hooks of modules that are not full."""
import functools

import pytest
import torch
from torch import nn

import magpy
from support.expect import assert_counts, batch

BACKENDS = pytest.mark.parametrize("backend", ["eager", "aot_eager"])
pytestmark = pytest.mark.filterwarnings("ignore:Using a non-full backward hook")


class Hooked(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 4)
        self.seen = []

    def note(self, gradient):
        self.seen.append(("note", gradient.sum().item()))

    def named(self, name, gradient):
        self.seen.append((name, gradient.sum().item()))
        return gradient * 2


def compare(build, backend, captures=1, calls=3):
    """Forward, backward, and what the hooks saw, call by call."""
    compiled, plain = None, None
    for which in range(2):
        torch.manual_seed(0)
        if which:
            plain = build()
        else:
            module = build()
            compiled = magpy.compile(module, backend=backend, fullgraph=True)
    for i in range(calls):
        for each, own in ((compiled, module), (plain, plain)):
            own.zero_grad()
            own.seen.clear()
            each(batch(i)).sum().backward()
        assert module.seen and len(module.seen) == len(plain.seen)
        for ours, theirs in zip(module.seen, plain.seen):
            assert ours[0] == theirs[0] and ours[1] == pytest.approx(theirs[1], abs=1e-4)
        for ours, theirs in zip(module.parameters(), plain.parameters()):
            torch.testing.assert_close(ours.grad, theirs.grad)
    assert_counts(compiled, captures, calls - captures)


@BACKENDS
def test_hook_on_a_tensor(backend):
    class Net(Hooked):
        def forward(self, x):
            y = self.first(x)
            early = y * 3
            y.register_hook(self.note)
            return self.second(y) + early + y.relu()
    compare(Net, backend)


@BACKENDS
def test_hooks_made_during_the_call(backend):
    class Net(Hooked):
        def forward(self, x):
            y = self.first(x)
            mask = (y > 0).float()
            y.register_hook(lambda gradient: self.named("lambda", gradient))
            y.register_hook(functools.partial(self.named, "partial"))
            z = torch.tanh(y)
            z.register_hook(lambda gradient, factor=0.5: gradient * mask * factor)
            return self.second(z)
    compare(Net, backend)


@BACKENDS
def test_hook_on_a_node(backend):
    class Net(Hooked):
        def forward(self, x):
            y = torch.tanh(self.first(x))
            y.grad_fn.register_hook(lambda given, got: self.seen.append((len(given), got[0].sum().item())))
            return self.second(y)
    compare(Net, backend)


@BACKENDS
def test_backward_hook_of_a_module(backend):
    class Net(Hooked):
        def __init__(self):
            super().__init__()
            self.first.register_backward_hook(Net.of_function)
            self.second.register_backward_hook(self.of_method)
            self.second.register_backward_hook(lambda module, given, got: self.of_method(module, given, got))
            self.count = 0

        @staticmethod
        def of_function(module, given, got):
            module.seen_by_function = got[0].sum().item()

        def of_method(self, module, given, got):
            self.count += 1
            self.seen.append((type(module).__name__, got[0].sum().item()))

        def forward(self, x):
            return self.second(torch.relu(self.first(x)))
    compare(Net, backend)


def test_another_hook_is_another_entry():
    class Net(Hooked):
        def __init__(self):
            super().__init__()
            self.hook = self.note

        def forward(self, x):
            y = self.first(x)
            y.register_hook(self.hook)
            return self.second(y)
    net = Net()
    compiled = magpy.compile(net, backend="eager", fullgraph=True)
    for hook, captures in ((net.note, 1), (functools.partial(net.named, "other"), 2)):
        net.hook = hook
        for i in range(2):
            net.seen.clear()
            compiled(batch(i)).sum().backward()
            assert [name for name, _ in net.seen] == ["note" if captures == 1 else "other"]
    assert_counts(compiled, 2, 2)


def removes(self, y):
    y.register_hook(self.note).remove()
    return y


def with_statement(self, y):
    with y.register_hook(self.note):
        y = y * 2
    return y


def keeps(self, y):
    self.handle = y.register_hook(self.note)
    return y


def reads_a_variable(self, y):
    name = "first"
    y.register_hook(lambda gradient: self.named(name, gradient))
    name = "second"
    return y


def counts(self, y):
    count = 0

    def hook(gradient):
        nonlocal count
        count += 1
        self.named(count, gradient)
    y.register_hook(hook)
    return y


def on_an_input(self, y):
    self.first.weight.register_hook(self.note)
    return y


@pytest.mark.parametrize("use", [removes, with_statement, keeps, reads_a_variable, counts, on_an_input])
def test_what_cannot_be_done_again_is_left_to_eager(use):
    class Net(Hooked):
        def forward(self, x):
            return self.second(use(self, self.first(x)))
    nets = []
    for _ in range(2):
        torch.manual_seed(0)
        nets.append(Net())
    compiled = magpy.compile(nets[0], backend="eager")
    for i in range(3):
        for each, own in ((compiled, nets[0]), (nets[1], nets[1])):
            own.zero_grad()
            own.seen.clear()
            each(batch(i)).sum().backward()
        assert nets[0].seen == nets[1].seen
        torch.testing.assert_close(nets[0].first.weight.grad, nets[1].first.weight.grad)
    assert magpy.explain(compiled).entries == []
