"""Inductor's code without AOTAutograd's wrappers: where they do nothing, and only there."""
import contextlib
import copy

import pytest
import torch
from torch import nn
from torch._inductor.utils import fresh_cache

import magpy
from magpy.backends import direct
from magpy.dispatch.compiled import table_of


def is_direct(compiled):
    """Does the newest entry go the short way?"""
    graph = table_of(compiled).entries[0].graph
    return graph.__qualname__ == direct._shorter.__name__ + ".<locals>.graph"


class Mean(nn.Module):
    """A buffer that the call changes."""

    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(4))

    def forward(self, x):
        self.mean.mul_(0.5).add_(x.mean(0))
        return x - self.mean


def input_given_back(x):
    return x, x + 1


def view_of_input(x):
    return x.t(), x * 2


def view_of_another_output(x):
    y = x * 2
    return y, y.view(-1)


def in_place(x):
    x.mul_(2)
    return x + 1


def in_place_through_a_view(x):
    x[0] = 7
    return x.sum()


def two(x, y):
    return x * 2 + y, x - y


def in_place_of_two(x, y):
    x.add_(1)
    return x * y


def grad_mode_inside(x):
    with torch.enable_grad():
        y = x * 2
    return y + 1


def autocast_inside(x):
    with torch.autocast("cpu", torch.bfloat16):
        return x @ x.t()


def random(x):
    return x + torch.rand_like(x)


def rows(i):
    return (torch.randn(3, 4, generator=torch.Generator().manual_seed(i)),)


def pair(i):
    return rows(i) + rows(i + 100)


def same_twice(i):
    x, = rows(i)
    return x, x


def overlapping(i):
    x = torch.randn(5, 4, generator=torch.Generator().manual_seed(i))
    return x[:3], x[2:]


# program, arguments, whether the wrappers do nothing
PROGRAMS = {
    "module": (lambda: nn.Sequential(nn.Linear(4, 4), nn.ReLU()), rows, True),
    "two outputs": (lambda: two, pair, True),
    "one input twice": (lambda: two, same_twice, True),
    "inputs that overlap": (lambda: two, overlapping, True),
    "buffer changed": (Mean, rows, False),
    "input given back": (lambda: input_given_back, rows, True),
    "view of an input": (lambda: view_of_input, rows, False),
    "view of an output": (lambda: view_of_another_output, rows, True),
    "in place": (lambda: in_place, rows, False),
    "in place through a view": (lambda: in_place_through_a_view, rows, False),
    "in place of one that overlaps": (lambda: in_place_of_two, overlapping, False),
    "in place of one that is the other": (lambda: in_place_of_two, same_twice, False),
    "grad mode inside": (lambda: grad_mode_inside, rows, None),
    "autocast inside": (lambda: autocast_inside, rows, None),
}
MODES = {"no_grad": torch.no_grad, "inference_mode": torch.inference_mode, "grad": contextlib.nullcontext}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name, mode):
    build, make, plain = PROGRAMS[name]
    ours = build()
    eager = copy.deepcopy(ours)
    compiled = magpy.compile(ours)
    for i in range(4):
        mine, theirs = make(i), make(i)
        with MODES[mode]():
            got, want = compiled(*mine), eager(*theirs)
        torch.testing.assert_close((got, mine), (want, theirs), rtol=2e-3, atol=1e-4)
        if isinstance(ours, nn.Module):
            torch.testing.assert_close(dict(ours.named_buffers()), dict(eager.named_buffers()))
        assert shared([*flat(got), *mine]) == shared([*flat(want), *theirs])
    explained = magpy.explain(compiled)
    assert explained.captures == 1 and explained.hits == 3
    if plain is not None:
        assert is_direct(compiled) == (plain and not (mode == "grad" and isinstance(ours, nn.Module)))


def flat(value):
    return value if isinstance(value, tuple) else (value,)


def shared(tensors):
    """Which of them share memory."""
    return [[a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr() for a in tensors] for b in tensors]


def test_random_numbers_are_those_of_eager():
    compiled = magpy.compile(random, options={"fallback_random": True})
    x, = rows(0)
    with torch.no_grad():
        for i in range(4):
            torch.manual_seed(i)
            got = compiled(x)
            torch.manual_seed(i)
            torch.testing.assert_close(got, random(x))
            after = torch.rand(1)
            torch.manual_seed(i)
            random(x)
            assert torch.equal(after, torch.rand(1))


def test_autocast_around():
    model = nn.Linear(4, 4)
    compiled = magpy.compile(model)
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        for i in range(4):
            got, want = compiled(*rows(i)), model(*rows(i))
            assert got.dtype == want.dtype == torch.bfloat16
            torch.testing.assert_close(got, want, rtol=2e-2, atol=2e-2)
            assert torch.is_autocast_enabled("cpu")
    assert not is_direct(compiled)


def test_what_is_guarded_is_guarded_on_the_short_way():
    """Other shapes, strides, dtypes, modes and flags of the inputs are other entries."""
    def f(x, y):
        return torch.relu(x) * y
    compiled = magpy.compile(f)
    base = torch.randn(4, 4)
    inputs = [base, torch.randn(4, 6)[:, 1:5], base.t(), torch.randn(4, 4, dtype=torch.float64), torch.randn(4, 1),
              base.clone().requires_grad_()]
    for _ in range(3):
        for x in inputs:
            for mode in (torch.no_grad, contextlib.nullcontext):
                with mode():
                    got, want = compiled(x, base), f(x, base)
                torch.testing.assert_close(got, want)
                assert got.stride() == want.stride() and got.requires_grad == want.requires_grad
    assert magpy.explain(compiled).hits > 2 * len(inputs)


def test_grad_mode_is_as_before_an_error_and_after_it():
    compiled = magpy.compile(two)
    x, y = pair(0)
    for _ in range(3):
        compiled(x, y)
    graph = table_of(compiled).entries[0].graph
    assert is_direct(compiled) and torch.is_grad_enabled()
    with pytest.raises((AssertionError, RuntimeError, TypeError)):
        graph(x, torch.ones(7, 7))
    assert torch.is_grad_enabled()


def test_the_profiler_sees_the_call():
    compiled = magpy.compile(two)
    with torch.no_grad():
        for i in range(3):
            compiled(*pair(i))
        with torch.profiler.profile() as profile:
            torch.testing.assert_close(compiled(*pair(5)), two(*pair(5)))
    assert any("Call CompiledFxGraph" in event.name for event in profile.events())


def test_frozen_weights():
    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU()).eval()
    compiled = magpy.compile(model, options={"freezing": True})
    with torch.no_grad():
        for i in range(4):
            torch.testing.assert_close(compiled(*rows(i)), model(*rows(i)))
        assert is_direct(compiled)
        model[0].weight.mul_(2)
        torch.testing.assert_close(compiled(*rows(9)), model(*rows(9)))


def test_code_from_the_disk_cache_is_called_directly_too():
    with fresh_cache(), torch.no_grad():
        for _ in range(2):
            compiled = magpy.compile(two)
            for i in range(2):
                torch.testing.assert_close(compiled(*pair(i)), two(*pair(i)))
            assert is_direct(compiled)


def test_a_callable_that_is_not_known_stays_as_it_is():
    def other(*inputs):
        return inputs
    assert direct.without_wrappers(other, 1) is other
    assert direct.without_wrappers(torch._dynamo.disable(other), 1).__wrapped__ is other
