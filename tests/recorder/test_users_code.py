"""Rules look at the user's objects and never run their code: it would run once more than the program says."""
import weakref

import pytest

import magpy
from support import compare
from support.expect import batch


class Counted:
    """Equality and hash in Python; counts what runs."""

    def __init__(self, n):
        self.n, self.ran = n, 0

    def __hash__(self):
        self.ran += 1
        return hash(self.n)

    def __eq__(self, other):
        self.ran += 1
        return type(other) is Counted and self.n == other.n


class Proxy:
    """Says that it is a list, and counts who asks."""

    def __init__(self):
        self.ran = 0

    @property
    def __class__(self):
        self.ran += 1
        return list


class Unsure:
    """Asked for its name or for a truth, it counts."""
    ran = 0

    @property
    def __isabstractmethod__(self):
        Unsure.ran += 1
        return False

    def __getattr__(self, name):
        Unsure.ran += 1
        raise AttributeError(name)


class Odd:
    """Its attributes are looked up by code that counts; so is its documentation."""
    ran = 0

    class Doc:
        def __get__(self, obj, cls):
            Odd.ran += 1
            return "text"

    __doc__ = Doc()

    def __getattribute__(self, name):
        Odd.ran += 1
        return object.__getattribute__(self, name)


class Named:
    """A frozen thing with a name of its own, among a function's constants."""
    ran = 0

    @property
    def __name__(self):
        Named.ran += 1
        return "name"

    def __hash__(self):
        return 1


NAMED = Named()


class Reference(weakref.ref):
    ran = 0

    def __call__(self):
        Reference.ran += 1
        return super().__call__()


class Meta(type):
    ran = 0

    def __instancecheck__(cls, obj):
        Meta.ran += 1
        return hasattr(obj, "n")

    def __hash__(cls):
        Meta.ran += 1
        return 1

    def __eq__(cls, other):
        return cls is other


class Matched(metaclass=Meta):
    __match_args__ = ("n",)


def match(key, d):
    match key:
        case Matched(n):
            return n


def changed(key, d):
    own = dict(d)
    own[key] = 5
    own.setdefault(Counted(9), 1)
    own.pop(Counted(9))
    return own.get(key), len(own)


PROGRAMS = {
    "lookup": lambda key, d: d.get(key), "contains": lambda key, d: key in d, "item": lambda key, d: d[key],
    "setdefault": lambda key, d: d.setdefault(key, 3), "pop": lambda key, d: d.pop(key, None),
    "update": lambda key, d: d.update([(key, 1)]), "made": lambda key, d: len(dict([(key, 1)])),
    "merged": lambda key, d: len({**d, key: 1}), "equal": lambda key, d: d == {key: 1},
    "copied": lambda key, d: changed(key, d), "other keys": lambda key, d: d.get("a"),
    "in a set": lambda key, d: len({key, 1}), "in a list": lambda key, d: key in [1, "a", key],
    "into an outside set": lambda key, d: d["set"].update([key, 2]),
    "isinstance": lambda key, d: isinstance(key, Matched), "match": match,
    "a proxy": lambda key, d: [len([d["proxy"]]), callable(d["proxy"]), d["proxy"] is None, [d["proxy"], 1].index(1)],
    "a property's function": lambda key, d: [getattr(d["property"], "__name__", 1), d["property"].__isabstractmethod__],
    "attributes of its own": lambda key, d: [d["odd"].a, type(d["odd"]).__doc__, object.__getattribute__(d["odd"], "a")],
    "a name of its own": lambda key, d: [NAMED is None, NAMED == 3, {NAMED: 1}[NAMED], getattr(NAMED, "a", 1)],
    "a weak reference": lambda key, d: [d["reference"]() is None, d["reference"] == Reference(key), len({d["reference"]})],
    "a class with a hash": lambda key, d: {Matched: 1}[Matched],
}


def state(d, key):
    return [d["proxy"].ran, Meta.ran, Unsure.ran, Odd.ran, Named.ran, Reference.ran, key.ran, sum(k.ran for k in list(d) if type(k) is Counted), len(d)]


@pytest.mark.parametrize("name", PROGRAMS)
def test_code_of_keys_and_proxies_runs_as_often_as_in_eager(name):
    program = PROGRAMS[name]

    def f(x, key, d):
        return x + 1, program(key, d)
    compiled = magpy.compile(f, backend="eager")
    for i in range(3):
        seen = []
        for g in (compiled, f):
            Meta.ran = Unsure.ran = Odd.ran = Named.ran = Reference.ran = 0
            key, proxy = Counted(1), Proxy()
            odd = Odd()
            odd.__dict__["a"] = 3
            Odd.ran = 0
            d = dict([("odd", odd), ("reference", Reference(key)), (Counted(1), 7), ("a", 2), ("proxy", proxy), ("set", {1}), ("property", property(Unsure())), (Counted(2), 8)])
            seen.append((g(batch(i), key, d), state(d, key)))
        compare.equal(seen[0], seen[1], f"{name}, call {i}")
    assert "internal-error" not in {s.reason for s in magpy.explain(compiled).stops}, magpy.explain(compiled).stops


def test_a_class_without_an_mro_can_be_looked_at():
    """While a metaclass's mro() runs, the class has none."""
    class Looking(type):
        def mro(cls):
            seen.append(getattr(cls, "k", None))
            return super().mro()
    seen = []

    def f(x):
        class Made(metaclass=Looking):
            k = 1
        return x * Made.k
    compiled = magpy.compile(f, backend="eager")
    for i in range(2):
        compare.equal(compiled(batch(i)), f(batch(i)))
    assert "internal-error" not in {s.reason for s in magpy.explain(compiled).stops}
