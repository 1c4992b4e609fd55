"""A graph is compiled for inputs as they were when the call began, whatever the call has made of them."""
import pytest
import torch
from support.compare import equal

import magpy
from magpy.backends.examples import as_recorded
from magpy.guards.tensor_meta import TensorMeta


def one_more_dimension(x):
    x.unsqueeze_(0)
    return x + 1


def fewer_dimensions(x):
    x.squeeze_()
    return x.sum(0)


def turned(x):
    x.t_()
    return x * 2


def turned_and_changed(x):
    x.t_()
    x[0] = 7
    return x * 2


def exchanged(x):
    x.transpose_(0, 2)
    return x * 2


def needs_gradient(x):
    x.requires_grad_()
    return (x * x).sum()


def detached(x):
    x.detach_()
    return x * 2


def numbers(*shape):
    return lambda i: torch.arange(12.).add(i).reshape(shape)


PROGRAMS = {
    "unsqueeze_": (one_more_dimension, numbers(3, 4)),
    "squeeze_": (fewer_dimensions, numbers(1, 3, 1, 4)),
    "t_": (turned, numbers(3, 4)),
    "t_ of a square": (turned, lambda i: torch.arange(16.).add(i).view(4, 4)),
    "t_, data": (turned_and_changed, numbers(3, 4)),
    "transpose_": (exchanged, numbers(3, 2, 2)),
    "requires_grad_": (needs_gradient, numbers(3, 4)),
    "detach_": (detached, lambda i: torch.arange(3.).add(i).requires_grad_() * 1),
}


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_form_of_an_input_is_changed(name, backend):
    f, make = PROGRAMS[name]
    compiled = magpy.compile(f, backend=backend)
    for i in range(3):
        mine, theirs = make(i), make(i)
        equal(compiled(mine), f(theirs))
        equal(mine, theirs)
        assert mine.is_leaf == theirs.is_leaf
    explained = magpy.explain(compiled)
    assert explained.captures == 1 and explained.hits == 2


def test_what_looks_as_recorded_is_given_itself():
    x = torch.nn.Parameter(torch.ones(3))
    assert as_recorded(x, TensorMeta(x)) is x


def test_memory_is_the_tensors_own():
    x = torch.arange(12.).view(3, 4)
    meta = TensorMeta(x)
    x.t_()
    was = as_recorded(x, meta)
    assert meta.matches(was) and was.data_ptr() == x.data_ptr() and x.shape == (4, 3)


def test_forms_that_are_gone():
    x = torch.ones(3, 4)
    meta = TensorMeta(x)
    x.set_(torch.ones(2))
    assert as_recorded(x, meta) is None
    x.data = torch.ones(3, 4, dtype=torch.float64)
    assert as_recorded(x, meta) is None


def test_a_graph_without_such_an_input_runs_as_it_is(caplog):
    compiled = magpy.compile(detached, backend="inductor")
    compiled(torch.ones(3, requires_grad=True) * 1)
    assert "runs as it is" in caplog.text
