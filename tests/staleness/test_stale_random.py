"""A random walk through outside changes: after every step the compiled program must say what the plain one says.

Scenarios check one change each; here changes pile up, are undone, and meet old entries again. The program reads state
by many ways and writes some; plain and compiled have each their own copy, and get the same changes.
"""
import random
import types

import pytest
import torch
from torch import nn

import magpy
from support import compare
from support.expect import batch


class Base:
    k = 2.0

    def act(self, x):
        return x * self.k


class Left(Base):
    def act(self, x):
        return super().act(x) + 1


class Right(Base):
    k = 3.0


class World(nn.Module):
    """Everything the program reads, and the program."""

    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(4, 4)
        self.layers = nn.ModuleList([nn.Linear(4, 4), nn.ReLU()])
        self.drop = nn.Dropout(0.5)
        self.numbers = [1.0, 2.0]
        self.table = {"a": 1.0, "b": [2.0, 3.0]}
        self.tags = {1, 2}
        self.obj = Left()
        self.alias = self.numbers
        self.mode = "plus"
        self.count = 0
        self.log = []
        self.space = types.SimpleNamespace(flag=True, fn=torch.relu)
        self.factor = self.make(1.5)

    @staticmethod
    def make(k):
        def factor(x, j=1.0, *, m=1.0):
            return x * k * j * m
        return factor

    def forward(self, x, extra=None):
        self.count += 1
        for layer in self.layers:
            x = layer(x)
        x = self.drop(self.lin(x)) + sum(self.numbers) + len(self.tags)
        for key, value in self.table.items():
            x = x + (value if isinstance(value, float) else sum(value)) * len(key)
        x = self.obj.act(x) if self.space.flag else self.space.fn(x)
        x = x + 1 if self.mode == "plus" else x - 1
        if self.alias is self.numbers:
            x = x * 2
        if extra is not None:
            x = x + extra
        self.log.append(x.shape[0])
        return {"x": self.factor(x), "lists": [self.numbers, extra], "has": hasattr(self.obj, "late")}


def swap_class(w):
    w.obj.__class__ = Right if type(w.obj) is Left else Left


def toggle(obj, name, value):
    if name in obj.__dict__:
        delattr(obj, name)
    else:
        setattr(obj, name, value)


def frozen(w):
    w.lin.requires_grad_(not w.lin.weight.requires_grad)


def hooked(w):
    if w.lin._forward_hooks:
        w.lin._forward_hooks.clear()
    else:
        w.lin.register_forward_hook(lambda m, a, out: out + 1)


CHANGES = [
    lambda w, r: w.train(not w.training),
    lambda w, r: w.numbers.append(float(r.randint(0, 2))),
    lambda w, r: w.numbers and w.numbers.pop(),
    lambda w, r: w.numbers.reverse(),
    lambda w, r: w.numbers.__setitem__(slice(None), [1.0, 2.0]),
    lambda w, r: w.table.update(a=float(r.randint(0, 2))),
    lambda w, r: w.table.update(b=[2.0, float(r.randint(0, 2))]),
    lambda w, r: w.table.update(a=w.table.pop("a", 1.0)),
    lambda w, r: w.table.pop("c") if "c" in w.table else w.table.update(c=1.0),
    lambda w, r: w.tags.symmetric_difference_update({3}),
    lambda w, r: swap_class(w),
    lambda w, r: toggle(w.obj, "k", 5.0),
    lambda w, r: toggle(w.obj, "late", 1),
    lambda w, r: toggle(w.obj, "unrelated", 1),
    lambda w, r: setattr(w, "alias", list(w.numbers) if w.alias is w.numbers else w.numbers),
    lambda w, r: setattr(w, "mode", r.choice(["plus", "minus"])),
    lambda w, r: setattr(w, "count", r.choice([0, 0.5, True])),
    lambda w, r: w.log.clear(),
    lambda w, r: setattr(w.space, "flag", not w.space.flag),
    lambda w, r: setattr(w.space, "fn", r.choice([torch.relu, torch.tanh])),
    lambda w, r: setattr(w, "factor", w.make(r.choice([1.5, 2.5]))),
    lambda w, r: setattr(w.factor, "__defaults__", (r.choice([1.0, 2.0]),)),
    lambda w, r: setattr(w.factor, "__kwdefaults__", {"m": r.choice([1.0, 2.0])}),
    lambda w, r: frozen(w),
    lambda w, r: hooked(w),
    lambda w, r: setattr(w.drop, "p", r.choice([0.5, 0.25])),
    lambda w, r: w.layers.append(nn.Tanh()) if len(w.layers) < 4 else w.layers.__delitem__(3),
    lambda w, r: setattr(w.layers[0], "bias", None if w.layers[0].bias is not None else nn.Parameter(torch.ones(4, dtype=w.lin.weight.dtype))),
    lambda w, r: w.to(r.choice([torch.float32, torch.float64])),
    lambda w, r: toggle(w.lin, "forward", torch.neg),
]


def arguments(r):
    x = batch(r.randint(0, 3), r.choice([2, 3]), 4)
    if r.random() < 0.3:
        x = x.requires_grad_()
    return [x, r.choice([None, 1.0, x, x.detach() * 2])]


@pytest.mark.parametrize("seed", range(6))
def test_random_walk(seed):
    r = random.Random(seed)
    torch.manual_seed(seed)
    plain = World()
    torch.manual_seed(seed)
    ours = World()
    compiled = magpy.compile(ours, backend="eager", fullgraph=True)
    with magpy.config.patch(entry_limit=1000):
        for step in range(60):
            n, choice = r.randrange(len(CHANGES)), r.random()
            for w in (plain, ours):
                CHANGES[n](w, random.Random(choice))
            draw = r.random()
            for again in range(2):
                _compare(plain, ours, compiled, random.Random(draw), f"seed {seed}, step {step}, change {n}, call {again}")
    told = magpy.explain(compiled)
    assert told.hits >= 50 and told.captures + told.hits == 120, (told.captures, told.hits)


def _compare(plain, ours, compiled, r, where):
    state = r.getstate()
    grad = r.random() < 0.7
    outs = []
    for f, w in ((compiled, ours), (plain, plain)):
        r.setstate(state)
        x, extra = arguments(r)
        dtype = w.lin.weight.dtype
        x, extra = x.to(dtype), extra.to(dtype) if isinstance(extra, torch.Tensor) else extra
        torch.manual_seed(5)
        with torch.set_grad_enabled(grad):
            outs.append(f(x, extra))
    try:
        compare.equal(outs[0], outs[1])
        compare.equal([ours.count, ours.log, ours.numbers, ours.table], [plain.count, plain.log, plain.numbers, plain.table], "state")
    except AssertionError as e:
        raise AssertionError(f"{where}: {e}") from None
