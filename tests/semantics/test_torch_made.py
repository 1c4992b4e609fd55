"""Tensors made in the ways of old PyTorch: Variable, typed constructors, new, range."""
import numpy as np
import pytest
import torch
from torch._dynamo import mutation_guard
from torch.autograd import Variable

import magpy
from support import compare
from support.expect import batch, built, check, program


@program(train=True, inputs=lambda i: batch(i).requires_grad_())
def test_variable_cuts_the_gradient(x):
    return Variable(x) * x, Variable(x * 2).is_leaf, Variable(x, volatile=False) + 1


@program
def test_variable_shares_memory(x):
    y = x * 1
    v = Variable(y)
    v.add_(1)
    return v, y, Variable(torch.zeros(2)), Variable(data=y, requires_grad=False)


@built(train=True)
def test_variable_as_a_first_state():
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.cell = torch.nn.GRUCell(4, 4)

        def forward(self, x):
            return self.cell(x, Variable(x.data.new(x.size(0), 4).zero_()))
    return Net()


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_variable_that_requires_grad(backend):
    def f(x):
        v = Variable(torch.ones(3, 4), requires_grad=True)
        return v * x, v
    check(lambda: f, backend=backend)
    compiled = magpy.compile(f, backend=backend, fullgraph=True)
    for i in range(3):
        y, v = compiled(batch(i))
        y.sum().backward()
        assert torch.equal(v.grad, batch(i))


@program
def test_typed_constructors_with_data(x):
    return (x + torch.Tensor([1, 2, 3, 4]), torch.FloatTensor([[1.5, 2], [3, 4]]), torch.LongTensor((1, 2)), torch.ByteTensor([0, 1]).bool(),
            torch.DoubleTensor(range(3)), torch.FloatTensor(np.ones(2)), torch.IntTensor([int(x.shape[0])]), x[torch.LongTensor([1, 0])])


@program
def test_typed_constructors_with_sizes(x):
    return torch.Tensor(2, 3).fill_(1), torch.FloatTensor(x.size()).zero_() + x, torch.LongTensor(3).fill_(7), torch.Tensor().shape, torch.DoubleTensor(*x.shape).fill_(2)


@program(train=True, inputs=lambda i: batch(i).requires_grad_())
def test_typed_constructors_with_tensors(x):
    y = x * 2
    z = torch.FloatTensor(y)
    return z + 1, torch.Tensor(x) * 2, z.requires_grad


@program
def test_known_data_of_typed_constructors(x):
    return x * torch.LongTensor([2, 3]).sum().item(), x[torch.ByteTensor([1, 0, 1]).bool()], torch.FloatTensor(2).fill_(3).tolist()


@program
def test_new(x):
    return x.new(2, 2).fill_(1), x.new([1, 2]), x.new(x.size()).zero_(), x.new_tensor([[1.0]]), x.data.new(3).fill_(2)


@pytest.mark.filterwarnings("ignore:torch.range")
@program
def test_range(x):
    return torch.range(0, 3) + x, torch.range(1, 2, 0.5)


def test_lists_from_outside_are_guarded():
    sizes = [1.0, 2.0, 3.0, 4.0]
    compiled = magpy.compile(lambda x: x * torch.FloatTensor(sizes), backend="eager", fullgraph=True)
    x = batch(0)
    for value, captures in ((2.0, 1), (2.0, 1), (5.0, 2)):
        sizes[1] = value
        assert torch.equal(compiled(x), x * torch.tensor(sizes))
        assert magpy.explain(compiled).captures == captures


def test_tensors_in_a_list_are_data():
    compiled = magpy.compile(lambda x: torch.FloatTensor([x[0, 0], 1.0]), backend="eager")
    for i in range(2):
        assert compiled(batch(i))[0] == batch(i)[0, 0]
    assert {stop.reason for stop in magpy.explain(compiled).stops} == {"tensor-data"}


def test_no_cuda_here():
    def f(x):
        try:
            return torch.cuda.FloatTensor([1.0]).cpu() + x
        except (RuntimeError, AssertionError, TypeError):
            return x + 1
    check(lambda: f)


@built(train=True)
def test_parameters_and_layers_made_inside():
    net = torch.nn.Linear(4, 4)

    def f(x):
        scale = torch.nn.Parameter(torch.full((4,), 2.0))
        frozen = torch.nn.Parameter(x.sum(0).detach() * 2, requires_grad=False)
        return net(x) * scale + frozen, torch.nn.Linear(4, 2)(x), scale.is_leaf, frozen.requires_grad, isinstance(scale, torch.nn.Parameter)
    return f


@program
def test_a_parameter_that_is_returned(x):
    return torch.nn.Parameter(x * 2), torch.nn.Parameter(x.new_ones(2), requires_grad=False)


@program
def test_a_tensor_of_the_call_is_resized(x):
    h = x.data.new().resize_((x.size(0), 5)).fill_(0)
    return x.sum() + h, h.shape, torch.empty(0).resize_as_(x).zero_()


class Growing(torch.nn.Module):
    """Makes a layer when it first meets a size."""

    def __init__(self):
        super().__init__()
        self.layers = {}

    def forward(self, x):
        size = x.shape[1]
        if size not in self.layers:
            layer = torch.nn.Sequential(torch.nn.Linear(size, 2), torch.nn.ReLU())
            torch.nn.init.normal_(layer[0].weight, 0.0, 0.5)
            self.layers[size] = layer
        return self.layers[size](x)


def test_a_layer_is_made_inside():
    plain, ours = Growing(), Growing()
    compiled = magpy.compile(ours, backend="eager", fullgraph=True)
    for i, size in enumerate([4, 4, 3, 4, 3]):
        results = []
        for f, model in ((compiled, ours), (plain, plain)):
            torch.manual_seed(i)
            y = f(batch(i, 3, size))
            y.sum().backward()
            layer = model.layers[size][0]
            results.append((y.detach(), layer.weight.detach(), layer.weight.grad, type(layer.weight), layer.weight.is_leaf,
                            layer.bias.requires_grad))
        compare.equal(results[0], results[1], f"call {i}")


def test_a_layer_is_made_inside_after_torch_compile_was_used():
    before = {name: torch.nn.Module.__dict__[name] for name in ("__init__", "__setstate__")}
    mutation_guard.install_generation_tagging_init()
    try:
        test_a_layer_is_made_inside()
        assert "GenerationTracker" in torch.nn.Module.__init__.__code__.co_names
    finally:
        for name, function in before.items():
            setattr(torch.nn.Module, name, function)
        torch.nn.Module.___needs_generation_tag_patch = True
