"""Mock code makes the same objects again: content, type, sharing, cycles, and effects."""

import collections
import dataclasses
import functools
import linecache
import traceback
import types
import typing

import pytest
import torch

from magpy.emit import mock
from magpy.reasons import StopCapture
from support.fake_recorder import FakeRecorder, FakeTable, describer


class World:
    """One pretended recording: outside objects, graph results, then a replay."""

    def __init__(self):
        self.recorder = FakeRecorder()
        self.table = FakeTable()
        self.live = {}
        self.describer = describer(self.recorder, self.table)
        self.effects = []

    def outside(self, obj, path="arg[0]", const=False):
        node = self.recorder.outside(obj, path, const)
        self.live[node.index] = obj
        return obj

    def graph_result(self, leaf=0):
        return self.table.result(torch.zeros(2), 0, leaf)

    def effect(self, func, *args, **kwargs):
        self.effects.append((func, args, kwargs))

    def code(self, result, inputs=()):
        d = self.describer
        recipe = d.value(result)
        effects = [mock.EffectRecipe(f, [d.value(a) for a in args], {k: d.value(v) for k, v in kw.items()})
                   for f, args, kw in self.effects]
        nodes = [self.recorder.node_of(obj) for obj in inputs]
        has_graph = d.outputs or inputs
        return mock.build(nodes if has_graph else None, len(d.outputs), recipe, effects, d.slots)

    def replay(self, result, inputs=(), graph=None):
        self.built = self.code(result, inputs)
        slots = [self.live[node.index] for node in self.built.slots]
        return self.built.function(slots, graph)


class Plain:
    def __init__(self):
        self.a, self.b = 1, [2]

    def __setattr__(self, name, value):
        object.__setattr__(self, name, value)
        calls.append(name)


class Slotted:
    __slots__ = ("x", "y", "__weakref__")


class SlottedChild(Slotted):
    __slots__ = ("z",)


class Sealed:
    """Every user-level way of getting at it is barred."""

    def __init__(self):
        object.__getattribute__(self, "__dict__")["n"] = 5

    def __getattribute__(self, name):
        raise RuntimeError(name)

    def __setattr__(self, name, value):
        raise RuntimeError(name)

    def __eq__(self, other):
        raise RuntimeError


class Point(typing.NamedTuple):
    x: int
    y: list


class Config(dict):
    def __getitem__(self, key):
        raise RuntimeError

    def __setitem__(self, key, value):
        raise RuntimeError

    def __iter__(self):
        raise RuntimeError


class Names(list):
    pass


class Grade(int):
    pass


class Label(str):
    pass


class Pair(tuple):
    pass


class Tags(set):
    pass


@dataclasses.dataclass
class Out:
    loss: object
    parts: list


@dataclasses.dataclass(frozen=True)
class Frozen:
    a: object


@dataclasses.dataclass(slots=True)
class SlotData:
    a: object
    b: int = 3


class Increment:
    """As the recorder's: a callable object with a name and a key."""

    __name__ = "increment"

    def __init__(self, key):
        self.key = key

    def __call__(self, owner, by):
        setattr(owner, self.key, getattr(owner, self.key) + by)


calls = []


def check_same(got, want, seen=None):
    """Same types and content all the way down, and new objects."""
    seen = {} if seen is None else seen
    assert type(got) is type(want)
    if id(want) in seen:
        assert seen[id(want)] is got
        return
    seen[id(want)] = got
    if issubclass(type(want), (list, tuple, collections.deque)):
        assert len(got) == len(want)
        for a, b in zip(got, want):
            check_same(a, b, seen)
    elif issubclass(type(want), dict):
        assert list(dict.keys(got)) == list(dict.keys(want))
        for a, b in zip(dict.values(got), dict.values(want)):
            check_same(a, b, seen)
    elif issubclass(type(want), (set, frozenset, int, float, str, type(None), slice)):
        assert got == want
    try:
        attributes = object.__getattribute__(want, "__dict__")
    except AttributeError:
        return
    check_same(object.__getattribute__(got, "__dict__"), attributes, seen)


def slotted():
    made = SlottedChild()
    made.x, made.z = [1], "z"       # y stays empty
    return made


@pytest.mark.parametrize("make", [
    lambda: [1, [2, (3, [4])], {"k": [5]}, "text", None, True, 2.5],
    lambda: ([],),
    lambda: (),
    lambda: [],
    lambda: {},
    lambda: set(),
    lambda: frozenset(),
    lambda: {1, 2, ("a", 3)},
    lambda: frozenset([1, "a"]),
    lambda: {"a": [1], 2: {"x": (1, [2])}},
    lambda: collections.OrderedDict([("b", [1]), ("a", 2)]),
    lambda: collections.defaultdict(list, {"a": [1]}),
    lambda: collections.defaultdict(None, {"a": [1]}),
    lambda: collections.deque([[1], 2], 5),
    lambda: collections.deque([[1], 2]),
    lambda: Point(1, [2]),
    lambda: Config(a=[1], b=2),
    lambda: Names([1, [2]]),
    lambda: Grade(7),
    lambda: Label("x" * 200),
    lambda: Pair(([1], 2)),
    lambda: Tags([1, 2]),
    lambda: Out(1, [2, 3]),
    lambda: Frozen([1]),
    lambda: Plain(),
    lambda: Sealed(),
    lambda: slice([1], 2),
    lambda: collections.Counter("aab"),
    lambda: [float("inf"), -0.0, 10**50, "q" * 300, b"\x00", ..., 1j],
])
def test_remade(make):
    want = make()
    world = World()
    got = world.replay(want)
    check_same(got, want)
    again = world.built.function([], None)
    check_same(again, want)
    if type(want) not in (tuple, frozenset):     # values may be one object
        assert again is not got


def test_a_class_is_filled_without_its_own_code():
    made = Plain()
    calls.clear()
    got = World().replay(made)
    assert calls == [] and vars(got) == {"a": 1, "b": [2]}


def test_slots_and_empty_slots():
    got = World().replay(slotted())
    assert got.x == [1] and got.z == "z" and not hasattr(got, "y")


def test_dataclass_with_slots():
    assert World().replay(SlotData([1])) == SlotData([1])


def test_attributes_of_builtin_subclasses():
    for make in (lambda: Names([1]), lambda: Pair((1, [2])), lambda: Grade(3), lambda: Config(k=1), lambda: Label("q")):
        obj = make()
        vars(obj)["extra"] = [9]
        got = World().replay(obj)
        assert type(got) is type(obj) and vars(got) == {"extra": [9]}
        check_same(got, obj)


def test_structseq():
    result = torch.max(torch.ones(2, 2), 0)
    world = World()
    world.table.result(result.values, 3, 0)
    world.table.result(result.indices, 3, 1)
    a, b = torch.ones(1), torch.ones(2)
    got = world.replay(result, graph=lambda: (a, b))
    assert type(got) is type(result) and got.values is a and got.indices is b


def test_model_output():
    outputs = pytest.importorskip("transformers.modeling_outputs")
    world = World()
    hidden, attention = world.graph_result(0), world.graph_result(1)
    want = outputs.BaseModelOutputWithPast(last_hidden_state=hidden, attentions=(attention,))
    a, b = torch.ones(1), torch.ones(2)
    got = world.replay(want, graph=lambda: (a, b))
    assert type(got) is type(want)
    assert got.last_hidden_state is a and got["last_hidden_state"] is a and got[0] is a
    assert got.attentions == (b,) and got.past_key_values is None
    assert list(got.keys()) == ["last_hidden_state", "attentions"] and got.to_tuple()[0] is a


def test_sharing():
    shared = [1]
    got = World().replay({"a": shared, "b": (shared, shared)})
    assert got["a"] is got["b"][0] is got["b"][1]


def test_cycle_of_lists_and_dicts():
    a, b = [], {}
    a.append(b)
    b["a"] = a
    got = World().replay(a)
    assert got[0]["a"] is got and type(got) is list and len(got) == 1


def test_cycle_through_a_tuple_and_an_instance():
    node = Out(None, [])
    pair = (node, node.parts)
    node.loss = pair
    node.parts.append(pair)
    got = World().replay(pair)
    assert got[0].loss is got and got[0].parts is got[1] and got[1][0] is got


def test_two_lists_and_a_tuple_that_meet():
    a, b = [], []
    top = (a, b)
    inner = (top,)
    a.append(inner)
    b.append(inner)
    got = World().replay(top)
    assert got[0][0] is got[1][0] and got[0][0][0] is got


def test_long_chain():
    chain = None
    for _ in range(100):
        chain = [chain]
    got, depth = World().replay(chain), 0
    while got is not None:
        got, depth = got[0], depth + 1
    assert depth == 100


def test_graph_inputs_and_outputs():
    world = World()
    x, w = world.outside(torch.ones(1), "arg[0]"), world.outside(torch.ones(2), "self.w")
    y = world.graph_result(0)
    seen = []

    def graph(*args):
        seen.append(args)
        return [torch.full((1,), 7.0)]

    got = world.replay([y, y, x], inputs=[w, x], graph=graph)
    assert seen[0][0] is w and seen[0][1] is x
    assert got[0] is got[1] and got[0].item() == 7 and got[2] is x
    assert "arg[0]" in world.built.source and "self.w" in world.built.source


def test_slots_beside_the_inputs():
    world = World()
    x = world.outside(torch.ones(1), "arg[0]")
    y, out = world.graph_result(0), world.outside([], "arg[1]")
    world.effect(list.append, out, y)
    a = torch.ones(3)
    assert world.replay(out, inputs=[x], graph=lambda *args: (a,) if len(args) == 1 else None) is out
    assert out == [a] and "graph(*s[:1])" in world.built.source


def test_a_constant_outside_object_is_inlined():
    class Model:
        pass
    world = World()
    model = world.outside(Model(), "M", const=True)
    assert world.replay([model])[0] is model and world.built.slots == []


def test_graph_without_outputs_is_still_called():
    world = World()
    x = world.outside(torch.ones(1))
    seen = []
    assert world.replay(None, inputs=[x], graph=lambda t: seen.append(t) or ()) is None
    assert seen[0] is x


def test_effects_in_order_share_objects_with_the_result():
    world = World()
    log, cfg = world.outside([], "self.log"), world.outside({}, "self.cfg")
    owner = world.outside(types.SimpleNamespace(n=4), "self")
    made = [1]
    world.effect(list.append, log, made)
    world.effect(dict.__setitem__, cfg, "k", made)
    world.effect(setattr, owner, "last", made)
    world.effect(setattr, owner, "not a name", 1)
    world.effect(Increment("n"), owner, 2)
    world.effect(list.sort, log, key=None, reverse=True)
    got = world.replay(made)
    assert log == [[1]] and log[0] is got and cfg["k"] is got and owner.last is got
    assert owner.n == 6 and "increment_n(s[" in world.built.source and getattr(owner, "not a name") == 1
    got2 = world.built.function([world.live[n.index] for n in world.built.slots], None)
    assert log == [[1], [1]] and log[1] is got2 is owner.last and owner.n == 8


def test_partial_and_bound_method():
    world = World()

    class Model:
        def run(self, a, b=0):
            return self, a, b
    model = world.outside(Model(), "M")
    run = world.outside(Model.run, "run", const=True)
    world.recorder.unknown(Model)
    bound = model.run
    got = world.replay([functools.partial(run, model, b=[2]), bound])
    assert got[0](1) == (model, 1, [2]) and got[1](3) == (model, 3, 0)


def test_function_with_a_closure():
    def make():
        count = [0]

        def step(by=1):
            count[0] += by
            return count, step
        return step
    got = World().replay(make())
    assert got()[0] == [1] and got(by=2)[0] == [3] and got()[1] is got
    assert got.__name__ == "step" and "make" in got.__qualname__


def test_dict_keys():
    world = World()
    key, t = Out(1, [2]), torch.ones(1)
    with pytest.raises(StopCapture) as e:
        world.replay({key.__class__(1, []): 1} if Out.__hash__ else {Frozen(1): 1})
    assert e.value.reason == "dict-key"
    world.outside(t, "arg[0]")
    assert world.replay({t: 1})[t] == 1


def started():
    generator = (i for i in [1])
    next(generator)
    return generator


def raised():
    try:
        raise ValueError("x")
    except ValueError as error:
        return error


@pytest.mark.parametrize("obj, reason", [
    (memoryview(b"a"), "output-kind"),
    (started(), "output-kind"),
    (iter({}), "output-kind"),
    (raised(), "output-kind"),
    (torch.Generator(), "output-kind"),
    (torch.ones(1), "unknown-tensor"),
])
def test_refused(obj, reason):
    with pytest.raises(StopCapture) as e:
        World().replay([obj])
    assert e.value.reason == reason


def test_unknown_object_is_refused():
    world, obj = World(), [1]
    world.recorder.unknown(obj)
    with pytest.raises(StopCapture) as e:
        world.replay((obj, 1))
    assert e.value.reason == "unknown-object"


def test_a_class_made_by_the_call_is_refused():
    class Local:
        pass
    world = World()
    world.recorder.is_internal = lambda obj: True
    with pytest.raises(StopCapture) as e:
        world.replay(Local())
    assert e.value.reason == "output-kind"


def test_constants_survive_rebound_builtins_and_same_names():
    class list:     # a user's class called list, beside the real one
        pass
    World().replay([list()])
    made = list()
    made.a = [1]
    got = World().replay([made, [2]])
    assert type(got[0]) is list and got[0].a == [1] and got[1] == [2]


def test_traceback_shows_the_mock_code_and_nothing_stays_in_linecache():
    world = World()
    x = world.outside(torch.ones(1))
    before = len(linecache.cache)
    code = world.code(None, inputs=[x])
    assert len(linecache.cache) == before

    def graph(*args):
        raise ValueError("from the graph")
    with pytest.raises(ValueError) as e:
        code.function([x], graph)
    text = "".join(traceback.format_exception(e.value))
    assert "graph(*s)" in text and "magpy/mock/" in text
