"""Watched guards: what changed is told, what did not is not asked, and nothing is forgotten."""

import gc
import os
import signal
import subprocess
import sys
import types
import sys
import weakref

import pytest
import torch

from magpy.guards.instr import Const, Instr
from magpy.guards.program import GuardProgram, watch_counts
from magpy.guards.tensor_meta import TensorMeta


class Box:
    """An object with attributes."""

    def __init__(self, **attributes):
        self.__dict__.update(attributes)


class Slotted:
    __slots__ = ("a", "b")


def program(*instrs, nargs=0, nslots=8, want=()):
    return GuardProgram([Instr(*instr, f"#{i}") for i, instr in enumerate(instrs)], nargs, (), nslots, want)


def armed(*instrs, args=(), **options):
    """A program that holds and has been armed by a first match."""
    made = program(*instrs, nargs=len(args), **options)
    assert made.match(None, args, None) is not None and made.pushed() is not None
    return made


def holds(made, *args):
    found = made.match(None, args, None)
    assert (found is not None) == (made.run(None, args, None) is not None)
    return found is not None


def attribute(obj, name, check, expected, dst=-1):
    return ("attr", Const(obj), name, check, expected, dst)


# --- one fact of each kind ---------------------------------------------------------------------

def _attribute():
    box = Box(a=1)
    return attribute(box, "a", "leaf", 1), lambda v: setattr(box, "a", v), 2, 1


def _absent_attribute():
    box = Box(b=0)

    def change(there):
        box.a = 1
        if not there:
            del box.a
    return attribute(box, "a", "absent", None), change, True, False


def _attribute_by_its_dict():
    box = Box(a=1)
    return attribute(box, "a", "leaf", 1), lambda v: vars(box).update(a=v), 2, 1


def _dict_replaced():
    box = Box(a=1)
    return attribute(box, "a", "leaf", 1), lambda v: setattr(box, "__dict__", {"a": v}), 2, 1


def _class_set():
    class Other(Box):
        pass
    box = Box()
    return ("const", -1, box, "type", Box, -1), lambda v: setattr(box, "__class__", v), Other, Box


def _slot():
    obj = Slotted()
    obj.a = 1
    return ("member", Const(obj), Slotted.a, "leaf", 1, -1), lambda v: setattr(obj, "a", v), 2, 1


def _empty_slot():
    obj = Slotted()

    def change(there):
        obj.a = 1
        if not there:
            del obj.a
    return ("member", Const(obj), Slotted.a, "absent", None, -1), change, True, False


def _cell():
    value = 1

    def read():
        return value

    def change(v):
        nonlocal value
        value = v
    return ("cell", Const(read.__closure__[0]), None, "leaf", 1, -1), change, 2, 1


def _dict_item():
    table = {"k": 1}
    return ("dict", Const(table), "k", "leaf", 1, -1), lambda v: table.__setitem__("k", v), 2, 1


def _dict_number_key():
    table = {7: 1}
    return ("dict", Const(table), 7, "leaf", 1, -1), lambda v: table.__setitem__(7, v), 2, 1


def _dict_tuple_key():
    table = {(1, "a"): 1}
    return ("dict", Const(table), (1, "a"), "leaf", 1, -1), lambda v: table.__setitem__((1, "a"), v), 2, 1


def _dict_cleared():
    table = {"k": 1, "l": 2}

    def change(whole):
        table.clear()
        if whole:
            table.update(k=1, l=2)
    return ("dict", Const(table), "k", "leaf", 1, -1), change, False, True


def _dict_length():
    table = {"k": 1}

    def change(n):
        while len(table) > 1:
            table.popitem()
        for i in range(n - 1):
            table[i] = i
    return ("const", -1, table, "len", 1, -1), change, 3, 1


def _dict_keys():
    table = {"k": 1, "l": 2}

    def change(keys):
        table.clear()
        table.update(dict.fromkeys(keys))
    return ("const", -1, table, "keys", ("k", "l"), -1), change, "lk", "kl"


def _set():
    members = {1, 2}

    def change(more):
        members.discard(3) if not more else members.add(3)
    return ("const", -1, members, "set", tuple(members), -1), change, True, False


def _list_item():
    items = [1, 2]
    return ("list", Const(items), 0, "leaf", 1, -1), lambda v: items.__setitem__(0, v), 2, 1


def _list_length():
    items = [1]

    def change(n):
        items[:] = [1] * n
    return ("const", -1, items, "len", 1, -1), change, 2, 1


def _defaults():
    def f(a=1):
        return a
    f()
    return ("member", Const(f), type(f).__defaults__, "leaf", (1,), -1), \
        lambda v: setattr(f, "__defaults__", v), (2,), (1,)


def _class_attribute():
    class Base:
        a = 1

    class Sub(Base):
        pass
    return ("type_lookup", -1, (Sub, "a"), "leaf", 1, -1), lambda v: setattr(Base, "a", v), 2, 1


KINDS = {make.__name__.strip("_"): make for make in (
    _attribute, _absent_attribute, _attribute_by_its_dict, _dict_replaced, _class_set, _slot, _empty_slot, _cell,
    _dict_item, _dict_number_key, _dict_tuple_key, _dict_cleared, _dict_length, _dict_keys, _set, _list_item,
    _list_length, _defaults, _class_attribute)}


@pytest.mark.parametrize("kind", KINDS)
def test_a_change_is_told_and_so_is_the_way_back(kind):
    instr, change, other, same = KINDS[kind]()
    made = armed(instr)
    for _ in range(4):
        assert holds(made)
        change(other)
        assert not holds(made) and not holds(made)
        change(same)
        assert holds(made)
    assert made.pushed() is not None or holds(made)


WATCHED = sorted(set(KINDS) - {"list_item", "list_length", "defaults", "class_attribute"})


@pytest.mark.parametrize("kind", WATCHED)
def test_nothing_is_asked_while_nothing_changes(kind):
    made = armed(KINDS[kind]()[0])
    assert made.pushed()["polled"] == 0 and made.pushed()["watched"] >= 1


def test_other_keys_are_nobodys_business():
    box, table = Box(a=1), {"k": 1}
    made = armed(attribute(box, "a", "leaf", 1), ("dict", Const(table), "k", "leaf", 1, -1))
    before = watch_counts()["changes"]
    for i in range(10):
        box.count = i
        table["other"] = i
    del box.count, table["other"]
    assert watch_counts()["changes"] == before and holds(made)


def test_what_was_told_stays_told_behind_a_guard_that_fails():
    table = {"k": 1, (1, "a"): 2}
    made = armed(("const", -1, table, "keys", ("k", (1, "a")), -1), ("dict", Const(table), "k", "leaf", 1, -1),
                 ("dict", Const(table), (1, "a"), "leaf", 2, -1))
    del table[(1, "a")]
    assert not holds(made)
    table[(1, "a")] = 3
    assert not holds(made)
    table[(1, "a")] = 2
    assert holds(made)


def test_the_same_value_again_is_asked_once():
    box = Box(a=1000)
    made = armed(attribute(box, "a", "leaf", 1000))
    box.a = int("1000")
    assert holds(made) and made.pushed() is not None
    assert watch_counts()["changes"] > 0


# --- lifetimes ------------------------------------------------------------------------------------

def test_no_subscription_outlives_its_program():
    gc.collect()
    before = watch_counts()
    box = Box(a=1, inner=Box(b=2), table={"k": Box(c=3)})
    instrs = (attribute(box, "inner", "type", Box, 0), ("attr", 0, "b", "leaf", 2, -1),
              attribute(box, "table", "type", dict, 1), ("dict", 1, "k", "type", Box, 2),
              ("attr", 2, "c", "leaf", 3, -1))
    many = [armed(*instrs) for _ in range(20)]
    assert watch_counts()["facts"] > before["facts"]
    box.inner.b = 3
    assert not any(holds(made) for made in many)
    del many
    after = watch_counts()
    assert (after["facts"], after["objects"]) == (before["facts"], before["objects"])


def test_watched_objects_die_before_the_program():
    before = watch_counts()
    box = Box(inner=Box(b=2))
    gone = weakref.ref(box.inner)
    made = armed(attribute(box, "inner", "type", Box, 0), ("attr", 0, "b", "leaf", 2, -1))
    box.inner = Box(b=2)
    assert gone() is None and holds(made)
    box.inner = None
    assert not holds(made)
    box.inner = Box(b=5)
    assert not holds(made)
    box.inner = Box(b=2)
    assert holds(made)
    del made
    assert watch_counts()["facts"] == before["facts"]


def test_a_tuple_whose_address_is_used_again():
    box = Box(pair=(Box(a=1), 0))
    made = armed(attribute(box, "pair", "type", tuple, 0), ("tuple", 0, 0, "type", Box, 1), ("attr", 1, "a", "leaf", 1, -1))
    kept = []
    for i in range(50):
        kept.append(box.pair[0])
        box.pair = None
        box.pair = (Box(a=1 + i % 2), 0)
        assert holds(made) == (i % 2 == 0)


def test_objects_in_cycles_are_collected():
    box = Box(a=1)
    box.me = box
    box.program = armed(attribute(box, "a", "leaf", 1))
    gone = weakref.ref(box)
    del box
    gc.collect()
    assert gone() is None


# --- tensors ----------------------------------------------------------------------------------------

def tensors(*values, used=True):
    """A program that looks at *values*, and hands them on if they are *used*."""
    table = {str(i): value for i, value in enumerate(values)}
    instrs = [("dict", Const(table), str(i), "tensor", TensorMeta(value), i if used else -1)
              for i, value in enumerate(values)]
    return table, armed(*instrs, nslots=len(values), want=tuple(range(len(values))) if used else ())


def _in_place(f):
    """Change a parameter in place by *f*."""
    def change(p):
        with torch.no_grad():
            f(p)
    return change


CHANGES = {
    "data of another shape": lambda p: setattr(p, "data", torch.zeros(5)),
    "data of as many elements": lambda p: setattr(p, "data", torch.zeros(3, 2)),
    "data of more dimensions": lambda p: setattr(p, "data", torch.zeros(1, 1, 1, 1, 1, 2, 3)),
    "data of another dtype": lambda p: setattr(p, "data", p.data.half()),
    "the same memory as another shape": lambda p: setattr(p, "data", p.data.view(3, 2)),
    "requires_grad": lambda p: p.requires_grad_(not p.requires_grad),
    "strides": lambda p: setattr(p, "data", torch.zeros(3, 2).t()),
    "strides in place": _in_place(lambda p: p.as_strided_((2, 3), (1, 2))),
    "sizes in place": _in_place(lambda p: p.as_strided_((2, 2), (3, 1))),
    "dimensions in place": _in_place(lambda p: p.unsqueeze_(0)),
    "t_": _in_place(lambda p: p.t_()),
    "set_": _in_place(lambda p: p.set_(torch.zeros(4))),
    "set_ to its own memory": _in_place(lambda p: p.set_(p.untyped_storage(), 0, (3, 2), (2, 1))),
    "negated bit": lambda p: setattr(p, "data", torch.zeros(2, 3, dtype=torch.cfloat).conj().imag),
    "swap_tensors": lambda p: torch.utils.swap_tensors(p, torch.nn.Parameter(torch.zeros(9))),
    "swapped and gone": lambda p: torch._C._swap_tensor_impl(p, torch.nn.Parameter(torch.zeros(9))),
    "class": lambda p: setattr(p, "__class__", type("Sub", (type(p),), {})),
}


@pytest.mark.parametrize("used", [True, False])
@pytest.mark.parametrize("change", CHANGES)
def test_tensor_metadata_is_seen(change, used):
    weight = torch.nn.Parameter(torch.zeros(2, 3))
    others = [torch.zeros(2, 3) for _ in range(9)]
    table, made = tensors(*others, weight, torch.ones(2), used=used)
    assert made.pushed()["tensors"] == 11 and made.pushed()["polled"] == 0 and holds(made)
    CHANGES[change](weight)
    assert not holds(made)


BUFFER_CHANGES = {
    "the same memory as another dtype": lambda b: setattr(b, "data", b.view(torch.int32)),
    "another device": lambda b: torch.utils.swap_tensors(b, b.to("meta")),
    "resize_": lambda b: b.resize_(2, 4),
    "requires_grad": lambda b: b.requires_grad_(),
    "a gradient function": lambda b: b.mul_(torch.ones(3, requires_grad=True)),
}


@pytest.mark.parametrize("change", BUFFER_CHANGES)
def test_what_only_buffers_let_be_changed(change):
    buffer = torch.zeros(2, 3)
    table, made = tensors(buffer)
    assert made.pushed()["tensors"] == 1 and holds(made)
    BUFFER_CHANGES[change](buffer)
    assert not holds(made)


def test_a_tensor_that_begins_to_need_a_gradient():
    buffer, weight = torch.zeros(3), torch.ones(3, requires_grad=True)
    table, made = tensors(buffer)
    assert holds(made)
    buffer.add_(weight)         # it is no leaf now
    assert not holds(made)
    buffer.detach_()
    assert holds(made)


def test_a_tensor_of_many_dimensions():
    deep = torch.zeros(1, 2, 1, 2, 1, 2, 1)
    table, made = tensors(deep)
    assert made.pushed()["tensors"] == 1 and holds(made)
    deep.transpose_(1, 2)       # in memory that is the same
    assert not holds(made)
    deep.transpose_(1, 2)
    assert holds(made)
    deep.as_strided_((1, 2, 1, 2, 1, 2, 1), (8, 4, 4, 2, 2, 0, 1))
    assert not holds(made)


@pytest.mark.parametrize("used", [True, False])
def test_a_tensor_that_is_another_one(used):
    table, made = tensors(torch.zeros(2), torch.zeros(3), used=used)
    table["0"] = torch.ones(2)
    assert holds(made) and holds(made)
    table["0"] = torch.ones(4)
    assert not holds(made)
    del table["0"]
    gc.collect()
    assert not holds(made)


def test_a_tensor_that_ends_while_guards_are_asked():
    """A key's __eq__ is the user's, and may take away what the guards looked at before."""
    class Key:
        def __hash__(self):
            return hash("key")

        def __eq__(self, other):
            if taking:
                table.pop("0", None)
            return other == "key"
    taking, table, other = False, {"0": torch.zeros(2)}, {Key(): 1}
    made = armed(("dict", Const(table), "0", "tensor", TensorMeta(table["0"]), -1),
                 ("arg", -1, 0, "type", dict, 0), ("dict", 0, "key", "leaf", 1, -1), args=(other,))
    assert made.match(None, (other,), None) is not None
    taking = True
    made.match(None, (other,), None)
    assert made.match(None, (other,), None) is None


def test_other_memory_is_no_other_metadata():
    weight = torch.nn.Parameter(torch.zeros(2, 3))
    table, made = tensors(weight)
    weight.data = torch.ones(2, 3)
    assert holds(made) and made.match(None, (), None)[0] is weight


def test_shared_memory_is_compared_anew_when_memory_moves():
    a, b = torch.zeros(4), torch.zeros(4)
    table = {"a": a, "b": b}
    made = armed(("dict", Const(table), "a", "tensor", TensorMeta(a), 0), ("dict", Const(table), "b", "tensor", TensorMeta(b), 1),
                 ("arg", -1, 0, "tensor", TensorMeta(a), 2), ("slots", -1, (0, 1, 2), "alias", (0, 1, 2), -1), args=(torch.ones(4),))
    c = torch.ones(4)
    assert holds(made, c) and not holds(made, a) and not holds(made, b.view(4)) and holds(made, c)
    b.data = a.data
    assert not holds(made, c)
    b.data = torch.zeros(4)
    assert holds(made, c)
    assert not holds(made, b.view(4))


def test_a_sparse_tensor_is_compared_as_a_whole():
    sparse = torch.zeros(2, 3, 4).to_sparse(2)
    table, made = tensors(sparse)
    assert made.pushed()["tensors"] == 0 and holds(made)
    sparse.sparse_resize_((2, 3, 4), 3, 0)
    assert not holds(made)


def test_functions_that_are_gone():
    names = {}
    for i in range(300):
        exec(f"def f(a={i % 2}): return a\nf()", names)
        made = armed(("dict", Const(names), "f", "type", types.FunctionType, 0),
                     ("member", 0, types.FunctionType.__defaults__, "leaf", (i % 2,), -1))
        exec("def f(a=5): return a\nf()", names)
        assert not holds(made)
        exec(f"def f(a={i % 2}): return a\nf()", names)
        assert holds(made)


# --- what comes with the call -----------------------------------------------------------------------------

def test_an_argument_is_an_anchor_of_what_hangs_on_it():
    one, two, three = Box(a=1), Box(a=1), Box(a=2)
    made = armed(("arg", -1, 0, "type", Box, 0), ("attr", 0, "a", "leaf", 1, -1), args=(one,))
    assert made.pushed()["watched"] >= 2
    assert holds(made, one) and holds(made, two) and not holds(made, three) and holds(made, one)
    one.a = 2
    assert not holds(made, one) and holds(made, two)
    one.a = 1
    assert holds(made, one)


def test_an_argument_that_is_always_another_object():
    made = armed(("arg", -1, 0, "type", Box, 0), ("attr", 0, "a", "leaf", 1, -1), args=(Box(a=1),))
    for i in range(30):
        assert holds(made, Box(a=1 + i % 3)) == (i % 3 == 0)


# --- MAGPY_VERIFY_GUARDS --------------------------------------------------------------------------------------

FAULT = """
import ctypes, torch, magpy
def make():
    scale = 2.0
    return lambda x: x * scale
plain = make()
f = magpy.compile(plain, backend="eager")
for _ in range(4):
    f(torch.ones(2))
print(magpy.explain(f).captures, flush=True)
# no program does this: the content of a cell is changed behind everybody's back
new = 5.0
ctypes.pythonapi.Py_IncRef(ctypes.py_object(new))
ctypes.c_void_p.from_address(id(plain.__closure__[0]) + object.__basicsize__).value = id(new)
f(torch.ones(2))
print("not seen", flush=True)
"""


@pytest.mark.parametrize("verify", ["0", "1"])
def test_verify_ends_the_process_when_the_two_ways_disagree(verify):
    run = subprocess.run([sys.executable, "-c", FAULT], capture_output=True, text=True,
                         env={**os.environ, "MAGPY_VERIFY_GUARDS": verify})
    assert run.stdout.startswith("1\n")
    if verify == "1":
        assert run.returncode == -signal.SIGABRT and "MAGPY_VERIFY_GUARDS" in run.stderr and "not seen" not in run.stdout
    else:
        assert run.returncode == 0 and "not seen" in run.stdout, run.stderr
