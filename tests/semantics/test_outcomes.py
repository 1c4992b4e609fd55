"""Python code that looks into tensors: the graph checks that what it saw comes again."""
import random

import numpy
import pytest
import torch

import magpy
from support import compare
from support.expect import assert_counts, batch, check

seen = []


def branch(x):
    if (x.sum() > 0).item():
        return x * 2
    return x - 1


def sign(i):
    """Inputs of one sign, then of the other."""
    return batch(i).abs() * (1 if i < 3 else -1)


def run(f, inputs, captures, calls=6, backend="eager"):
    """Calls compiled and plain, compared; *captures* in all, every other call a hit."""
    compiled = magpy.compile(f, backend=backend, fullgraph=True)
    for i in range(calls):
        x, y = inputs(i).clone(), inputs(i).clone()
        compare.equal((compiled(x), x), (f(y), y), f"call {i}", strides=backend == "eager")
    assert_counts(compiled, captures, calls - captures)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_a_branch(backend):
    """One capture for each outcome; then every call hits, whichever it is."""
    run(lambda x: branch(x) + 1, sign, 2, backend=backend)


def test_both_outcomes_stay():
    compiled = magpy.compile(lambda x: branch(x), backend="eager", fullgraph=True)
    for i in range(8):
        x = batch(i).abs() * (-1) ** i
        compare.equal(compiled(x), branch(x), f"call {i}")
    assert_counts(compiled, 2, 6)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_kinds_of_reads(backend):
    def f(x):
        n = int(x.abs().max() > -1)
        values = torch.arange(3) + (x.shape[0] - 3) + (x > 1e9).sum()
        y = x * n + float((x > 1e9).sum())
        if torch.isnan(y).any() or torch.equal(x, y + 1) or not torch.allclose(x, x):
            raise ValueError("never")
        assert 5 not in values
        return y, values.tolist(), [y] * values[1], bool(values[2] == 2)

    check(lambda: f, backend=backend)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_shapes_that_depend_on_data(backend):
    def f(x):
        big = x[x > -100]
        where = torch.nonzero(x > 0)
        u = torch.unique((x > 100).long())
        return big.mean(), big.shape[0], where.shape[1], u, x[:, u[0]:].sum(), x.reshape(u[0] + 3, -1)

    check(lambda: f, lambda i: batch(0) * (i + 1), backend=backend)


def test_a_shape_changes():
    def f(x):
        big = x[x > 0]
        return big * 2, len(big)

    run(f, lambda i: torch.tensor([1.0, -1.0, i % 2 - 0.5]), 2)


def test_gradients():
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)

        def forward(self, x):
            y = self.a(x)
            if y.detach().abs().max() > -1:
                y = self.b(y)
            return y[torch.isfinite(y)]

    check(Net, train=True)
    check(Net, train=True, backend="aot_eager")


def test_effects_come_after_the_checks():
    def f(x):
        seen.append(int(x.sum() > 0))
        return x * len(seen)

    del seen[:]
    want = [(f(sign(i)), list(seen)) for i in range(6)]
    del seen[:]
    compiled = magpy.compile(f, backend="eager")
    got = [(compiled(sign(i)), list(seen)) for i in range(6)]
    compare.equal(got, want, "six calls")


def test_random_numbers_are_drawn_once():
    """A call that is made anew starts from the random state that it found."""
    def f(x):
        y = torch.rand(3)
        return (x + torch.rand(3) if x.sum() > 0 else x - torch.rand(4)[:3]), y

    compiled = magpy.compile(f, backend="eager", fullgraph=True)
    inputs = [torch.ones(3) * s for s in (1, 1, -1, -1, 1, -1)]
    torch.manual_seed(0)
    want = [f(x) for x in inputs], torch.rand(2)
    torch.manual_seed(0)
    got = [compiled(x) for x in inputs], torch.rand(2)
    compare.equal(got, want, "six calls")
    assert_counts(compiled, 2, 4)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_a_change_before_the_look_is_put_back(backend):
    """Where the value is another one, the call is made anew with the numbers that the input had."""
    def f(x):
        x.add_(1)
        return x * 2 if x.sum() > 0 else x - 3

    run(f, lambda i: sign(i) * 100, 2, backend=backend)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_masks_after_changes(backend):
    def f(x):
        x[x > 0] = 1.0
        half = x[::2]
        half -= 0.5
        y = x * 2
        y[y < -1e6] = y[y < -1e6] * 3
        return y, x.view(-1), half

    run(f, batch, 1, backend=backend)


def test_versions_are_put_back():
    """The multiplication has kept x: its backward would complain of a change that did not happen."""
    def f(x):
        if x.sum() > 0:
            return x * 2
        x.add_(1)
        return x * 3 if x.min() > -1e6 else x

    compiled = magpy.compile(f, backend="eager", fullgraph=True)
    for sign_ in (-1, -1, 1, -1, 1):
        x, weight = batch(0).abs() * sign_, torch.ones(4, requires_grad=True)
        y = x * weight
        changes = x._version
        compiled(x)
        assert x._version == changes + (sign_ < 0)
        if sign_ > 0:
            y.sum().backward()
    assert_counts(compiled, 2, 3)


def test_a_change_that_autograd_notes_is_not_put_back():
    weight = torch.nn.Parameter(torch.ones(4))

    def f(x):
        x.mul_(weight)
        return x * 2 if x.sum() > 0 else x - 1

    compiled = magpy.compile(f, backend="eager")
    for i in range(4):
        x, y = sign(i), sign(i)
        compare.equal((compiled(x), x), (f(y), y), f"call {i}")
    assert magpy.explain(compiled).stops[-1].reason == "tensor-data"


@pytest.mark.parametrize("of", [lambda x: x[1:], lambda x: x.t(), lambda x: x[:, 1]])
def test_a_part_of_a_tensor_is_put_back(of):
    def f(x):
        x *= 2
        return x + 1 if x.sum() > 0 else x - 3

    compiled = magpy.compile(f, backend="eager", fullgraph=True)
    for i in range(6):
        x, y = sign(i), sign(i)
        compare.equal((compiled(of(x)), x), (f(of(y)), y), f"call {i}")
    assert_counts(compiled, 2, 4)


def test_a_change_after_the_look():
    def f(x):
        positive = bool(x.sum() > 0)
        x.add_(1)
        return x * 2 if positive else x

    run(f, sign, 2)


def test_values_that_never_come_again():
    """A number that differs each time is soon left alone."""
    def f(x):
        return x * x.sum().item()

    compiled = magpy.compile(f, backend="eager")
    for i in range(30):
        compare.equal(compiled(batch(i)), f(batch(i)), f"call {i}")
    explained = magpy.explain(compiled)
    assert len(explained.entries) == 0 and explained.captures <= magpy.config.outcome_limit + 1
    assert "item was" in explained.misses[0] and "test_outcomes.py" in explained.misses[0]


def test_no_outcomes_by_setting():
    with magpy.config.patch(outcome_limit=0):
        compiled = magpy.compile(lambda x: branch(x), backend="eager")
        compiled(batch(0))
    assert magpy.explain(compiled).captures == 0


def test_an_error_in_the_graph_is_the_users():
    """Eager does what comes before the error, and shows the user's own lines."""
    def f(table, i):
        seen.append("before")
        return torch.nn.functional.embedding(i, table) + 1

    compiled = magpy.compile(f, backend="eager", fullgraph=True)
    table = torch.randn(4, 2)
    for i in range(2):
        compiled(table, torch.tensor([i]))
    del seen[:]
    with pytest.raises(IndexError) as caught:
        compiled(table, torch.tensor([9]))
    assert seen == ["before"] and any(entry.name == "f" for entry in caught.traceback)
    compare.equal(compiled(table, torch.tensor([3])), f(table, torch.tensor([3])), "later")
    assert_counts(compiled, 1, 2)


def test_no_grad_is_left_by_a_failed_check():
    def f(x):
        with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
            y = x @ x
            big = bool(y.sum() > 0)
        return y * 2 if big else y.float()

    run(f, lambda i: torch.eye(2) if i < 3 else torch.tensor([[1.0, -9.0], [2.0, 1.0]]), 2)
    assert torch.is_grad_enabled() and not torch.is_autocast_enabled("cpu")


def program(f, captures, hits, calls=6, seed=True, inputs=batch):
    """Results and random states of *calls* calls equal eager's, from the same seeds."""
    compiled = magpy.compile(f, backend="eager")
    results = []
    for g in (compiled, f):
        results.append([])
        for i in range(calls):
            if seed or i == 0:
                random.seed(0)
                numpy.random.seed(0)
                torch.manual_seed(0)
            results[-1].append((g(inputs(i)), random.random(), numpy.random.rand(), torch.rand(1)))
    compare.equal(results[0], results[1], "compiled and plain")
    explained = magpy.explain(compiled)
    assert (explained.captures, explained.hits) == (captures, hits), explained


def draws(x):
    order = [0, 1, 2]
    random.shuffle(order)
    noise = torch.from_numpy(numpy.random.normal(size=(3, 4)).astype("float32"))
    return x[order] * random.randint(0, 9) + noise * numpy.random.uniform(-1, 1), random.choice("abc")


def test_numbers_drawn_outside_torch():
    program(draws, 1, 5)


def test_numbers_drawn_from_a_generator_object():
    mine, new = random.Random(3), numpy.random.default_rng(3)

    def f(x):
        if x is None:
            mine.seed(3)
            new.bit_generator.state = numpy.random.default_rng(3).bit_generator.state
            return None
        return x * mine.randint(0, 1) + int(new.integers(0, 2))

    compiled = magpy.compile(f, backend="eager")
    results = []
    for g in (compiled, f):
        f(None)
        results.append([g(batch(i)) for i in range(20)])
    compare.equal(results[0], results[1], "compiled and plain")
    assert magpy.explain(compiled).hits > 0


def test_draws_that_never_come_again():
    program(lambda x: x * random.random(), magpy.config.outcome_limit, 0, calls=20, seed=False)


def test_a_draw_and_torchs_random_state():
    def f(x):
        before = torch.get_rng_state()
        return x + torch.rand(4) * random.randint(0, 1), before

    program(f, 1, 5)


mask = torch.tensor([1.0, 0.0, 1.0, 1.0])


def test_the_numbers_of_a_tensor_in_numpy():
    global mask

    def f(x):
        chosen = numpy.squeeze(numpy.argwhere(mask.numpy()))
        return x[:, chosen], len(chosen), bool(x.numpy().sum() > 1e9)

    program(f, 1, 5, inputs=lambda i: batch(0))
    compiled = magpy.compile(f, backend="eager", fullgraph=True)
    compiled(batch(0))
    mask[1] = 1.0
    try:
        compare.equal(compiled(batch(0)), f(batch(0)), "another mask")
        assert_counts(compiled, 2, 0)
    finally:
        mask[1] = 0.0


class Initialised(torch.nn.Module):
    """Looks into a buffer, and changes it the first time."""

    def __init__(self):
        super().__init__()
        self.shift = torch.nn.Parameter(torch.zeros(4))
        self.register_buffer("done", torch.tensor(0).byte())

    def forward(self, x):
        if not self.done:
            self.shift.data.copy_(x.mean(0))
            self.done += 1
        return x - self.shift


def test_inputs_are_looked_into_before_others_are_changed():
    """The second layer's buffer is checked before the first layer changes its own."""
    torch.manual_seed(0)
    plain, ours = [torch.nn.Sequential(Initialised(), Initialised()) for _ in range(2)]
    compiled = magpy.compile(ours, backend="eager", fullgraph=True)
    for i in range(5):
        if i == 3:
            for model in (plain, ours):
                model[1].done.zero_()
        compare.equal(compiled(batch(i)), plain(batch(i)), f"call {i}")
        compare.equal(list(ours.state_dict().values()), list(plain.state_dict().values()), f"state after call {i}")
    assert_counts(compiled, 3, 2)


def test_addresses_are_checked():
    weight = torch.nn.Parameter(torch.ones(4))
    first = weight.data_ptr()

    def f(x):
        return x * weight, weight.data_ptr() == first

    compiled = magpy.compile(f, backend="eager", fullgraph=True)
    for i in range(3):
        compare.equal(compiled(batch(i)), f(batch(i)), f"call {i}")
    weight.data = torch.ones(4) * 2
    compare.equal(compiled(batch(3)), f(batch(3)), "moved")
    assert_counts(compiled, 2, 2)


def test_a_look_after_a_batch_norm():
    """In training it changes its statistics, which are put back when the look gives something else."""
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.norm = torch.nn.BatchNorm1d(4)

        def forward(self, x):
            y = self.norm(x)
            return y * 2 if x.sum() > 0 else y, self.norm.running_mean.max() < 1e6

    check(lambda: Net().eval(), lambda i: (sign(0),))
    ours, plain = Net(), Net()
    compiled = magpy.compile(ours, backend="eager", fullgraph=True)
    for i in range(6):
        compare.equal(compiled(sign(i)), plain(sign(i)), f"call {i}")
        compare.equal(list(ours.state_dict().values()), list(plain.state_dict().values()), f"state after call {i}")
    assert_counts(compiled, 2, 4)
