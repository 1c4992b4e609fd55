"""Rules of C callables against the real recorder: programs that use them are captured whole, and what
they read of outside objects does not go stale.

Every stale case is one C function over one outside object: it is called, called again (a hit, or the
guards are too strict), the object is changed, and the call must give what eager gives.
"""
import abc
import collections
import contextvars
import copy
import functools
import itertools
import logging
import math
import operator
import re
import threading
import types
import typing
import warnings
import weakref

import numpy
import pytest
import torch

import magpy
from support.expect import assert_counts, batch, program

NUMBERS = [1, 2, 3]
TABLE = {"a": 1, "b": [1, 2], "c": {"k": 2.0}}
ADD_TWICE = functools.partial(torch.add, alpha=2)
VARIABLE = contextvars.ContextVar("VARIABLE", default=3)
Point = collections.namedtuple("Point", "x y")


# ---- captured whole -------------------------------------------------------------------------------

@program
def test_list_methods(x):
    xs = [3, 1, 2]
    xs.append(4)
    xs.extend(NUMBERS)
    xs.insert(0, 9)
    xs.pop()
    xs.remove(9)
    xs.sort()
    xs.reverse()
    xs += (1,)
    xs *= 2
    ys = xs + [2]
    ys[0] = 5
    del ys[1]
    ys[1:2] = [7]
    return x * sum(ys), ys, ys.index(5), ys.count(7), 3 in ys, xs < ys, ys[::-1], list(reversed(xs))


@program
def test_dict_methods(x):
    d = dict(a=1, b=2)
    d.update(TABLE["c"])
    d.setdefault("z", 5)
    d.pop("a")
    d |= {"q": 1}
    e = {**d, "r": 2} | d
    d.popitem()
    total = sum(e.values()) + sum(len(k) for k in e.keys()) + dict.fromkeys("ab", 2)["b"]
    return x * total, d, e, list(e.items()), TABLE.get("a", 0), TABLE.get("no"), "b" in TABLE, len(TABLE), d == e


@program
def test_set_methods(x):
    s = {1, 2, 3}
    s.add(4)
    s |= {5}
    s.discard(1)
    t = s & {2, 3}
    return x * sum(sorted(s)), s - t, s ^ t, t <= s, frozenset(t), s.union([7]), s.isdisjoint(t), 2 in t


@program
def test_text(x):
    s = "a,b,c"
    parts = s.split(",")
    return (x * len(parts), f"{s}:{x.shape[0]:3d}", "%s-%d" % (s, 3), "{}{b}".format(s, b=2), ",".join(parts), str(parts),
            repr(TABLE), f"{NUMBERS!r}", str(3.5), str(torch.float32), format(3, "d"), "".join(map(str, NUMBERS)), s.upper(),
            s.replace("a", "z"), b"ab".decode(), "ab".encode(), ord("a"), chr(98), int("3"), float("2.5"), "x" * 3)


@program
def test_iteration(x):
    total = 0
    for i, (a, b) in enumerate(zip(NUMBERS, (4, 5, 6))):
        total += i * a * b
    for n in reversed(NUMBERS):
        total = total * 2 + n
    it = iter(NUMBERS)
    total += next(it) + next(it, 0)
    total += sum(map(int, ["1", "2"])) + sum(filter(None, [0, 1])) + sum(map(lambda v: v + 1, NUMBERS))
    total += max(v for v in NUMBERS) + min(NUMBERS, key=lambda v: -v) + any(v > 2 for v in NUMBERS)
    total += sum(map(len, [NUMBERS, TABLE])) + sorted(NUMBERS, key=lambda v: -v)[0]
    return x * total + sum(map(torch.sum, [x, x])) + sum([x, x])


@program
def test_itertools(x):
    found = list(itertools.chain(NUMBERS, (7,))) + [a * b for a, b in itertools.product(NUMBERS, NUMBERS)]
    found += itertools.islice(NUMBERS, 2)
    found += [b for _, b in itertools.zip_longest(NUMBERS, [1], fillvalue=0)]
    found += itertools.accumulate(NUMBERS)
    found += itertools.chain.from_iterable([NUMBERS, (1,)])
    found += itertools.starmap(lambda a, b: a + b, zip(NUMBERS, NUMBERS))
    found += [b for _, b in itertools.pairwise(NUMBERS)] + list(itertools.repeat(2, 3))
    found += [len(list(group)) for _, group in itertools.groupby([1, 1, 2])]
    count = itertools.count()
    return x * sum(found), found, next(count) + next(count)


@program
def test_collections(x):
    od = collections.OrderedDict(a=1)
    od["b"] = 2
    od.move_to_end("a")
    dd = collections.defaultdict(list)
    dd["q"].append(x)
    counts = collections.defaultdict(int)
    counts["z"] += 1
    dq = collections.deque([1, 2], maxlen=2)
    dq.append(3)
    p = Point(1, x)
    return od, dd, counts, list(dq), p, p.x + p[1], p._replace(x=2), collections.Counter("aab")["a"]


@program
def test_functools_and_operator(x):
    g = functools.partial(torch.mul, other=x)
    h = functools.partial(g)
    return (ADD_TWICE(x, x), h(x), functools.reduce(operator.add, [x, x, x]), functools.reduce(lambda a, b: a * b, NUMBERS),
            operator.itemgetter(1)(NUMBERS), operator.attrgetter("ndim")(x), operator.methodcaller("sum")(x), operator.mul(x, 2),
            operator.index(3), operator.contains(NUMBERS, 3))


@program
def test_math(x):
    return x * (math.sqrt(4) + math.ceil(1.2) + math.prod(NUMBERS) + math.log(2) + math.gcd(4, 6) + round(2.567, 1)
                + divmod(7, 2)[1] + pow(2, 3) + abs(-1) + math.isclose(1.0, 1.0) + hash("a") * 0)


@program
def test_types(x):
    numbers, table = NUMBERS, TABLE
    return (x * 2, type(x).__name__, isinstance(numbers, collections.abc.Sequence), isinstance(table, collections.abc.Sequence),
            isinstance(numbers, typing.Sequence), isinstance(3, int | str), issubclass(bool, int), callable(len))


@program
def test_regular_expressions(x):
    return x * len(re.findall(r"\d", "a1b2")), re.sub("a", "b", "aa"), bool(re.match("a(b)", "ab")), re.match("a(b)", "ab").group(1)


@program
def test_copies(x):
    table = copy.deepcopy(TABLE)
    table["b"].append(3)
    return x * len(table["b"]), table, copy.copy(NUMBERS), len(TABLE["b"])


@program
def test_torch_things_that_are_no_operators(x):
    state = torch.is_grad_enabled(), torch.get_default_dtype(), torch.is_autocast_enabled("cpu"), torch.is_tensor(x)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = torch.mm(x, x.t())
    return (y, state, torch.finfo(x.dtype).max, torch.iinfo(torch.int32).max, torch.Size([1, 2]).numel(),
            torch.device("cpu").type, torch.promote_types(torch.float16, torch.float32))


@program
def test_numpy_on_plain_numbers(x):
    small = numpy.zeros((2, 2))
    small[0, 1] = 3
    return x / numpy.sqrt(x.shape[-1]) * numpy.prod(x.shape) * float(small.max()) + numpy.pi, int(numpy.ceil(2.3))


@program
def test_orders(x):
    by_length = sorted(["bb", "a"], key=len), max(["bb", "a"], key=len)
    by_function = sorted([3, 1, 2], key=functools.cmp_to_key(lambda a, b: b - a))
    return x, by_length, by_function, sorted([(2, x), (1, x)], key=operator.itemgetter(0)), sorted("cab"), min(3, 2)


LOCK = threading.Lock()


@program
def test_locks_and_context_variables(x):
    with LOCK:
        token = VARIABLE.set(x)
        y = VARIABLE.get() * 2
        VARIABLE.reset(token)
    return y, VARIABLE.get(), LOCK.acquire() and LOCK.release()


@program
def test_exceptions(x):
    n = 0
    for wrong in (lambda: {}["z"], lambda: [][3], lambda: x.nope, lambda: int("z"), lambda: [].remove(3), lambda: None + 1):
        try:
            wrong()
        except (KeyError, IndexError, AttributeError, ValueError, TypeError) as error:
            n += len(error.args)
    return x * n


@program
def test_subclasses_of_builtins(x):
    class Stack(list):
        def __init__(self, *args):
            super().__init__(*args)
            self.pushed = 0

        def append(self, item):
            self.pushed += 1
            super().append(item)

    class Table(dict):
        def __missing__(self, key):
            return 5
    stack = Stack([1, 2])
    stack.append(3)
    return x * sum(stack) + stack.pushed + Table()["q"]


# ---- effects ----------------------------------------------------------------------------------------

def test_print_warnings_and_logging_are_replayed(capsys, caplog):
    log = logging.getLogger("magpy.test")

    def f(x):
        print("hello", 3)
        warnings.warn("careful")
        log.warning("logged %s", 1)
        return x + 1
    compiled = magpy.compile(f, backend="eager", fullgraph=True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for i in range(3):
            compiled(batch(i))
    assert capsys.readouterr().out == "hello 3\n" * 3
    assert [str(each.message) for each in caught] == ["careful"] * 3
    assert {(each.filename, each.lineno) for each in caught} == {(__file__, f.__code__.co_firstlineno + 2)}
    assert [record.getMessage() for record in caplog.records] == ["logged 1"] * 3
    assert_counts(compiled, 1, 2)


def test_a_warning_shown_once_is_shown_once(capsys):
    def f(x):
        warnings.warn("only once here")
        return x + 1
    compiled = magpy.compile(f, backend="eager", fullgraph=True)
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        for i in range(3):
            compiled(batch(i))
    assert capsys.readouterr().err.count("only once here") <= 1


WRITES = {
    "list.append": (list, lambda o, x: o.append(x)),
    "list.extend": (list, lambda o, x: o.extend([x, 1])),
    "list.insert": (list, lambda o, x: o.insert(0, 1)),
    "list.pop": (lambda: [1, 2, 3], lambda o, x: (o.append(1), o.pop())[1]),
    "list.clear": (lambda: [1], lambda o, x: (o.clear(), o.append(2))),
    "list +=": (list, lambda o, x: (operator.iadd(o, [1]), None)[1]),
    "list[i] =": (lambda: [1, 2], lambda o, x: o.__setitem__(0, x)),
    "list[:] =": (lambda: [1, 2], lambda o, x: o.__setitem__(slice(0, 2), (3, 4))),
    "dict[k] =": (dict, lambda o, x: o.__setitem__("k", x)),
    "dict.update": (dict, lambda o, x: o.update({"k": 1}, z=x)),
    "dict |=": (dict, lambda o, x: (operator.ior(o, {"k": 1}), None)[1]),
    "dict.setdefault": (lambda: {"a": 1}, lambda o, x: o.setdefault("a", 2)),
    "dict.pop": (lambda: {"a": 1}, lambda o, x: (o.pop("a"), o.update(a=1))[0]),
    "dict.clear": (lambda: {"a": 1}, lambda o, x: (o.clear(), o.update(a=1))[0]),
    "set.add": (set, lambda o, x: o.add(3)),
    "set.update": (set, lambda o, x: o.update([3, 4])),
    "set.discard": (set, lambda o, x: o.discard(3)),
    "OrderedDict[k] =": (collections.OrderedDict, lambda o, x: o.__setitem__("k", 1)),
    "OrderedDict.popitem": (lambda: collections.OrderedDict(a=1, b=2), lambda o, x: (
        o.popitem(last=False), o.update(a=1), o.move_to_end("a", last=False))[0]),
    "OrderedDict.setdefault": (lambda: collections.OrderedDict(a=1), lambda o, x: (
        o.pop("a"), o.setdefault("a", default=1))[0]),
    "defaultdict(int)": (lambda: collections.defaultdict(int), lambda o, x: o.__setitem__("k", 1)),
    "deque.append": (lambda: collections.deque(maxlen=3), lambda o, x: o.append(1)),
    "deque.extend": (lambda: collections.deque(maxlen=3), lambda o, x: o.extend([1, 2])),
    "setattr": (types.SimpleNamespace, lambda o, x: setattr(o, "n", 4)),
    "object.__setattr__": (types.SimpleNamespace, lambda o, x: object.__setattr__(o, "n", 4)),
    "vars()": (types.SimpleNamespace, lambda o, x: vars(o).__setitem__("n", 3)),
}


@pytest.mark.parametrize("name", WRITES)
def test_writes_are_replayed(name):
    make, write = WRITES[name]
    ours, plain = make(), make()
    compiled = magpy.compile(lambda x: (write(ours, x), x + 1), backend="eager", fullgraph=True)
    for i in range(4):
        x = batch(i)
        got, want = compiled(x), (write(plain, x), x + 1)
        assert torch.equal(got[1], want[1])
        for a, b in zip(flat(ours), flat(plain), strict=True):
            assert a is b or a == b
        assert type(got[0]) is type(want[0])
    assert magpy.explain(compiled).hits >= 1, magpy.explain(compiled).misses


def flat(obj):
    if isinstance(obj, types.SimpleNamespace):
        obj = vars(obj)
    return [part for pair in obj.items() for part in pair] if isinstance(obj, dict) else list(obj)


# ---- never stale ----------------------------------------------------------------------------------------

class Holder:
    pass


class Word(str):
    pass


class Bag:
    def __init__(self, parts):
        self.parts = parts

    def __iter__(self):
        return iter(self.parts)


class Row(Bag):
    def __iter__(self):
        yield from self.parts


class Old:
    def __init__(self, parts):
        self.parts = parts

    def __getitem__(self, i):
        return self.parts[i]


def lists(): return [1, 2, 3]
def nested(): return [[1, 2], [3]]
def table(): return {"a": 1, "b": 2}
def sets(): return {1, 2, 3}
def appended(o): o.append(4)
def changed(o): o["a"] = 7
def inner(o): o[0].append(9)
def grown(o): o.add(9)
def emptied(o): o[0].clear()


STALE = {
    "len": (lists, len, appended),
    "sum": (lists, sum, appended),
    "max": (lists, max, appended),
    "sorted": (lists, lambda o: sorted(o)[-1], appended),
    "tuple": (lists, lambda o: sum(tuple(o)), appended),
    "list.index": (lists, lambda o: o.index(3), lambda o: o.insert(0, 8)),
    "list.count": (lists, lambda o: o.count(1), lambda o: o.append(1)),
    "list.copy": (lists, lambda o: sum(o.copy()), appended),
    "list slice": (lists, lambda o: sum(o[1:]), appended),
    "list[-1]": (lists, lambda o: o[-1], appended),
    "list + list": (lists, lambda o: sum(o + [1]), appended),
    "list * 2": (lists, lambda o: sum(o * 2), appended),
    "list == list": (lists, lambda o: o == [1, 2, 3], appended),
    "list < list": (lists, lambda o: o < [1, 2, 3, 0], appended),
    "in list": (lists, lambda o: 4 in o, appended),
    "enumerate": (lists, lambda o: sum(i * v for i, v in enumerate(o)), appended),
    "zip": (lists, lambda o: sum(a * b for a, b in zip(o, (5, 5, 5, 5))), appended),
    "map": (lists, lambda o: sum(map(float, o)), appended),
    "map len": (nested, lambda o: sum(map(len, o)), inner),
    "map sum, lazily": (nested, lambda o: [v for v in map(sum, o)][0], inner),
    "map of map": (nested, lambda o: sum(map(float, map(len, o))), inner),
    "filter None": (nested, lambda o: len(list(filter(None, o))), emptied),
    "any": (nested, lambda o: all(o), emptied),
    "any of a generator": (nested, lambda o: all(part for part in o), emptied),
    "max of a generator": (nested, lambda o: len(max(part for part in o)), lambda o: o[1].extend([5, 6])),
    "sum of lists": (nested, lambda o: len(sum(o, [])), inner),
    "sum of a generator": (nested, lambda o: len(sum((part for part in o), [])), inner),
    "sorted by list": (nested, lambda o: sorted(o, key=lambda part: part)[0][0], lambda o: o[1].__setitem__(0, 0)),
    "nested ==": (nested, lambda o: o == [[1, 2], [3]], inner),
    "in nested": (nested, lambda o: [3] in o, lambda o: o[1].append(1)),
    "chain": (nested, lambda o: sum(itertools.chain(*o)), inner),
    "chain.from_iterable": (nested, lambda o: sum(itertools.chain.from_iterable(o)), inner),
    "reduce": (nested, lambda o: len(functools.reduce(operator.add, o)), inner),
    "starmap": (nested, lambda o: sum(itertools.starmap(lambda a, b=0: a + b, o)), lambda o: o[0].__setitem__(0, 9)),
    "any of a chain": (nested, lambda o: all(itertools.chain(o, [[1]])), emptied),
    "map of itemgetter": (nested, lambda o: sum(map(operator.itemgetter(0), o)), lambda o: o[1].__setitem__(0, 0)),
    "filter by what a function gives": (nested, lambda o: len(list(filter(lambda i: o[i], [0, 1]))), emptied),
    "takewhile by what a function gives": (nested, lambda o: len(list(itertools.takewhile(lambda i: o[i], [0, 1]))), emptied),
    "compress": (nested, lambda o: len(list(itertools.compress([1, 2], o))), emptied),
    "accumulate of lists": (nested, lambda o: len(list(itertools.accumulate(o))[-1]), inner),
    "groupby of lists": (nested, lambda o: len(list(itertools.groupby(o))), lambda o: o[0].__setitem__(slice(None), [3])),
    "sorted by itemgetter": (nested, lambda o: sorted(o, key=operator.itemgetter(0))[0][0], lambda o: o[1].__setitem__(0, 0)),
    "max by function": (nested, lambda o: len(max([0, 1], key=lambda i: o[i]) * [1]), lambda o: o[0].__setitem__(0, 9)),
    "any of an object's iterator": (lambda: Bag([[1], [2]]), lambda o: all(o), lambda o: o.parts[0].clear()),
    "any of an object's generator": (lambda: Row([[1], [2]]), lambda o: all(o), lambda o: o.parts[0].clear()),
    "any of an old sequence": (lambda: Old([[1], [2]]), lambda o: all(o), lambda o: o.parts[0].clear()),
    "dict of a generator": (lambda: [["a", 1]], lambda o: dict(pair for pair in o)["a"], lambda o: o[0].__setitem__(1, 4)),
    "iter with a sentinel": (lambda: [[1], [2]], lambda o: len(list(iter(lambda n=itertools.count(): o[next(n)], [2]))),
                             lambda o: o[0].__setitem__(0, 2)),
    "number in a str subclass": (lambda: [Word("3")], lambda o: int(o[0]), lambda o: o.__setitem__(0, Word("4"))),
    "getattr by a str subclass": (lambda: types.SimpleNamespace(n=1), lambda o: getattr(o, Word("n")), lambda o: setattr(o, "n", 2)),
    "str of a list": (nested, lambda o: len(str(o)), inner),
    "format of a list": (nested, lambda o: len(f"{o}" + "%s" % o + "{}".format(o)), inner),
    "join": (lambda: ["a", "b"], lambda o: len("".join(o)), lambda o: o.append("cc")),
    "copy.deepcopy": (nested, lambda o: sum(copy.deepcopy(o)[0]), inner),
    "unpacking": (lists, lambda o: (lambda a, *b: a + len(b))(*o), appended),
    "star list": (lists, lambda o: sum([*o, 1]), appended),
    "reversed": (lists, lambda o: list(reversed(o))[0], appended),
    "iter and next": (lists, lambda o: next(iter(o)), lambda o: o.insert(0, 6)),
    "math.prod": (lists, math.prod, appended),
    "itemgetter": (lists, operator.itemgetter(0), lambda o: o.insert(0, 6)),
    "operator.getitem": (lists, lambda o: operator.getitem(o, 0), lambda o: o.insert(0, 6)),
    "operator.countOf": (lists, lambda o: operator.countOf(o, 1), lambda o: o.append(1)),
    "dict.get": (table, lambda o: o.get("a"), changed),
    "dict.get, absent": (table, lambda o: o.get("z", 3), lambda o: o.update(z=1)),
    "in dict": (table, lambda o: "z" in o, lambda o: o.update(z=1)),
    "dict.items": (table, lambda o: sum(v for _, v in o.items()), changed),
    "dict.values": (table, lambda o: sum(o.values()), changed),
    "dict.keys": (table, lambda o: len(list(o.keys())), lambda o: o.update(z=1)),
    "dict.copy": (table, lambda o: o.copy()["a"], changed),
    "dict()": (table, lambda o: dict(o)["a"], changed),
    "dict(pairs)": (lambda: [["a", 1]], lambda o: dict(o)["a"], lambda o: o[0].__setitem__(1, 4)),
    "dict(**o)": (table, lambda o: dict(**o)["a"], changed),
    "dict.update from": (table, lambda o: (lambda d: (d.update(o), d["a"])[1])({}), changed),
    "dict | dict": (table, lambda o: ({} | o)["a"], changed),
    "dict == dict": (table, lambda o: o == {"a": 1, "b": 2}, changed),
    "len of a dict": (table, len, lambda o: o.update(z=1)),
    "str % dict": (table, lambda o: int("%(a)d" % o), changed),
    "format_map": (table, lambda o: int("{a}".format_map(o)), changed),
    "in set": (sets, lambda o: 9 in o, grown),
    "set & set": (sets, lambda o: len(o & {1, 9}), grown),
    "set.union": (sets, lambda o: len({7}.union(o)), grown),
    "set()": (sets, lambda o: len(set(o)), grown),
    "set.issubset": (sets, lambda o: o.issubset({1, 2, 3}), grown),
    "sorted set": (sets, lambda o: sorted(o)[-1], grown),
    "OrderedDict": (lambda: collections.OrderedDict(a=1, b=2), lambda o: next(iter(o.values())), lambda o: o.move_to_end("a")),
    "deque": (lambda: collections.deque([1, 2]), sum, lambda o: o.append(3)),
    "deque[0]": (lambda: collections.deque([1, 2]), lambda o: o[0], lambda o: o.appendleft(3)),
    "defaultdict": (lambda: collections.defaultdict(int, a=1), lambda o: o["a"], changed),
    "getattr": (lambda: types.SimpleNamespace(n=1), lambda o: getattr(o, "n"), lambda o: setattr(o, "n", 2)),
    "getattr, default": (types.SimpleNamespace, lambda o: getattr(o, "n", 5), lambda o: setattr(o, "n", 2)),
    "hasattr": (types.SimpleNamespace, lambda o: hasattr(o, "n"), lambda o: setattr(o, "n", 2)),
    "vars": (lambda: types.SimpleNamespace(n=1), lambda o: vars(o)["n"], lambda o: setattr(o, "n", 2)),
    "attrgetter": (lambda: types.SimpleNamespace(n=1), operator.attrgetter("n"), lambda o: setattr(o, "n", 2)),
    "isinstance": (Holder, lambda o: isinstance(o, Holder), lambda o: setattr(o, "__class__", types.new_class("Other"))),
    "type()": (Holder, lambda o: len(type(o).__name__), lambda o: setattr(o, "__class__", types.new_class("Other"))),
    "callable": (Holder, callable, lambda o: setattr(o, "__class__", type("Other", (), {"__call__": lambda self: 1}))),
    "partial's function": (lambda: [functools.partial(max, 1)], lambda o: o[0](3),
                           lambda o: o.__setitem__(0, functools.partial(min, 1))),
    "partial's arguments": (lambda: [functools.partial(max, 1)], lambda o: o[0](3),
                            lambda o: o.__setitem__(0, functools.partial(max, 10))),
    "partial's keywords": (lambda: functools.partial(int, base=10), lambda o: o("11"), lambda o: o.keywords.update(base=2)),
    "bound method of a list": (lambda: types.SimpleNamespace(f=[1, 2].count), lambda o: o.f(1),
                               lambda o: setattr(o, "f", [1, 1].count)),
    "namedtuple field": (lambda: [Point(1, 2)], lambda o: o[0].x, lambda o: o.__setitem__(0, Point(4, 2))),
    "list in a tuple": (lambda: ([1, 2],), lambda o: sum(o[0]), inner),
    "context variable": (lambda: contextvars.ContextVar("v", default=2), lambda o: o.get(), lambda o: o.set(3) and None),
}


REFUSED = {"number in a str subclass"}       # stops: guards cannot read such an object


@pytest.mark.parametrize("name", STALE)
def test_never_stale(name):
    make, read, change = STALE[name]
    outside = make()
    compiled = magpy.compile(lambda x: x * read(outside), backend="eager", fullgraph=name not in REFUSED)
    for i in range(2):
        assert torch.equal(compiled(batch(i)), batch(i) * read(outside))
    if name not in REFUSED:
        assert_counts(compiled, 1, 1)
    before = read(outside)
    change(outside)
    assert read(outside) != before, "the change makes no difference"
    for i in range(2):
        assert torch.equal(compiled(batch(i)), batch(i) * read(outside))


def test_registration_with_an_abstract_class_is_seen():
    class Kind(abc.ABC):
        pass

    class Thing:
        pass
    thing = Thing()
    compiled = magpy.compile(lambda x: x * (3 if isinstance(thing, Kind) else 2), backend="eager", fullgraph=True)
    for i in range(2):
        assert torch.equal(compiled(batch(i)), batch(i) * 2)
    assert_counts(compiled, 1, 1)
    Kind.register(Thing)
    assert torch.equal(compiled(batch(1)), batch(1) * 3)


# ---- stops ------------------------------------------------------------------------------------------------

def external_iterator(x, it=iter([1, 2, 3])):
    return x * next(it)


def weak_reference(x, ref=weakref.ref(Holder)):
    return x * (ref() is None)


STOPS = {
    "id": lambda x: x * (id(x) % 7),
    "hash of an object": lambda x: x * (hash(Holder()) % 7),
    "repr of an object": lambda x: x * len(repr(Holder())),
    "dir": lambda x: x * len(dir(x)),
    "an outside iterator": external_iterator,
    "open": lambda x: x * len(open(__file__).readline()),
}


@pytest.mark.parametrize("name", STOPS)
def test_stops(name):
    compiled = magpy.compile(STOPS[name], backend="eager", fullgraph=True)
    with pytest.raises(magpy.CaptureError):
        compiled(batch(0))
