"""Operations on outside objects that raise, where the program goes on: what they did not change is not redone."""
import collections

import pytest
import torch

import magpy
from support import compare
from support.expect import batch, check


class Slotted:
    __slots__ = ("a",)


def holder():
    return {"set": {1, 2}, "list": [1, 2, 3], "dict": {"a": 1}, "deque": collections.deque([1, 2]), "slots": Slotted()}


def assign_item(h):
    h["list"][7] = 0


def assign_attribute(h):
    h["slots"].b = 1


def delete_attribute(h):
    del h["slots"].a


def delete_item(h):
    del h["dict"]["none"]


WHOLE = {
    "set.remove": lambda h: h["set"].remove(7), "list.remove": lambda h: h["list"].remove(7),
    "list.pop": lambda h: h["list"].pop(7), "dict.pop": lambda h: h["dict"].pop("none"),
    "item": assign_item, "del item": delete_item,
}


@pytest.mark.parametrize("name", WHOLE)
def test_a_change_that_raises_is_captured_as_none(name):
    def program(x, h):
        try:
            WHOLE[name](h)
        except Exception as e:
            x = x + len(type(e).__name__)
        h["list"].append(4)
        return x
    check(lambda: program, lambda i: (batch(i), holder()))


def test_a_write_that_raised_is_still_a_read():
    """The failed write does not make the entry the recording's own: what it holds later is guarded."""
    def f(x, h):
        try:
            del h["n"]
        except KeyError:
            h["n"] = 2
        return x * h["n"]
    compiled = magpy.compile(f, backend="eager")
    for h in ({}, {"n": 5}, {}, {"n": 3}):
        got, want = dict(h), dict(h)
        results = []
        for g, held in ((compiled, got), (f, want)):
            try:
                results.append(g(batch(0), held))
            except KeyError as e:
                results.append(repr(e))
        compare.equal(results[0], results[1])
        assert got == want


def items_then_error():
    yield 1
    raise ValueError("in the middle")


PARTS = {
    "list.extend": lambda h: h["list"].extend(items_then_error()),
    "set.update": lambda h: h["set"].update(items_then_error()),
    "dict.update": lambda h: h["dict"].update([("b", 2), ("c",)]),
    "list.sort": lambda h: h["list"].sort(key=lambda n: 1 / (n - 2)),
    "attribute": assign_attribute, "del attribute": delete_attribute, "deque.remove": lambda h: h["deque"].remove(7),
    "deque.extend": lambda h: h["deque"].extend(items_then_error()),
}


@pytest.mark.parametrize("name", PARTS)
def test_a_change_that_raises_half_way_is_right(name):
    def program(x, h):
        try:
            PARTS[name](h)
        except Exception as e:
            x = x + len(type(e).__name__)
        return x
    check(lambda: program, lambda i: (batch(i), holder()), captures=None, fullgraph=False)


WRONG = {
    "no argument": lambda: [].insert(), "too many": lambda: {}.get(1, 2, 3, 4), "len": lambda: len(),
    "slot": lambda: [].__setitem__(), "pairs": lambda: dict([("a", "b", "c")]), "unhashable": lambda: {1} | {2}.union([[]]),
    "getattr": lambda: getattr(1), "isinstance": lambda: isinstance(1),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_call_that_does_not_fit_is_no_fault_of_ours(name):
    def f(x):
        try:
            WRONG[name]()
        except (TypeError, ValueError) as e:
            return x + 1, str(e)
    compiled = magpy.compile(f, backend="eager")
    for i in range(3):
        compare.equal(compiled(batch(i)), f(batch(i)))
    assert "internal-error" not in {s.reason for s in magpy.explain(compiled).stops}


def test_too_deep_a_nesting_is_no_fault_of_ours():
    nested = []
    for _ in range(100_000):
        nested = [nested]

    def f(x):
        try:
            return x, repr(nested)
        except RecursionError:
            return x + 1
    compiled = magpy.compile(f, backend="eager")
    for i in range(3):
        compare.equal(compiled(batch(i)), f(batch(i)))
    assert torch.equal(f(torch.zeros(1)), torch.ones(1))
    assert {s.reason for s in magpy.explain(compiled).stops} <= {"object-read", "unknown-callable"}
