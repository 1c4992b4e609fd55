"""Corners: state reached by two ways, written and read in one call, or by ways that a recorder may overlook.

Only the right result on every call is asked for here, captured or not; the programs are meant to be unkind.
"""
import os
import sys
import types
import weakref

import pytest
import torch
from torch import nn

import magpy
from support import compare, fresh
from support.expect import batch, check
from support.scenario import Case, right


def steps(build, calls=8, state=None):
    """A program whose own state moves on from call to call, beside its eager twin."""
    check(build, calls=calls, captures=None, fullgraph=False, state=state)


def holder(**attributes):
    return types.SimpleNamespace(**attributes)


# --- written and read in one call

def test_counter_read_after_it_was_counted():
    def build():
        o = holder(n=0)

        def f(x):
            o.n += 1
            return x * 2 if o.n % 3 == 0 else x
        return f
    steps(build)


def test_counter_read_before_it_is_counted():
    def build():
        o = holder(n=0)

        def f(x):
            k = o.n
            o.n += 1
            return x + 1 if k > 4 else x
        return f
    steps(build)


def test_two_counters_that_meet():
    def build():
        a = holder(n=0)
        b = a

        def f(x):
            a.n += 1
            b.n += 1
            return x + (a.n - b.n)
        f.a = a
        return f
    steps(build, state=lambda f: f.a.n)


@pytest.mark.parametrize("later", [1.5, True, "text", None, torch.ones(2), [1]], ids=repr)
def test_counter_of_another_type_later(later):
    def build():
        o = holder(n=0)

        def f(x):
            o.n += 1
            return x * 2
        f.o = o
        return f
    plain, ours = build(), build()
    compiled = magpy.compile(ours, backend="eager")
    for _ in range(3):
        plain(batch(0)), compiled(batch(0))
    outcomes = []
    for f, o in ((plain, plain.o), (compiled, ours.o)):
        o.n = list(later) if isinstance(later, list) else later
        try:
            outcomes.append([f(batch(1)), o.n])
        except TypeError as e:
            outcomes.append(["TypeError", str(e), o.n])
    compare.equal(outcomes[1], outcomes[0])


def test_counter_that_has_become_a_property():
    class C:
        pass

    class D:
        @property
        def n(self):
            return 10

        @n.setter
        def n(self, v):
            self.set = v

    def build():
        o = C()
        o.n = 0

        def f(x):
            o.n += 1
            return x * 2
        f.o = o
        return f
    plain, ours = build(), build()
    compiled = magpy.compile(ours, backend="eager")
    for f, o in ((plain, plain.o), (compiled, ours.o)):
        f(batch(0)), f(batch(0))
        o.__class__ = D
        f(batch(0))
    assert vars(plain.o) == vars(ours.o)


def test_length_of_a_list_that_is_appended_to():
    def build():
        log = []

        def f(x):
            log.append(x.shape[0])
            return x * len(log)
        return f
    steps(build)


def test_last_item_of_a_list_that_is_appended_to():
    def build():
        log = [0.0]

        def f(x):
            log.append(log[-1] + 1.0)
            return x * log[-1]
        return f
    steps(build)


def test_value_written_by_the_previous_call():
    def build():
        o = holder(k=1.0)

        def f(x):
            y = x * o.k
            o.k = 2.0 if o.k == 1.0 else 1.0
            return y
        return f
    steps(build)


def test_tensor_written_by_the_previous_call():
    def build():
        o = holder(h=torch.zeros(4))

        def f(x):
            o.h = torch.tanh(o.h + x.sum(0))
            return o.h * 2
        return f
    steps(build)


def test_tensor_that_is_none_at_first():
    def build():
        o = holder(h=None)

        def f(x):
            if o.h is None:
                o.h = torch.zeros(4)
            o.h = o.h + x.sum(0)
            return o.h
        f.o = o
        return f
    steps(build, state=lambda f: f.o.h)


def test_queue_that_runs_empty():
    def build():
        queue = [1.0, 2.0, 3.0, 4.0]

        def f(x):
            while queue:
                return x * queue.pop()
            return x
        f.queue = queue
        return f
    steps(build, state=lambda f: f.queue)


def test_flag_that_is_set_once():
    def build():
        o = holder(ready=False)

        def f(x):
            if not o.ready:
                o.ready = True
                return x * 100
            return x
        return f
    steps(build)


def test_deleted_attribute_is_missing_next_time():
    def build():
        o = holder(k=2.0)

        def f(x):
            del o.k
            return x
        return f
    f = build()
    compiled = magpy.compile(f, backend="eager")
    compiled(batch(0))
    for _ in range(2):
        with pytest.raises(AttributeError):
            compiled(batch(0))


def test_cache_with_a_limit():
    def build():
        cache = {}

        def f(x):
            n = len(cache)
            cache[n % 3] = n
            return x * sum(cache.values())
        f.cache = cache
        return f
    steps(build, state=lambda f: f.cache)


def test_moving_average_in_a_python_number():
    def build():
        o = holder(avg=0.0)

        def f(x):
            o.avg = 0.9 * o.avg + 0.1 * x.shape[0]
            return x * o.avg
        return f
    steps(build)


# --- one object by two ways

@right
def test_two_attributes_become_one_object():
    o = holder(a=[1.0], b=[1.0])
    old = o.b

    def f(x):
        o.a.append(2.0)
        k = len(o.b)
        o.a.pop()
        return x * k
    return Case(f, lambda: setattr(o, "b", o.a), lambda: setattr(o, "b", old))


@right
def test_one_object_becomes_two():
    shared = [1.0]
    o = holder(a=shared, b=shared)

    def f(x):
        o.a[0] = 5.0
        k = o.b[0]
        o.a[0] = 1.0
        return x * k
    return Case(f, lambda: setattr(o, "b", [1.0]), lambda: setattr(o, "b", shared))


@right
def test_argument_is_the_object_behind_an_attribute():
    o = holder(k=1.0)
    other = holder(k=1.0)
    which = [other]

    def f(x, p):
        o.k = 3.0
        y = x * p.k
        o.k = 1.0
        return y
    return Case(f, lambda: which.__setitem__(0, o), lambda: which.__setitem__(0, other), args=lambda i: (batch(i), which[0]))


def test_parameter_as_an_argument():
    def build():
        m = nn.Linear(4, 4)

        def f(x, p):
            with torch.no_grad():
                p.add_(1)
            return m(x)
        f.m = m
        return f
    plain, ours = build(), build()
    ours.m.load_state_dict(plain.m.state_dict())
    compiled = magpy.compile(ours, backend="eager")
    for other in (False, False, True, True, False):
        outs = [f(batch(0), torch.zeros(4, 4) if not other else m.weight) for f, m in ((compiled, ours.m), (plain, plain.m))]
        compare.equal(*outs)


def test_view_kept_beside_its_base():
    def build():
        base = torch.zeros(4)
        o = holder(base=base, row=base[:2])

        def f(x):
            o.base.add_(x.sum(0))
            return o.row * 2
        f.o = o
        return f
    steps(build)
    f = build()
    compiled = magpy.compile(f, backend="eager")
    compiled(batch(0)), compiled(batch(1))
    f.o.row = torch.ones(2)
    assert torch.equal(compiled(batch(2)), torch.full((2,), 2.0))


def test_buffer_returned_and_written_by_the_next_call():
    def build():
        m = nn.Module()
        m.register_buffer("b", torch.zeros(4))

        def f(x):
            m.b.add_(x.sum(0))
            return m.b
        f.m = m
        return f
    plain, ours = build(), build()
    compiled = magpy.compile(ours, backend="eager", fullgraph=True)
    kept = [(compiled(batch(i)), plain(batch(i))) for i in range(4)]
    for got, want in kept:
        compare.equal(got, want)
        assert got is ours.m.b and want is plain.m.b


@right
def test_tied_weights_untied():
    m = nn.Module()
    m.a, m.b = nn.Linear(4, 4, bias=False), nn.Linear(4, 4, bias=False)
    m.b.weight = m.a.weight
    new = nn.Parameter(m.a.weight.detach() * 2)

    def f(x):
        return m.b(m.a(x))
    return Case(f, lambda: setattr(m.b, "weight", new), lambda: setattr(m.b, "weight", m.a.weight))


# --- ways that are easy to overlook

def set_key(d, k, v):
    d[k] = v


@right
def test_through_vars_and_globals():
    made = fresh.module("""
        k = 2.0
        def f(x):
            return x * globals()["k"] * vars(o)["j"]
    """)
    made.o = holder(j=1.0)

    def change():
        made.k, made.o.j = 3.0, 5.0

    def back():
        made.k, made.o.j = 2.0, 1.0
    return Case(made.f, change, back)


@right
def test_dynamic_getattr_name():
    o = holder(name="a", a=1.0, b=2.0)
    return Case(lambda x: x * getattr(o, o.name), lambda: setattr(o, "name", "b"), lambda: setattr(o, "name", "a"))


@right
def test_object_setattr_and_dict_update():
    class Strict:
        def __setattr__(self, name, value):
            raise AttributeError(name)

    o = Strict()
    o.__dict__["k"] = 2.0
    return Case(lambda x: x * o.k, lambda: object.__setattr__(o, "k", 3.0), lambda: o.__dict__.update(k=2.0))


@right
def test_module_with_getattr():
    mod = types.ModuleType("lazy")
    mod.__getattr__ = lambda name: 2.0
    return Case(lambda x: x * mod.k, lambda: setattr(mod, "k", 3.0), lambda: vars(mod).pop("k", None))


@right
def test_import_inside_of_a_replaced_module():
    name = "magpy_tests_imported"
    old, new = types.ModuleType(name), types.ModuleType(name)
    old.k, new.k = 2.0, 3.0
    sys.modules[name] = old

    def f(x):
        import magpy_tests_imported
        return x * magpy_tests_imported.k
    return Case(f, lambda: set_key(sys.modules, name, new), lambda: set_key(sys.modules, name, old))


@right
def test_from_import_inside():
    name = "magpy_tests_from"
    mod = sys.modules[name] = types.ModuleType(name)
    mod.k = 2.0

    def f(x):
        from magpy_tests_from import k
        return x * k
    return Case(f, lambda: setattr(mod, "k", 3.0), lambda: setattr(mod, "k", 2.0))


@right
def test_environment_variable():
    def f(x):
        return x * float(os.environ.get("MAGPY_TESTS_K", "2"))
    return Case(f, lambda: os.environ.update(MAGPY_TESTS_K="3"), lambda: os.environ.pop("MAGPY_TESTS_K", None))


@right
def test_weak_reference_dies():
    class Target:
        k = 3.0

    keep = [Target()]
    ref = weakref.ref(keep[0])

    def f(x):
        target = ref()
        return x * target.k if target is not None else x
    return Case(f, keep.clear, lambda: None)


@right
def test_attribute_of_an_input_tensor():
    seen = {"k": 2.0}

    def make(i):
        x = batch(i)
        x.k = seen["k"]
        return (x,)
    return Case(lambda x: x * x.k, lambda: seen.update(k=3.0), lambda: seen.update(k=2.0), args=make)


@right
def test_objects_sorted_by_an_attribute():
    items = [holder(key=1, v=2.0), holder(key=2, v=3.0)]

    def f(x):
        for item in sorted(items, key=lambda o: o.key):
            x = x * item.v + item.v
        return x
    return Case(f, lambda: setattr(items[0], "key", 5), lambda: setattr(items[0], "key", 1))


@right
def test_max_by_an_attribute():
    items = [holder(key=1, v=2.0), holder(key=2, v=3.0)]
    return Case(lambda x: x * max(items, key=lambda o: o.key).v, lambda: setattr(items[0], "key", 5), lambda: setattr(items[0], "key", 1))


@right
def test_user_keys_with_their_own_equality():
    class Key:
        same = True

        def __hash__(self):
            return 1

        def __eq__(self, other):
            return Key.same

    d = {Key(): 2.0}
    return Case(lambda x: x * d.get(Key(), 5.0), lambda: setattr(Key, "same", False), lambda: setattr(Key, "same", True))


@right
def test_equality_of_objects_inside_a_list():
    class V:
        same = True

        def __eq__(self, other):
            return V.same

        __hash__ = None

    a, b = [V()], [V()]
    return Case(lambda x: x + 1 if a == b else x - 1, lambda: setattr(V, "same", False), lambda: setattr(V, "same", True))


@right
def test_sum_of_user_numbers():
    class N:
        def __init__(self, v):
            self.v = v

        def __radd__(self, other):
            return other + self.v

    items = [N(1.0), N(2.0)]
    return Case(lambda x: x * sum(items), lambda: setattr(items[0], "v", 5.0), lambda: setattr(items[0], "v", 1.0))


@right
def test_str_of_a_user_object():
    class S:
        def __init__(self):
            self.k = "relu"

        def __str__(self):
            return self.k

        def __format__(self, spec):
            return self.k

    o = S()
    return Case(lambda x: getattr(torch, str(o))(x) + len(f"{o}"), lambda: setattr(o, "k", "tanh"), lambda: setattr(o, "k", "relu"))


@right
def test_index_and_float_of_a_user_object():
    class I:
        def __init__(self):
            self.k = 1

        def __index__(self):
            return self.k

        def __float__(self):
            return float(self.k)

        def __bool__(self):
            return self.k > 1

    o = I()
    return Case(lambda x: x[o] * float(o) + (1 if o else 2), lambda: setattr(o, "k", 2), lambda: setattr(o, "k", 1))


@right
def test_str_subclass_with_state():
    class S(str):
        pass

    s = S("a")
    s.k = 2.0
    return Case(lambda x: x * s.k, lambda: setattr(s, "k", 3.0), lambda: setattr(s, "k", 2.0))


@right
def test_method_bound_before_the_call():
    class C:
        def __init__(self, k):
            self.k = k

        def act(self, x):
            return x * self.k

    o = holder(act=C(2.0).act)
    old, new = o.act, C(3.0).act
    return Case(lambda x: o.act(x), lambda: setattr(o, "act", new), lambda: setattr(o, "act", old))


@right
def test_state_behind_a_bound_builtin_method():
    o = holder(get={"k": 2.0}.get)
    old, new = o.get, {"k": 3.0}.get
    return Case(lambda x: x * o.get("k"), lambda: setattr(o, "get", new), lambda: setattr(o, "get", old))


@right
def test_content_behind_a_bound_builtin_method():
    d = {"k": 2.0}
    get = d.get
    return Case(lambda x: x * get("k"), lambda: d.update(k=3.0), lambda: d.update(k=2.0))


@right
def test_module_call_patched_for_all():
    m = nn.Linear(4, 4)
    old = nn.Module.__call__

    def change():
        nn.Module.__call__ = lambda self, *a, **k: old(self, *a, **k) + 1

    def back():
        nn.Module.__call__ = old
    return Case(lambda x: m(x), change, back)


@right
def test_tensor_method_patched():
    old = torch.Tensor.relu
    return Case(lambda x: x.relu(), lambda: setattr(torch.Tensor, "relu", lambda self: self + 1), lambda: setattr(torch.Tensor, "relu", old))


@right
def test_tensor_method_added():
    def back():
        if hasattr(torch.Tensor, "magpy_tests_extra"):
            del torch.Tensor.magpy_tests_extra
    return Case(lambda x: x + 1 if hasattr(x, "magpy_tests_extra") else x, lambda: setattr(torch.Tensor, "magpy_tests_extra", 1), back)


@right
def test_default_device():
    def f(x):
        return torch.ones(2).device.type

    def change():
        torch.set_default_device("meta")

    def back():
        torch.set_default_device(None)
    return Case(f, change, back)


@right
def test_compiled_inside_compiled():
    o = holder(k=2.0)
    inner = magpy.compile(lambda x: x * o.k, backend="eager")
    return Case(lambda x: inner(x) + 1, lambda: setattr(o, "k", 3.0), lambda: setattr(o, "k", 2.0))


@right
def test_recursion_through_the_compiled_function():
    made = fresh.module("""
        import magpy
        k = 2.0
        @magpy.compile(backend="eager")
        def f(x, n=3):
            return x if n == 0 else f(x * k, n - 1)
    """)
    return Case(made.f, lambda: setattr(made, "k", 3.0), lambda: setattr(made, "k", 2.0))


def test_threads_with_different_states():
    import threading
    m = nn.Linear(4, 4)
    compiled = magpy.compile(m, backend="eager")
    wrong = []

    def work(grad):
        for i in range(50):
            with torch.set_grad_enabled(grad):
                out = compiled(batch(i))
            if out.requires_grad != grad or not torch.allclose(out, m(batch(i))):
                wrong.append((grad, i))
    threads = [threading.Thread(target=work, args=(g,)) for g in (True, False, True)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong
