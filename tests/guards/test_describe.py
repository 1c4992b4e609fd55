"""What a miss says."""

import pytest
import torch

from magpy.guards.instr import Instr
from magpy.guards.program import GuardProgram
from magpy.guards.tensor_meta import GlobalState, TensorMeta


class Model:
    attr = 1

    def __repr__(self):
        raise AssertionError("user code ran")


def miss(instrs, args, kwargs=None, nargs=None, kwnames=()):
    program = GuardProgram(instrs, len(args) if nargs is None else nargs, kwnames, 8, ())
    assert program.run(None, args, kwargs) is None
    return program.describe(program.failed, None, args, kwargs)


def check(op, expected, value):
    return miss([Instr("arg", -1, 0, op, expected, -1, "arg[0]")], (value,))


X = torch.zeros(4, 8)


@pytest.mark.parametrize("op, expected, value, text", [
    ("leaf", 3, 4, "arg[0]: was 3, is 4"),
    ("leaf", 3, True, "arg[0]: was 3, is True"),
    ("leaf", "a", None, "arg[0]: was 'a', is None"),
    ("leaf", 3, Model(), f"arg[0]: was 3, is a {__name__}.Model"),
    ("type", list, (), "arg[0]: was list, is tuple"),
    ("type", Model, [], f"arg[0]: was {__name__}.Model, is list"),
    ("is", Model, X, f"arg[0]: was {__name__}.Model (that object), is a torch.Tensor"),
    ("absent", None, 3, "arg[0]: was absent, is 3"),
    ("len", 2, [1], "arg[0]: length was 2, is 1"),
    ("keys", ("a", "b"), {"b": 0}, "arg[0]: was keys ['a', 'b'], is ['b']"),
    ("keys", ("a",), 3, "arg[0]: was keys ['a'], is 3"),
    ("set", frozenset({1}), {2}, "arg[0]: was elements [1], is [2]"),
    ("truth", True, [], "arg[0]: was true, is false"),
    ("tensor", TensorMeta(X), torch.zeros(5, 8), "arg[0].shape: was (4, 8), is (5, 8)"),
    ("tensor", TensorMeta(X), 3, "arg[0].type: was Tensor, is int"),
])
def test_texts(op, expected, value, text):
    assert check(op, expected, value) == text


def test_signature():
    instrs = [Instr("arg", -1, 0, "none", None, -1, "arg[0]")]
    assert miss(instrs, (), nargs=1) == "positional arguments: were 1, are 0"
    assert miss(instrs, (1,), {"b": 1}, kwnames=("a",)) == "keyword arguments: were (a), are (b)"


def test_what_is_gone():
    instrs = [Instr("arg", -1, 0, "none", None, 0, "arg[0]"), Instr("dict", 0, "k", "leaf", 1, 1, "arg[0]['k']")]
    assert miss(instrs, ({},)) == "arg[0]['k']: was 1, is absent"
    assert miss(instrs, ([],)) == "arg[0]['k']: what it is read from is gone or of another kind"


def test_state_and_identity():
    instrs = [Instr("state", -1, None, "state", GlobalState(), -1, "torch's global state")]
    with torch.no_grad():
        assert miss(instrs, ()).startswith("torch's global state: grad_mode: was 1, is 0")
    pair = [Instr("arg", -1, 0, "none", None, 0, "arg[0]"), Instr("arg", -1, 1, "same", 0, -1, "arg[1]")]
    assert miss(pair, (X, 1)) == "arg[1]: is another object than before"


def test_patterns():
    loads = [Instr("arg", -1, i, "none", None, i, f"arg[{i}]") for i in range(2)]
    unique = Instr("slots", -1, (0, 1), "unique", None, -1, "arg[0], arg[1]")
    assert miss([*loads, unique], (X, X)) == "arg[0], arg[1]: two of them are the same object now"
    alias = Instr("slots", -1, (0, 1), "alias", (0, 1), -1, "storage of arg[0]")
    assert miss([*loads, alias], (X, X[1:])) == "storage of arg[0]: tensors share storage in another pattern"


def test_when_it_holds_again():
    program = GuardProgram([Instr("arg", -1, 0, "type", list, -1, "arg[0]")], 1, (), 0, ())
    assert program.describe(0, None, ([],), None) == "arg[0]: is list again"
    assert program.describe(-1, None, ([],), None) == "the call has the recorded signature"
