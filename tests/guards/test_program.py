"""Every load and every check of the native guard program."""

import collections
import gc
import sys
import types
import weakref

import numpy as np
import pytest
import torch

from magpy.guards import buffers
from magpy.guards import instr as instr_module
from magpy.guards.instr import Const, Instr
from magpy.guards.program import CHECK_NUMBERS, LOAD_NUMBERS, GuardProgram, own_dict
from magpy.guards.tensor_meta import GlobalState, TensorMeta, distinct_storages
from magpy.refgraph.graph import ABSENT


class Plain:
    kind = "plain"

    def __init__(self, **values):
        self.__dict__.update(values)


class Slotted:
    __slots__ = ("x",)


class Shouting:
    """Runs user code, loudly, whatever one does with it."""

    def shout(self, *args):
        raise AssertionError("user code ran")

    __getattribute__ = __getattr__ = __len__ = __bool__ = __eq__ = __hash__ = __getitem__ = shout
    __iter__ = __instancecheck__ = __class_getitem__ = shout


def test_the_lists_of_ops_agree():
    assert list(LOAD_NUMBERS) == list(instr_module.LOADS)
    assert list(CHECK_NUMBERS) == list(instr_module.CHECKS)


# --- loads ---

def test_arguments(make):
    program = make.program(("arg", -1, 1, "none", None, 0), ("kwarg", -1, "k", "none", None, 1),
                           ("fn", -1, None, "none", None, 2), ("const", -1, "c", "none", None, 3),
                           ("slot", 0, None, "none", None, 4),
                           nargs=2, kwnames=("k",), want=(0, 1, 2, 3, 4, 0))
    assert program.run("f", (10, 11), {"k": 12}) == [11, 12, "f", "c", 11, 11]


@pytest.mark.parametrize("args, kwargs", [
    ((), {}), ((1,), None), ((1,), {}), ((1, 2), {"a": 0, "b": 0}), ((1,), {"a": 0}), ((1,), {"b": 0, "a": 0}),
    ((1,), {"a": 0, "c": 0}), ((1,), {"a": 0, "b": 0, "c": 0})])
def test_another_signature(make, args, kwargs):
    program = make.program(("arg", -1, 0, "none", None, 0), kwnames=("a", "b"))
    assert program.run(None, args, kwargs) is None
    assert program.failed == -1
    assert program.run(None, (1,), {"".join(["", "a"]): 0, "b": 0}) == []


def test_attr_reads_the_instance_only(make):
    program = make.load("attr", "x")
    inline, materialised = Plain(), Plain(x=5)
    inline.x = 4
    vars(materialised)
    assert program.run(None, (inline,), None) == [4]
    assert program.run(None, (materialised,), None) == [5]
    assert program.run(None, (Plain(y=1),), None) is None and program.failed == 1
    assert program.run(None, (types.ModuleType("m"),), None) is None
    assert program.run(None, (3,), None) is None
    assert program.run(None, (Shouting(),), None) is None
    assert make.load("attr", "kind").run(None, (Plain(),), None) is None     # the class's
    assert make.load("attr", "kind", "absent").run(None, (Plain(),), None) == [ABSENT]
    assert make.load("attr", "sep").run(None, (types.SimpleNamespace(sep=1),), None) == [1]


def test_attr_of_a_nn_module(make):
    module = torch.nn.Linear(2, 2)
    program = make.load("attr", "in_features", "leaf", 2)
    assert program.run(None, (module,), None) == [2]
    module.in_features = 3
    assert program.run(None, (module,), None) is None


def test_dict(make):
    class Fancy(dict):
        __getitem__ = __missing__ = __contains__ = get = Shouting.shout

    for mapping in ({"k": 1}, Fancy(k=1), collections.OrderedDict(k=1),
                    collections.defaultdict(list, k=1)):
        assert make.load("dict", "k").run(None, (mapping,), None) == [1]
        assert make.load("dict", "z").run(None, (mapping,), None) is None
        assert make.load("dict", "z", "absent").run(None, (mapping,), None) == [ABSENT]
        assert "z" not in dict.keys(mapping)
    assert make.load("dict", (1, "a")).run(None, ({(1, "a"): 2},), None) == [2]
    assert make.load("dict", "k", "absent").run(None, ([],), None) is None
    assert make.load("dict", "k").run(None, (types.MappingProxyType({"k": 1}),), None) is None


def test_a_key_whose_eq_raises_is_a_miss(make):
    class Key:
        def __hash__(self):
            return hash("k")

        def __eq__(self, other):
            raise RuntimeError

    assert make.load("dict", "k").run(None, ({Key(): 1},), None) is None
    assert make.load("dict", "k", "absent").run(None, ({Key(): 1},), None) is None


def test_a_key_whose_eq_calls_the_program_again(make):
    class Key:
        def __hash__(self):
            return hash("k")

        def __eq__(self, other):
            nested.append(program.run(None, ({"k": 2},), None))
            return False

    nested = []
    program = make.load("dict", "k")
    mapping = {Key(): 1, "k": 3}
    nested.clear()
    assert program.run(None, (mapping,), None) == [3]
    assert nested and all(values == [2] for values in nested)   # a probe may meet the key twice


def test_sequences(make):
    pair = collections.namedtuple("pair", "a b")(1, 2)
    for op, good, bad in (("list", [1, 2], (1, 2)), ("tuple", (1, 2), [1, 2]), ("tuple", pair, {})):
        assert make.load(op, 1).run(None, (good,), None) == [2]
        assert make.load(op, -2).run(None, (good,), None) == [1]
        assert make.load(op, 2, "absent").run(None, (good,), None) == [ABSENT]
        assert make.load(op, -3, "absent").run(None, (good,), None) == [ABSENT]
        assert make.load(op, 0, "absent").run(None, (bad,), None) is None


def test_deque(make):
    queue = collections.deque([1, 2])
    assert make.load("deque", 1).run(None, (queue,), None) == [2]
    assert make.load("deque", -2).run(None, (queue,), None) == [1]
    assert make.load("deque", 2, "absent").run(None, (queue,), None) == [ABSENT]
    queue = type("Queue", (collections.deque,), {})(queue)
    assert make.load("deque", 1).run(None, (queue,), None) is None


def test_closures_and_cells(make):
    def outer():
        value = 7

        def inner():
            return value, late
        yield inner
        late = 8
        yield inner

    functions = outer()
    inner = next(functions)
    program = make.program(("closure", -1, 1, "type", types.CellType, 0),
                           ("cell", 0, None, "leaf", 7, 1), nargs=0, want=(1,))
    assert program.run(inner, (), None) == [7]
    late = make.program(("fn", -1, None, "none", None, 0), ("closure", 0, 0, "none", None, 1),
                        ("cell", 1, None, "absent", None, 2), nargs=0, want=(2,))
    assert late.run(inner, (), None) == [ABSENT]
    next(functions)
    assert late.run(inner, (), None) is None and late.failed == 2
    assert program.run(len, (), None) is None
    assert make.load("closure", 9, "absent").run(None, (inner,), None) == [ABSENT]
    assert make.load("closure", 0, "absent").run(None, (outer,), None) == [ABSENT]
    assert make.load("cell", None, "absent").run(None, (inner,), None) is None


def test_member_descriptors(make):
    slotted = Slotted()
    program = make.load("member", Slotted.x)
    assert program.run(None, (slotted,), None) is None
    assert make.load("member", Slotted.x, "absent").run(None, (slotted,), None) == [ABSENT]
    slotted.x = value = [1]
    assert program.run(None, (slotted,), None)[0] is value
    assert program.run(None, (Plain(x=1),), None) is None
    function = test_closures_and_cells
    code = make.load("member", types.FunctionType.__code__)
    assert code.run(None, (function,), None)[0] is function.__code__
    freevars = make.load("member", types.CodeType.co_freevars)      # made by each read
    assert freevars.run(None, (make.load.__code__,), None) == [()]


def test_instance_dict(make):
    plain = Plain(x=1)
    assert make.load("instance_dict", None).run(None, (plain,), None)[0] is vars(plain)
    assert make.load("instance_dict", None, "absent").run(None, (3,), None) == [ABSENT]
    assert make.load("instance_dict", None).run(None, (Plain,), None) is None


@pytest.mark.parametrize("op", ["type_lookup", "type_own"])
def test_class_attributes_follow_every_change(make, op):
    class Base:
        pass

    class Sub(Base):
        attr = 1

    owner = Sub if op == "type_own" else Base
    program = make.program((op, -1, (Sub, "attr"), "leaf", 1, 0), nargs=0, want=(0,))
    absent = make.program((op, -1, (Sub, "other"), "absent", None, 0), nargs=0)
    for _ in range(3):
        assert program.run(None, (), None) == [1] and absent.run(None, (), None) == []
    Sub.attr = 2
    assert program.run(None, (), None) is None
    Sub.attr = 1
    assert program.run(None, (), None) == [1]
    owner.other = 5
    assert absent.run(None, (), None) is None
    del owner.other
    assert absent.run(None, (), None) == []
    del Sub.attr
    Base.attr = 1
    assert program.run(None, (), None) == ([1] if op == "type_lookup" else None)
    Base.attr = 3
    assert program.run(None, (), None) is None


def test_class_attributes_with_many_versions(make):
    class Busy:
        attr = 0

    program = make.program(("type_lookup", -1, (Busy, "attr"), "leaf", 0, -1), nargs=0)
    for i in range(3000):       # a class gets 1,000 version tags, then none
        Busy.attr = i
        assert (program.run(None, (), None) == []) == (i == 0)
    Busy.attr = 0
    assert program.run(None, (), None) == []


def test_mro(make):
    class A:
        pass

    class B:
        pass

    class C(A):
        pass

    program = make.program(("type_mro", -1, C, "leaf", C.__mro__, 0), nargs=0, want=(0,))
    assert program.run(None, (), None) == [(C, A, object)]
    C.__bases__ = (B,)
    assert program.run(None, (), None) is None
    C.__bases__ = (A,)
    assert program.run(None, (), None) == [(C, A, object)]


def test_keys_by_number(make):
    moved = collections.OrderedDict(a=1, b=2)
    moved.move_to_end("a")
    for mapping, keys in (({"a": 1, "b": 2}, "ab"), (moved, "ba")):
        assert make.load("key", 0).run(None, (mapping,), None) == [keys[0]]
        assert make.load("key", -1).run(None, (mapping,), None) == [keys[1]]
        assert make.load("key", 2, "absent").run(None, (mapping,), None) == [ABSENT]
    hole = {"a": 1, "b": 2, "c": 3}
    del hole["a"]
    assert make.load("key", 1).run(None, (hole,), None) == ["c"]


def test_calling_a_c_function(make):
    program = make.program(("call", -1, torch.is_grad_enabled, "leaf", True, 0), nargs=0, want=(0,))
    assert program.run(None, (), None) == [True]
    with torch.no_grad():
        assert program.run(None, (), None) is None
    failing = make.program(("call", -1, len, "absent", None, -1), nargs=0)
    assert failing.run(None, (), None) is None      # an error is a miss


def test_constant_sources(make):
    owner = Plain(x=[1], y={})
    program = make.program(("attr", Const(owner), "x", "none", None, 0), ("list", 0, 0, "leaf", 1, -1),
                           ("attr", Const(owner), "y", "len", 0, -1), nargs=0, want=(0,))
    assert program.run(None, (), None)[0] is owner.x
    owner.x.insert(0, 2)
    assert program.run(None, (), None) is None and program.failed == 1


# --- checks ---

@pytest.mark.parametrize("check, expected, good, bad", [
    ("none", None, [None, 1], []),
    ("is", Plain, [Plain], [Slotted, None]),
    ("type", list, [[]], [(), type("L", (list,), {})()]),
    ("leaf", 1, [1], [True, 1.0, 2, "1"]),
    ("absent", None, [], [None, ABSENT]),
    ("len", 2, [[1, 2], (1, 2), {1: 1, 2: 2}, {1, 2}, frozenset({1, 2}), "ab", b"ab", collections.deque([1, 2]),
                type("L", (list,), {"__len__": Shouting.shout})([1, 2])], [[1], 2, Shouting(), torch.nn.ModuleList()]),
    ("keys", ("a", 1), [{"a": 0, 1: 0}, collections.OrderedDict([("a", 0), (1, 0)])],
     [{1: 0, "a": 0}, {"a": 0}, {"a": 0, True: 0}, {"a": 0, 1: 0, 2: 0}, ["a", 1],
      collections.OrderedDict([(1, 0), ("a", 0)])]),
    ("set", (1, 2), [{1, 2}, frozenset({1, 2})], [{1}, {True, 2}, {1, 2, 3}, [1, 2]]),
    ("truth", True, [[0], {0: 0}, "a", True, 1, 0.5, 1j], [[], {}, "", False, None, 0, 0.0, Shouting(), object()]),
    ("truth", False, [[], {}, "", False, None, 0, 0.0, 0j], [[0], True, 1, Shouting(), object()]),
])
def test_checks(make, check, expected, good, bad):
    program = make.arg(check, expected)
    for value in good:
        assert program.run(None, (value,), None) == []
    for value in bad:
        assert program.run(None, (value,), None) is None and program.failed == 0
        assert sys.exc_info() == (None, None, None)


def test_buffers(make):
    array = np.arange(6.0).reshape(2, 3)
    program = make.arg("buffer", buffers.snapshot(array))
    assert program.run(None, (array.copy(),), None) == []
    for other in (array + 1, array.reshape(3, 2), array.astype("f4"), np.asfortranarray(array), array[:1], array.view(Array), [0.0], None,
                  np.float64(1), np.array([None] * 6)):
        assert program.run(None, (other,), None) is None
    array.flags.writeable = False
    assert program.run(None, (array,), None) is None
    strided = make.arg("buffer", buffers.snapshot(array.T))
    assert strided.run(None, (np.arange(6.0).reshape(2, 3),), None) is None
    number = make.arg("buffer", buffers.snapshot(np.float64("nan")))
    assert number.run(None, (np.float64("nan"),), None) == []
    assert number.run(None, (float("nan"),), None) is None
    assert sys.exc_info() == (None, None, None)
    with pytest.raises(TypeError):
        make.arg("buffer", b"abc")


class Array(np.ndarray):
    pass


def test_a_reordered_ordered_dict(make):
    mapping = collections.OrderedDict(a=1, b=2)
    program = make.arg("keys", ("a", "b"))
    assert program.run(None, (mapping,), None) == []
    mapping.move_to_end("a")
    assert program.run(None, (mapping,), None) is None
    assert make.arg("keys", ("b", "a")).run(None, (mapping,), None) == []


def test_identity_between_slots(make):
    for check, same, other in (("same", [], None), ("distinct", None, [])):
        program = make.program(("arg", -1, 0, "none", None, 0), ("arg", -1, 1, check, 0, 1), nargs=2)
        a, b = [], []
        assert program.run(None, (a, a), None) == same
        assert program.run(None, (a, b), None) == other


def test_tensors_and_state(make):
    x = torch.zeros(2, 3)
    program = make.program(("state", -1, None, "state", GlobalState(), -1),
                           ("arg", -1, 0, "tensor", TensorMeta(x), 0), want=(0,))
    assert program.run(None, (x,), None)[0] is x
    assert program.run(None, (torch.zeros(3, 2),), None) is None and program.failed == 1
    assert program.run(None, (3,), None) is None and program.failed == 1
    with torch.no_grad():
        assert program.run(None, (x,), None) is None and program.failed == 0


def test_aliases(make):
    def program(pattern):
        n = len(pattern)
        loads = [("arg", -1, i, "none", None, i) for i in range(n)]
        return make.program(*loads, ("slots", -1, tuple(range(n)), "alias", pattern, -1), nargs=n, nslots=n)

    x, y = torch.zeros(4), torch.zeros(4)
    for tensors in ((x, y), (x, x), (x, x[1:], y, x.view(2, 2), y[2:]), (y, x, x), (x,) * 40 + (y,) * 40):
        pattern = distinct_storages(tensors)
        assert program(pattern).run(None, tensors, None) == []
        assert program(pattern).run(None, tuple(t.clone() for t in tensors), None) == (
            [] if len(set(pattern)) == len(tensors) else None)
    assert program((0, 1)).run(None, (x, x[1:]), None) is None
    assert program((0, 0)).run(None, (x, y), None) is None
    assert program((0, 1)).run(None, (x, 3), None) == []
    many = tuple(torch.zeros(1) for _ in range(500))
    assert program(tuple(range(500))).run(None, many, None) == []
    assert program(tuple(range(500))).run(None, many[:-1] + (many[250],), None) is None


def test_unique(make):
    def program(n):
        loads = [("arg", -1, i, "none", None, i) for i in range(n)]
        return make.program(*loads, ("slots", -1, tuple(range(n)), "unique", None, -1), nargs=n, nslots=n)

    x = torch.zeros(4)
    different = [[] for _ in range(50)] + [x, x[1:]]
    assert program(52).run(None, tuple(different), None) == []
    assert program(53).run(None, (*different, different[7]), None) is None
    assert program(0).run(None, (), None) == []


def test_lacks(make):
    program = make.program(*[("arg", -1, i, "none", None, i) for i in range(2)],
                           ("slots", -1, (0, 1), "lacks", None, -1), nargs=2, nslots=2)
    key = Plain()
    assert program.run(None, ({Plain(): 1, "k": 2}, key), None) == []
    assert program.run(None, ({key: 1}, key), None) is None
    assert program.run(None, (Plain(), key), None) is None
    for hashed_otherwise in ("k", [], 2):
        assert program.run(None, ({}, hashed_otherwise), None) is None

    class Raises:
        __hash__ = object.__hash__

        def __eq__(self, other):
            raise AssertionError("not asked: its hash is another")

    assert program.run(None, ({Raises(): 1}, key), None) == []


def test_apart(make):
    class Sized(int):
        pass

    def program(*flags):
        n = len(flags)
        loads = [("arg", -1, i, "none", None, i) for i in range(n)]
        return make.program(*loads, ("slots", -1, tuple(range(n)), "apart", flags, -1), nargs=n, nslots=n)

    written, read, written_dict, read_dict = (True, False), (False, False), (True, True), (False, True)
    objects = [Plain(a=i) for i in range(20)]
    dicts = [{} for _ in range(20)]
    big = program(*[written] * 10, *[read] * 10, *[written_dict] * 10, *[read_dict] * 10)
    assert big.run(None, (*objects, *dicts), None) == []
    objects[3].__dict__ = dicts[15]
    assert big.run(None, (*objects, *dicts), None) is None
    for make_one in (Plain, lambda: Sized(3), lambda: types.ModuleType("m"), lambda: torch.zeros(1), lambda: len):
        one, other = make_one(), make_one()
        if one is not len:
            one.k = 1
            assert program(read, written_dict).run(None, (one, vars(one)), None) is None
            assert program(written, read_dict).run(None, (one, vars(one)), None) is None
            assert program(read, read_dict).run(None, (one, vars(one)), None) == []
        assert program(written, read_dict).run(None, (other, {}), None) == []
    assert program(written, written_dict).run(None, (Plain, {}), None) == []


class Loud:
    def __del__(self):
        pass


def suspended():
    try:
        yield
    finally:
        pass


def started():
    made = suspended()
    next(made)
    return made


@pytest.mark.parametrize("make_loud", [Loud, started, lambda: Plain(a=Loud()), lambda: [({1: Loud()},)],
                                       lambda: types.MethodType(len, Loud()), lambda: Plain(a=[started()])])
def test_quiet(make, make_loud):
    drops = make.program(("arg", -1, 0, "none", None, 0), ("attr", 0, "k", "quiet", (True, False), -1),
                         nargs=1, nslots=1)
    assert drops.run(None, (Plain(),), None) == []
    assert drops.run(None, (Plain(k=None),), None) == []
    assert drops.run(None, (Plain(k=[torch.ones(2), 1.5, Plain(a={1: ()})]),), None) == []
    owner = Plain(k=make_loud())
    assert drops.run(None, (owner,), None) is None
    held = owner.k
    assert drops.run(None, (owner,), None) == []        # it lives on
    assert held is owner.k


def test_quiet_content_and_several(make):
    clears = make.program(("arg", -1, 0, "quiet", (True, True), 0), nargs=1, nslots=1)
    assert clears.run(None, ([1, [2]],), None) == []
    assert clears.run(None, ([1, [Loud()]],), None) is None
    both = make.program(("arg", -1, 0, "none", None, 0), ("attr", 0, "a", "quiet", (False, False), -1),
                        ("attr", 0, "b", "quiet", (True, False), -1), nargs=1, nslots=1)
    one = Loud()
    owner = Plain(a=one, b=one)
    assert both.run(None, (owner,), None) == []
    del one
    assert both.run(None, (owner,), None) is None       # neither alone is the last reference
    owner.b = 1
    assert both.run(None, (owner,), None) is None
    del owner.b
    assert both.run(None, (owner,), None) is None       # the last is not there
    owner.a = 1
    assert both.run(None, (owner,), None) == []


def test_quiet_watches_weak_references(make):
    drops = make.program(("arg", -1, 0, "none", None, 0), ("attr", 0, "k", "quiet", (True, False), -1),
                         nargs=1, nslots=1)
    owner = Plain(k=Plain())
    reference = weakref.ref(owner.k)
    assert drops.run(None, (owner,), None) is None
    del reference
    assert drops.run(None, (owner,), None) == []


def test_asking_for_a_dict_makes_none(make):
    made = Plain.__new__(Plain)
    made.k = 1
    assert own_dict(made) is None
    assert own_dict(made) is not vars(made)
    assert own_dict(made) is vars(made)


# --- building ---

@pytest.mark.parametrize("instr, error", [
    (("nonsense", -1, None, "none", None, -1), ValueError),
    (("arg", -1, 0, "nonsense", None, -1), ValueError),
    (("attr", -1, "x", "none", None, -1), ValueError),
    (("attr", 3, "x", "none", None, -1), ValueError),
    (("arg", -1, 0, "same", 3, -1), ValueError),
    (("arg", -1, 0, "none", None, 99), ValueError),
    (("arg", -1, "x", "none", None, -1), TypeError),
    (("arg", -1, 0, "type", 3, -1), TypeError),
    (("arg", -1, 0, "tensor", 3, -1), TypeError),
    (("arg", -1, 0, "state", None, -1), ValueError),
    (("state", -1, None, "state", None, -1), TypeError),
    (("arg", -1, 0, "keys", ["a"], -1), TypeError),
    (("arg", -1, 0, "set", {1}, -1), TypeError),
    (("member", Const(1), Plain.__init__, "none", None, -1), TypeError),
    (("type_lookup", -1, ("x", Plain), "none", None, -1), TypeError),
    (("slots", -1, (0,), "alias", (0,), -1), ValueError),
    (("slots", -1, (), "alias", (0,), -1), ValueError),
    (("call", -1, lambda: 0, "none", None, -1), TypeError),
])
def test_bad_instructions_are_refused(make, instr, error):
    with pytest.raises(error) as caught:
        make.program(instr)
    assert "in guard instruction 0" in caught.value.__notes__[0]


def test_a_wanted_slot_must_be_filled(make):
    with pytest.raises(ValueError, match="slot 2 is read before it is written"):
        make.program(("arg", -1, 0, "none", None, 0), want=(2,))


def test_built_once(make):
    program = make.arg("none")
    with pytest.raises(TypeError):
        program.__init__([], 0, (), 0, ())


# --- memory ---

def test_nothing_leaks(make):
    plain, slotted = Plain(x=[1, {"k": 2}]), Slotted()
    slotted.x = object()
    program = make.program(
        ("arg", -1, 0, "type", Plain, 0), ("attr", 0, "x", "len", 2, 1), ("list", 1, 1, "keys", ("k",), 2),
        ("dict", 2, "k", "leaf", 2, 3), ("arg", -1, 1, "none", None, 4), ("member", 4, Slotted.x, "none", None, 5),
        ("instance_dict", 0, None, "none", None, 6), ("attr", 0, "y", "absent", None, 7),
        nargs=2, want=(0, 1, 3, 5, 6, 7))
    objects = (plain, plain.x, plain.x[1], slotted.x, vars(plain), ABSENT)
    def counts():
        return [sys.getrefcount(o) for o in objects]

    assert program.run(None, (plain, slotted), None) is not None
    before, blocks = counts(), sys.getallocatedblocks()
    for _ in range(100_000):
        program.run(None, (plain, slotted), None)
    plain.y = 1
    for _ in range(1000):
        assert program.run(None, (plain, slotted), None) is None
    del plain.y
    assert counts() == before
    assert abs(sys.getallocatedblocks() - blocks) < 500


def test_results_outlive_the_run(make):
    program = make.load("member", types.CodeType.co_code)
    code = program.run(None, (Plain.__init__.__code__,), None)[0]
    program.run(None, (make.load.__code__,), None)
    assert code == Plain.__init__.__code__.co_code


def test_cycles_through_a_program_are_collected(make):
    class Owner:
        pass

    owner = Owner()
    owner.program = GuardProgram([Instr("attr", Const(owner), "program", "none", None, 0, "")], 0, (), 1, (0,))
    assert owner.program.run(None, (), None) == [owner.program]
    alive = weakref.ref(owner)
    del owner
    gc.collect()
    assert alive() is None
