"""Numbers, strings and other leaves: equal is not enough, the very value and type are part of the key."""
import abc
import decimal
import enum
import math

import pytest
import torch

from support.expect import batch
from support.scenario import Case, scenario, sequence


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Flag(enum.Flag):
    A = 1
    B = 2


class Int(int):
    pass


VALUES = [0.0, -0.0, 0, False, 1, 1.0, True, 2, -1, 10**20, math.nan, math.inf, -math.inf, 1e-320, "a", "b", "", b"a", None,
          ..., 1j, -1j, Colour.RED, Colour.BLUE, Level.LOW, Flag.A, Flag.A | Flag.B, Int(1), (1, 2), (1, 2.0), (1, (2, None)),
          torch.float32, torch.float64, torch.device("cpu"), torch.device("meta"), torch.Size([1, 2]), range(3), range(0, 3, 2),
          slice(1, 2), slice(None), frozenset({1}), int, float, torch.strided, torch.channels_last, len, math.sqrt]


def shown(x, v):
    """The result tells the values apart, whatever they are."""
    return x + 1, v, type(v).__name__


def test_each_value_has_its_own_entry():
    makes = [lambda v=v: (batch(0), v) for v in VALUES[:24]]
    sequence(shown, makes + makes, [*range(1, 25)] + [24] * 24)


@pytest.mark.parametrize("n", range(len(VALUES)))
def test_value_for_its_neighbour(n):
    a, b = VALUES[n - 1], VALUES[n]
    sequence(shown, [lambda: (batch(0), a), lambda: (batch(0), b), lambda: (batch(0), a), lambda: (batch(0), b)], [1, 2, 2, 2])


def test_sign_of_zero():
    def f(x, v):
        return x * math.copysign(1.0, v)
    sequence(f, [lambda: (batch(0), 0.0), lambda: (batch(0), -0.0), lambda: (batch(0), 0.0)], [1, 2, 2])


def test_bool_int_float():
    def f(x, v):
        return x * v if isinstance(v, bool) else x + v if isinstance(v, int) else x - v
    makes = [lambda v=v: (batch(0), v) for v in (True, 1, 1.0, True, 1, 1.0)]
    sequence(f, makes, [1, 2, 3, 3, 3, 3])


def test_nan_hits():
    def f(x, v):
        return x + 1 if v == v else x - 1
    sequence(f, [lambda: (batch(0), math.nan), lambda: (batch(0), math.nan), lambda: (batch(0), 0.0)], [1, 1, 2])


def test_big_int_equal_but_not_identical():
    make = lambda: (batch(0), int("1" * 30))  # noqa: E731
    sequence(lambda x, v: x if v > 5 else x + 1, [make, make], [1, 1])


def test_str_equal_but_not_identical():
    make = lambda: (batch(0), "".join(["rel", "u"]))  # noqa: E731
    sequence(lambda x, v: getattr(torch, v)(x), [make, make, lambda: (batch(0), "tanh")], [1, 1, 2])


def test_decimal_is_right_whatever_happens():
    make = lambda v: lambda: (batch(0), decimal.Decimal(v))  # noqa: E731
    from support import compare
    import magpy

    def f(x, v):
        return x * float(v)
    compiled = magpy.compile(f, backend="eager")
    for v in ("1.5", "2.5", "1.5"):
        compare.equal(compiled(*make(v)()), f(*make(v)()))


@scenario
def test_enum_attribute():
    import types
    o = types.SimpleNamespace(mode=Colour.RED)
    return Case(lambda x: x + 1 if o.mode is Colour.RED else x - 1, lambda: setattr(o, "mode", Colour.BLUE),
                lambda: setattr(o, "mode", Colour.RED))


@scenario
def test_flag_attribute():
    import types
    o = types.SimpleNamespace(mode=Flag.A)
    return Case(lambda x: x + 1 if Flag.B in o.mode else x - 1, lambda: setattr(o, "mode", Flag.A | Flag.B),
                lambda: setattr(o, "mode", Flag.A))


class Shape(abc.ABC):
    pass


def test_isinstance_after_abc_registration():
    """Registration can't be undone, so this is one way: not an instance, then an instance."""
    import magpy

    class Square:
        pass

    o = Square()

    def f(x):
        return x + 1 if isinstance(o, Shape) else x - 1

    compiled = magpy.compile(f, backend="eager", fullgraph=True)
    x = batch(0)
    assert torch.equal(compiled(x), x - 1)
    assert torch.equal(compiled(x), x - 1)
    Shape.register(Square)
    assert torch.equal(compiled(x), x + 1)
    assert torch.equal(compiled(x), x + 1)


@scenario
def test_isinstance_after_instancecheck_patched():
    class Meta(type):
        pass

    class K(metaclass=Meta):
        pass

    o = object()
    return Case(lambda x: x + 1 if isinstance(o, K) else x - 1, lambda: setattr(Meta, "__instancecheck__", lambda c, v: True),
                lambda: "__instancecheck__" in vars(Meta) and delattr(Meta, "__instancecheck__"))


@scenario
def test_lying_class_property():
    class Liar:
        pretend = int

        @property
        def __class__(self):
            return type(self).pretend

    o = Liar()
    return Case(lambda x: x + 1 if isinstance(o, int) else x - 1, lambda: setattr(Liar, "pretend", str),
                lambda: setattr(Liar, "pretend", int))


@scenario
def test_eq_patched_on_the_class():
    class K:
        def __eq__(self, other):
            return True

        __hash__ = None

    a, b, old = K(), K(), K.__eq__
    return Case(lambda x: x + 1 if a == b else x - 1, lambda: setattr(K, "__eq__", lambda s, o: False), lambda: setattr(K, "__eq__", old))
