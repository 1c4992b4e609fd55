"""The user's exception leaves a compiled function as it left the plain one; nothing is left behind."""
import traceback

import pytest
import torch

import magpy
from support.expect import assert_counts, batch


class Refused(Exception):
    def __init__(self, code, *, hint):
        super().__init__("refused", code)
        self.hint = hint


def refuses(x, n):
    y = x * n
    if n > 2:
        raise Refused(n, hint="small numbers only")
    return y


@pytest.mark.parametrize("fullgraph", [True, False])
def test_exception_propagates_unchanged(fullgraph):
    compiled = magpy.compile(refuses, backend="eager", fullgraph=fullgraph)
    for n in (1, 5, 1, 5, 5):
        if n == 1:
            assert torch.equal(compiled(batch(0), n), batch(0) * n)
            continue
        with pytest.raises(Refused) as info:
            compiled(batch(0), n)
        e = info.value
        assert type(e) is Refused and e.args == ("refused", 5) and e.hint == "small numbers only"
        last = traceback.extract_tb(e.__traceback__)[-1]
        assert last.filename == __file__ and last.line.startswith("raise Refused")


def test_the_very_exception_object():
    error = ValueError("mine")

    def f(x):
        raise error
    for _ in range(3):
        with pytest.raises(ValueError) as info:
            magpy.compile(f, backend="eager", fullgraph=True)(batch(0))
        assert info.value is error


def test_torch_error_propagates():
    def f(x):
        return x @ torch.ones(7, 7)
    compiled = magpy.compile(f, backend="eager", fullgraph=True)
    for _ in range(3):
        with pytest.raises(RuntimeError) as ours:
            compiled(batch(0))
        with pytest.raises(RuntimeError) as theirs:
            f(batch(0))
        assert str(ours.value) == str(theirs.value)


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, GeneratorExit, StopIteration, RecursionError])
def test_special_exceptions(error):
    def f(x, bad):
        x = x + 1
        if bad:
            raise error(3)
        return x
    compiled = magpy.compile(f, backend="eager", fullgraph=True)
    with pytest.raises(error) as info:
        compiled(batch(0), True)
    assert info.value.args == (3,)
    assert torch.equal(compiled(batch(1), False), batch(1) + 1)
    assert torch.equal(compiled(batch(2), False), batch(2) + 1)
    assert_counts(compiled, 1, 1)


def test_endless_recursion():
    def f(x):
        return f(x + 1)
    compiled = magpy.compile(f, backend="eager")
    for _ in range(2):
        with pytest.raises(RecursionError):
            compiled(batch(0))


def test_wrong_arguments():
    compiled = magpy.compile(lambda x: x + 1, backend="eager", fullgraph=True)
    compiled(batch(0))
    for args, kwargs in [((), {}), ((batch(0), 1), {}), ((batch(0),), {"y": 1})]:
        with pytest.raises(TypeError):
            compiled(*args, **kwargs)
    compiled(batch(1))
    assert_counts(compiled, 1, 1)


def test_effects_before_the_error_happened_once():
    log = []

    def f(x):
        log.append("a")
        if len(log) == 2:
            raise Refused(1, hint="")
        return x * 2
    compiled = magpy.compile(f, backend="eager")
    compiled(batch(0))
    with pytest.raises(Refused):
        compiled(batch(0))
    compiled(batch(0))
    assert log == ["a", "a", "a"]


def test_error_in_a_nested_compiled_call():
    inner = magpy.compile(refuses, backend="eager")

    def f(x, n):
        try:
            return inner(x, n)
        except Refused:
            return x - 1
    compiled = magpy.compile(f, backend="eager")
    for n in (1, 5, 1, 5):
        assert torch.equal(compiled(batch(0), n), f(batch(0), n))
