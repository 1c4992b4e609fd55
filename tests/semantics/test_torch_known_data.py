"""Tensors made from Python values alone: their data are known, and Python code may look at them."""
import numpy as np
import pytest
import torch
import torch.nn.functional as F

import magpy
from support.expect import batch, built, check, program


@program
def test_numbers_out_of_known_tensors(x):
    rates = [r.item() for r in torch.linspace(0, 0.3, 4)]
    shapes = torch.as_tensor([(2, 6), (3, 4)], dtype=torch.long)
    starts = torch.cat((shapes.new_zeros((1,)), shapes.prod(1).cumsum(0)[:-1]))
    total = 0
    for (h, w), start in zip(shapes.tolist(), starts.tolist()):
        total = total + x.reshape(h, w).sum() * start
    return total, x * rates[2], shapes.prod().item()


@program
def test_conditions_on_known_tensors(x):
    mask = torch.ones(3, 3).tril()
    if mask.sum() > 5 and not torch.equal(mask, torch.eye(3)) and (mask == 1).any():
        return x + (torch.ones(1) in [torch.zeros(1), torch.ones(1)])
    return x - 1


@program(train=True, inputs=lambda i: batch(i, 5, 4).requires_grad_())
def test_known_masks_and_positions(x):
    upper = torch.ones(5, 4).triu() > 0
    order = torch.tensor([1, 2, 0, 1, 1])
    return (x[upper], x[:, torch.arange(4) > 1], x[torch.nonzero(upper)[:, 0]], x[: order.sum()],
            x.repeat_interleave(order, 0), torch.tensor_split(x, torch.tensor([1, 3]))[1])


@program
def test_a_known_mask_in_an_assignment(x):
    y = x.clone()
    y[torch.eye(3, 4).bool()] = 5.0
    y[torch.tensor(1):, 0] = 7.0
    return y


@program
def test_known_tensors_change_in_place(x):
    """Each read sees the data of its own time; from the change by x on they are not known."""
    steps = torch.zeros(3)
    first = steps.sum().item()
    steps.view(-1)[1:].add_(2)
    second = steps.tolist()
    steps += x[0, :3]
    return first, second, steps


@program
def test_what_is_made_of_numpy_values(x):
    grid = np.linspace(0, 1, 4).astype(np.float32)
    return x * torch.tensor(grid), torch.as_tensor(np.arange(3)), torch.tensor(np.float64(2.5)), torch.arange(4).numpy().sum() + x


@program
def test_a_known_result_returned_is_new_each_time(x):
    """A caller that changes what it got must not change what the next call gives."""
    found = torch.tensor([0, 1, 1]).nonzero()
    return found, found[:, 0] + 1, x


def test_returned_known_data_are_the_callers():
    compiled = magpy.compile(lambda x: (x, torch.tensor([0, 1, 1]).nonzero()), backend="eager", fullgraph=True)
    for _ in range(3):
        found = compiled(torch.ones(2))[1]
        assert found.tolist() == [[1], [2]]
        found.zero_()


@built
def test_one_hot_of_known_classes():
    net = torch.nn.Linear(3, 2)
    return lambda x: net(F.one_hot(torch.tensor([0, 2, 1])).float()) + x[:, :2]


def test_shapes_decide_known_data():
    """What is known follows from the input's shape, which is guarded."""
    def f(x):
        return x * torch.arange(x.shape[0]).sum().item()
    check(lambda: f, lambda i: batch(i, 2 + i % 2), captures=2, calls=6)


@pytest.mark.parametrize("name", ["float32", "float64"])
def test_default_dtype(name):
    def f(x):
        return x, torch.linspace(0, 1, 3).tolist()[1], torch.tensor([torch.tensor(0.1), 0.5])
    before = torch.get_default_dtype()
    torch.set_default_dtype(getattr(torch, name))
    try:
        check(lambda: f)
    finally:
        torch.set_default_dtype(before)


def test_under_inductor():
    def f(x):
        upper = torch.ones(3, 4).triu() > 0
        return x[upper] * 2, x[:, torch.arange(4) > 1].sum(), torch.tensor([0, 1, 1]).nonzero()[:, 0] + x[0, 0]
    check(lambda: f, backend="inductor", calls=2)
