"""Leaving things to eager: magpy.graph_break, magpy.disable, and what is captured around and inside."""

import inspect
import time

import pytest
import torch
from torch import nn

import magpy
from magpy import counters
from support.expect import batch


def compile_(fn, **options):
    return magpy.compile(fn, backend="eager", **options)


def line_of(fn, text):
    lines, start = inspect.getsourcelines(fn)
    return start + next(i for i, line in enumerate(lines) if text in line)


def counts(f):
    e = magpy.explain(f)
    return e.captures, e.hits, e.breaks, e.bypasses


def breaks(x):
    y = x + 1
    magpy.graph_break()
    return y * 2


# ---- graph_break ------------------------------------------------------------------------------

def test_outside_a_recording_it_does_nothing():
    assert magpy.graph_break() is None


def test_the_capture_ends_there_and_the_call_is_right():
    f = compile_(breaks)
    for i in range(3):
        torch.testing.assert_close(f(batch(i)), breaks(batch(i)))
    stop, = magpy.explain(f).stops
    assert (stop.reason, stop.filename, stop.lineno) == ("graph-break", __file__, line_of(breaks, "graph_break()"))


def test_it_is_recorded_once_for_each_way_to_it():
    f = compile_(breaks)
    for i in range(20):
        f(batch(i))
    assert counts(f) == (0, 0, 1, {"graph-break": 19})
    f(batch(0, 5, 5))
    assert counts(f) == (0, 0, 2, {"graph-break": 19})
    f(batch(1, 5, 5)), f(batch(1))
    assert counts(f) == (0, 0, 2, {"graph-break": 21})
    magpy.reset()
    f(batch(0))
    assert counts(f)[2] == 3


def test_other_paths_are_captured():
    def f(x, options):
        if options["slow"]:
            magpy.graph_break()
        return x * 3
    compiled = compile_(f)
    for i in range(6):
        slow = i % 2 == 0
        torch.testing.assert_close(compiled(batch(i), {"slow": slow}), f(batch(i), {"slow": slow}))
    assert counts(compiled) == (1, 2, 1, {"graph-break": 2})


def test_data_that_leads_to_it_is_not_remembered_as_the_way():
    def f(x):
        if x.sum() > 0:
            magpy.graph_break()
        return x * 2
    compiled = compile_(f)
    for i, sign in enumerate((1, -1, -1, 1)):
        torch.testing.assert_close(compiled(torch.full((2,), 1.0 * sign)), f(torch.full((2,), 1.0 * sign)))
    assert counts(compiled) == (1, 1, 2, {})


def test_with_fullgraph_it_is_an_error_every_time():
    f = compile_(breaks, fullgraph=True)
    for _ in range(2):
        with pytest.raises(magpy.CaptureError, match="graph-break") as info:
            f(batch(0))
        assert info.value.lineno == line_of(breaks, "graph_break()")


def test_a_way_that_differs_in_every_call_ends_at_the_stop_limit(caplog):
    class Steps:
        n = 0
    steps = Steps()

    def f(x):
        steps.n = steps.n * 2 + 1
        if steps.n:
            magpy.graph_break()
        return x + steps.n
    compiled = compile_(f)
    for i in range(magpy.config.stop_limit + 3):
        compiled(batch(i))
    assert counts(compiled)[2:] == (magpy.config.stop_limit, {"stop-limit": 3})
    assert sum("stop_limit" in record.getMessage() for record in caplog.records) == 1


# ---- compiled callables inside a call that is not captured ---------------------------------------

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        return torch.relu(self.fc(x))


def outer_of(stop):
    inner = compile_(Block().requires_grad_(False))

    def outer(x):
        y = inner(x)
        stop(y)
        return inner(y) + 1
    return compile_(outer), outer, inner


@magpy.disable
def left_alone(y):
    return None


def looks_at_the_clock(y):
    return time.perf_counter()


@pytest.mark.parametrize("stop, recorded", [(lambda y: magpy.graph_break(), 1), (left_alone, 1), (looks_at_the_clock, 8)])
def test_inner_modules_have_entries_of_their_own(stop, recorded):
    compiled, plain, inner = outer_of(stop)
    for i in range(recorded + 3):
        torch.testing.assert_close(compiled(batch(i)), plain(batch(i)))
    assert counts(compiled)[:3] == (0, 0, recorded)
    captures, hits = counts(inner)[:2]
    assert captures == 1 and hits > 3, "inner calls of the calls that ran as they are"
    before = hits
    compiled(batch(9))
    assert counts(inner)[:2] == (1, before + 2)


# ---- disable inside captured code ---------------------------------------------------------------------

class Marked:
    @magpy.disable(reason="it talks to a server")
    def method(self, x):
        return x + 1


@magpy.disable
def marked(x):
    return x + 1


@magpy.disable(recursive=False)
def not_recursive(x):
    return x + 1


def in_a_block(x):
    with magpy.disable():
        y = x + 1
    return y


def marked_inside(x):
    return magpy.disable(torch.relu)(x)


def module_of(recursive=True):
    block = Block()
    magpy.disable(block, recursive)
    return block


@pytest.mark.parametrize("fn, detail", [
    (lambda x: marked(x), "marked"),
    (lambda x: list(map(marked, [x]))[0], "marked"),
    (lambda x: not_recursive(x), "not_recursive"),
    (lambda x: list(map(not_recursive, [x]))[0], "not_recursive"),
    (lambda x: Marked().method(x), "Marked.method, since it talks to a server"),
    (in_a_block, "with magpy.disable()"),
    (marked_inside, None),
    (magpy.disable(lambda x: x + 1), None),
    (lambda x, block=module_of(): block(x), "Block.forward"),
    (lambda x, block=module_of(False): block(x), "Block.forward"),
    (nn.Sequential(nn.ReLU(), module_of()), "Block.forward")])
def test_what_is_disabled_ends_the_capture(fn, detail):
    f = compile_(fn)
    for i in range(4):
        torch.testing.assert_close(f(batch(i)), fn(batch(i)))
    stop, = magpy.explain(f).stops
    assert stop.reason == "disabled" and detail in (stop.detail, None), stop
    assert counts(f)[3] == {"disabled": 3}
    if detail and "since" in detail:
        assert "[disabled]" in str(magpy.explain(f)) and "it talks to a server" in str(magpy.explain(f))


def test_recursive_leaves_compiled_callables_inside_alone():
    inner = compile_(lambda x: x * 2)
    off = magpy.disable(lambda x: inner(x))
    off(batch(0)), off(batch(1))
    assert counts(inner)[:2] == (0, 0)


def test_not_recursive_leaves_only_the_function_itself_alone():
    inner = compile_(lambda x: x * 2)
    off = magpy.disable(lambda x: inner(x), recursive=False)
    off(batch(0)), off(batch(1))
    assert counts(inner)[:2] == (1, 1)
    itself = magpy.disable(inner, recursive=False)
    before = counters.snapshot()["hits"]
    torch.testing.assert_close(itself(batch(2)), batch(2) * 2)
    assert counters.snapshot()["hits"] == before and counts(inner)[:2] == (1, 1)


def test_an_entry_made_before_a_mark_is_not_used_after_it():
    block = Block()
    f = compile_(lambda x: block(x))
    f(batch(0)), f(batch(0))
    assert counts(f)[:2] == (1, 1)
    magpy.disable(block)
    f(batch(0))
    assert counts(f)[:2] == (1, 1) and magpy.explain(f).stops[0].reason == "disabled"
