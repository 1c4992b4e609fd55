"""Modules of the standard library inside a compiled function: captured whole, later calls hit, results are eager's."""
import abc
import array
import base64
import bisect
import collections
import contextlib
import copy
import dataclasses
import datetime
import difflib
import enum
import fractions
import functools
import graphlib
import hashlib
import heapq
import inspect
import io
import itertools
import json
import logging
import operator
import os.path
import pathlib
import queue
import random
import re
import statistics
import string
import struct
import sys
import textwrap
import types
import typing
import unicodedata
import uuid
import warnings
import weakref
import zlib

import pytest
import torch

import magpy
from support import compare
from support.expect import assert_counts, batch, program

NUMBERS = [3, 1, 2]
TABLE = {"a": 1, "b": [1, 2]}
POINT = types.SimpleNamespace(x=1, parts=[1])


@dataclasses.dataclass
class Options:
    a: int
    parts: list = dataclasses.field(default_factory=list)


OPTIONS = Options(3, [4])


# ---- text and bytes -----------------------------------------------------------------------------------------------

@program
def test_json(x):
    return (x, json.dumps({"a": [1, 2.5, None, True, "x"], "b": {"c": 1}}), json.loads('{"a": [1, 2.5]}'), json.dumps(TABLE),
            json.dumps(TABLE, indent=2, sort_keys=True), json.dumps(OPTIONS, default=lambda o: o.__dict__), json.dumps(collections.OrderedDict(z=NUMBERS)))


@program
def test_struct_and_checksums(x):
    packer = struct.Struct("<ih")
    return (x * struct.unpack("<i", struct.pack("<i", 3))[0], packer.unpack(packer.pack(1, 2)), struct.calcsize("ii"), zlib.crc32(b"abc"),
            zlib.decompress(zlib.compress(b"abc")), list(struct.iter_unpack("<h", b"abcd")))


@program
def test_hashes(x):
    h = hashlib.sha256(b"abc")
    h.update(b"d")
    return x, h.hexdigest(), hashlib.md5(b"a").hexdigest(), str(uuid.uuid5(uuid.NAMESPACE_DNS, "a")), hashlib.blake2b(b"a").digest()


@program
def test_encodings(x):
    return (x, base64.b64encode(b"abc"), base64.b64decode("YWJj"), base64.urlsafe_b64encode(b"abc"), "abc".encode("utf-16"), b"a".hex(),
            b"abc".decode("latin-1"), unicodedata.normalize("NFD", "é"), bytes.fromhex("00ff"), b"%d" % 3, b"abc".translate(None, b"a"))


@program
def test_text_modules(x):
    return (x, textwrap.dedent("  a\n  b"), textwrap.fill("a b c d", 3), string.Template("$a b").substitute(a=1), string.capwords("a b"),
            string.Formatter().format("{0} {a}", 1, a=2), difflib.get_close_matches("ab", ["ac", "zz"]))


@program
def test_format_with_fields_of_objects(x):
    return "{0.shape} {0.ndim} {p.x}".format(x, p=POINT), "{a[0]} {b[a]}".format(a=NUMBERS, b=TABLE), "{:>{w}}".format(3, w=5), x + 1


@program
def test_regular_expressions_with_groups(x):
    return (x, re.sub(r"(a)", r"\1b", "ab"), re.match("(a)(b)", "ab").expand(r"\2\1"), re.sub(r"\d", lambda m: str(int(m[0]) + 1), "a1"),
            re.subn("a", "b", "aa"), [m.span() for m in re.finditer("a", "aa")], re.split(",", "a,b"))


@program
def test_paths(x):
    path = pathlib.PurePath("/a/b.txt")
    return (x, path.name, path.suffix, str(path.parent), (path.parent / "c").as_posix(), path.stem, path.parts, str(pathlib.Path("x") / "y"),
            os.path.join("a", "b"), os.path.basename("/a/b.c"), os.path.splitext("a.b"), os.path.normpath("a/../b"), os.path.split("a/b"))


@program
def test_streams_of_ones_own(x):
    text, data = io.StringIO(), io.BytesIO()
    text.write("abc\nd")
    print("printed", TABLE, file=text)
    text.writelines(c for c in "xy")
    data.write(b"abc")
    data.seek(1)
    lines = [line.strip() for line in io.StringIO(text.getvalue())]
    return x * len(text.getvalue()), text.getvalue(), data.read(), lines


# ---- numbers and orders ------------------------------------------------------------------------------------------

@program
def test_orders(x):
    ordered = sorted(NUMBERS)
    bisect.insort(ordered, 2)
    bisect.insort_left(ordered, 0)
    heap = list(NUMBERS)
    heapq.heapify(heap)
    heapq.heappush(heap, 0)
    pairs = []
    heapq.heappush(pairs, (2, "b"))
    heapq.heappush(pairs, (1, "a"))
    return (x * heapq.heappop(heap), heap, ordered, bisect.bisect(ordered, 2), bisect.bisect_right(ordered, 2, key=lambda v: v),
            heapq.nlargest(2, NUMBERS), heapq.nsmallest(2, NUMBERS, key=lambda v: -v), heapq.heappushpop(heap, 1), pairs,
            list(heapq.merge([1, 3], [2])), heapq.nlargest(1, pairs, key=lambda pair: pair[0]))


class Length:
    def __init__(self, n):
        self.n = n

    def __lt__(self, other):
        return self.n < other.n

    def __eq__(self, other):
        return isinstance(other, Length) and self.n == other.n

    def __hash__(self):
        return hash(self.n)


LENGTHS = [Length(3), Length(1)]


@program
def test_objects_that_order_and_hash_themselves(x):
    heap = []
    for each in LENGTHS:
        heapq.heappush(heap, each)
    return (x * sorted(LENGTHS)[0].n, heapq.heappop(heap).n, min(LENGTHS).n, Length(1) in LENGTHS, LENGTHS.index(Length(1)),
            len({Length(1), Length(1)}), len(set(LENGTHS)), {Length(1): 2}[Length(1)], bisect.bisect([Length(0)], LENGTHS[1]))


@program
def test_numbers(x):
    third = fractions.Fraction(1, 3) + fractions.Fraction("1/6")
    return (x * float(third), statistics.mean(NUMBERS), statistics.median(NUMBERS), statistics.stdev(NUMBERS), statistics.fmean(NUMBERS),
            third > 0, third.numerator, 5.5 % 2, (5).bit_count())


@program
def test_random_numbers_from_a_seed(x):
    r = random.Random(3)
    order = [1, 2, 3, 4]
    r.shuffle(order)
    return x * r.random(), r.randint(0, 10), r.choice(order), order, r.sample(order, 2), r.gauss(0, 1), r.uniform(0, 1)


# ---- objects ---------------------------------------------------------------------------------------------------------

@program
def test_copies_of_objects(x):
    mine = Options(1, [1])
    again = copy.deepcopy([mine, mine])
    return (copy.deepcopy(mine), copy.copy(mine), again, again[0] is again[1], copy.deepcopy(OPTIONS), copy.copy(OPTIONS), x,
            copy.copy({1, 2}), copy.deepcopy((1, [2])), dataclasses.replace(OPTIONS, a=5), dataclasses.asdict(OPTIONS), repr(OPTIONS))


@program
def test_chains_and_counts(x):
    chain = collections.ChainMap({"a": 1}, TABLE)
    counts = collections.Counter("abca")
    counts.update("zz")
    counts.subtract("a")
    return (x * chain["a"], chain["b"], dict(chain), chain.copy()["a"], len(chain), list(chain), counts.most_common(1),
            counts + collections.Counter("q"), list(counts.elements()), counts.total())


@functools.singledispatch
def size(v):
    return 0


@size.register
def _(v: int):
    return v


@size.register(list)
def _(v):
    return len(v)


def test_single_dispatch():
    def f(x):
        return x * size(2), size("a"), size([1])
    assert [size(v) for v in (2, "a", [1])] == [2, 0, 1]     # functools has looked the types up
    compiled = magpy.compile(f, backend="eager", fullgraph=True)
    for i in range(3):
        assert torch.equal(compiled(batch(i))[0], batch(i) * 2)
    assert_counts(compiled, 1, 2)
    size.register(int, lambda v: v + 10)
    assert torch.equal(magpy.compile(f, backend="eager")(batch(0))[0], compiled(batch(0))[0])
    assert torch.equal(compiled(batch(1))[0], batch(1) * 12)
    size.register(int, lambda v: v)


@program
def test_functions_about_functions(x):
    @functools.lru_cache
    def fib(n):
        return n if n < 2 else fib(n - 1) + fib(n - 2)
    return x * fib(6), operator.call(len, NUMBERS), list(inspect.signature(test_single_dispatch).parameters), inspect.isfunction(fib)


@program
def test_queues_and_graphs(x):
    q = queue.Queue()
    q.put(1)
    return x * q.get(), q.empty(), list(graphlib.TopologicalSorter({"a": ["b"]}).static_order())


@program
def test_weak_references(x):
    thing = Options(1)
    reference = weakref.ref(thing)
    return x, reference() is thing, weakref.ref(thing) is reference


@program
def test_coroutines_that_are_driven_by_hand(x):
    async def inner(n):
        return n * 2

    async def outer(n):
        async with manager() as m:
            return await inner(n) + m

    @contextlib.asynccontextmanager
    async def manager():
        yield 1
    task = outer(3)
    try:
        task.send(None)
    except StopIteration as stop:
        return x * stop.value


@program
def test_asynchronous_iteration(x):
    async def numbers():
        for n in NUMBERS:
            yield n

    async def total():
        return sum([n async for n in numbers()])
    try:
        total().send(None)
    except StopIteration as stop:
        return x * stop.value


@program
def test_iterators(x):
    return (x, list(itertools.batched("abcd", 2)), list(map(dict.fromkeys, ["a"])), list(itertools.starmap(itertools.repeat, [(1, 2)]))
            and 1, [k for k, _ in itertools.groupby([1, "a"], type)])


# ---- effects ---------------------------------------------------------------------------------------------------------

def shows(x):
    print([1, 2], {"a": (1.5, None)}, torch.float32, Options, OPTIONS.parts, x.shape)
    print(OPTIONS)
    print("careful", file=sys.stderr)
    sys.stdout.write("written\n")
    return x + 1


def test_what_is_printed_is_printed_again(capsys):
    compiled = magpy.compile(shows, backend="eager", fullgraph=True)
    shows(batch(0))
    want = capsys.readouterr()
    for i in range(4):
        compiled(batch(i))
        assert capsys.readouterr() == want
    assert_counts(compiled, 1, 3)
    OPTIONS.parts.append(5)
    try:
        shows(batch(0))
        want = capsys.readouterr()
        compiled(batch(0))
        assert capsys.readouterr() == want
    finally:
        OPTIONS.parts.pop()


LOG = logging.getLogger("magpy.test.stdlib")


def logs(x):
    mine = [1]
    LOG.info("a %s", x.shape)
    LOG.warning("mine %s", mine, extra={"k": mine[0]})
    mine.append(2)
    LOG.error("table %s", TABLE)
    LOG.debug("object %s", OPTIONS, exc_info=True)
    return x * LOG.isEnabledFor(logging.DEBUG) + x


def test_logging(caplog):
    def lines():
        found = caplog.text, [getattr(record, "k", None) for record in caplog.records]
        caplog.clear()
        return found
    with caplog.at_level(logging.INFO, LOG.name):
        logs(batch(0))
        want = lines()
        assert want[1] == [None, 1, None] and "mine [1]\n" in want[0]
        compiled = magpy.compile(logs, backend="eager", fullgraph=True)
        for i in range(3):
            assert torch.equal(compiled(batch(i)), batch(i))
            assert lines() == want
        assert_counts(compiled, 1, 2)
    with caplog.at_level(logging.DEBUG, LOG.name):
        compiled = magpy.compile(logs, backend="eager")
        for i in range(2):
            caplog.clear()
            assert torch.equal(compiled(batch(i)), batch(i) * 2)
            assert len(caplog.records) == 4


def test_a_level_that_changes(caplog):
    """A record that was not wanted needs no text; once it is wanted the call runs anew."""
    compiled = magpy.compile(logs, backend="eager")
    with caplog.at_level(logging.INFO, LOG.name):
        compiled(batch(0)), compiled(batch(1))
        assert_counts(compiled, 1, 1)
    caplog.clear()
    with caplog.at_level(logging.DEBUG, LOG.name):
        assert torch.equal(compiled(batch(1)), batch(1) * 2)
        assert len(caplog.records) == 4


def test_warnings_that_are_silenced():
    def f(x):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.warn("quiet")
        warnings.warn("loud")
        return x + 1
    compiled = magpy.compile(f, backend="eager", fullgraph=True)
    for i in range(3):
        before = list(warnings.filters)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            compiled(batch(i))
        assert [str(each.message) for each in caught] == ["loud"]
        assert warnings.filters == before
    assert_counts(compiled, 1, 2)


# ---- never stale ---------------------------------------------------------------------------------------------------------

def changed(): TABLE["a"] = 7
def back(): TABLE["a"] = 1


STALE = {
    "json.dumps": (lambda: len(json.dumps({"t": TABLE})), lambda: TABLE["b"].append(100), lambda: TABLE["b"].pop()),
    "json.dumps by default=": (lambda: len(json.dumps([OPTIONS], default=lambda o: o.parts)), lambda: OPTIONS.parts.append(1),
                               lambda: OPTIONS.parts.pop()),
    "bisect": (lambda: bisect.bisect(NUMBERS, 3), lambda: NUMBERS.append(0), lambda: NUMBERS.pop()),
    "bisect by key": (lambda: bisect.bisect(LENGTHS, 2, key=lambda each: each.n), lambda: setattr(LENGTHS[1], "n", 5),
                      lambda: setattr(LENGTHS[1], "n", 1)),
    "heapq": (lambda: heapq.nsmallest(1, NUMBERS)[0], lambda: NUMBERS.append(-1), lambda: NUMBERS.pop()),
    "heap of lists": (lambda: heapq.heappop([TABLE["b"], [5]])[0], lambda: TABLE["b"].__setitem__(0, 9), lambda: TABLE["b"].__setitem__(0, 1)),
    "sorted objects": (lambda: sorted(LENGTHS)[0].n, lambda: setattr(LENGTHS[0], "n", 0), lambda: setattr(LENGTHS[0], "n", 3)),
    "deepcopy of an object": (lambda: copy.deepcopy(OPTIONS).parts[0], lambda: OPTIONS.parts.__setitem__(0, 9),
                              lambda: OPTIONS.parts.__setitem__(0, 4)),
    "deepcopy, a new attribute": (lambda: len(vars(copy.deepcopy(POINT))), lambda: setattr(POINT, "y", 2), lambda: delattr(POINT, "y")),
    "copy of an object": (lambda: copy.copy(OPTIONS).a, lambda: setattr(OPTIONS, "a", 9), lambda: setattr(OPTIONS, "a", 3)),
    "asdict": (lambda: len(dataclasses.asdict(OPTIONS)["parts"]), lambda: OPTIONS.parts.append(9), lambda: OPTIONS.parts.pop()),
    "format of an attribute": (lambda: int("{0.x}".format(POINT)), lambda: setattr(POINT, "x", 2), lambda: setattr(POINT, "x", 1)),
    "format of an item": (lambda: int("{0[a]}".format(TABLE)), changed, back),
    "print to a stream": (lambda: printed(), lambda: TABLE["b"].append(100), lambda: TABLE["b"].pop()),
    "ChainMap": (lambda: collections.ChainMap({}, TABLE)["a"], changed, back),
    "statistics": (lambda: statistics.mean(NUMBERS), lambda: NUMBERS.append(6), lambda: NUMBERS.pop()),
    "struct": (lambda: struct.pack("b", NUMBERS[0])[0], lambda: NUMBERS.__setitem__(0, 9), lambda: NUMBERS.__setitem__(0, 3)),
    "random from a seed": (lambda: random.Random(NUMBERS[0]).random(), lambda: NUMBERS.__setitem__(0, 9), lambda: NUMBERS.__setitem__(0, 3)),
    "shuffle of outside numbers": (lambda: (lambda l: (random.Random(1).shuffle(l), l[0])[1])(list(NUMBERS)),
                                   lambda: NUMBERS.__setitem__(slice(None), [7, 8, 9]), lambda: NUMBERS.__setitem__(slice(None), [3, 1, 2])),
}


def printed():
    stream = io.StringIO()
    print(TABLE, file=stream)
    return len(stream.getvalue())


@pytest.mark.parametrize("name", STALE)
def test_never_stale(name):
    read, change, undo = STALE[name]
    compiled = magpy.compile(lambda x: x * read(), backend="eager", fullgraph=True)
    try:
        for i in range(2):
            assert torch.equal(compiled(batch(i)), batch(i) * read())
        assert_counts(compiled, 1, 1)
        before = read()
        change()
        assert read() != before, "the change makes no difference"
        for i in range(2):
            assert torch.equal(compiled(batch(i)), batch(i) * read())
    finally:
        undo()


# ---- what is made inside and handed out --------------------------------------------------------------------------------

class Odd(ValueError):
    pass


@program
def test_results_of_many_kinds(x):
    error = Odd("a", x)
    error.code = 3
    return (types.SimpleNamespace(a=1, b=x), ValueError("a", x), error, io.StringIO("ab\ncd"), datetime.date(2020, 1, 2), bytearray(b"a"),
            array.array("i", [1]), re.compile("a+"), datetime.timedelta(1), uuid.UUID(int=3), fractions.Fraction(1, 2))


def consumed(value):
    """What a value gives when it is used up, so that it can be compared."""
    if isinstance(value, (list, tuple)):
        return [consumed(each) for each in value]
    if callable(value):
        return consumed(value())
    return list(value) if hasattr(value, "__next__") else value


def iterators(x):
    listed, numbers = iter([x, 1]), iter(range(5))
    next(listed), next(numbers)
    done = iter((1,))
    next(done)
    return listed, numbers, done, enumerate([x], 3), zip([x], iter([1])), map(len, [[1]]), reversed([1, 2]), iter((x, 2)), {"a": x}.keys(), reversed([])


def generators(x):
    def several(a, *rest, c=1, **named):
        yield a * c
        yield from rest
        yield named
    return several(x, 2, 3, c=4, d=5), (i * x for i in [1, 2])


def functions(x):
    n = 0

    def count() -> int:
        nonlocal n
        n += 1
        return n

    def scaled(by: float = 2.0):
        "doc"
        return x * by
    count()
    scaled.tag = [1]
    return count, lambda: n, scaled, [1, 2].copy, lambda: (scaled.tag, scaled.__doc__, scaled.__annotations__)


@pytest.mark.parametrize("f", [iterators, generators, functions], ids=lambda f: f.__name__)
def test_what_gives_values_later(f):
    compiled = magpy.compile(f, backend="eager", fullgraph=True)
    for i in range(3):
        ours, plain = compiled(batch(i)), f(batch(i))
        assert [type(each) for each in ours] == [type(each) for each in plain]
        compare.equal(consumed(ours), consumed(plain))
    assert_counts(compiled, 1, 2)


def test_a_generator_that_has_started_is_not_made_again():
    def f(x):
        numbers = (i for i in [1, 2])
        next(numbers)
        return x + 1, numbers
    compiled = magpy.compile(f, backend="eager")
    for i in range(3):
        assert list(compiled(batch(i))[1]) == [2]
    assert {stop.reason for stop in magpy.explain(compiled).stops} == {"output-kind"}


# ---- classes and code made inside --------------------------------------------------------------------------------------------

@program
def test_classes_made_inside(x):
    @dataclasses.dataclass
    class Pair:
        "two"
        a: int
        b: float = 2.0
    triple = collections.namedtuple("triple", "a b c")

    class Colour(enum.Enum):
        RED = 1

    class Box[T]:
        def __init__(self, item: T):
            self.item = item

    class Shape(abc.ABC):
        @abc.abstractmethod
        def area(self): ...

    class Square(Shape):
        def area(self):
            return 4
    return x * Pair(2).b + triple(1, 2, 3).c + Colour.RED.value + Box(3).item + Square().area(), isinstance(Square(), Shape)


@program
def test_code_from_text(x):
    n, space = 3, {}
    exec("def double(y):\n  return y * 2", space)
    return space["double"](x), eval("n + 1"), eval("NUMBERS[0]"), eval(compile("NUMBERS[1]", "text", "eval")), [eval("i * 2", {"i": i}) for i in range(2)]


class Base:
    size = 1

    def grow(self):
        return 2


@program
def test_namespaces_of_classes(x):
    return (x * Base.__dict__["size"], "grow" in vars(Base), sorted(k for k in vars(Base) if k[0] != "_"), dict(Base.__dict__)["size"],
            {**Base.__dict__}["size"], typing.get_type_hints(Options)["a"], "__init__" in object.__dict__)


def test_a_class_that_changes():
    read = {"item": lambda: Base.__dict__["size"], "vars": lambda: vars(Base)["size"], "dict": lambda: dict(Base.__dict__)["size"],
            "star": lambda: {**Base.__dict__}["size"], "keys": lambda: len([k for k in vars(Base) if k[0] != "_"]),
            "values": lambda: sum(v for v in vars(Base).values() if type(v) is int), "eval": lambda: eval("Base.size")}
    compiled = {name: magpy.compile(lambda x, f=f: x * f(), backend="eager", fullgraph=True) for name, f in read.items()}
    try:
        for value in (1, 2):
            Base.size = value
            setattr(Base, f"more{value}", 0)
            for name, f in compiled.items():
                for i in range(2):
                    assert torch.equal(f(batch(i)), batch(i) * read[name]()), name
    finally:
        Base.size = 1
        del Base.more1, Base.more2
    for name, f in compiled.items():
        assert magpy.explain(f).hits == 2, name


def test_annotations_that_a_wrapper_shares():
    """functools.wraps gives the very dict to the wrapper: what is put in later shows in both."""
    def f(x):
        def inner(y: int):
            return x * y

        @functools.wraps(inner)
        def outer(y):
            return inner(y)
        return inner, outer
    compiled = magpy.compile(f, backend="eager", fullgraph=True)
    for i in range(3):
        inner, outer = compiled(batch(i))
        assert outer.__annotations__ is inner.__annotations__ == {"y": int}
        compare.equal(outer(2), batch(i) * 2)
    assert_counts(compiled, 1, 2)


@program
def test_itertools_by_name(x):
    by_name = itertools.accumulate(iterable=[1, 2], func=lambda a, b: a * b, initial=3)
    groups = itertools.groupby(iterable=[1, 1, 2], key=lambda n: n)
    return x, list(by_name), [key for key, _ in groups], list(itertools.repeat(object=x, times=2))


def test_an_instance_dict_with_a_number_as_key():
    class Holder:
        pass

    def f(x, holder):
        holder.__dict__[1] = holder.__dict__.get(1, 0) + 1
        return x * holder.__dict__[1]
    compiled = magpy.compile(f, backend="eager")
    for start in (None, 3, None, 4):
        seen = []
        for g in (compiled, f):
            holder = Holder()
            if start is not None:
                holder.__dict__[1] = start
            seen.append((g(batch(0), holder), dict(holder.__dict__)))
        compare.equal(seen[0], seen[1])
    assert "internal-error" not in {stop.reason for stop in magpy.explain(compiled).stops}


def test_elements_counted_in_an_outside_ordered_dict():
    """C code fills it by its methods; dict.update() would leave its order behind."""
    def f(x, counts, words):
        collections._count_elements(counts, words)
        return x * len(counts)
    compiled = magpy.compile(f, backend="eager")
    for i in range(3):
        seen = []
        for g in (compiled, f):
            counts = collections.OrderedDict(b=1)
            seen.append((g(batch(i), counts, list("abca")), list(counts.items()), repr(counts)))
        compare.equal(seen[0], seen[1])
