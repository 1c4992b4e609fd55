"""Ways to outside state that a recorder may overlook: by name, from C, through patched classes, across threads.

As in test_stale_corners, only the right result on every call is asked for, captured or not.
"""
import os
import sys
import types
import weakref

import torch
from torch import nn

import magpy
from support import fresh
from support.expect import batch
from support.scenario import Case, right


def holder(**attributes):
    return types.SimpleNamespace(**attributes)


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
