"""Outside state that functions hold: globals, builtins, closure cells, defaults, their own code."""
import builtins
import copy
import sys
import types

import pytest
import torch

import magpy
from support.expect import batch
from support.scenario import Case, scenario

FACTOR = 2.0
UNUSED = 0
SHARED = types.SimpleNamespace(k=1.0)


def helper(x):
    return x + 1


def other_helper(x):
    return x * 5


def uses_globals(x):
    return helper(x) * FACTOR + SHARED.k


def set_global(name, value):
    setattr(sys.modules[__name__], name, value)


def drop_global(name):
    sys.modules[__name__].__dict__.pop(name, None)


@scenario
def test_global():
    return Case(uses_globals, lambda: set_global("FACTOR", 3.0), lambda: set_global("FACTOR", 2.0),
                unrelated=lambda: set_global("UNUSED", 1))


@scenario
def test_attribute_of_a_global():
    return Case(uses_globals, lambda: setattr(SHARED, "k", 3.0), lambda: setattr(SHARED, "k", 1.0))


@scenario
def test_global_object_replaced():
    old = SHARED
    return Case(uses_globals, lambda: set_global("SHARED", types.SimpleNamespace(k=4.0)), lambda: set_global("SHARED", old))


@scenario
def test_module_level_function_rebound():
    old = helper
    return Case(uses_globals, lambda: set_global("helper", other_helper), lambda: set_global("helper", old))


@scenario
def test_function_of_another_module_rebound():
    mod = types.ModuleType("elsewhere")
    mod.act = old = lambda x: x + 1
    return Case(lambda x: mod.act(x), lambda: setattr(mod, "act", lambda x: x - 1), lambda: setattr(mod, "act", old))


@scenario
def test_torch_function_rebound():
    import torch.nn.functional as F
    old = F.relu
    return Case(lambda x: F.relu(x) + 1, lambda: setattr(F, "relu", torch.sigmoid), lambda: setattr(F, "relu", old))


def uses_len(x):
    return x * len([1, 2, 3])


@scenario
def test_builtin_shadowed_by_a_new_global():
    return Case(uses_len, lambda: set_global("len", lambda v: 7), lambda: drop_global("len"))


@scenario
def test_builtin_itself_replaced():
    def f(x):
        return x * max(1.0, 2.0)

    old = builtins.max
    return Case(f, lambda: setattr(builtins, "max", lambda *a: 9.0), lambda: setattr(builtins, "max", old))


def uses_missing(x):
    try:
        return x * LATER  # noqa: F821
    except NameError:
        return x


@scenario
def test_missing_global_added():
    return Case(uses_missing, lambda: set_global("LATER", 4.0), lambda: drop_global("LATER"))


@scenario
def test_code_replaced():
    def f(x):
        return inner(x) * 2

    def inner(x):
        return x + 1

    def new(x):
        return x - 1

    old = inner.__code__
    return Case(f, lambda: setattr(inner, "__code__", new.__code__), lambda: setattr(inner, "__code__", old))


@scenario
def test_own_code_replaced():
    def f(x):
        return x + 1

    def new(x):
        return x - 1

    old = f.__code__
    return Case(f, lambda: setattr(f, "__code__", new.__code__), lambda: setattr(f, "__code__", old))


def cell_case(new, old=2.0):
    k = old

    def f(x):
        return x * k

    def put(v):
        nonlocal k
        k = v

    return Case(f, lambda: put(new), lambda: put(old))


@scenario
def test_closure_cell():
    return cell_case(3.0)


@scenario
def test_closure_cell_from_int_to_float():
    case = cell_case(2, 2.0)
    case.differs = False
    return case


@scenario
def test_closure_cell_holding_a_function():
    act = old = torch.relu

    def f(x):
        return act(x)

    def put(v):
        nonlocal act
        act = v

    return Case(f, lambda: put(torch.sigmoid), lambda: put(old))


@scenario
def test_closure_cell_holding_a_tensor():
    t = old = torch.ones(4)

    def f(x):
        return x * t

    def put(v):
        nonlocal t
        t = v

    return Case(f, lambda: put(torch.full((4,), 2.0)), lambda: put(old), captures=None)


@scenario
def test_closure_cell_holding_a_tensor_of_another_dtype():
    t = old = torch.ones(4)

    def f(x):
        return x * t

    def put(v):
        nonlocal t
        t = v

    return Case(f, lambda: put(torch.full((4,), 2.0, dtype=torch.float64)), lambda: put(old))


@scenario
def test_closure_cell_emptied():
    k = 2.0

    def f(x):
        try:
            return x * k
        except NameError:
            return x

    def drop():
        nonlocal k
        del k

    def put():
        nonlocal k
        k = 2.0

    return Case(f, drop, put)


@scenario
def test_cell_of_an_inner_function_shared():
    state = 1.0

    def bump(v):
        nonlocal state
        state = v

    def f(x):
        def inner():
            return x * state
        return inner()

    return Case(f, lambda: bump(5.0), lambda: bump(1.0))


@scenario
def test_default_argument():
    def f(x, k=2.0):
        return x * k

    return Case(f, lambda: setattr(f, "__defaults__", (3.0,)), lambda: setattr(f, "__defaults__", (2.0,)))


@scenario
def test_default_argument_of_a_callee():
    def inner(x, k=2.0, unused=0):
        return x * k

    def f(x):
        return inner(x, unused=1)

    return Case(f, lambda: setattr(inner, "__defaults__", (3.0, 0)), lambda: setattr(inner, "__defaults__", (2.0, 0)))


@scenario
def test_default_removed():
    def inner(x, k=2.0):
        return x * k

    def f(x):
        try:
            return inner(x)
        except TypeError:
            return x

    return Case(f, lambda: setattr(inner, "__defaults__", None), lambda: setattr(inner, "__defaults__", (2.0,)))


@scenario
def test_keyword_only_default():
    def f(x, *, k=2.0):
        return x * k

    return Case(f, lambda: setattr(f, "__kwdefaults__", {"k": 3.0}), lambda: setattr(f, "__kwdefaults__", {"k": 2.0}))


@scenario
def test_keyword_only_default_of_a_callee_changed_in_place():
    def inner(x, *, k=2.0):
        return x * k

    return Case(lambda x: inner(x), lambda: inner.__kwdefaults__.update(k=3.0), lambda: inner.__kwdefaults__.update(k=2.0))


@scenario
def test_mutable_default_changed():
    def f(x, ks=[2.0, 3.0]):
        for k in ks:
            x = x * k
        return x

    return Case(f, lambda: f.__defaults__[0].append(4.0), lambda: f.__defaults__[0].__delitem__(slice(2, None)))


@scenario
def test_partial_keywords_changed():
    import functools
    p = functools.partial(lambda x, k: x * k, k=2.0)
    return Case(lambda x: p(x), lambda: p.keywords.update(k=3.0), lambda: p.keywords.update(k=2.0))


@scenario
def test_argument_function_with_another_closure():
    def times(k):
        return lambda x: x * k

    which = {"k": 2.0}
    return Case(lambda x, f: f(x), lambda: which.update(k=3.0), lambda: which.update(k=2.0),
                args=lambda i: (batch(i), times(which["k"])))


@scenario
def test_decorated_function_rewrapped():
    import functools

    def plain(x):
        return x + 1

    def doubled(g):
        @functools.wraps(g)
        def wrapper(*args, **kwargs):
            return g(*args, **kwargs) * 2
        return wrapper

    mod = types.SimpleNamespace(act=plain)
    return Case(lambda x: mod.act(x), lambda: setattr(mod, "act", doubled(plain)), lambda: setattr(mod, "act", plain))


def first_of(value):
    return value[0]


@scenario
def test_library_function_that_has_a_rule_passed_in():
    """Its frame is not recorded, so its code is no guard of which function it is."""
    passed = [copy.deepcopy]
    return Case(lambda x, op: (op([1, 2]), x + 1), lambda: passed.__setitem__(0, first_of),
                lambda: passed.__setitem__(0, copy.deepcopy), args=lambda i: (batch(i), passed[0]))


@scenario
def test_library_function_that_has_a_rule_in_an_attribute():
    holder = types.SimpleNamespace(op=copy.deepcopy)
    return Case(lambda x: (holder.op([1, 2]), x + 1), lambda: setattr(holder, "op", first_of),
                lambda: setattr(holder, "op", copy.deepcopy))


def default_activation(x):
    return x * 2


def other_activation(x):
    return x * 2


@pytest.mark.parametrize("fixed", ["function", "callable itself"])
def test_is_compared_with_something_fixed(fixed):
    """One side is guarded by identity, the other is not: at replay they may be the same object all of a sudden."""
    class Model(torch.nn.Module):
        def forward(self, x, other):
            return x * 2 if other is self else x * 3
    model, outsider = Model(), Model()
    if fixed == "function":
        f, mine, another = lambda x, other: x * 2 if other is default_activation else x * 3, default_activation, other_activation
    else:
        f, mine, another = model, model, outsider
    for order in ((another, mine), (mine, another)):
        compiled = magpy.compile(f, backend="eager")
        for other in (*order, *order):
            assert torch.equal(compiled(batch(0), other), batch(0) * (2 if other is mine else 3))
        assert magpy.explain(compiled).hits == 2
