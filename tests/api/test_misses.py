"""What `magpy.explain` says of a call that no entry fitted: the path of the read, what it was, what it is, and the
line of the program that read it (the line that ends in ``# here``)."""
import inspect
import os
import types

import pytest
import torch
from torch import nn

import magpy
from support.expect import batch

FACTOR = 2.0


def line_of(code_of):
    lines, start = inspect.getsourcelines(code_of)
    marked = [start + i for i, line in enumerate(lines) if line.endswith("# here\n")]
    return marked[0] if marked else None


def missed(build):
    """The program, a change, and the miss that is expected."""
    def test(monkeypatch):
        monkeypatch.chdir(os.path.dirname(__file__))
        fn, first, change, expected = build()
        f = magpy.compile(fn, backend="eager", fullgraph=True)
        f(*first())
        assert f(*first()) is not None and magpy.explain(f).hits == 1
        f(*(change() or first()))
        text, = magpy.explain(f).misses
        line = line_of(build)
        place = f" (read at test_misses.py:{line})" if line else ""
        assert text == expected + place
    test.__name__ = build.__name__
    return test


@missed
def test_item_of_an_argument():
    def f(x, options):
        if options["act"] == "relu":  # here
            return torch.relu(x)
        return x + 1
    return f, lambda: (batch(0), {"act": "relu"}), lambda: (batch(0), {"act": "none"}), "arg[1]['act']: was 'relu', is 'none'"


@missed
def test_missing_key():
    def f(x, options):
        return x * options.get("k", 2)  # here
    return f, lambda: (batch(0), {}), lambda: (batch(0), {"k": 3}), "arg[1]['k']: was absent, is 3"


@missed
def test_key_that_went():
    def f(x, options):
        return x * options["k"] if "k" in options else x + 0  # here
    return f, lambda: (batch(0), {"k": 3}), lambda: (batch(0), {}), "arg[1]['k']: was 3, is absent"


@missed
def test_shape():
    return (lambda x: x + 1), lambda: (batch(0, 4, 3),), lambda: (batch(0, 8, 3),), "arg[0]: shape[0] was 4, is 8"


@missed
def test_dtype_of_a_parameter():
    model = nn.Linear(4, 4)
    def run(x):
        return model.weight.sum() + x.sum()  # here
    return run, lambda: (batch(0),), lambda: model.double() and None, "fn.model.weight: dtype was float32, is float64"


@missed
def test_attribute_of_a_module():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = 2.0

        def forward(self, x):
            return x * self.scale  # here
    net = Net()
    return net, lambda: (batch(0),), lambda: setattr(net, "scale", 3.0), "fn.scale: was 2.0, is 3.0"


@missed
def test_training_flag_read_by_the_library_is_told_by_the_line_that_called_it():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.drop = nn.Dropout(0.0)

        def forward(self, x):
            y = x + 1
            return self.drop(y)  # here
    net = Net()
    return net, lambda: (batch(0),), lambda: net.drop.eval() and None, "fn.drop.training: was True, is False"


@missed
def test_global():
    def f(x):
        return x * FACTOR  # here

    def change():
        global FACTOR
        FACTOR = 5.0
    return f, lambda: (batch(0),), change, f"{__name__}.FACTOR: was 2.0, is 5.0"


@missed
def test_function_replaced():
    space = types.SimpleNamespace()

    def one(x):
        return x + 1

    def two(x):
        return x + 2
    space.op = one

    def f(x):
        return space.op(x)  # here
    first, second = (each.__code__.co_firstlineno for each in (one, two))
    name = f"{test_function_replaced.__name__}.<locals>"
    return f, lambda: (batch(0),), lambda: setattr(space, "op", two), (
        f"fn.space.op.__code__: was the code of {name}.one (test_misses.py:{first}), is the code of {name}.two (test_misses.py:{second})")


@missed
def test_method_replaced():
    class Scale:
        def by(self, x):
            return x * 2
    scale = Scale()

    def other(self, x):
        return x * 3

    def f(x):
        return scale.by(x)  # here
    was, now = Scale.by.__code__, other.__code__
    return f, lambda: (batch(0),), lambda: setattr(Scale, "by", other), (
        f"{Scale.__qualname__}.by: was function {was.co_qualname} (test_misses.py:{was.co_firstlineno}), "
        f"is function {now.co_qualname} (test_misses.py:{now.co_firstlineno})")


@missed
def test_length_of_a_list():
    def f(x, values):
        for value in values:  # here
            x = x + value
        return x
    return f, lambda: (batch(0), [1.0]), lambda: (batch(0), [1.0, 2.0]), "arg[1]: length was 1, is 2"


@missed
def test_type_of_an_argument():
    def f(x, values):
        return x + values[0]
    return f, lambda: (batch(0), [1.0]), lambda: (batch(0), (1.0,)), "arg[1]: was a list, is (1.0,)"


@missed
def test_default_argument():
    def f(x, k=2):
        return x * k
    return f, lambda: (batch(0),), lambda: setattr(f, "__defaults__", (3,)), "fn.__defaults__: was (2,), is (3,)"


@missed
def test_hook_added_late():
    net = nn.Sequential(nn.ReLU())

    def f(x):
        return net(x)  # here

    def change():
        net[0].register_forward_hook(lambda module, args, out: out + 1)
    return f, lambda: (batch(0),), change, "fn.net[0]._forward_hooks: length was 0, is 1"


@missed
def test_grad_mode():
    def change():
        torch.set_grad_enabled(False)
    return (lambda x: x + 1), lambda: (batch(0),), change, "torch's global state: grad_mode was True, is False"


@missed
def test_two_arguments_that_became_one():
    def f(a, b):
        a.append(1)
        b.append(2)
        return len(a)
    one = []
    return f, lambda: ([], []), lambda: (one, one), "arg[0] and arg[1]: were two objects, are the same"


@pytest.fixture(autouse=True)
def as_before():
    global FACTOR
    yield
    FACTOR = 2.0
    torch.set_grad_enabled(True)


def test_the_library_alone_is_told_by_its_own_line():
    net = nn.Dropout(0.0)
    f = magpy.compile(net, backend="eager", fullgraph=True)
    f(batch(0))
    net.eval()
    f(batch(0))
    text, = magpy.explain(f).misses
    assert text.startswith("fn.training: was True, is False (read at ") and "dropout.py:" in text


def test_recursion_and_generators_keep_their_places():
    def depth(options, n):
        return depth(options, n - 1) if n else options["deep"]

    def values(options):
        yield 1
        yield options["late"]

    def f(x, options):
        total = depth(options, 3)
        for value in values(options):
            total += value
        return x * total * options["last"]
    lines, start = inspect.getsourcelines(test_recursion_and_generators_keep_their_places)
    for key in ("deep", "late", "last"):
        options = {"deep": 1, "late": 2, "last": 3}
        compiled = magpy.compile(f, backend="eager", fullgraph=True)
        compiled(batch(0), options)
        compiled(batch(0), {**options, key: 7})
        line = start + next(i for i, each in enumerate(lines) if f'options["{key}"]' in each)
        assert magpy.explain(compiled).misses == [f"arg[1][{key!r}]: was {options[key]}, is 7 (read at {place(line)})"]


def place(line):
    here = os.path.join(os.getcwd(), "")
    return f"{__file__.removeprefix(here)}:{line}"
