"""Calls of nn.Module are read as a whole, and say the same as recording them instruction by instruction."""
import collections
import types

import pytest
import torch
from torch import nn

from magpy.dispatch import compiled
from magpy.recorder.recorder import record
from support.expect import check

FUNCTIONS = ("__getattr__", "_wrapped_call_impl", "_call_impl")


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Sequential(nn.Linear(3, 3, bias=i > 0), nn.BatchNorm1d(3)) for i in range(3))
        self.register_buffer("offset", torch.ones(3))
        self.register_parameter("gone", None)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x) + self.offset
        return x if self.gone is None else x * self.gone


def recorded(fn, *args):
    compiled.enter_recording()
    try:
        return record(fn, args, {})
    finally:
        compiled.leave_recording()


def reads(recording):
    """What is guarded, besides which functions run: (path, check, what is expected if that is a plain value)."""
    return {(edge.text, edge.check[0], edge.check[1] if isinstance(edge.check[1], (int, str, tuple)) else None)
            for edge in recording.edges
            if edge.load[0] != "instance_dict" and not any(name in edge.text for name in (*FUNCTIONS, "__dict__"))}


@pytest.fixture
def recorded_in_full(monkeypatch):
    """nn.Module's functions have code of their own: equal, but not the one that is known."""
    def start():
        for name in FUNCTIONS:
            function = getattr(nn.Module, name)
            monkeypatch.setattr(nn.Module, name, types.FunctionType(
                function.__code__.replace(), function.__globals__, name, function.__defaults__, function.__closure__))
        monkeypatch.setattr(nn.Module, "__call__", nn.Module._wrapped_call_impl)
    return start


def test_the_same_is_read(recorded_in_full):
    net, x = Net().eval(), torch.ones(2, 3)
    short = recorded(net, x)
    recorded_in_full()
    full = recorded(net, x)
    assert short.stop is None and full.stop is None
    assert reads(short) == reads(full)
    assert short.events < full.events


def test_hook_registered_while_forward_is_looked_up():
    class Late(nn.Module):
        @property
        def forward(self):
            if not self._forward_hooks:
                self.register_forward_hook(lambda module, args, result: result + 1)
            return torch.relu

    def build():
        late = Late()
        return lambda x: late(x) * 2
    check(build, calls=3, captures=None, fullgraph=False)


class Answers(collections.OrderedDict):
    """An OrderedDict that counts questions."""

    asked = 0

    def __bool__(self):
        self.asked += 1
        return False

    def __contains__(self, key):
        self.asked += 1
        return super().__contains__(key)


@pytest.mark.parametrize("table", ["_forward_hooks", "_parameters", "_modules"])
def test_table_that_answers_in_its_own_way(table):
    def program():
        net = nn.Sequential(nn.Linear(3, 3), nn.ReLU())
        for module in net.modules():
            module.__dict__[table] = Answers(module.__dict__[table])

        def f(x):
            return net(x)
        f.tables = [module.__dict__[table] for module in net.modules()]
        return f
    check(program, inputs=lambda i: (torch.full((2, 3), float(i)),), calls=3, captures=None, fullgraph=False,
          state=lambda f: [entries.asked for entries in f.tables])


def test_attribute_that_no_table_has():
    def build():
        net = nn.Linear(3, 3)

        def f(x):
            try:
                return net.weigth
            except AttributeError as error:
                return net(x), str(error)
        f.net = net
        return f
    check(build, inputs=lambda i: (torch.full((2, 3), float(i)),), calls=3, captures=None, fullgraph=False)


def test_error_in_a_module_and_then_another_call():
    class Fails(nn.Module):
        def forward(self, x):
            if x.shape[0] == 2:
                raise ValueError("two")
            return x + 1

    def build():
        net, after = nn.Sequential(nn.Sequential(Fails())), nn.Linear(3, 3)

        def f(x):
            try:
                return net(x)
            except ValueError:
                return after(net(x[:1]))
        f.net = nn.ModuleList([net, after])
        return f
    check(build, inputs=lambda i: (torch.full((1 + i % 2, 3), float(i)),), calls=4, captures=2)
