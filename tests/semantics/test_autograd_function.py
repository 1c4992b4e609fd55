"""torch.autograd.Function inside a compiled call: forward is guarded, backward stays the user's own."""
import numpy as np
import pytest
import torch

import magpy
from support import compare
from support.expect import assert_counts, batch, check, program

scale = 2.0
log = []


class Swish(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * torch.sigmoid(x)

    @staticmethod
    def backward(ctx, grad):
        x, = ctx.saved_tensors
        s = torch.sigmoid(x)
        return grad * (s * (1 + x * (1 - s)))


class Scaled(torch.autograd.Function):
    """Reads a global in both directions; takes a number; has a gradient of its own."""

    @staticmethod
    def forward(ctx, x, times):
        ctx.times = times
        return x * scale * times

    @staticmethod
    def backward(ctx, grad):
        return grad * scale * 100, None


class Several(torch.autograd.Function):
    """setup_context, several results, one of them no tensor, one not differentiable."""

    @staticmethod
    def forward(x, y):
        return x + y, (x > y), 7

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.mark_non_differentiable(output[1])
        ctx.shape = inputs[0].shape

    @staticmethod
    def backward(ctx, grad, _, __):
        return grad.expand(ctx.shape), grad * 3


class Same(torch.autograd.Function):
    """Hands its input back."""

    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad * -1


class InPlace(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        x.mul_(3)
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad * 3


class Outer(torch.autograd.Function):
    """Another Function inside."""

    @staticmethod
    def forward(ctx, x):
        return Swish.apply(x) + 1

    @staticmethod
    def backward(ctx, grad):
        return grad * 5


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(4, 4)
        self.last = torch.nn.Linear(4, 2)

    def forward(self, x):
        x = Swish.apply(self.first(x))
        x = Scaled.apply(x, 2)
        x = Same.apply(x)
        a, mask, n = Several.apply(x, x.detach() * 0.5)
        x = InPlace.apply(torch.where(mask, a, a * n).clone())
        return self.last(Outer.apply(x))


def test_a_training_model():
    check(Net, train=True)


def test_a_training_model_on_a_compiler():
    check(Net, train=True, backend="aot_eager", calls=3)


def test_a_training_model_on_inductor():
    check(Net, train=True, backend="inductor", calls=2)


def test_without_gradients():
    check(Net, context=torch.no_grad)


@program
def test_inputs_that_need_no_gradient(x):
    y = Swish.apply(x)
    z = Same.apply(x)
    return y, z, Scaled.apply(y, 3), Several.apply(x, y), Outer.apply(x), InPlace.apply(x.clone()), torch.is_grad_enabled()


def run(f, x):
    x = x.clone().requires_grad_()
    y = f(x)
    y.sum().backward()
    return y.detach(), x.grad


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_backward_is_read_live(backend):
    """The outside state that backward reads is not guarded, and need not be."""
    global scale

    def f(x):
        return Scaled.apply(x * 2, 1) + 1

    compiled = magpy.compile(f, backend=backend, fullgraph=True)
    run(compiled, batch(0))
    x = batch(1).requires_grad_()
    y = compiled(x)
    assert_counts(compiled, 1, 1)
    try:
        scale = 5.0
        y.sum().backward()
        assert torch.equal(x.grad, torch.full_like(x, 1000.0))
        compare.equal(run(compiled, batch(2)), run(f, batch(2)), "after the change")
        assert_counts(compiled, 2, 1)
    finally:
        scale = 2.0


class Logged(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        log.append(len(log))
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad * 2


class Reader(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * len(log)

    @staticmethod
    def backward(ctx, grad):
        return grad


class Hidden(torch.autograd.Function):
    """Takes a tensor of the call in another way than as its argument."""

    held = None

    @staticmethod
    def forward(ctx, x):
        return x * Hidden.held

    @staticmethod
    def backward(ctx, grad):
        return grad


def write_then_read(x):
    log.append(1)
    return Reader.apply(x)


def hold_then_use(x):
    Hidden.held = x.detach() * 2
    return Hidden.apply(x)


@pytest.mark.parametrize("f", [Logged.apply, write_then_read, hold_then_use, lambda x: sum(map(Swish.apply, [x, x]))],
                         ids=["writes", "reads_written", "takes_hidden", "called_by_c"])
def test_what_cannot_be_one_operation_stops(f):
    """... and is right all the same, effects done once."""
    del log[:]
    want = [(*run(lambda x: f(x), batch(i)), list(log)) for i in range(3)]
    del log[:]
    compiled = magpy.compile(lambda x: f(x), backend="eager")
    got = [(*run(compiled, batch(i)), list(log)) for i in range(3)]
    compare.equal(got, want, "three calls")
    explained = magpy.explain(compiled)
    assert explained.captures == 0 and explained.breaks == 3, explained


def test_an_exception_leaves_apply():
    class Picky(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            if x.shape[0] > 2:
                raise ValueError("too long")
            return x * 2

    def f(x):
        try:
            return Picky.apply(x)
        except ValueError:
            return x * 3

    compiled = magpy.compile(f, backend="eager")
    for i in range(2):
        x = batch(i).requires_grad_()
        compare.equal(compiled(x).detach(), f(x).detach(), "raised")
        x = batch(i, 2, 2).requires_grad_()
        compare.equal(compiled(x).detach(), f(x).detach(), "not raised")
    assert magpy.explain(compiled).captures == 1


class Asks(torch.autograd.Function):
    """Asks of which types its arguments are, as the graph must hand them over."""

    @staticmethod
    def forward(ctx, x, dtype, shape, number, pair, sizes):
        ctx.factor = shape.numel() + (1 if dtype is float else 2) + (0 if type(number) is np.float32 else 5)
        sizes.append(len(pair))
        return x * ctx.factor * len(sizes)

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.factor, None, None, None, None, None


def test_arguments_arrive_as_they_are():
    def f(x):
        return Asks.apply(x, float, x.shape, np.float32(0.5), (1, [2]), [3])

    compiled = magpy.compile(f, backend="eager", fullgraph=True)
    for i in range(3):
        compare.equal(run(compiled, batch(i)), run(f, batch(i)), f"call {i}")
    assert_counts(compiled, 1, 2)


def test_an_outside_list_is_not_copied():
    """forward() may keep it, and must then keep this very list."""
    sizes = [1, 2]

    def f(x):
        return Scaled.apply(x, sizes[0]) + Keeps.apply(x, sizes)

    compiled = magpy.compile(f, backend="eager")
    for i in range(3):
        got = compiled(batch(i).requires_grad_()).grad_fn.next_functions[1][0]
        assert got.sizes is sizes
    assert magpy.explain(compiled).stops[-1].reason == "graph-argument"


class Keeps(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, sizes):
        ctx.sizes = sizes
        return x * sizes[1]

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.sizes[1], None
