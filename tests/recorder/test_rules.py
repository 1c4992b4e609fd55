"""The tables of rules, held against the functions themselves and against a fake recorder.

The kind of a rule is a claim. What is called pure must give the same result twice and leave its arguments
alone; what is called mutating must change its receiver, and say so for an outside one; a rule that reads must
read each outside container it is given. The real recorder is in test_rules_end_to_end.py.
"""
import builtins
import collections
import copy
import datetime
import functools
import gc
import importlib
import io
import itertools
import math
import operator
import random
import re
import sys
import time
import types
import zlib

import pytest
import torch
from torch.overrides import TorchFunctionMode

import magpy.recorder.callables  # noqa: F401  (fills the tables)
from magpy.reasons import StopCapture
from magpy.recorder.callables import reads, torch_operators
from magpy.recorder.callables.registry import KINDS, KINDS_OF_RULES, LEAF_CODE, RULES, TORCH_OPERATORS
from magpy.refgraph.graph import ABSENT


class Fake:
    """A recorder that notes what rules ask of it. Objects in *outside* (and what hangs on
    them) are external, everything else was made by the recording."""

    allows_outcomes = False

    def __init__(self, *outside):
        self.outside = list(outside)
        self.read = []
        self.effects = []
        self.keys = []
        self.asked = set()

    def know(self, obj):
        if any(obj is each for each in self.outside):
            return types.SimpleNamespace(path="o", const=False, kind="object", obj=obj, written=False, done=None)
        return None

    def note(self, obj, *rest):
        if self.know(obj) is not None:
            self.read.append((type(obj).__name__, *rest))

    def read_content(self, obj):
        self.note(obj, "content")

    def read_mapping(self, obj, by_keys=False):
        self.read_content(obj)
        return isinstance(obj, dict)

    def read_deep(self, obj):
        self.note(obj, "content")
        if isinstance(obj, (list, tuple)):
            for item in obj:
                self.read_deep(item)

    def read_len(self, obj):
        self.note(obj, "len")

    def read_truth(self, obj):
        self.note(obj, "truth")

    def read_key(self, obj, key):
        self.note(obj, "key", key)

    def read_index(self, obj, index):
        self.note(obj, "index", index)

    def read_attr(self, obj, name):
        self.note(obj, "attr", name)

    def read_instance_dict(self, obj):
        self.note(obj, "attr", "__dict__")

    def edge(self, parent, op, key, value, text):
        self.read.append((op, key))

    def read_state(self, text, value, predicate):
        self.read.append(("state", text))

    def type_lookup(self, cls, name):
        return next((vars(base)[name] for base in cls.__mro__ if name in vars(base)), ABSENT)

    def may_compare(self, obj, name):
        self.type_lookup(type(obj), name)

    def read_mro(self, cls):
        pass

    know_constant = observe_identity = note_write = read_mro

    def const_node(self, obj, path=None):
        return types.SimpleNamespace(path=path, const=True, kind="object", obj=obj, written=False)

    def is_internal(self, obj):
        return self.know(obj) is None

    def behind_proxy(self, proxy):
        return gc.get_referents(proxy)[0]

    def at_end(self, then):
        self.read.append(("at end", then))

    def compare_identity(self, a, b):
        pass

    def watch_values(self, source, on_item):
        self.read.append(("watch", source))

    def special(self, name, args):
        method = self.type_lookup(type(args[0]), name)
        if method in (ABSENT, None):
            return False
        self.call(method, args, {})
        return True

    def run_users_code(self):
        pass

    def call(self, func, args, kwargs):
        if isinstance(func, types.BuiltinFunctionType) and func not in RULES and func.__self__ is not None:
            args = (func.__self__, *args)
            func = self.type_lookup(type(func.__self__), func.__name__)
        if isinstance(func, types.FunctionType) or func in TORCH_OPERATORS:
            return
        RULES[func](self, func, args, kwargs or {})

    def mutate(self, obj, func, args, kwargs=None):
        if self.know(obj) is None:
            return False
        self.effects.append((func, args))
        return True

    def written_key(self, node, op, key):
        self.keys.append((op, key))

    def effect(self, func, args, kwargs=None):
        self.effects.append((func, args))

    def leaf(self):
        self.read.append(("leaf",))

    def stop(self, reason, detail=""):
        raise StopCapture(reason, detail)


def apply(func, *args, outside=(), **kwargs):
    r = Fake(*outside)
    r.call(func, args, kwargs)
    return r


# ---- the tables -----------------------------------------------------------------------------------

def test_every_rule_has_a_kind():
    assert set(RULES) == set(KINDS)
    assert set(KINDS.values()) <= set(KINDS_OF_RULES)
    assert all(callable(rule) for rule in RULES.values())
    assert all(isinstance(code, types.CodeType) for code in LEAF_CODE.codes)


def test_no_function_is_both_ruled_and_an_operator():
    assert not [func for func in TORCH_OPERATORS if func in RULES]


@pytest.mark.parametrize("func", [breakpoint, itertools.chain.__reduce__, sys.settrace, sys.setrecursionlimit,
                                  torch._C._set_tracing_state, torch._C.DisableTorchFunction])
def test_what_nobody_annotated_has_no_rule(func):
    assert func not in RULES and func not in TORCH_OPERATORS


# ---- pure ---------------------------------------------------------------------------------------------

CODE = (lambda: 0).__code__
SAMPLES = [0, 1, 2, 3, 7, -2, 2.5, -0.5, 0.25, True, 1j, "ab", "a,b", "", "3", b"ab", b"", None, (1, 2), (2, 3), ("a", "b"),
           range(3), slice(1, 2), int, "utf-8", torch.Size([2, 3]), torch.float32, torch.int8, torch.device("cpu"), "cpu",
           {"a": "b"}, [1, 2], ["a", "b"], len, "<i", b"abcd", zlib.compress(b"ab"), "a1", b"YWI=", "LATIN SMALL LETTER A",
           datetime.date(2020, 1, 2), datetime.time(3), datetime.datetime(2020, 1, 2), datetime.timedelta(1), datetime.timezone.utc,
           re.compile("a"), "2020-01-02", "03:00", "%Y", '"a"', CODE]
PURE = [func for func, kind in KINDS.items() if kind == "pure"]


def argument_lists(func):
    """Arguments that *func* may accept, its receivers first."""
    owner = getattr(func, "__objclass__", None)
    firsts = [each for each in SAMPLES if owner is None or isinstance(each, owner)]
    if isinstance(func, types.ClassMethodDescriptorType):
        firsts = [owner]
    yield from ((first,) for first in firsts)
    yield ()
    for first in firsts:
        yield from ((first, second) for second in SAMPLES)
    for first in firsts[:4]:
        yield from itertools.product([first], SAMPLES[:6] + ["ab"], SAMPLES[:6] + ["ab"])


def outcome(func, args):
    try:
        return True, func(*args)
    except Exception as error:
        return False, type(error)


def same(a, b):
    if isinstance(a, float) and a != a:
        return b != b
    return type(a) is type(b) and (a == b or type(a).__eq__ is object.__eq__)


@pytest.mark.filterwarnings("ignore")
def test_pure_functions_are_pure():
    tried = 0
    for func in PURE:
        found = 0
        for args in argument_lists(func):
            args = copy.deepcopy(args)
            before = repr(args)
            good, result = outcome(func, args)
            if good:
                assert same(result, outcome(func, args)[1]), (func, args)
                assert repr(args) == before, (func, args)
                found += 1
            if found == 3:
                break
        tried += found > 0
    assert tried > 0.85 * len(PURE)     # the rest want stranger arguments


def test_pure_functions_ask_for_nothing_when_values_are_plain():
    for func in (math.sqrt, int, str.upper, str.split, operator.index, abs, round, "a".join, complex):
        r = apply(func, *((["b"],) if func == "a".join else ("3",) if func in (int, complex, str.upper, str.split) else (3,)))
        assert r.read == [] and r.effects == []


# ---- changes ------------------------------------------------------------------------------------------------

class Frozen:
    def __setattr__(self, name, value):
        raise AttributeError(name)


CHANGES = [
    (list.append, [1], 2), (list.extend, [1], [2]), (list.insert, [1], 0, 3), (list.pop, [1, 2]), (list.remove, [1, 2], 1),
    (list.clear, [1]), (list.reverse, [1, 2]), (list.sort, [2, 1]), (list.__setitem__, [1, 2], 0, 5), (list.__delitem__, [1, 2], 0),
    (list.__iadd__, [1], [2]), (list.__imul__, [1], 2), (dict.__setitem__, {}, "k", 1), (dict.__delitem__, {"k": 1}, "k"),
    (dict.update, {}, {"k": 1}), (dict.__ior__, {}, {"k": 1}), (dict.setdefault, {}, "k", 1), (dict.pop, {"k": 1}, "k"),
    (dict.popitem, {"k": 1}), (dict.clear, {"k": 1}), (set.add, {1}, 2), (set.discard, {1, 2}, 2), (set.remove, {1, 2}, 2),
    (set.clear, {1}), (set.update, {1}, [2]), (set.__ior__, {1}, {2}), (set.__iand__, {1, 2}, {2}), (set.__isub__, {1, 2}, {2}),
    (set.__ixor__, {1, 2}, {2}), (set.difference_update, {1, 2}, [2]), (set.intersection_update, {1, 2}, [2]),
    (set.symmetric_difference_update, {1, 2}, [2]), (collections.deque.append, collections.deque(), 1),
    (collections.deque.appendleft, collections.deque(), 1), (collections.deque.extend, collections.deque(), [1]),
    (collections.deque.pop, collections.deque([1, 2])), (collections.deque.popleft, collections.deque([1, 2])),
    (collections.deque.rotate, collections.deque([1, 2])), (collections.deque.clear, collections.deque([1])),
    (collections.OrderedDict.__setitem__, collections.OrderedDict(), "k", 1),
    (collections.OrderedDict.move_to_end, collections.OrderedDict(a=1, b=2), "a"),
    (collections.OrderedDict.pop, collections.OrderedDict(a=1), "a"),
    (collections.OrderedDict.update, collections.OrderedDict(), {"a": 1}),
    (object.__setattr__, Frozen(), "n", 1)]


@pytest.mark.parametrize("func, receiver, args", [(f, o, a) for f, o, *a in CHANGES], ids=lambda v: getattr(v, "__qualname__", None))
def test_changes_of_outside_objects_are_effects(func, receiver, args):
    assert KINDS[func] == "mutates"
    r = apply(func, receiver, *args, outside=[receiver])
    assert len(r.effects) == 1
    effect, effect_args = r.effects[0]
    plain, replayed = copy.deepcopy(receiver), copy.deepcopy(receiver)
    func(plain, *copy.deepcopy(args))
    effect(replayed, *effect_args[1:])
    assert contents(plain) == contents(replayed) != contents(receiver)
    assert apply(func, receiver, *args).effects == [], "a change of the recording's own object is no effect"


def contents(obj):
    if isinstance(obj, Frozen):
        obj = vars(obj)
    return [*obj.items()] if isinstance(obj, dict) else list(obj)


def test_single_keys_are_the_recordings_own_after_a_write():
    d = {"k": 1}
    for func, args in ((dict.__setitem__, ("k", 2)), (dict.pop, ("k",)), (dict.__delitem__, ("k",)), (dict.update, ({"k": 3},))):
        assert apply(func, d, *args, outside=[d]).keys == [("dict", "k")]


def test_consumed_arguments_are_copied():
    target, source = [], [1]
    effect = apply(list.extend, target, source, outside=[target]).effects[0]
    source.append(2)
    assert effect[1][1] == (1,)
    r = apply(list.extend, target, (i for i in source), outside=[target])
    assert r.effects == []
    target += [1, 2]            # as the call does
    dict(r.read)["at end"]()
    assert r.effects == [(list.extend, (target, (1, 2)))]


# ---- reads ------------------------------------------------------------------------------------------------------

READS = [len, list, tuple, set, sorted, sum, max, min, any, all, enumerate, zip, reversed, iter, math.prod, math.fsum, frozenset,
         itertools.chain, itertools.cycle, itertools.accumulate, itertools.pairwise, itertools.groupby, collections.deque,
         list.copy, list.__iter__, list.__len__, list.__repr__, list.__reversed__, repr, str, functools.partial(map, int),
         functools.partial(filter, None), functools.partial(itertools.compress, "ab")]


@pytest.mark.parametrize("func", READS, ids=repr)
def test_readers_read_an_outside_list(func):
    numbers = [1, 2]
    func, first = (func.func, func.args) if isinstance(func, functools.partial) else (func, ())
    assert apply(func, *first, numbers, outside=[numbers]).read, "not read"
    assert not [each for each in apply(func, *first, [1, 2]).read if each[0] == "list"]


@pytest.mark.parametrize("func, args, what", [
    (dict.get, ("k",), "key"), (dict.__getitem__, ("k",), "key"), (dict.__contains__, ("k",), "key"), (dict.items, (), "content"),
    (dict.values, (), "content"), (dict.keys, (), "content"), (dict.copy, (), "content"), (dict.__len__, (), "len"),
    (dict.__eq__, ({},), "content"), (dict.__or__, ({},), "content"), (dict, (), "content"), (dict.setdefault, ("k", 1), "key")])
def test_readers_read_an_outside_dict(func, args, what):
    d = {"k": 1}
    assert ("dict", what, *(("k",) if what == "key" else ())) in apply(func, d, *args, outside=[d]).read


def test_items_below_are_read_when_they_are_compared():
    inner = [1]
    outer = [inner]
    for func in (list.__eq__, list.__lt__, list.__contains__, list.index, list.count):
        r = apply(func, outer, [[1]] if func in (list.__eq__, list.__lt__) else [1], outside=[outer, inner])
        assert r.read.count(("list", "content")) >= 2, func


def test_generators_and_functions_are_watched():
    def give():
        yield 1
    for func in (any, all, sum, max, sorted, set):
        generator = give()
        assert ("watch", generator) in apply(func, generator).read
    key = lambda v: v  # noqa: E731
    assert ("watch", key) in apply(sorted, [2, 1], key=key).read
    assert ("watch", key) in apply(max, map(key, [1])).read


def test_remaining_items_are_told_without_taking_them():
    for make in (lambda: iter([1, 2]), lambda: iter((1, 2)), lambda: iter("ab"), lambda: iter(range(3)), lambda: iter({1: 2}),
                 lambda: iter({1: 2}.items()), lambda: reversed([1, 2]), lambda: enumerate([5, 6], 1), lambda: zip([1, 2], "ab"),
                 lambda: map(int, ["1"]), lambda: reversed((1, 2)), lambda: map(len, [[1]]), lambda: iter({1})):
        iterator = make()
        assert reads.remaining(None, iterator) == list(iterator)
        assert reads.remaining(None, iterator) == []


# ---- stops ---------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("func, args, reason", [
    (time.time, (), "time"), (time.perf_counter, (), "time"), (random.random, (), "random"), (random.getrandbits, (3,), "random"),
    (open, ("x",), "effect"), (input, (), "effect"), (id, (3,), "object-read"), (dir, (3,), "object-read"),
    (torch.random.manual_seed, (1,), "random"), (print, (object(),), "effect"),
    (io.BytesIO.getbuffer, (io.BytesIO(),), "effect"), (object.__repr__, (object(),), "object-read"),
    (object.__reduce__, (object(),), "object-read"), (functools.lru_cache(0)(lambda: []), (), "unknown-callable")])
def test_stops(func, args, reason):
    r = Fake(random._inst, func, sys.stdout)
    with pytest.raises(StopCapture) as info:
        if func not in RULES and isinstance(func, functools._lru_cache_wrapper):
            args, func = (func, *args), type(func).__call__
        if isinstance(func, types.FunctionType):
            RULES[func](r, func, args, {})
        else:
            r.call(func, args, {})
    assert info.value.reason == reason


# ---- torch's operators -------------------------------------------------------------------------------------------------

X = torch.ones(2, 2)
SEEN = [(torch.relu, X), (torch.add, X, X), (torch.cat, [X]), (torch.zeros, 2), (torch.tensor, [1.0]), (torch.as_tensor, [1.0]),
        (torch.arange, 3), (torch.promote_types, torch.float32, torch.int32), (torch._C._nn.linear, X, X), (torch._C._nn.gelu, X),
        (torch._C._linalg.linalg_norm, X), (torch._C._fft.fft_fft, X), (torch._C._special.special_erf, X),
        (torch.Tensor.add, X, X), (torch.Tensor.view, X, 4), (torch.Tensor.to, X, "cpu"), (torch.Tensor.__getitem__, X, 0),
        (torch.Tensor.__bool__, X[0, 0]), (torch.Tensor.item, X[0, 0]), (torch.Tensor.size, X), (torch._C._set_grad_enabled, True),
        (torch.Tensor.__setitem__, X.clone(), 0, 1.0), (torch.normal, 0.0, 1.0, (2,)), (torch.is_floating_point, X)]


class Spy(TorchFunctionMode):
    def __init__(self):
        super().__init__()
        self.seen = 0

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.seen += 1
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("func, args", [(f, a) for f, *a in SEEN], ids=lambda v: getattr(v, "__name__", None))
def test_operators_are_seen_by_a_mode(func, args):
    assert func in TORCH_OPERATORS
    with Spy() as spy:
        func(*args)
    assert spy.seen


@pytest.mark.parametrize("func, args", [(torch.range, (0, 3)), (torch.Tensor.set_, (X.clone(), X)),
                                        (torch.Tensor.as_subclass, (X, torch.nn.Parameter))], ids=lambda v: getattr(v, "__name__", None))
@pytest.mark.filterwarnings("ignore")
def test_what_a_mode_does_not_see_is_no_operator(func, args):
    assert func.__name__ in torch_operators.UNSEEN and func not in TORCH_OPERATORS
    with Spy() as spy:
        func(*args)
    assert not spy.seen


# ---- what models call -----------------------------------------------------------------------------------------------------

# C callables outside torch that the forwards of 782 models on GitHub call, most called first.
CALLED_BY_MODELS = """
    iter dict.values isinstance getattr range len tuple list.append dict.get _abc._abc_instancecheck object.__setattr__
    _operator.index str hasattr type set all zip enumerate list setattr collections.OrderedDict AttributeError dict.items int
    collections.OrderedDict.values object.__init__ type.__new__ bool max _warnings.warn collections.OrderedDict.items float
    set.discard math.sqrt dict.keys numpy.array str.lower numpy.ndarray.astype numpy.arange numpy.asanyarray numpy.ndarray.reshape
    numpy.ndarray.copy numpy.lib.array_utils.normalize_axis_index set.add math.ceil reversed any slice numpy.ndarray.transpose
    list.insert min str.startswith math.floor property.__init__ next list.copy abs list.extend str.format dict.update
    weakref.ReferenceType numpy.zeros numpy.ndarray.repeat numpy.ndarray.ravel int.bit_length str.find numpy.ufunc.reduce list.pop
    numpy.ndarray.flatten numpy.ndarray.sort sum dict math.log math.log10 numpy.generic.astype numpy.generic.item
    """.split()


@pytest.mark.parametrize("name", CALLED_BY_MODELS)
def test_what_models_call_has_a_rule(name):
    head, *rest = name.split(".")
    found = getattr(builtins, head, None) or importlib.import_module(head)
    for part in rest:
        found = vars(found)[part] if isinstance(found, type) and part in vars(found) else getattr(found, part)
    assert found in RULES, name
