"""What is compiled and dropped leaves nothing: no watchers, no entries, no modules, no memory."""
import gc
import weakref

import pytest
import torch
from torch import nn

import magpy
from magpy.dispatch.compiled import table_of
from magpy.guards.program import watch_counts
from support.expect import assert_counts, batch
from support.memory import rss

CYCLES = [300, pytest.param(10_000, marks=pytest.mark.slow)]
WARM_UP = 100       # cycles until all caches are filled


def watched():
    counts = watch_counts()
    return counts["facts"], counts["objects"]


class Settings:
    def __init__(self):
        self.scale = 2.0


def plain_function():
    settings = Settings()
    return lambda x: x * settings.scale


def tiny_module():
    return nn.Linear(4, 4)


def cycle(make, alive):
    """Compiles, calls and drops ``make()``."""
    f = make()
    compiled = magpy.compile(f, backend="eager", fullgraph=True)
    for k in range(3):
        compiled(batch(k))
    alive.add(f)
    alive.add(compiled)
    return compiled


def state():
    """(facts, objects) that are watched, how many objects Python knows, resident bytes."""
    gc.collect()
    return watched(), len(gc.get_objects()), rss()


def compiled_entry(compiled):
    entry, = table_of(compiled).entries
    return entry


@pytest.mark.parametrize("cycles", CYCLES)
@pytest.mark.parametrize("make", [plain_function, tiny_module])
def test_cycles_of_compiling_and_dropping_leave_nothing(make, cycles):
    alive = weakref.WeakSet()
    compiled = cycle(make, alive)
    assert_counts(compiled, 1, 2)
    assert compiled_entry(compiled).guards.pushed()["watched"] > 0, "nothing is watched: the test tests nothing"
    del compiled
    for _ in range(WARM_UP):
        cycle(make, alive)
    states = [state()]
    for _ in range(2):
        for _ in range(cycles // 2):
            cycle(make, alive)
        states.append(state())
    assert len(alive) == 0
    assert states[2][0] <= states[0][0], f"facts and objects watched before and after: {states[0][0]}, {states[2][0]}"
    # What is made once, at a late import say, is in one half; what each cycle loses is in both.
    objects, memory = (min(states[1][i] - states[0][i], states[2][i] - states[1][i]) for i in (1, 2))
    assert objects < cycles // 10, f"{objects} objects more after {cycles // 2} cycles"
    # an entry is some 8 KB at the least
    assert memory < 1_000_000 + 400 * cycles, f"{memory} bytes more after {cycles // 2} cycles"


@pytest.mark.parametrize("changed", [False, True])
def test_reset_ends_the_subscriptions_of_a_module_that_lives_on(changed):
    """Also those of entries that a change had made dirty by then."""
    module = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.LayerNorm(4))
    module.scale = 1.0
    compiled = magpy.compile(module, backend="eager", fullgraph=True)
    gc.collect()
    before = watched()
    for _ in range(20):
        for k in range(3):
            compiled(batch(k))
        assert watched() > before
        if changed:
            module.eval() if module.training else module.train()
        magpy.reset()
        assert watched() == before
    module.scale = 3.0      # tells nobody
    told = watch_counts()["changes"]
    module.scale = 4.0
    assert watch_counts()["changes"] == told


def test_an_entry_that_is_dropped_leaves_those_of_others():
    module = nn.Linear(4, 4)
    gc.collect()
    before = watched()
    first, second = (magpy.compile(module, backend="eager", fullgraph=True) for _ in range(2))
    for k in range(3):
        first(batch(k)), second(batch(k))
    both = watched()
    del first
    gc.collect()
    assert before < watched() <= both
    with torch.no_grad():
        module.weight = nn.Parameter(torch.zeros(4, 4))
        module.bias = nn.Parameter(torch.ones(4))
    assert torch.equal(second(batch(5)), torch.ones(3, 4))
    del second
    gc.collect()
    assert watched() == before
