"""Classes and descriptors: attribute lookup, properties, slots, super, special methods, classes made inside."""
import abc

import torch

from support.expect import built, check, program


class Plain:
    shared = 2.0

    def __init__(self, k):
        self.k = k

    def act(self, x):
        return x * self.k + self.shared

    @classmethod
    def make(cls, k):
        return cls(k)

    @staticmethod
    def plus(a, b):
        return a + b


@program
def test_instance_inside(x):
    p = Plain(3.0)
    p.k += 1
    return p.act(x)


@program
def test_instance_returned(x):
    p = Plain(3.0)
    p.out = x * 2
    return p


@program
def test_classmethod_and_staticmethod(x):
    return Plain.make(2.0).act(x) + Plain.plus(x, 1) + Plain(1.0).plus(x, x)


@built
def test_instance_outside():
    p = Plain(3.0)
    return lambda x: p.act(x) + p.k


class Celsius:
    def __init__(self, t):
        self._t = t

    @property
    def t(self):
        return self._t

    @t.setter
    def t(self, v):
        self._t = v * 2

    @t.deleter
    def t(self):
        self._t = None


@program
def test_property(x):
    c = Celsius(x)
    c.t = c.t + 1
    y = c.t
    del c.t
    return y, c.t


@built
def test_property_outside():
    c = Celsius(4.0)
    return lambda x: x * c.t


def test_property_setter_on_an_outside_object():
    def build():
        c = Celsius(1.0)

        def f(x):
            c.t = x
            return c.t + 1
        f.c = c
        return f
    check(build, state=lambda f: f.c)


class Typed:
    """A data descriptor that keeps its value under another name."""

    def __set_name__(self, owner, name):
        self.name = "_" + name

    def __get__(self, obj, owner=None):
        return self if obj is None else getattr(obj, self.name)

    def __set__(self, obj, value):
        setattr(obj, self.name, value)


class Lazy:
    """A non-data descriptor that caches into the instance."""

    def __init__(self, f):
        self.f = f

    def __set_name__(self, owner, name):
        self.name = name

    def __get__(self, obj, owner=None):
        value = obj.__dict__[self.name] = self.f(obj)
        return value


class Described:
    size = Typed()

    def __init__(self, size):
        self.size = size

    @Lazy
    def double(self):
        return self.size * 2


@program
def test_descriptors_inside(x):
    d = Described(3.0)
    d.size = d.size + 1
    return x * d.size + d.double + d.double


@built
def test_data_descriptor_outside():
    d = Described(3.0)
    return lambda x: x * d.size


class Slotted:
    __slots__ = ("a", "b")

    def __init__(self, a):
        self.a = a


@program
def test_slots(x):
    s = Slotted(x)
    s.b = s.a * 2
    s.a = s.b + 1
    return s.a, hasattr(s, "c"), s


@built
def test_slots_outside():
    s = Slotted(2.0)
    return lambda x: x * s.a


class Fallback:
    def __init__(self):
        self.known = 1.0

    def __getattr__(self, name):
        if name.startswith("no_"):
            raise AttributeError(name)
        return len(name) * 1.0


@program
def test_getattr(x):
    f = Fallback()
    return x * f.known + f.abc + getattr(f, "no_such", 7.0), hasattr(f, "no_such")


@built
def test_getattr_outside():
    f = Fallback()
    return lambda x: x * f.abcd + f.known


class Guarded:
    def __init__(self):
        object.__setattr__(self, "log", [])
        self.a = 1.0

    def __setattr__(self, name, value):
        self.log.append(name)
        object.__setattr__(self, name, value)

    def __getattribute__(self, name):
        return object.__getattribute__(self, name)

    def __delattr__(self, name):
        object.__delattr__(self, name)


@program
def test_setattr_delattr_getattribute(x):
    g = Guarded()
    g.b = x * 2
    del g.a
    return g.b, g.log, hasattr(g, "a")


class Vector:
    def __init__(self, v):
        self.v = v

    def __add__(self, other):
        return Vector(self.v + (other.v if isinstance(other, Vector) else other))

    __radd__ = __add__

    def __iadd__(self, other):
        self.v = self.v + other
        return self

    def __mul__(self, k):
        return Vector(self.v * k) if isinstance(k, (int, float)) else NotImplemented

    def __rmul__(self, k):
        return self * k

    def __neg__(self):
        return Vector(-self.v)

    def __matmul__(self, other):
        return self.v @ other.v.T

    def __eq__(self, other):
        return isinstance(other, Vector) and self.v is other.v

    def __hash__(self):
        return 7

    def __lt__(self, other):
        return self.v.shape[0] < other.v.shape[0]

    def __bool__(self):
        return True

    def __len__(self):
        return self.v.shape[0]

    def __getitem__(self, i):
        return self.v[i]

    def __contains__(self, k):
        return k == 3

    def __iter__(self):
        return iter([self.v, self.v + 1])

    def __call__(self, t):
        return self.v + t

    def __repr__(self):
        return f"Vector({len(self)})"

    def __index__(self):
        return 1

    def __float__(self):
        return 2.5


@program
def test_operators(x):
    a, b = Vector(x), Vector(x + 1)
    c = a + b + 1
    c += 2
    d = 2 * a * 3
    return c.v, (-d).v, a @ b, (1 + a).v, a == b, a == a, a < b, bool(a)


@program
def test_operator_not_implemented(x):
    try:
        Vector(x) * "a"
    except TypeError:
        return x + 1


@program
def test_container_protocol(x):
    v = Vector(x)
    first, second = v
    return len(v), v[0], v[1:], 3 in v, 4 in v, first + second, list(v), v(x), [10, 20][v], float(v), repr(v)


@built
def test_container_protocol_outside():
    class Box:
        def __init__(self):
            self.items = [1.0, 2.0]

        def __len__(self):
            return len(self.items)

        def __getitem__(self, i):
            return self.items[i]

        def __contains__(self, v):
            return v in self.items

        def __iter__(self):
            return iter(self.items)

        def __call__(self, x):
            return x + len(self)
    b = Box()

    def f(x):
        for v in b:
            x = x * v
        return b(x) + b[1] + (2.0 in b) + len(b)
    return f


@built
def test_old_iteration_protocol():
    class Old:
        def __getitem__(self, i):
            if i >= 3:
                raise IndexError(i)
            return i * 2.0
    o = Old()
    return lambda x: sum([x * v for v in o])


class Base:
    def act(self, x):
        return x + 1

    def both(self, x):
        return self.act(x) * 2


class Left(Base):
    def act(self, x):
        return super().act(x) * 3


class Right(Base):
    def act(self, x):
        return super().act(x) - 4


class Diamond(Left, Right):
    def act(self, x):
        return super(Diamond, self).act(x) + Base.act(self, x)


@program
def test_super_and_mro(x):
    return Diamond().both(x), [c.__name__ for c in Diamond.__mro__]


@built
def test_super_outside():
    d = Diamond()
    return lambda x: d.both(x)


class Abstract(abc.ABC):
    @abc.abstractmethod
    def act(self, x): ...


class Concrete(Abstract):
    def act(self, x):
        return x * 2


@program
def test_abstract_class(x):
    c = Concrete()
    return c.act(x), isinstance(c, Abstract), issubclass(Concrete, Abstract)


@program
def test_class_made_inside(x):
    class Local:
        k = 2.0

        def __init__(self, t):
            self.t = t

        def act(self):
            return self.t * self.k
    return Local(x).act()


@program
def test_class_made_by_type(x):
    Made = type("Made", (Plain,), {"shared": 5.0})
    return Made(2.0).act(x)


class Meta(type):
    def __call__(cls, *args):
        made = super().__call__(*args)
        made.stamp = 3.0
        return made


class Stamped(metaclass=Meta):
    def __init__(self, t):
        self.t = t


@program
def test_metaclass(x):
    s = Stamped(x)
    return s.t * s.stamp


class Newed:
    def __new__(cls, k):
        made = super().__new__(cls)
        made.early = k
        return made

    def __init__(self, k):
        self.late = k + 1


@program
def test_new_and_init(x):
    n = Newed(x)
    return n.early + n.late


class Registry:
    kinds = {}

    def __init_subclass__(cls, **kw):
        super().__init_subclass__(**kw)
        Registry.kinds[cls.__name__] = cls


class Registered(Registry):
    def act(self, x):
        return x - 1


@program
def test_registry_lookup(x):
    return Registry.kinds["Registered"]().act(x)


@program
def test_getattr_setattr_hasattr_builtins(x):
    p = Plain(1.0)
    setattr(p, "t", x)
    got = getattr(p, "t") * getattr(p, "none", 2.0)
    delattr(p, "k")
    return got, hasattr(p, "k"), sorted(vars(p)), callable(p.act), isinstance(p, (int, Plain)), type(p) is Plain


@program
def test_bound_and_unbound_methods(x):
    p = Plain(2.0)
    m = p.act
    return m(x), Plain.act(p, x), m.__self__ is p, m.__func__ is Plain.act


@program
def test_class_attribute_written_inside(x):
    class Counter:
        n = 0

    Counter.n += 2
    return x * Counter.n


def test_attribute_write_and_count_outside():
    def build():
        m = torch.nn.Linear(4, 4)
        m.calls, m.last = 0, None

        def f(x):
            m.calls += 1
            m.last = m(x)
            return m.last * 2
        f.m = m
        return f
    check(build, state=lambda f: (f.m.calls, f.m.last))
