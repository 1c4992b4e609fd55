"""Standard-library types in model code: dataclasses, named tuples, enums, typing, copy, warnings-free helpers."""
import collections
import copy
import dataclasses
import enum
import functools
import typing

import torch

from support.expect import batch, built, check, program


@dataclasses.dataclass
class Out:
    logits: torch.Tensor
    loss: torch.Tensor | None = None
    extras: list = dataclasses.field(default_factory=list)
    n: int = 3

    def __post_init__(self):
        self.n += 1


@dataclasses.dataclass(frozen=True)
class Tile:
    rows: int
    cols: int = 2
    tags: tuple = ("plain",)

    @property
    def area(self):
        return self.rows * self.cols


@dataclasses.dataclass(slots=True)
class Slim:
    a: torch.Tensor
    b: float = 1.0


@program
def test_dataclass(x):
    out = Out(x * 2, extras=[x])
    out.loss = out.logits.sum()
    return out


@program
def test_dataclass_tools(x):
    t = Tile(3)
    w = dataclasses.replace(t, cols=5)
    return x * w.area, w, t == Tile(3), dataclasses.is_dataclass(t), [f.name for f in dataclasses.fields(t)], {t: 1}[Tile(3)]


@program
def test_dataclass_frozen_refuses(x):
    t = Tile(3)
    try:
        t.rows = 4
    except dataclasses.FrozenInstanceError:
        return x * t.rows
    return x


@program
def test_dataclass_slots(x):
    s = Slim(x)
    s.b += 1
    return s, s.a * s.b


@program(inputs=lambda i: (Out(batch(i), extras=[batch(i + 3)]), {"k": Slim(batch(i + 5), 2.0)}))
def test_dicts_and_dataclasses_in_and_out(out, named):
    total = out.logits + out.extras[0] * named["k"].b
    return {"out": Out(total, n=out.n), "same": out, "slim": Slim(named["k"].a)}


class Pair(typing.NamedTuple):
    a: torch.Tensor
    b: int = 5

    def total(self):
        return self.a * self.b


Point = collections.namedtuple("Point", ["x", "y"])


@program
def test_namedtuple(x):
    p = Pair(x)
    a, b = p
    q = p._replace(b=7)
    pt = Point(x, y=2)
    return p, a * b, q.total(), pt, pt.x + pt[1], pt._fields, pt._asdict(), isinstance(pt, tuple)


@program(inputs=lambda i: (Point(batch(i), 2.0),))
def test_namedtuple_argument(p):
    return p.x * p.y, p


@program
def test_torch_return_types(x):
    m = x.max(dim=1)
    values, indices = x.sort(dim=1)
    return m, m.values + 1, m.indices, values, torch.topk(x, 2), x.min(0)[0]


class Colour(enum.Enum):
    RED = 1
    BLUE = "b"

    @property
    def weight(self):
        return 2.0 if self is Colour.RED else 3.0


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Flags(enum.Flag):
    A = enum.auto()
    B = enum.auto()


Flags.A | Flags.B    # enum makes and keeps a combined flag at its first use


@program
def test_enum(x):
    c = Colour("b")
    return (x * c.weight + Level.HIGH, c, c.name, c.value, Colour["RED"] is Colour.RED, [m.name for m in Colour], Level.LOW < Level.HIGH,
            Flags.A | Flags.B, Flags.A in (Flags.A | Flags.B), {Colour.RED: 1}[Colour.RED])


@program(inputs=lambda i: (batch(i), Colour.RED))
def test_enum_argument(x, c):
    match c:
        case Colour.RED:
            return x + 1
        case Colour.BLUE:
            return x - 1


@program
def test_copy(x):
    d = {"a": [1, 2], "b": {"c": 3}}
    shallow, deep = copy.copy(d), copy.deepcopy(d)
    deep["a"].append(3)
    return x * deep["a"][2], shallow["a"] is d["a"], deep["b"] == d["b"], d


@program
def test_functools_reduce_and_cmp(x):
    return functools.reduce(lambda a, b: a * b, [x, x + 1, 2.0]), sorted([3, 1, 2], key=functools.cmp_to_key(lambda a, b: b - a))


@built
def test_cached_property():
    class C:
        def __init__(self):
            self.base = 2.0

        @functools.cached_property
        def k(self):
            return self.base * 3
    c = C()
    c.k
    return lambda x: x * c.k


@built
def test_lru_cache():
    @functools.lru_cache
    def scale(n):
        return n * 2.0
    return lambda x: x * scale(x.shape[0])


class Output(collections.OrderedDict):
    """The shape of transformers' ModelOutput: fields mirrored into a mapping."""

    def __post_init__(self):
        for f in dataclasses.fields(self):
            v = getattr(self, f.name)
            if v is not None:
                super().__setitem__(f.name, v)

    def __getitem__(self, k):
        return super().__getitem__(k) if isinstance(k, str) else tuple(self.values())[k]


@dataclasses.dataclass
class Scores(Output):
    logits: torch.Tensor = None
    loss: torch.Tensor = None


@program
def test_dict_like_output(x):
    s = Scores(logits=x * 2)
    return s, s[0] + 1, s["logits"], list(s)


class Config(dict):
    def __getattr__(self, name):
        return self[name]


class Stack(list):
    def push(self, v):
        self.append(v)
        return self


@program
def test_dict_and_list_subclasses(x):
    c = Config(k=2.0)
    return x * c.k, Stack([x]).push(1), c, len(c)


@program
def test_subclasses_made_inside(x):
    class Local(list):
        def push(self, v):
            self.append(v)
            return self
    return x * 2, list(Local([x]).push(1))


@program
def test_typing_is_free(x):
    v: typing.Optional[list[int]] = typing.cast(list, [1])
    return x * v[0], typing.TYPE_CHECKING


def test_module_with_everything():
    """One module with the features people mix: closures, properties, context managers, star arguments…"""
    class Mixed(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.blocks = torch.nn.ModuleDict({"a": torch.nn.Linear(4, 4), "b": torch.nn.Linear(4, 4)})
            self.log, self.config = [], {"order": ["a", "b"], "scale": 0.5}

        @property
        def scale(self):
            return self.config["scale"]

        def __getattr__(self, name):
            if name == "virtual":
                return 3.0
            return super().__getattr__(name)

        def run(self, *names, **options):
            def apply(t):
                for n in names:
                    t = self.blocks[n](t) * options.get("scale", self.scale)
                return t
            return apply

        def forward(self, x, *rest, **kw):
            try:
                missing = self.config["nope"]
            except KeyError:
                missing = 1.0
            with torch.no_grad():
                stat = x.mean()
            y = self.run(*self.config["order"], **kw)(x) + missing * self.virtual
            parts = [p for p in (g * 2 for g in y.chunk(2, 1))]
            self.log.append(len(parts))
            return {"y": y, "parts": parts, "stat": stat, "rest": rest}

    check(Mixed, lambda i: ((batch(i), 5, "s"), {"scale": 0.25}), train=True, state=lambda m: m.log)


def test_module_that_logs_and_counts():
    """A list attribute is appended to, a counter lives in another object: every hit does both."""
    class Counter:
        def __init__(self):
            self.calls = 0

    class Logged(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.lin, self.outputs, self.counter = torch.nn.Linear(4, 2), [], Counter()

        def forward(self, x):
            self.counter.calls += 1
            y = self.lin(x)
            self.outputs.append(y)
            return y

    check(Logged, train=True, state=lambda m: (len(m.outputs), [o.detach() for o in m.outputs], m.counter.calls))


class Noted(torch.nn.Module):
    """Writes an attribute before an LSTM runs, which looks at its weights through weak references."""

    def __init__(self):
        super().__init__()
        self.rnn = torch.nn.LSTM(4, 3, batch_first=True)
        self.sizes = None

    def forward(self, x):
        self.sizes = x.shape
        return self.rnn(x)[0]


def test_weak_references_after_a_write():
    check(Noted, lambda i: batch(i, 2, 3, 4))
