"""magpy.allow_in_graph: a function as one operation of the graph, whose body is run and not recorded."""

from syslog import LOG_MASK

import pytest
import torch
from torch import nn

import magpy
from magpy.recorder.callables.registry import ANNOTATED
from support import compare
from support.expect import assert_counts, batch, check


def compile_(fn, **options):
    return magpy.compile(fn, backend="eager", **options)


def stop_of(fn, *args):
    f = compile_(fn)
    compare.equal(f(*args), fn(*args))
    return magpy.explain(f).stops[0]


@magpy.allow_in_graph
def smooth(x, k=1, *, parts=(0.5,)):
    """LOG_MASK has no rule: recorded, this could not be captured."""
    y = x * LOG_MASK(k)
    for part in parts:
        y = y + part
    return y.relu()


@magpy.allow_in_graph
def halves(x, how):
    a, b = x.chunk(2, dim=-1)
    return (a, [b, None]) if how["nested"] else (a, b)


def graph_of(f):
    return magpy.explain(f).entries[0].graph


def test_forms():
    def one(x):
        return x

    def two(x):
        return x
    assert magpy.allow_in_graph(one) is one and id(one) in ANNOTATED
    assert magpy.allow_in_graph([one, two]) == [one, two] and id(two) in ANNOTATED


@pytest.mark.parametrize("fn, error, text", [
    (3, TypeError, "something to call"), (nn.ReLU(), TypeError, "plain function, not a ReLU"), (int, TypeError, "int is a class"),
    (torch.relu, ValueError, "operation of torch"), (nn.ReLU().forward, TypeError, "ReLU.forward")])
def test_what_is_refused(fn, error, text):
    with pytest.raises(error, match=text):
        magpy.allow_in_graph(fn)


def test_a_call_is_one_node_and_its_body_is_not_in_the_graph():
    def f(x):
        return smooth(x + 1, 2, parts=[1.5, 0.5]) * 2
    compiled = check(lambda: f)
    graph = graph_of(compiled)
    assert graph.count("smooth(") == 1 and "relu" not in graph
    guards = magpy.explain(compiled).entries[0].guards
    assert "LOG_MASK" not in guards


def test_results_of_several_tensors():
    def f(x, nested):
        first, second = halves(x, {"nested": nested})
        rest = second[0] if nested else second
        return first + rest, halves(x, {"nested": nested})
    compiled = compile_(f, fullgraph=True)
    for i, nested in ((0, True), (1, True), (2, False), (3, False)):
        compare.equal(compiled(batch(i), nested), f(batch(i), nested))
    assert_counts(compiled, 2, 2)


def test_constants_are_guarded():
    def f(x, options):
        return smooth(x, options["k"], parts=options["parts"])
    compiled = compile_(f, fullgraph=True)
    for options, captures in (({"k": 1, "parts": [1.0]}, 1), ({"k": 1, "parts": [1.0]}, 1), ({"k": 2, "parts": [1.0]}, 2),
                              ({"k": 2, "parts": [1.0, 2.0]}, 3)):
        compare.equal(compiled(batch(0), options), f(batch(0), options))
        assert magpy.explain(compiled).captures == captures


def test_the_body_runs_at_every_call():
    calls = []

    @magpy.allow_in_graph
    def counted(x):
        calls.append(1)
        return x + 1
    f = compile_(lambda x: counted(x) * 2, fullgraph=True)
    for i in range(3):
        torch.testing.assert_close(f(batch(i)), (batch(i) + 1) * 2)
    assert len(calls) == 3 and magpy.explain(f).hits == 2


def test_gradients_flow_through():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(4, 4)

        def forward(self, x):
            return smooth(self.fc(x), 1) + 1
    check(Net, train=True)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_compilers_work_around_it(backend):
    check(lambda: lambda x: torch.tanh(smooth(torch.sin(x), 1) * 3), backend=backend)


def test_changes_in_place_of_an_argument():
    @magpy.allow_in_graph
    def fill(x):
        return x.mul_(LOG_MASK(1))

    def f(x):
        y = x + 1
        fill(y)
        return y * 2
    check(lambda: f)
    check(lambda: fill)


def test_which_function_it_is_is_guarded():
    def make(k):
        return magpy.allow_in_graph(lambda x: x * LOG_MASK(k))
    one, two = make(1), make(2)

    def f(x, op):
        return op(x) + 1
    compiled = compile_(f, fullgraph=True)
    for op in (one, one, two, one, two):
        compare.equal(compiled(batch(0), op), f(batch(0), op))
    assert_counts(compiled, 2, 3)


def test_called_by_c_code_and_in_comprehensions():
    def f(x):
        return sum(map(smooth, [x, x + 1])) + torch.stack([smooth(x, k) for k in (1, 2)]).sum(0)
    check(lambda: f)


def test_inside_an_autograd_function_it_is_part_of_that():
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return smooth(x, 1) * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(4, 4)

        def forward(self, x):
            return Twice.apply(self.fc(x))
    assert magpy.allow_in_graph(Twice.apply) is not None
    check(Net, train=True)


def looks(x):
    return x * float(x.sum())


def shapes(x):
    return x[x > 0]


def numbers(x):
    return x.shape[0]


def outside(x):
    return x * WEIGHT


def fails(x):
    raise ValueError


def caught(x):
    try:
        return magpy_fails(x)
    except ValueError:
        return x + 1


WEIGHT = torch.full((4,), 2.0)
magpy_fails = magpy.allow_in_graph(fails)


@pytest.mark.parametrize("body, reason", [
    (looks, "tensor-data"), (shapes, "dynamic-output-shape"), (numbers, "output-kind"), (outside, "unknown-tensor")])
def test_what_an_operation_must_not_do_ends_the_capture(body, reason):
    magpy.allow_in_graph(body)
    assert stop_of(lambda x: body(x), batch(0)).reason == reason


def test_an_exception_out_of_it():
    assert stop_of(caught, batch(0)).reason == "exception"


def test_an_argument_that_no_graph_can_hold():
    takes = magpy.allow_in_graph(lambda x, thing: x + 1)
    assert stop_of(lambda x: takes(x, object()), batch(0)).reason == "graph-argument"
