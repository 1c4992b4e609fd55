"""Outside objects that change below their identity, or that reach the program by a second way.

As in test_stale_corners, only the right result on every call is asked for where a test does not say more.
"""
import torch

from support import fresh
from support.scenario import Case, right, scenario

Tensor = torch.Tensor


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


@right
def test_kept_slot_whose_name_is_replaced():
    return replaced("__getitem__", lambda t, i: t, lambda get, x: get(x, 0), Tensor.__getitem__)


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
