"""numpy in a tensor program: arrays made on the way, small arrays and numbers from outside, and back to tensors."""
import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import magpy
from support.expect import assert_counts, batch, check, program

RATES = np.linspace(0, 1, 4).astype(np.float32)
SCALE = np.float64(2.5)
COUNT = np.int64(2)
WHICH = np.array([True, False, True])
ORDER = np.array([2, 0, 1])


@program
def test_numbers_of_numpy(x):
    return (x * np.sqrt(x.shape[1]), x * np.prod(x.shape), x.view(np.prod(x.shape)), x + np.pi, x * np.floor(2.7) * np.clip(5, 0, 3), x * np.mean([1, 2]),
            x * np.finfo(np.float32).eps, x.clamp(max=np.iinfo(np.int8).max), x * np.add.reduce([1, 2]), x * np.linalg.norm([3, 4]), np.float64(x.shape[0]), np.int64(3) + 1)


@program
def test_numbers_from_outside(x):
    return (x * SCALE, x[COUNT], x[:, :COUNT], x.view(int(COUNT), -1), x * float(SCALE) + math.sqrt(SCALE), [x * i for i in range(COUNT)], [x] * COUNT,
            x + 1 if SCALE > 2 else x, round(SCALE), SCALE, isinstance(SCALE, float), f"{SCALE:.2f}")


@program
def test_arrays_from_outside(x):
    return (x * torch.from_numpy(RATES), torch.tensor(RATES) + x, x * RATES.sum(), x * RATES[1], x * RATES.shape[0], x[torch.from_numpy(WHICH)], x[ORDER], x[WHICH], x[:, ORDER[:2]],
            torch.as_tensor(ORDER).sum() * x, len(RATES), x * sum(RATES), RATES.dtype == np.float32, x * (1 if 2 in ORDER else 3), F.interpolate(x[None, None], size=tuple(ORDER[:2] + 4)))


@program
def test_arrays_made_inside(x):
    grid = np.stack(np.meshgrid(np.arange(2), np.arange(3)), -1).reshape(-1, 2).transpose(1, 0).astype("float32")
    table = np.array([[p / np.power(10000, 2 * (j // 2) / 4) for j in range(4)] for p in range(3)])
    table[:, 0::2] = np.sin(table[:, 0::2])
    table[:, 1::2] = np.cos(table[:, 1::2])
    mask = np.triu(np.ones((3, 4)), k=1).astype("uint8")
    return torch.from_numpy(grid.copy()), torch.FloatTensor(table) + x, x.masked_fill(torch.from_numpy(mask) == 1, 0.0), torch.from_numpy(np.eye(4)).float() @ x.t()


@program
def test_assignments_from_arrays(x):
    y = x.clone()
    y[0] = torch.tensor(np.array([1.0, 2.0, 3.0, 4.0]))
    y[ORDER[1:]] = 5.0
    y[:, WHICH[:1].repeat(4)] *= 2
    return y


@program
def test_from_tensors_to_arrays(x):
    steps = torch.linspace(0, 1, 4).numpy()
    return x * steps.mean(), x * np.array(torch.arange(3)).max(), torch.tensor(np.asarray(torch.ones(4))) + x


def test_content_is_guarded():
    rates, holder = np.ones(4, dtype=np.float32), {"scale": np.float32(2)}
    compiled = magpy.compile(lambda x: x * torch.from_numpy(rates) * holder["scale"], backend="eager", fullgraph=True)
    x = batch(0)

    def call(captures, hits):
        assert torch.equal(compiled(x), x * torch.from_numpy(rates) * holder["scale"])
        assert_counts(compiled, captures, hits)
    call(1, 0), call(1, 1)
    rates[2] = 3
    call(2, 1), call(2, 2)
    rates[2] = 1
    call(2, 3)
    holder["scale"] = np.float32(3)
    call(3, 3)
    holder["scale"] = np.float64(2)     # equal to the first, of another type
    call(4, 3)
    assert "content" in str(magpy.explain(compiled).misses)


def test_views_of_an_outside_array():
    table = np.arange(6.0, dtype=np.float32).reshape(2, 3)
    compiled = magpy.compile(lambda x: (table.T is table, x * table.T.sum() * table.T[0, 0] * table[1:].ravel()[0]), backend="eager", fullgraph=True)
    for value, captures, hits in ((1, 1, 0), (1, 1, 1), (2, 2, 1)):
        table[0, 0] = value
        assert torch.equal(compiled(batch(0))[1], batch(0) * table.sum() * table[0, 0] * table[1, 0])
        assert_counts(compiled, captures, hits)


@pytest.mark.parametrize("change", [lambda a: a.T, lambda a: a[::-1], lambda a: a.astype(np.float64), lambda a: a.reshape(4), lambda a: a[:1]])
def test_how_an_array_lies_is_guarded(change):
    holder = [np.arange(4.0, dtype=np.float32).reshape(2, 2)]

    def f(x):
        return x * torch.tensor(np.ascontiguousarray(holder[0])).sum(0), holder[0].strides, holder[0].shape
    compiled = magpy.compile(f, backend="eager", fullgraph=True)
    for captures in (1, 2):
        x = torch.ones(2)
        got, want = compiled(x), f(x)
        assert torch.equal(got[0], want[0]) and got[1:] == want[1:]
        assert_counts(compiled, captures, 0)
        holder[0] = change(holder[0])


def _write_by_item(x):
    RATES[0] = x.shape[0]
    return x * 1


def _write_by_view(x):
    part = RATES[1:3]
    part += 1
    return x * 1


def _write_by_out(x):
    np.add(RATES, 1, out=RATES)
    return x * 1


def _large(x):
    return x + LARGE.sum()


def _objects(x):
    return x * OBJECTS[0]


def _shared_tensor_kept(x):
    return torch.from_numpy(RATES), x


def _shared_tensor_changed(x):
    t = torch.from_numpy(RATES)
    t.add_(1)
    return x + t


def _written_after_sharing(x):
    a = np.zeros(4, dtype=np.float32)
    t = torch.from_numpy(a)
    a[0] = 5
    return x + t


def _random(x):
    return x * np.random.rand(), x * np.random.RandomState(0).rand()


def _array_returned(x):
    return np.arange(x.shape[0]), x


LARGE = np.zeros(100_000)
OBJECTS = np.array([1, "a"], dtype=object)


@pytest.mark.parametrize("f, reason", [
    (_write_by_item, "object-write"), (_write_by_view, "object-write"), (_write_by_out, "object-write"), (_large, "object-read"), (_objects, "object-read"),
    (_shared_tensor_kept, "aliasing"), (_shared_tensor_changed, "aliasing"), (_written_after_sharing, "aliasing"), (_random, "random"),
    (_array_returned, "output-kind")])
def test_stops(f, reason):
    start = RATES.copy()
    compiled = magpy.compile(f, backend="eager")
    for i in range(3):
        np.random.seed(i)
        want = f(batch(i))
        after = RATES.copy()
        RATES[:] = start
        np.random.seed(i)
        got = compiled(batch(i))
        assert np.array_equal(RATES, after)
        for a, b in zip(got, want):
            assert np.array_equal(a, b)
        RATES[:] = start
    assert {stop.reason for stop in magpy.explain(compiled).stops} == {reason}
