"""Outside state reached by attribute: of the module, of objects it holds, of classes, through descriptors."""
import functools
import types

import torch
from torch import nn

from support.scenario import Case, right, scenario


class Scale(nn.Module):
    offset = 1.0

    def __init__(self):
        super().__init__()
        self.k = 2.0
        self.name = "plain"
        self.box = types.SimpleNamespace(inner=types.SimpleNamespace(k=3.0), other=0)
        self.lin = nn.Linear(4, 4)
        self.register_buffer("bias", torch.ones(4))

    def helper(self, x):
        return x * 2

    def forward(self, x):
        if self.name == "loud":
            x = x * 10
        return self.helper(self.lin(x) * self.k + self.offset) * self.box.inner.k + self.bias


def attribute_case(obj_of, name, value, unrelated=None):
    """Sets one attribute and puts the old value back (or deletes it where there was none)."""
    m = Scale()
    obj = obj_of(m)
    missing = object()
    old = obj.__dict__.get(name, missing)

    def back():
        if old is not missing:
            setattr(obj, name, old)
        elif name in obj.__dict__:
            delattr(obj, name)

    return Case(m, lambda: setattr(obj, name, value), back, unrelated=lambda: unrelated(m) if unrelated else None)


@scenario
def test_module_attribute():
    return attribute_case(lambda m: m, "k", 5.0, lambda m: setattr(m, "unused", 1))


@scenario
def test_str_attribute():
    return attribute_case(lambda m: m, "name", "loud")


@scenario
def test_nested_attribute():
    return attribute_case(lambda m: m.box.inner, "k", 7.0, lambda m: setattr(m.box, "other", 5))


@scenario
def test_nested_object_replaced():
    return attribute_case(lambda m: m.box, "inner", types.SimpleNamespace(k=9.0))


@scenario
def test_nested_object_replaced_by_an_equal_one_of_another_type():
    class Odd:
        def __init__(self):
            self.k = 3.0

    case = attribute_case(lambda m: m.box, "inner", Odd())
    case.differs = False
    return case


@scenario
def test_class_attribute():
    m = Scale()
    return Case(m, lambda: setattr(Scale, "offset", 4.0), lambda: setattr(Scale, "offset", 1.0),
                unrelated=lambda: setattr(Scale, "unused", 1))


@scenario
def test_class_attribute_of_a_base():
    class Base(nn.Module):
        k = 2.0

    class Derived(Base):
        def forward(self, x):
            return x * self.k

    return Case(Derived(), lambda: setattr(Base, "k", 3.0), lambda: setattr(Base, "k", 2.0))


@scenario
def test_class_attribute_shadowed_on_a_derived_class():
    class Base(nn.Module):
        k = 2.0

    class Derived(Base):
        def forward(self, x):
            return x * self.k

    return Case(Derived(), lambda: setattr(Derived, "k", 3.0), lambda: "k" in vars(Derived) and delattr(Derived, "k"))


@scenario
def test_instance_attribute_shadows_class_attribute():
    return attribute_case(lambda m: m, "offset", 6.0)


@scenario
def test_absent_attribute_added():
    class Probe:
        pass

    o = Probe()

    def f(x):
        return x * o.k if hasattr(o, "k") else x + getattr(o, "shift", 1.0)

    return Case(f, lambda: setattr(o, "k", 3.0), lambda: o.__dict__.pop("k", None), unrelated=lambda: setattr(o, "z", 1))


@scenario
def test_absent_attribute_added_to_the_class():
    class Probe:
        pass

    o = Probe()
    return Case(lambda x: x + getattr(o, "shift", 1.0), lambda: setattr(Probe, "shift", 3.0),
                lambda: "shift" in vars(Probe) and delattr(Probe, "shift"))


@scenario
def test_attribute_deleted():
    o = types.SimpleNamespace(k=2.0)
    return Case(lambda x: x * getattr(o, "k", 5.0), lambda: delattr(o, "k"), lambda: setattr(o, "k", 2.0))


@scenario
def test_submodule_replaced():
    case = _submodule(nn.Linear(4, 4))
    case.captures = 1    # the same structure: its parameters are inputs of the same graph
    return case


@scenario
def test_submodule_replaced_by_another_type():
    return _submodule(nn.Sequential(nn.Linear(4, 4), nn.ReLU()))


def _submodule(new):
    m = Scale()
    old = m.lin
    return Case(m, lambda: setattr(m, "lin", new), lambda: setattr(m, "lin", old))


@scenario
def test_submodule_of_a_sequential_replaced():
    m = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2))
    old = m[1]
    return Case(m, lambda: m.__setitem__(1, nn.Sigmoid()), lambda: m.__setitem__(1, old))


@scenario
def test_submodule_appended():
    m = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
    extra = nn.Linear(4, 3)
    return Case(m, lambda: m.append(extra), lambda: m._modules.pop("2", None))


@scenario
def test_parameter_replaced():
    m = Scale()
    old, new = m.lin.weight, nn.Parameter(torch.randn(4, 4))
    # The same metadata and place: the new parameter may be an ordinary input of the same graph.
    return Case(m, lambda: setattr(m.lin, "weight", new), lambda: setattr(m.lin, "weight", old), captures=None)


@scenario
def test_parameter_replaced_by_one_of_another_shape():
    m = nn.Sequential(nn.PReLU())
    old, new = m[0].weight, nn.Parameter(torch.randn(4))
    return Case(m, lambda: setattr(m[0], "weight", new), lambda: setattr(m[0], "weight", old))


@scenario
def test_parameter_replaced_by_none():
    m = nn.Sequential(nn.Linear(4, 4))
    old = m[0].bias
    return Case(m, lambda: setattr(m[0], "bias", None), lambda: setattr(m[0], "bias", old))


@scenario
def test_parameter_data_swapped():
    m = Scale()
    old, new = m.lin.weight.data, torch.randn(4, 4)
    return Case(m, lambda: setattr(m.lin.weight, "data", new), lambda: setattr(m.lin.weight, "data", old), captures=1)


@scenario
def test_parameter_changed_in_place():
    m = Scale()

    def add(n):
        with torch.no_grad():
            m.lin.weight.add_(n)

    return Case(m, lambda: add(1.0), lambda: add(-1.0), captures=1)


@scenario
def test_parameter_frozen():
    m = nn.Sequential(nn.Linear(4, 4))

    def observe():
        return m[0].weight.requires_grad

    return Case(m, lambda: m.requires_grad_(False), lambda: m.requires_grad_(True), observe=observe)


@scenario
def test_parameters_tied_later():
    class Two(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)

        def forward(self, x):
            return self.b(self.a(x)), self.a.weight is self.b.weight

    m = Two()
    old = m.b.weight
    return Case(m, lambda: setattr(m.b, "weight", m.a.weight), lambda: setattr(m.b, "weight", old))


@scenario
def test_buffer_replaced():
    m = Scale()
    old, new = m.bias, torch.zeros(4)
    return Case(m, lambda: setattr(m, "bias", new), lambda: setattr(m, "bias", old), captures=None)


@scenario
def test_module_moved_to_double():
    m = nn.Sequential(nn.Linear(4, 4))
    return Case(lambda x: m(x.to(m[0].weight.dtype)), lambda: m.double(), lambda: m.float())


@scenario
def test_method_patched_on_the_class():
    m = Scale()
    old = Scale.helper
    return Case(m, lambda: setattr(Scale, "helper", lambda self, x: x - 1), lambda: setattr(Scale, "helper", old))


@scenario
def test_method_patched_on_the_instance():
    m = Scale()
    return Case(m, lambda: setattr(m, "helper", lambda x: x - 1), lambda: m.__dict__.pop("helper", None))


@scenario
def test_forward_patched_on_the_class():
    class M(nn.Module):
        def forward(self, x):
            return x + 1

    old = M.forward
    return Case(M(), lambda: setattr(M, "forward", lambda self, x: x - 1), lambda: setattr(M, "forward", old))


@scenario
def test_forward_patched_on_the_instance():
    m = nn.Sequential(nn.Linear(4, 4))
    return Case(m, lambda: setattr(m[0], "forward", lambda x: x - 1), lambda: m[0].__dict__.pop("forward", None))


@scenario
def test_class_of_an_object_reassigned():
    class A:
        def act(self, x):
            return x + 1

    class B:
        def act(self, x):
            return x * 3

    o = A()
    return Case(lambda x: o.act(x), lambda: setattr(o, "__class__", B), lambda: setattr(o, "__class__", A))


@scenario
def test_class_of_a_submodule_reassigned():
    m = nn.Sequential(nn.Linear(4, 4), nn.ReLU())

    class Shifted(nn.ReLU):
        def forward(self, x):
            return x + 1

    return Case(m, lambda: setattr(m[1], "__class__", Shifted), lambda: setattr(m[1], "__class__", nn.ReLU))


@scenario
def test_bases_reassigned():
    class One:
        def act(self, x):
            return x + 1

    class Two:
        def act(self, x):
            return x * 3

    class Mixed(One):
        pass

    o = Mixed()
    return Case(lambda x: o.act(x), lambda: setattr(Mixed, "__bases__", (Two,)), lambda: setattr(Mixed, "__bases__", (One,)))


@scenario
def test_property_replaced_on_the_class():
    class P:
        @property
        def k(self):
            return 2.0

    o, old = P(), P.__dict__["k"]
    return Case(lambda x: x * o.k, lambda: setattr(P, "k", property(lambda self: 3.0)), lambda: setattr(P, "k", old))


@scenario
def test_property_reads_outside_state():
    class P:
        def __init__(self):
            self._k = 2.0

        @property
        def k(self):
            return self._k

    o = P()
    return Case(lambda x: x * o.k, lambda: setattr(o, "_k", 3.0), lambda: setattr(o, "_k", 2.0))


@scenario
def test_property_added_over_an_instance_attribute():
    class P:
        pass

    o = P()
    o.k = 2.0
    return Case(lambda x: x * o.k, lambda: setattr(P, "k", property(lambda self: 3.0)),
                lambda: "k" in vars(P) and delattr(P, "k"))


@scenario
def test_getattr_added_to_the_class():
    class P:
        pass

    o = P()
    return Case(lambda x: x * getattr(o, "k", 1.0), lambda: setattr(P, "__getattr__", lambda self, name: 4.0),
                lambda: "__getattr__" in vars(P) and delattr(P, "__getattr__"))


@scenario
def test_slot_attribute():
    class S:
        __slots__ = ("k", "unused")

    o = S()
    o.k = 2.0
    return Case(lambda x: x * o.k, lambda: setattr(o, "k", 3.0), lambda: setattr(o, "k", 2.0),
                unrelated=lambda: setattr(o, "unused", 1))


@scenario
def test_special_method_patched_on_the_class():
    class C:
        def __call__(self, x):
            return x + 1

        def __len__(self):
            return 2

        def __getitem__(self, i):
            return i * 2.0

    o = C()

    def f(x):
        return o(x) * len(o) + o[3]

    def change():
        C.__call__ = lambda self, x: x - 1
        C.__len__ = lambda self: 3

    old_call, old_len = C.__call__, C.__len__

    def back():
        C.__call__, C.__len__ = old_call, old_len

    return Case(f, change, back)


@scenario
def test_function_attribute():
    def f(x):
        return x * getattr(f, "k", 2.0)

    return Case(f, lambda: setattr(f, "k", 3.0), lambda: f.__dict__.pop("k", None))


@scenario
def test_dict_of_the_instance_replaced():
    class P:
        pass

    o = P()
    o.k = 2.0
    old, new = o.__dict__, {"k": 3.0}
    return Case(lambda x: x * o.k, lambda: setattr(o, "__dict__", new), lambda: setattr(o, "__dict__", old))


@scenario
def test_attribute_of_a_bound_method_owner():
    class Owner:
        def __init__(self):
            self.k = 2.0

        def act(self, x):
            return x * self.k

    o = Owner()
    return Case(o.act, lambda: setattr(o, "k", 3.0), lambda: setattr(o, "k", 2.0))


class AttributeDict(dict):
    __getattr__ = dict.__getitem__
    __setattr__ = dict.__setitem__


class GetDict(dict):
    __getattr__ = dict.get


def settings_case(cls, read):
    options = cls(k=2.0, other=0)
    return Case(lambda x: x * read(options), lambda: options.update(k=3.0), lambda: options.update(k=2.0),
                unrelated=lambda: options.update(other=1))


@scenario
def test_keys_of_a_dict_as_attributes():
    return settings_case(AttributeDict, lambda options: options.k)


@scenario
def test_keys_of_a_dict_as_attributes_by_get():
    return settings_case(GetDict, lambda options: options.k)


@scenario
def test_keys_of_a_dict_by_getattr():
    return settings_case(AttributeDict, lambda options: getattr(options, "k", 1.0))


@scenario
def test_an_absent_key_as_attribute():
    options = GetDict()
    return Case(lambda x: x * (options.k or 2.0), lambda: options.update(k=3.0), lambda: options.pop("k", None))


@scenario
def test_a_module_held_by_such_a_dict():
    options = AttributeDict(loss=nn.MSELoss())
    return Case(lambda x: options.loss(x, x * 2), lambda: options.update(loss=nn.L1Loss()),
                lambda: options.update(loss=nn.MSELoss()), captures=None)


@scenario
def test_keys_written_as_attributes():
    options = AttributeDict(k=2.0, n=0.0)

    def f(x):
        options.n = options.k + 1
        return x * options.n

    return Case(f, lambda: options.update(k=3.0), lambda: options.update(k=2.0), observe=lambda: dict(options))


@scenario
def test_getattr_of_a_metaclass_in_c():
    table = {"k": 2.0}

    class Meta(type):
        __getattr__ = staticmethod(lambda name: table[name])

    class P(metaclass=Meta):
        pass

    return Case(lambda x: x * P.k, lambda: table.update(k=3.0), lambda: table.update(k=2.0))


@right
def test_special_methods_that_do_not_bind():
    table = {"k": 2.0}

    class Look:
        __getattr__ = table.__getitem__
        __getitem__ = staticmethod(functools.partial(table.get))

    return Case(lambda x: x * Look().k * Look()["k"], lambda: table.update(k=3.0), lambda: table.update(k=2.0))


@right
def test_a_special_method_bound_to_another_object():
    class Owner:
        def __init__(self):
            self.k = 2.0

        def look(self, name):
            return self.k

    owner = Owner()

    class Look:
        __getattr__ = owner.look

    return Case(lambda x: x * Look().any, lambda: setattr(owner, "k", 3.0), lambda: setattr(owner, "k", 2.0))


@right
def test_getattr_of_a_module_in_c():
    module, table = types.ModuleType("made"), {"k": 2.0}
    module.__getattr__ = table.__getitem__
    return Case(lambda x: x * module.k, lambda: table.update(k=3.0), lambda: table.update(k=2.0))


@right
def test_a_setter_in_c():
    class Log(list):
        last = property(None, list.append)

    log, scale = Log(), [2.0]

    def f(x):
        log.last = scale[0]
        return x * scale[0]

    return Case(f, lambda: scale.append(scale.pop() + 1), lambda: scale.clear() or scale.append(2.0),
                observe=lambda: list(log))
