"""Outside objects that change below their identity, or that reach the program by a second way.

As in test_stale_corners, only the right result on every call is asked for where a test does not say more.
"""
import subprocess
import sys
import textwrap
import weakref
from pathlib import Path

import torch

from support import fresh
from support.expect import batch
from support.scenario import Case, right, scenario

Tensor = torch.Tensor


def set_key(container, key, value):
    container[key] = value


# ---- descriptors whose __init__ is called again -------------------------------------------------

def with_descriptor(kind, read, old=lambda *_: 2.0, new=lambda *_: 3.0, fill=None):
    made = kind(old)

    class C:
        k = made
    o = C()
    fill = fill or type(made).__init__
    return Case(lambda x: x * read(o), lambda: fill(made, new), lambda: fill(made, old))


@scenario
def test_property_filled_anew():
    return with_descriptor(property, lambda o: o.k)


@scenario
def test_property_that_gets_its_getter_late():
    made = property()

    class C:
        k = made

        def __getattr__(self, name):
            return 2.0
    o = C()
    return Case(lambda x: x * o.k, lambda: made.__init__(lambda self: 3.0), lambda: made.__init__())


@scenario
def test_property_of_a_metaclass_filled_anew():
    made = property(lambda cls: 2.0)
    C = type("M", (type,), {"k": made})("C", (), {})
    return Case(lambda x: x * C.k, lambda: made.__init__(lambda cls: 3.0), lambda: made.__init__(lambda cls: 2.0),
                captures=None)


@scenario
def test_setter_filled_anew():
    def getter(self):
        return self.v

    def once(self, v):
        self.v = v

    def twice(self, v):
        self.v = 2 * v
    made = property(getter, once)

    class C:
        k = made

    def f(x):
        o = C()
        o.k = 2.0
        return x * o.v
    return Case(f, lambda: made.__init__(getter, twice), lambda: made.__init__(getter, once))


@scenario
def test_subclass_of_property_filled_anew():
    class Mine(property):
        pass
    return with_descriptor(Mine, lambda o: o.k)


@scenario
def test_staticmethod_filled_anew():
    return with_descriptor(staticmethod, lambda o: o.k())


@scenario
def test_classmethod_filled_anew():
    return with_descriptor(classmethod, lambda o: o.k())


@scenario
def test_static_new_filled_anew():
    def old(cls):
        return 2.0

    def new(cls):
        return 3.0

    class C:
        __new__ = staticmethod(old)
    made = vars(C)["__new__"]
    return Case(lambda x: x * C(), lambda: made.__init__(new), lambda: made.__init__(old))


@scenario
def test_operator_by_staticmethod_filled_anew():
    def old(i):
        return 2.0

    def new(i):
        return 3.0
    made = staticmethod(old)

    class C:
        __getitem__ = made
    o = C()
    return Case(lambda x: x * o[0], lambda: made.__init__(new), lambda: made.__init__(old))


@right
def test_property_asked_by_name_filled_anew():
    return with_descriptor(property, lambda o: type(o).__dict__["k"].__get__(o))


@right
def test_property_filled_anew_by_the_call():
    made = property(lambda self: 2.0)

    class C:
        k = made
        factor = 1.0
    o = C()

    def f(x):
        made.__init__(lambda self: o.factor)
        return x * o.k
    return Case(f, lambda: setattr(C, "factor", 3.0), lambda: setattr(C, "factor", 1.0))


# ---- methods of tensors that are replaced while the program has the old one ----------------------

def replaced(name, new, call, kept=None):
    old = getattr(Tensor, name)

    def back():
        setattr(Tensor, name, old)
        if old is not vars(Tensor).get(name, old) or name not in OWN:
            delattr(Tensor, name)
    kept = kept or old
    return Case(lambda x: call(kept, x), lambda: setattr(Tensor, name, new), back, differs=False)


OWN = set(vars(Tensor))


@right
def test_kept_c_method_whose_name_gets_another_c_method():
    return replaced("mul", Tensor.add, lambda mul, x: mul(x, x))


@right
def test_kept_c_method_whose_name_gets_a_function():
    return replaced("mul", lambda a, b: a - b, lambda mul, x: mul(x, x))


@right
def test_operator_whose_method_is_replaced():
    return replaced("mul", Tensor.add, lambda mul, x: x * x)


def test_kept_slot_whose_name_is_replaced():
    """In a process of its own: a tensor is a sequence for C code from then on, also when the name is deleted again."""
    program = textwrap.dedent("""
        import sys
        sys.path.append("staleness")
        from test_stale_parts import Tensor, replaced
        from support.scenario import right
        def kept_slot():
            return replaced("__getitem__", lambda t, i: t, lambda get, x: get(x, 0), Tensor.__getitem__)
        right(kept_slot)()
    """)
    subprocess.run([sys.executable, "-c", program], check=True, cwd=Path(__file__).parents[1])


@right
def test_kept_field_whose_name_is_replaced():
    return replaced("T", property(lambda t: t), lambda field, x: field.__get__(x))


# ---- dicts that become the __dict__ of an object --------------------------------------------------

class Plain:
    pass


def plain(**attributes):
    made = Plain()
    made.__dict__.update(attributes)
    return made


@scenario
def test_written_dict_becomes_the_dict_of_an_object_that_is_read():
    names, o = {"k": 1.0}, plain(k=1.0)

    def f(x):
        names["k"] = 2.0
        return x * o.k

    def change():
        names["k"] = 1.0
        o.__dict__ = names

    def back():
        o.__dict__ = {"k": 1.0}
    return Case(f, change, back, captures=None, fullgraph=False)


@right
def test_read_dict_becomes_the_dict_of_an_object_that_is_written():
    names, o = {"k": 1.0}, plain(k=1.0)

    def f(x):
        o.k = 2.0
        return x * names["k"]

    def change():
        o.__dict__ = names

    def back():
        o.__dict__, names["k"] = {"k": 1.0}, 1.0
    return Case(f, change, back)


@right
def test_two_objects_come_to_share_their_dict():
    a, b = plain(k=1.0), plain(k=1.0)

    def f(x):
        a.k += 1.0
        return x * b.k

    def change():
        b.__dict__ = a.__dict__

    def back():
        b.__dict__ = {"k": 1.0}
    return Case(f, change, back)


@right
def test_objects_that_share_their_dict_from_the_start():
    a, b = plain(k=1.0), plain()
    b.__dict__ = a.__dict__

    def f(x):
        a.k += 1.0
        return x * b.k
    return Case(f, lambda: setattr(b, "k", 5.0), lambda: setattr(b, "k", 1.0))


@right
def test_namespace_of_a_module_becomes_the_dict_of_an_object():
    made, o = fresh.module("""
        k = 1.0
        def f(x):
            global k
            k = 2.0
            return x * o.k
    """), plain(k=1.0)
    made.o = o

    def change():
        made.k = 1.0
        o.__dict__ = vars(made)

    def back():
        o.__dict__ = {"k": 1.0}
    return Case(made.f, change, back)


@scenario
def test_writes_that_share_no_dict_hit():
    names, o = {"k": 1.0}, plain(k=1.0, n=0)

    def f(x):
        names["k"] = 2.0
        o.n += 1
        return x * o.k
    return Case(f, lambda: setattr(o, "k", 3.0), lambda: setattr(o, "k", 1.0), observe=lambda: (o.n, dict(names)))


# ---- what a replayed write drops -------------------------------------------------------------------

log = []


class Owner:
    def __del__(self):
        log.append(1)


def dropping(write, put, calm=lambda: None, read=lambda: len(log), **expected):
    """``put(o)`` puts an object where ``write`` writes, which ends there; ``read`` sees it."""
    def f(x):
        write()
        return x * read()

    def args(i):
        log.clear()
        put(armed and Owner() or calm())
        return (batch(i),)
    armed = []
    return Case(f, lambda: armed.append(1), armed.clear, args=args, **{"captures": None, "fullgraph": False} | expected)


@scenario
def test_attribute_that_ends_a_finalizer():
    o = plain()
    return dropping(lambda: setattr(o, "k", None), lambda v: setattr(o, "k", v))


@scenario
def test_attribute_in_a_method_that_ends_a_finalizer():
    class Model:
        def __call__(self, x):
            self.last = x
            return x * len(log)
    o, armed = Model(), []

    def args(i):
        log.clear()
        o.last = armed and Owner() or None
        return (batch(i),)
    return Case(o, lambda: armed.append(1), armed.clear, args=args, captures=None, fullgraph=False)


@scenario
def test_deleted_attribute_that_ends_a_finalizer():
    o = plain()
    return dropping(lambda: delattr(o, "k"), lambda v: setattr(o, "k", v))


@scenario
def test_slot_that_ends_a_finalizer():
    class C:
        __slots__ = ("k",)
    o = C()

    def write():
        o.k = None
    return dropping(write, lambda v: setattr(o, "k", v))


@scenario
def test_attribute_of_a_class_that_ends_a_finalizer():
    class C:
        pass

    def write():
        C.k = None
    return dropping(write, lambda v: setattr(C, "k", v))


@scenario
def test_key_that_ends_a_finalizer():
    d = {}
    return dropping(lambda: set_key(d, "k", None), lambda v: set_key(d, "k", v))


@scenario
def test_item_that_ends_a_finalizer():
    d = [0, 0]
    return dropping(lambda: set_key(d, 1, None), lambda v: set_key(d, 1, v))


@scenario
def test_cleared_list_that_ends_a_finalizer():
    kept = []
    return dropping(kept.clear, lambda v: kept.append([{1: v}]))


@scenario
def test_cleared_dict_that_ends_a_finalizer():
    kept = {}
    return dropping(lambda: kept.clear(), lambda v: set_key(kept, 1, (v,)))


@scenario
def test_global_that_ends_a_finalizer():
    made = fresh.module("""
        def write():
            global k
            k = None
    """)
    return dropping(made.write, lambda v: setattr(made, "k", v))


@scenario
def test_cell_that_ends_a_finalizer():
    k = None

    def write():
        nonlocal k
        k = 3

    def put(v):
        nonlocal k
        k = v
    return dropping(write, put)


@scenario
def test_finalizer_at_the_end_of_a_chain():
    o = plain()
    return dropping(lambda: setattr(o, "k", None), lambda v: setattr(o, "k", plain(a=[plain(b=(v, 1))])))


@scenario
def test_object_in_two_places_that_ends_with_the_second():
    o = plain()

    def write():
        o.a = None
        o.b = None
    return dropping(write, lambda v: o.__dict__.update(a=v, b=v))


@scenario
def test_finalizer_that_changes_a_tensor():
    class Adder:
        def __del__(self):
            weight.add_(1)
    weight, o, armed = torch.ones(4), plain(), []

    def f(x):
        o.k = None
        return x * weight

    def args(i):
        weight.fill_(1)
        o.k = armed and Adder() or None
        return (batch(i),)
    return Case(f, lambda: armed.append(1), armed.clear, args=args, captures=None, fullgraph=False)


@right
def test_what_the_recorder_knows_ends_in_time():
    """What was read is held while the call is recorded; its content would end too late."""
    o = plain()

    def write():
        first = o.k
        o.k = first is None
        del first
    return dropping(write, lambda v: setattr(o, "k", [v]))


@scenario
def test_suspended_generator_that_ends():
    def suspended():
        try:
            yield
        finally:
            log.append(1)

    def started(v):
        if v is None:
            return None
        made = suspended()
        next(made)
        v.__class__ = Plain
        return made
    o = plain()
    return dropping(lambda: setattr(o, "k", None), lambda v: setattr(o, "k", started(v)))


@scenario
def test_weak_reference_whose_object_is_dropped():
    o, refs = plain(), [None]

    def put(v):
        o.k = plain()
        o.k.self = [plain()]
        refs[0] = weakref.ref(o.k if v is not None else o)
        if v is not None:
            v.__class__ = Plain
    return dropping(lambda: setattr(o, "k", None), put, read=lambda: 2.0 if refs[0]() is None else 3.0)


@scenario
def test_what_lives_on_or_has_no_end_of_its_own_hits():
    """A finalizer elsewhere is no matter, nor is what is dropped without one."""
    o, other, kept = plain(n=0), plain(k=1.0), []

    def f(x):
        o.last = x
        o.seen = None
        kept.clear()
        o.n += 1
        return x * other.k

    def args(i):
        o.seen = [owner, {"a": plain(t=torch.ones(i + 1))}]
        kept.extend([1, "a", torch.ones(2), plain()])
        return (batch(i),)
    owner = Owner()
    return Case(f, lambda: setattr(other, "k", 2.0), lambda: setattr(other, "k", 1.0), args=args)
