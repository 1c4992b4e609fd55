"""A compiled module is the module it was made from, but for its calls."""

import copy
import io
import pickle

import pytest
import torch
from torch import nn

import magpy
from magpy.module import CompiledModule


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 2)
        self.register_buffer("seen", torch.zeros(1))
        self.trained = []
        self.scale = 2.0

    def train(self, mode=True):
        self.trained.append(mode)
        return super().train(mode)

    def forward(self, x):
        return self.fc(x) * self.scale

    def helper(self):
        return self

    @property
    def doubled(self):
        return self.scale * 2


def pair():
    net = Net()
    return net, magpy.compile(net, backend="eager")


def test_is_a_module_with_the_same_state():
    net, c = pair()
    assert isinstance(c, nn.Module) and isinstance(c, CompiledModule) and c._orig_mod is net
    assert c.state_dict().keys() == net.state_dict().keys()
    assert [n for n, _ in c.named_parameters()] == ["fc.weight", "fc.bias"]
    assert all(a is b for a, b in zip(c.parameters(), net.parameters()))
    assert [n for n, _ in c.named_modules()] == ["", "fc"] and c.fc is net.fc
    assert c.__dict__ is net.__dict__ and c.doubled == 4 and c.helper() is net
    assert repr(c).startswith("CompiledModule(\n  (_orig_mod): Net(\n    (fc): Linear")
    assert "fc" in dir(c) and "_orig_mod" in dir(c)


def test_writes_go_to_the_original_and_back():
    net, c = pair()
    c.scale = 5.0
    c.extra = nn.ReLU()
    c.fc.weight = nn.Parameter(torch.zeros(2, 3))
    net.fc.bias = nn.Parameter(torch.ones(2))
    assert net.scale == 5 and net.extra is c.extra and "extra" in dict(net.named_children())
    assert net.fc.weight.sum() == 0 and torch.equal(c(torch.ones(1, 3)), torch.full((1, 2), 5.0))
    del c.extra
    assert not hasattr(net, "extra") and not hasattr(c, "extra")
    with pytest.raises(AttributeError, match="'Net' object has no attribute 'nothing'"):
        c.nothing


def test_fluent_methods_return_the_compiled_module():
    net, c = pair()
    assert c.eval() is c and not net.training and not c.training and not net.fc.training
    assert c.train() is c and net.trained == [False, True]
    assert c.double() is c and net.fc.weight.dtype == torch.float64
    assert c.requires_grad_(False) is c and c.to("cpu") is c and c.apply(lambda m: None) is c


def test_inside_another_module():
    net, c = pair()
    outer = nn.Sequential(c, nn.ReLU())
    assert list(outer.state_dict()) == ["0.seen", "0.fc.weight", "0.fc.bias"]
    outer.eval()
    assert not net.training
    assert len(list(outer.parameters())) == 2


def test_load_state_dict():
    net, c = pair()
    other = Net()
    assert str(c.load_state_dict(other.state_dict())) == "<All keys matched successfully>"
    assert torch.equal(net.fc.weight, other.fc.weight)
    file = io.BytesIO()
    torch.save(c.state_dict(), file)
    file.seek(0)
    Net().load_state_dict(torch.load(file))


def test_deepcopy_is_compiled_and_apart():
    net, c = pair()
    twin = copy.deepcopy(c)
    assert isinstance(twin, CompiledModule) and twin._orig_mod is not net
    assert twin.fc.weight is not net.fc.weight and torch.equal(twin.fc.weight, net.fc.weight)
    twin.scale = 9
    assert net.scale == 2
    assert isinstance(copy.copy(c), CompiledModule) and copy.copy(c).fc is net.fc
    both = copy.deepcopy([net, c])
    assert both[1]._orig_mod is both[0]


def test_pickle_is_the_original():
    net, c = pair()
    loaded = pickle.loads(pickle.dumps(c))
    assert type(loaded) is Net and torch.equal(loaded.fc.weight, net.fc.weight)
    file = io.BytesIO()
    torch.save(c, file)
    file.seek(0)
    assert type(torch.load(file, weights_only=False)) is Net


def test_containers():
    seq = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    c = magpy.compile(seq, backend="eager")
    assert isinstance(c, CompiledModule) and len(c) == 2 and c[0] is seq[0] and list(c) == list(seq)
    names = nn.ModuleDict({"a": nn.ReLU()})
    d = magpy.compile(names, backend="eager")
    assert "a" in d and d["a"] is names["a"] and list(d.keys()) == ["a"]
    assert bool(magpy.compile(Net(), backend="eager")) and not hasattr(type(pair()[1]), "__len__")


def test_two_compiled_modules_of_one_original():
    net, a = pair()
    b = magpy.compile(a, backend="eager")
    assert b._orig_mod is net and b is not a
    b.scale = 7
    assert a.scale == 7


def test_lazy_attributes_and_forward():
    net, c = pair()
    assert c.forward.__self__ is net
    x = torch.ones(1, 3)
    assert torch.equal(c.forward(x), net(x))


def test_modules_without_parameters_and_plain_callables():
    class Callable:
        def __call__(self, x):
            return x
    f = magpy.compile(Callable(), backend="eager")
    assert f(3) == 3


def test_it_hashes_and_compares_as_itself():
    net, c = pair()
    assert c == c and c != net and len({c, net}) == 2


def test_training_flag_is_one():
    net, c = pair()
    c.training = False
    assert net.training is False
    net.training = True
    assert c.training is True
