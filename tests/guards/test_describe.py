"""What a miss says: the access path of the read, what it was, and what it is."""

import collections
import math
import types
import weakref

import numpy as np
import pytest
import torch

from magpy.guards import buffers, describe
from magpy.guards.instr import CHECKS, LOADS, Const, Instr
from magpy.guards.program import GuardProgram
from magpy.guards.tensor_meta import Content, GlobalState, TensorMeta
from magpy.refgraph.graph import Place, short_name


class Model:
    attr = 1

    def __repr__(self):
        raise AssertionError("user code ran")

    def method(self):
        pass


def another(name="Model"):
    return type(name, (), {"__module__": __name__, "__qualname__": name})


def miss(instrs, args, kwargs=None, nargs=None, kwnames=(), fn=None):
    program = GuardProgram(instrs, len(args) if nargs is None else nargs, kwnames, 8, ())
    assert program.run(fn, args, kwargs) is None
    return describe.miss(program, program.failed, fn, args, kwargs).text


def check(op, expected, value):
    return miss([Instr("arg", -1, 0, op, expected, -1, "arg[0]")], (value,))


def loads(count):
    return [Instr("arg", -1, i, "none", None, i, f"arg[{i}]") for i in range(count)]


def one(x):
    return x


def two(x):
    return x


HERE = short_name(__file__)
LINE = one.__code__.co_firstlineno
X = torch.zeros(4, 8)
LONG = "a" * 100

# check, expected, value: the text
TEXTS = [
    ("leaf", 3, 4, "was 3, is 4"),
    ("leaf", 3, True, "was 3, is True"),
    ("leaf", "a", None, "was 'a', is None"),
    ("leaf", 3, Model(), f"was 3, is a {__name__}.Model"),
    ("leaf", LONG + "b", LONG + "c", f"was {repr(LONG)[:80]}..., differs at index 100"),
    ("leaf", LONG, LONG + "c", f"was {repr(LONG)[:80]}..., length was 100, is 101"),
    ("leaf", 0.0, -0.0, "was 0.0, is -0.0"),
    ("leaf", 1.0, math.nan, "was 1.0, is nan"),
    ("type", list, (), "was a list, is ()"),
    ("type", Model, [], f"was a {__name__}.Model, is a list"),
    ("type", Model, another()(), f"was a {__name__}.Model, is of another class of that name"),
    ("type", dict, None, "was a dict, is None"),
    ("is", Model, X, f"was class {__name__}.Model, is a torch.Tensor"),
    ("is", one, two, f"was function one ({HERE}:{LINE}), is function two ({HERE}:{LINE + 4})"),
    ("is", one.__code__, two.__code__, f"was the code of one ({HERE}:{LINE}), is the code of two ({HERE}:{LINE + 4})"),
    ("is", len, max, "was builtin len, is builtin max"),
    ("is", math, collections, "was module math, is module collections"),
    ("is", Model, another(), f"was class {__name__}.Model, is another one"),
    ("is", (Model, object), (object,), f"was ({__name__}.Model, object), is (object)"),
    ("is", property(one), Model().method, f"was property function one ({HERE}:{LINE}), is method function Model.method "
     f"({HERE}:{Model.method.__code__.co_firstlineno})"),
    ("is", staticmethod(one), classmethod(two), f"was staticmethod function one ({HERE}:{LINE}), is classmethod "
     f"function two ({HERE}:{LINE + 4})"),
    ("absent", None, 3, "was absent, is 3"),
    ("len", 2, [1], "length was 2, is 1"),
    ("len", 2, Model(), f"was of length 2, is a {__name__}.Model"),
    ("keys", ("a", "b"), {"b": 0}, "keys were ['a', 'b'], are ['b']"),
    ("keys", tuple(range(50)), dict.fromkeys(range(1, 51)), f"keys were [{', '.join(map(str, range(50)))[:80]}...], "
     "are without 0 and with 50 now"),
    ("keys", tuple(range(50)), dict.fromkeys(range(49, -1, -1)), f"keys were [{', '.join(map(str, range(50)))[:80]}...], "
     "are in another order now"),
    ("keys", ("a",), 3, "was a dict with keys ['a'], is 3"),
    ("set", (1,), {2}, "elements were [1], are [2]"),
    ("set", (1,), frozenset({2}), "elements were [1], are [2]"),
    ("set", (1,), 3, "was a set of [1], is 3"),
    ("truth", True, [], "was true, is false"),
    ("truth", False, Model(), f"was false, is a {__name__}.Model"),
    ("tensor", TensorMeta(X), torch.zeros(5, 8), "shape[0] was 4, is 5"),
    ("tensor", TensorMeta(X), torch.zeros(4, 9), "shape[1] was 8, is 9"),
    ("tensor", TensorMeta(X), torch.zeros(4), "shape was (4, 8), is (4,)"),
    ("tensor", TensorMeta(X), torch.zeros(4, 8).double(), "dtype was float32, is float64"),
    ("tensor", TensorMeta(X), torch.zeros(8, 4).t(), "strides was (8, 1), is (1, 4)"),
    ("tensor", TensorMeta(X), torch.zeros(4, 8, requires_grad=True), "requires_grad was False, is True"),
    ("tensor", TensorMeta(X), torch.zeros(4, 8, device="meta"), "device was cpu, is meta"),
    ("tensor", TensorMeta(X), 3, "was a torch.Tensor, is 3"),
    ("frozen", Content(X), X + 1, "its data was changed since it was frozen"),
    ("frozen", Content(X), X.to("meta"), "its data was changed since it was frozen"),
    ("buffer", buffers.snapshot(np.zeros(3)), np.ones(3), "content was another"),
    ("buffer", buffers.snapshot(np.zeros(3)), np.zeros(4), "content was another"),
    ("buffer", buffers.snapshot(np.float64(3)), np.float32(3), "was a numpy.float64, is a numpy.float32"),
    ("buffer", buffers.snapshot(np.zeros(3)), None, "was a numpy.ndarray, is None"),
    ("tensor", TensorMeta(X), torch.nn.Parameter(X), "was a torch.Tensor, is a torch.nn.parameter.Parameter"),
]


@pytest.mark.parametrize("op, expected, value, text", TEXTS)
def test_texts_of_checks(op, expected, value, text):
    assert check(op, expected, value) == f"arg[0]: {text}"


def test_every_check_has_a_text():
    elsewhere = {"none", "same", "distinct", "alias", "unique", "state", "apart", "lacks", "quiet"}    # below
    assert {op for op, *_ in TEXTS} | elsewhere == set(CHECKS)


def test_a_tensor_of_a_class_that_cannot_be_compared():
    class Sized(torch.Tensor):
        pass
    nested = torch.nested.nested_tensor([torch.zeros(2), torch.zeros(3)])
    assert check("tensor", TensorMeta(nested), nested).startswith("arg[0]: cannot be compared: ")
    assert check("tensor", TensorMeta(X), X.as_subclass(Sized)).endswith("Sized")


def test_signature():
    instrs = [Instr("arg", -1, 0, "none", None, -1, "arg[0]")]
    assert miss(instrs, (), nargs=1) == "positional arguments: were 1, are 0"
    assert miss(instrs, (1,), {"b": 1}, kwnames=("a",)) == "keyword arguments: were (a), are (b)"


# --- loads: from where, and what stands there when it cannot be read ---------------------------

def setter(n):
    def inner():
        return n
    return inner


class Slotted:
    __slots__ = ("x",)


def slotted(value=None):
    made = Slotted()
    if value is not None:
        made.x = value
    return made


def raises():
    raise ValueError


SPACE = types.SimpleNamespace
ONE, TWO = types.CellType(1), types.CellType(2)
LOADED = [
    # load, key, expected leaf, a source with another value, one without it, one of another kind
    ("attr", "n", 1, SPACE(n=2), SPACE(), None),
    ("dict", "k", 1, {"k": 2}, {}, []),
    ("list", 0, 1, [2], [], ()),
    ("tuple", 0, 1, (2,), (), []),
    ("cell", None, 1, TWO, types.CellType(), 3),
    ("closure", 0, 1, setter(2), one, 3),
    ("member", Slotted.x, 1, slotted(2), slotted(), 3),
    ("key", 0, "a", {"b": 0}, {}, 3),
    ("deque", 0, 1, collections.deque([2]), collections.deque(), [1]),
]


@pytest.mark.parametrize("load, key, expected, other, without, wrong", LOADED, ids=[each[0] for each in LOADED])
def test_loads(load, key, expected, other, without, wrong):
    instrs = [*loads(1), Instr(load, 0, key, "leaf", expected, -1, "the path")]
    text = miss(instrs, (other,))
    assert text.startswith(f"the path: was {expected!r}, is ") and (load == "closure" or text[-3:] != "ent")
    assert miss(instrs, (without,)) == f"the path: was {expected!r}, is absent"
    if wrong is not None:
        now = describe.value_text(wrong)
        assert miss(instrs, (wrong,)) == f"the path: was {expected!r}, cannot be read now: arg[0] is {now}"


def test_loads_from_the_call_and_from_classes():
    def leaf(load, key, expected, src=-1):
        return [Instr(load, src, key, "leaf", expected, -1, "the path")]
    assert miss(leaf("arg", 0, 1), (2,)) == "the path: was 1, is 2"
    assert miss(leaf("kwarg", "k", 1), (), {"k": 2}, kwnames=("k",)) == "the path: was 1, is 2"
    assert miss(leaf("fn", None, 1), (), fn=2) == "the path: was 1, is 2"
    assert miss(leaf("const", 2, 1), ()) == "the path: was 1, is 2"
    assert miss([*loads(1), *leaf("slot", None, 1, 0)], (2,)) == "the path: was 1, is 2"
    assert miss(leaf("type_lookup", (Model, "attr"), 2), ()) == "the path: was 2, is 1"
    assert miss(leaf("type_own", (Model, "missing"), 2), ()) == "the path: was 2, is absent"
    assert miss([Instr("type_mro", -1, Model, "is", (object,), -1, "M.__mro__")], ()) == (
        f"M.__mro__: was (object), is ({__name__}.Model, object)")
    assert miss(leaf("dict", "k", 1, Const({"k": 3})), ()) == "the path: was 1, is 3"
    assert miss(leaf("closure", 0, 1), (), fn=one) == "the path: was 1, is absent"
    assert miss(leaf("call", torch.is_grad_enabled, False), ()) == "the path: was False, is True"
    assert miss(leaf("call", math.sqrt, 1), ()) == "the path: was 1, cannot be read now"
    gone = Model()
    reference = weakref.ref(gone)
    instrs = [*loads(1), Instr("deref", 0, None, "type", Model, -1, "ref()")]
    del gone
    assert miss(instrs, (reference,)) == f"ref(): was a {__name__}.Model, is None"
    assert miss([*loads(1), Instr("instance_dict", 0, None, "type", dict, -1, "x.__dict__")], (3,)) == (
        "x.__dict__: was a dict, is absent")


def test_every_load_is_tried():
    by_hand = {"arg", "kwarg", "fn", "const", "slot", "type_lookup", "type_own", "type_mro", "call", "deref",
               "instance_dict", "state", "slots"}
    assert {load for load, *_ in LOADED} | by_hand == set(LOADS)


def test_none_that_is_gone():
    assert miss([*loads(1), Instr("dict", 0, "k", "none", None, -1, "arg[0]['k']")], ({},)) == (
        "arg[0]['k']: was there, is absent")


# --- state, identity, patterns ------------------------------------------------------------------

STATE = [Instr("state", -1, None, "state", GlobalState(), -1, "torch's global state")]


@pytest.mark.parametrize("context, text", [
    (torch.no_grad, "grad_mode was True, is False"),
    (torch.inference_mode,
     "grad_mode was True, is False, inference_mode was False, is True, forward_ad was True, is False"),
    (lambda: torch.autocast("cpu"), "autocast_cpu was False, is True"),
    (torch._C.DisableTorchFunctionSubclass, "torch_function was False, is True")])
def test_state(context, text):
    with context():
        assert miss(STATE, ()) == f"torch's global state: {text}"


def test_default_dtype_and_threads_are_not_switches():
    torch.set_default_dtype(torch.float64)
    try:
        assert miss(STATE, ()) == "torch's global state: default_dtype was float32, is float64"
    finally:
        torch.set_default_dtype(torch.float32)
    threads = torch.get_num_threads()
    torch.set_num_threads(threads + 1)
    try:
        assert miss(STATE, ()) == f"torch's global state: num_threads was {threads}, is {threads + 1}"
    finally:
        torch.set_num_threads(threads)


def test_identity():
    same = Instr("arg", -1, 1, "same", 0, -1, "arg[1]")
    distinct = Instr("arg", -1, 1, "distinct", 0, -1, "arg[1]")
    assert miss([*loads(1), same], (X, 1)) == "arg[1]: was the same object as arg[0], is 1"
    assert miss([*loads(1), distinct], (X, X)) == "arg[1]: was another object than arg[0], is the same"


def test_patterns_name_the_first_pair():
    unique = Instr("slots", -1, (0, 1, 2), "unique", None, -1, "distinct: arg[0], arg[1], arg[2]")
    assert miss([*loads(3), unique], (1.5, X, X)) == "arg[1] and arg[2]: were two objects, are the same"
    together = Instr("slots", -1, (0, 1), "alias", (0, 0), -1, "storage of arg[0]")
    apart = Instr("slots", -1, (0, 1), "alias", (0, 1), -1, "storage of arg[0]")
    assert miss([*loads(2), apart], (X, X[1:])) == "arg[0] and arg[1]: did not share memory, do now"
    assert miss([*loads(2), together], (X, X.clone())) == "arg[0] and arg[1]: shared memory, do not now"


def test_a_key_that_a_dict_has_now():
    key = Holder()
    check = [*loads(2), Instr("slots", -1, (0, 1), "lacks", None, -1, "arg[0][Apart]")]
    assert miss(check, ({key: 1}, key)) == "arg[0][Apart]: did not have arg[1] as a key"


def test_shared_dicts_name_the_first_pair():
    check = Instr("slots", -1, (0, 1, 2), "apart", ((True, False), (False, False), (False, True)), -1, "apart: arg[0]")
    first, second, names = types.SimpleNamespace(), Holder(), {}
    second.__dict__ = names
    program = GuardProgram([*loads(3), check], 3, (), 3, ())
    assert describe.miss(program, 3, None, (first, second, names), None).text == (
        "apart: arg[0]: have dicts of their own again")     # neither of the two is written
    first = Holder()
    first.__dict__ = names
    assert miss([*loads(3), check], (first, Holder(), names)) == "arg[0] and arg[2]: had dicts of their own, share one"


class Holder:
    pass


def test_what_does_not_go_quietly():
    kept = Holder()
    kept.k = Holder()
    reference = weakref.ref(kept.k)
    drops = Instr("attr", 0, "k", "quiet", (True, False), -1, "arg[0].k")
    assert miss([*loads(1), drops], (kept,)) == (
        f"arg[0].k: was something that nobody sees go, is a {__name__}.Holder with a finalizer or a weak reference")
    assert reference() is kept.k


def test_when_it_holds_again():
    def text(*instrs, args=([],)):
        program = GuardProgram(instrs, len(args), (), 8, ())
        return describe.miss(program, len(instrs) - 1, None, args, None).text
    assert text(Instr("arg", -1, 0, "type", list, -1, "arg[0]")) == "arg[0]: is a list again"
    assert text(Instr("arg", -1, 0, "len", 0, -1, "arg[0]")) == "arg[0]: length is 0 again"
    assert text(Instr("arg", -1, 0, "leaf", 3, -1, "arg[0]"), args=(3,)) == "arg[0]: was 3, is 3 again"
    assert text(Instr("arg", -1, 0, "is", X, -1, "arg[0]"), args=(X,)) == "arg[0]: is a torch.Tensor again"
    assert text(Instr("arg", -1, 0, "tensor", TensorMeta(X), -1, "arg[0]"), args=(X,)) == "arg[0]: matches again"
    assert text(Instr("arg", -1, 0, "keys", (), -1, "arg[0]"), args=({},)) == "arg[0]: keys are [] again"
    assert text(*STATE, args=()) == "torch's global state: is as before again"
    assert text(*loads(2), Instr("slots", -1, (0, 1), "unique", None, -1, "a, b"), args=(1, 2)) == (
        "a, b: are different objects again")
    program = GuardProgram([Instr("arg", -1, 0, "type", list, -1, "arg[0]")], 1, (), 0, ())
    assert describe.miss(program, -1, None, ([],), None).text == "the call: has the recorded signature"


# --- where it was read -----------------------------------------------------------------------------

def test_the_place_of_the_read(tmp_path, monkeypatch):
    code = compile("a = 1\nb = (a +\n  a)\n", str(tmp_path / "model.py"), "exec")
    place = Place(code, max(
        start for start, _, line in code.co_lines() if line == 2))
    instrs = [Instr("arg", -1, 0, "leaf", 1, -1, "arg[0]", place)]
    assert miss(instrs, (2,)) == f"arg[0]: was 1, is 2 (read at {tmp_path}/model.py:2)"
    monkeypatch.chdir(tmp_path)
    assert miss(instrs, (2,)) == "arg[0]: was 1, is 2 (read at model.py:2)"
