"""Describing: what an object is decides its recipe, and reading it runs no user code."""

import collections
import enum

import pytest
import torch

from magpy.reasons import StopCapture
from magpy.refgraph import kinds
from magpy.refgraph.values import Const, FromSlot, GraphOut, New
from support.fake_recorder import FakeRecorder, FakeTable, describer


class Color(enum.Enum):
    RED = 1


@pytest.mark.parametrize("value", [None, True, 3, 2.5, 1j, "s", b"b", ..., NotImplemented, range(3), torch.float32,
                                   torch.strided, torch.device("cpu"), torch.Size([2, 3]), (1, ("a", None)),
                                   frozenset([1]), slice(1, None), Color.RED])
def test_values_are_constants(value):
    recipe = describer().value(value)
    assert type(recipe) is Const and recipe.obj is value


def test_types_and_functions_are_constants():
    assert describer().value(dict).obj is dict and describer().value(len).obj is len


def test_outside_objects_come_from_slots_each_once():
    recorder = FakeRecorder()
    a, b = [], {}
    recorder.outside(a, "a"), recorder.outside(b, "b")
    d = describer(recorder)
    recipe = d.value([b, a, b])
    assert [type(p) for p in recipe.parts] == [FromSlot] * 3 and recipe.parts[0] is recipe.parts[2]
    assert [n.path for n in d.slots] == ["b", "a"]


def test_graph_outputs_are_numbered_by_reference():
    table = FakeTable()
    x, y = torch.ones(1), torch.ones(1)
    table.result(x, 1, 0), table.result(y, 0, 0)
    d = describer(table=table)
    recipe = d.value((x, y, x))
    assert [p.index for p in recipe.parts] == [0, 1, 0] and all(type(p) is GraphOut for p in recipe.parts)
    assert [r.op for r in d.outputs] == [1, 0]


def test_two_python_objects_of_one_result_share_an_output():
    table = FakeTable()
    x, y = torch.ones(1), torch.ones(1)
    table.result(x, 1, 0), table.result(y, 1, 0)
    d = describer(table=table)
    assert [p.index for p in d.value((x, y)).parts] == [0, 0] and len(d.outputs) == 1


def test_a_tensor_of_a_class_or_with_attributes_is_refused():
    class Own(torch.Tensor):
        pass

    table = FakeTable()
    noted = torch.ones(1)
    noted.note = 1
    for tensor in (torch.ones(1).as_subclass(Own), noted):
        table.result(tensor)
        with pytest.raises(StopCapture) as e:
            describer(table=table).value(tensor)
        assert e.value.reason == "output-kind"


def test_one_recipe_for_one_object():
    shared = []
    d = describer()
    assert d.value(shared) is d.value(shared) and type(d.value(shared)) is New
    assert d.value([shared]).parts[0] is d.value(shared)


class Loud:
    """Nothing may be asked of it."""

    def __getattribute__(self, name):
        raise AssertionError(name)

    def __setattr__(self, name, value):
        raise AssertionError(name)

    def __eq__(self, other):
        raise AssertionError

    def __hash__(self):
        raise AssertionError

    def __bool__(self):
        raise AssertionError

    def __repr__(self):
        raise AssertionError


class LoudDict(collections.OrderedDict):
    def __iter__(self):
        raise AssertionError

    items = keys = values = __len__ = __getitem__ = __iter__


def test_reading_runs_no_user_code():
    loud, d = Loud(), LoudDict()
    object.__getattribute__(loud, "__dict__")["a"] = d
    collections.OrderedDict.__setitem__(d, "k", 3)
    recipe = describer().value(loud)
    assert recipe.parts[0].parts[1].obj == 3


class Meta(type):
    def __hash__(cls):
        raise AssertionError

    def __eq__(cls, other):
        raise AssertionError

    def __instancecheck__(cls, obj):
        raise AssertionError

    @property
    def __mro__(cls):
        raise AssertionError


class Odd(metaclass=Meta):
    pass


def test_metaclasses_run_no_code_either():
    odd = Odd()
    odd.a = [1]
    assert describer().value(odd).parts[0].parts[0].obj == 1


class HidesDict:
    @property
    def __dict__(self):
        return {}


class OwnDefault(collections.defaultdict):
    pass


@pytest.mark.parametrize("obj", [HidesDict(), OwnDefault(list), object.__new__(type("E", (Exception,), {}).__mro__[-1])])
def test_kinds_of_odd_classes(obj):
    kind = kinds.of(obj)
    if type(obj) is object:
        assert kind is not None
    else:
        assert kind is None


def test_keys():
    d = describer()
    assert d.key("a").obj == "a" and type(d.key(object())) is New and d.key((1, "a")).obj == (1, "a")
    with pytest.raises(StopCapture) as e:
        d.key(Loud())
    assert e.value.reason == "dict-key"
