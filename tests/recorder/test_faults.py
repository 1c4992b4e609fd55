"""What goes wrong inside the recorder, or around it, stays out of the user's results."""

import sys

import torch

import magpy
from magpy.recorder.callables.registry import RULES


def test_a_call_from_a_trace_function_is_not_captured():
    """A debugger's prompt runs inside a trace function, where the hook ignores every event."""
    state = {"k": 2.0}

    def f(x):
        return x * state["k"]
    compiled = magpy.compile(f, backend="eager")
    results = []

    def tracer(frame, event, arg):
        if event == "call" and frame.f_code.co_name == "traced":
            results.append(compiled(torch.ones(1)).item())

    def traced():
        pass
    before = sys.gettrace()
    sys.settrace(tracer)
    try:
        for state["k"] in (2.0, 3.0, 4.0):
            traced()
    finally:
        sys.settrace(before)
    assert results == [2.0, 3.0, 4.0]
    assert magpy.explain(compiled).captures == 0
    assert {s.reason for s in magpy.explain(compiled).stops} == {"hook-in-use"}


def broken_rule(monkeypatch, error):
    def rule(r, func, args, kwargs):
        raise error
    monkeypatch.setitem(RULES, divmod, rule)


def test_a_fault_where_the_call_starts_gives_the_users_result(monkeypatch):
    broken_rule(monkeypatch, TypeError("a bug"))
    compiled = magpy.compile(divmod, backend="eager")
    assert compiled(7, 2) == (3, 1)
    assert {s.reason for s in magpy.explain(compiled).stops} == {"internal-error"}


def test_an_interrupt_while_a_rule_runs_is_the_users(monkeypatch):
    broken_rule(monkeypatch, KeyboardInterrupt())
    compiled = magpy.compile(lambda x: x * divmod(7, 2)[0], backend="eager")
    try:
        compiled(torch.ones(1))
    except KeyboardInterrupt:
        pass
    else:
        raise AssertionError("the interrupt was lost")
    monkeypatch.undo()
    assert compiled(torch.ones(1)).item() == 3 and compiled(torch.ones(1)).item() == 3
    assert (magpy.explain(compiled).captures, magpy.explain(compiled).hits) == (1, 1)
