"""Strict equality of leaves: every pair of these values differs, and copies are the same."""

import copy
import enum
import itertools
import pickle
import struct
from collections import namedtuple

import pytest
import torch

from magpy.guards.program import is_leaf
from magpy.guards.twin_helpers import equal

NAN = float("nan")
OTHER_NAN = struct.unpack("d", struct.pack("Q", 0x7FF8000000000123))[0]
Point = namedtuple("Point", "x y")
Pixel = namedtuple("Pixel", "x y")


class Color(enum.Enum):
    RED = 1


class Level(enum.IntEnum):
    LOW = 1


LEAVES = [
    None, True, False, ..., NotImplemented, 0, 1, -1, 257, 2**62, 2**80, -2**80, 0.0, -0.0, 1.0, NAN, OTHER_NAN,
    float("inf"), 0j, complex(-0.0, 0.0), complex(0.0, -0.0), 1 + 0j, "", "a", "b", "\xe9", "\u20ac", "1", b"", b"a",
    b"1", (), (1,), (True,), (1.0,), (0.0,), (-0.0,), (1, 2), ((1, 2),), Point(1, 2), Pixel(1, 2), torch.Size([1, 2]),
    torch.Size([2, 1]), frozenset(), frozenset({1, 2}), frozenset({1.0, 2}), frozenset({True, 2}), frozenset({"a"}),
    slice(1), slice(1, 2), slice(1, 2, 3), slice(1.0), range(0), range(5, 5), range(3), range(0, 3, 2), range(0, 4, 2),
    int, float, bool, Color.RED, Level.LOW, Color, torch.float32, torch.float16, torch.strided, torch.channels_last,
    torch.device("cpu"), torch.device("meta"), torch.device("cuda", 0), torch.device("cuda", 1),
]
NO_LEAVES = [[], {}, set(), object(), lambda: 0, bytearray(), ([],), (object(),), frozenset({object()}),
             torch.zeros(1), type("S", (str,), {})("a"), type("T", (tuple,), {})((1,)), slice([])]


def another(value):
    """An equal object, another one where there can be."""
    if type(value) is str:
        return "".join(["x", value])[1:]
    if type(value) is float:
        return struct.unpack("d", struct.pack("d", value))[0]
    if type(value) in (int, complex, bytes, slice, range):
        return copy.deepcopy(pickle.loads(pickle.dumps(value)))
    if type(value) is torch.device:
        return torch.device(str(value))
    if isinstance(value, tuple) and type(value) is not torch.Size:
        parts = map(another, value)
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    if type(value) is frozenset:
        return frozenset([another(v) for v in value])
    return value


@pytest.mark.parametrize("value", LEAVES, ids=repr)
def test_equals_a_copy_of_itself(make, value):
    program = make.arg("leaf", value)
    assert is_leaf(value)
    assert program.run(None, (value,), None) == []
    assert program.run(None, (another(value),), None) == []
    assert equal(another(value), value)


def test_no_two_are_equal(make):
    for a, b in itertools.permutations(LEAVES, 2):
        assert make.arg("leaf", a).run(None, (b,), None) is None, (a, b)
        assert not equal(b, a), (a, b)


@pytest.mark.parametrize("value", NO_LEAVES, ids=lambda v: type(v).__name__)
def test_other_values_are_refused(make, value):
    assert not is_leaf(value)
    with pytest.raises(TypeError, match="not a value that guards compare"):
        make.arg("leaf", value)
    for leaf in LEAVES:
        assert make.arg("leaf", leaf).run(None, (value,), None) is None


def test_a_value_of_a_subclass_is_another_value(make):
    class Text(str):
        def __eq__(self, other):
            raise AssertionError("user code ran")
        __hash__ = str.__hash__

    assert make.arg("leaf", "a").run(None, (Text("a"),), None) is None


def test_content_of_sets_in_their_order(make):
    up, down = {0, 8}, {8, 0}
    assert list(up) != list(down)
    program = make.arg("set", tuple(up))
    for good in (set(up), frozenset(up)):
        assert program.run(None, (good,), None) == []
    for bad in (down, frozenset(down), {0, 9}, {0, 8, 9}, [0, 8]):
        assert program.run(None, (bad,), None) is None
    assert make.arg("set", (1,)).run(None, ({True},), None) is None
    assert make.arg("leaf", frozenset(up)).run(None, (frozenset(list(up)),), None) == []
    assert make.arg("leaf", frozenset(up)).run(None, (frozenset(list(down)),), None) is None


def test_elements_that_are_no_leaves_count_by_identity(make):
    f, g = (lambda: 0), (lambda: 0)
    assert make.arg("set", (f,)).run(None, ({f},), None) == []
    assert make.arg("set", (f,)).run(None, ({g},), None) is None
    assert make.arg("keys", (f, "a")).run(None, ({f: 0, "a": 1},), None) == []
    assert make.arg("keys", (f, "a")).run(None, ({g: 0, "a": 1},), None) is None
