"""Lists, dicts, sets, strings, slices, unpacking, f-strings, match, walrus."""
import collections
import math
import operator

import torch

from support.expect import built, check, program


@program
def test_list_methods(x):
    v = [x]
    v.append(x + 1)
    v.extend([1, 2])
    v.insert(0, "first")
    v += [3]
    popped = v.pop()
    v.remove("first")
    v.reverse()
    w = v.copy()
    n = v.index(2)
    del v[0]
    v[0] = 9
    return v, w, popped, n, [9, 9].count(9), [0] * 2 + [1], len(v), 2 in w


@program
def test_list_sort_and_clear(x):
    v = [3, 1, 2]
    v.sort()
    w = v[:]
    w.sort(key=lambda n: -n)
    u = list(v)
    u.clear()
    return x * v[0], v, w, u


@program
def test_slicing(x):
    v = [0, 1, 2, 3, 4, 5]
    v[1:3] = [9]
    del v[-1:]
    return x[1:, ::2], x[..., -1], x[0], v, v[::-1], v[slice(1, None, 2)], (1, 2, 3)[:-1], "abcdef"[1::2]


@program
def test_unpacking(x):
    a, b, *rest = [x, 1, 2, 3]
    (c, d), [e, *_] = (4, 5), (6, 7, 8)
    first, *middle, last = "abcd"
    a, b = b, a
    return a, b, rest, c + d + e, middle, last, [*rest, *(9,)], {**{"p": x}, "q": 1}, (*rest,)


@program
def test_unpacking_a_tensor(x):
    a, b, c = x
    (d, e), f = x.chunk(2, 1), x
    return a + b + c, d * e, f


@program
def test_dict_methods(x):
    d = {"a": x, "b": 1}
    d["c"] = x + 1
    d.update(e=5, b=2)
    d.setdefault("f", []).append(x)
    got = d.get("z", 7)
    popped = d.pop("e")
    item = d.popitem()
    del d["b"]
    merged = d | {"m": 1}
    merged |= {"n": 2}
    return d, got, popped, item, list(d.keys()), list(d.values()), [k for k, _ in d.items()], merged, len(d), "a" in d


@program
def test_dict_order_and_views(x):
    d = dict(zip("abc", range(3)))
    e = dict.fromkeys(["p", "q"], 0)
    d["a"] = d.pop("a")
    return x * d["b"], d, e, d.keys() & {"a", "z"}, list(reversed(d)), d == {"a": 0, "b": 1, "c": 2}


@program
def test_dict_missing(x):
    class Missing(dict):
        def __missing__(self, key):
            self[key] = len(key)
            return self[key]
    m = Missing()
    return x * m["abc"], dict(m), m.get("zz")


@program
def test_set_methods(x):
    s = {1, 2}
    s.add(3)
    s.discard(9)
    s |= {4}
    t = s & {2, 3} | {7} ^ {8} - {8}
    return x * len(s), sorted(s), sorted(t), s.issuperset({1}), s > {1}, frozenset(t) == t, 3 in s, sorted({1, 2}.union([5]))


@program
def test_tuple_methods(x):
    t = (1, 2, 2) + (3,)
    return x * t.index(2), t.count(2), t * 2, hash(t) == hash((1, 2, 2, 3)), t < (2,), max(t)


@program
def test_str_methods(x):
    s = "Layer.Norm_1"
    return (x * len(s), s.lower(), s.split("."), s.replace("1", "2"), s.startswith("Lay"), ",".join(["a", "b"]), s.strip("L1"),
            s.upper().title(), "norm" in s.lower(), s.partition("_"), s[0].isupper(), s.find("N"), s + "!" * 2, "%s-%d" % ("a", 3),
            "{} {k:>4}".format(1, k=2), s.encode(), s.rsplit("_", 1), "a\nb".splitlines(), "7".zfill(3), s < "Z", ord("a"), chr(98))


@program
def test_fstrings(x):
    n, f, name = 3, 2.5, "w"
    return x + n, f"{name}:{n:03d} {f:.2f} {n!r:>4} {name=} {x.shape[0]} {tuple(x.shape)} {'nested ' + f'{n}'}"


@program
def test_fstring_keys(x):
    parts = {f"layer{i}.weight": x * i for i in range(3)}
    return sum(v for k, v in parts.items() if k.startswith("layer"))


@program
def test_numbers(x):
    a, b = 7, 2
    return (x * (a // b) + a % b, a / b, a ** b, -a, ~a, a & b, a | b, a ^ b, a << b, a >> b, divmod(a, b), abs(-3), round(2.567, 1),
            int("12") + int(3.9), float("1.5"), bool([]), pow(2, 5, 7), complex(1, 2), hex(255), bin(5), (5).bit_length(), 1e3, 10**25,
            (2.5).is_integer(), math.isclose(0.1 + 0.2, 0.3), int.from_bytes(b"\x01\x02"), sum([0.1] * 3))


@program
def test_augmented_assignment(x):
    n, s, v = 1, "a", [1]
    n += 2; n -= 1; n *= 5; n //= 2; n **= 2; n %= 7; n <<= 1; n |= 1; n ^= 3; n &= 15; n >>= 1  # noqa: E702
    s += "b"
    v *= 2
    x = x + 0
    x += 1
    x *= 2
    x -= 0.5
    x /= 3
    return n, s, v, x


@program
def test_math_and_operator(x):
    return (x * math.sqrt(4) + math.pi, math.ceil(1.2), math.floor(-1.2), math.log(8, 2), math.exp(0), math.prod([1, 2, 3]), math.gcd(12, 18),
            math.inf > 1, operator.add(1, 2), operator.mul(x, 2), operator.itemgetter(1)([3, 4]), operator.attrgetter("shape")(x),
            operator.methodcaller("lower")("A"), operator.getitem([5, 6], 1), operator.index(3), operator.not_(0))


@program
def test_match(x):
    out = []
    for v in (1, "a", [1, 2, 3], {"k": 5, "z": 1}, (1, (2, 3)), None, 2.5, torch.Size([3])):
        match v:
            case 1 | 2:
                out.append("small")
            case str() as s if s == "a":
                out.append(s)
            case [1, (2, 3)]:
                out.append("nested")
            case [first, *rest]:
                out.append((first, len(rest)))
            case {"k": k, **more}:
                out.append((k, more))
            case None:
                out.append("none")
            case float(f):
                out.append(f)
    return x * len(out), out


@program
def test_match_class(x):
    class Point:
        __match_args__ = ("a", "b")

        def __init__(self, a, b):
            self.a, self.b = a, b
    match Point(x, 2.0):
        case Point(t, b=2.0):
            return t * 3
    return x


@program
def test_walrus(x):
    if (n := x.shape[0]) > 2:
        x = x * n
    return x, [y := 1, y + 1], [z for i in range(3) if (z := i * 2) > 1]


@program
def test_is_and_in(x):
    a = b = [1]
    return x + 1, a is b, a is not [1], x is x, None is None, 1 in a, "b" not in "abc", x is (x + 0)


@program
def test_comparisons(x):
    return x + 1, 1 < 2 <= 2 != 3, [1, 2] < [1, 3], (1,) == (1,), "a" < "b", {1} <= {1, 2}, {"a": 1} == {"a": 1}, 1 == 1.0, [x][0] is x


@program
def test_collections(x):
    d = collections.defaultdict(list)
    d["a"].append(x)
    q = collections.deque([1, 2], maxlen=2)
    q.append(3)
    o = collections.OrderedDict([("p", x), ("q", 1)])
    o.move_to_end("p")
    c = collections.Counter("aab")
    chain = collections.ChainMap({"z": 1}, {"z": 2, "w": 3})
    return d, q, o, x * c["a"], chain["w"] + chain["z"]


@program
def test_bytes_and_ranges(x):
    r = range(1, 10, 3)
    return x * r[1], list(r), len(r), 4 in r, b"ab" + b"c", bytearray(b"xy")[0], r == range(1, 11, 3), r.step


@program
def test_type_queries(x):
    return (x * 2, type(3) is int, isinstance(True, int), isinstance(x, torch.Tensor), issubclass(bool, int), isinstance([], (tuple, list)),
            callable(len), isinstance(3, int | str), type(x).__name__, hasattr(x, "shape"), isinstance(range(2), collections.abc.Sequence))


@built
def test_outside_containers_read_all_over():
    v, d, s, t = [1.0, 2.0, 3.0], {"a": 1.0, "b": [2.0]}, {1, 2}, (4, [5.0])

    def f(x):
        n = len(v) + len(d) + len(s)
        if "a" in d and 2 in s and v:
            x = x * v[-1] + d["b"][0] + t[1][0]
        w = v[1:] + [9.0]
        e = {**d, "c": 3}
        return x * n, w, list(e), sorted(s), v.index(2.0), d.get("q"), max(v), sum(v), [*v], tuple(v), v == [1.0, 2.0, 3.0]
    return f


def test_outside_containers_written():
    """Operations on outside containers are redone by every hit."""
    def build():
        import types
        o = types.SimpleNamespace(log=[], table={}, seen=set(), last=None)

        def f(x):
            o.log.append(x.shape[0])
            o.log.append(x * 2)
            o.table["last"] = x + 1
            o.table.update(other=2)
            o.seen.add("k")
            o.last = {"x": x, "again": x}
            return x + 3
        f.o = o
        return f
    check(build, state=lambda f: f.o)


def test_outside_list_deleted_from():
    def build():
        v = []

        def f(x):
            v.extend([x, x * 2])
            v.pop(0)
            if len(v) > 0:
                v.clear()
            return x + 1
        f.v = v
        return f
    check(build, state=lambda f: f.v)


@built(captures=None)
def test_outside_cache_filled():
    cache = {}

    def f(x):
        key = tuple(x.shape)
        if key not in cache:
            cache[key] = len(cache) + 1
        return x * cache[key]
    return f


@built(captures=None)
def test_outside_list_grows_and_is_read():
    past = []

    def f(x):
        past.append(x.sum())
        return x + sum(past)
    return f


@program
def test_sharing_in_the_result(x):
    y = x * 2
    v = [y]
    return v, v, y, {"y": y, "v": v}


@program
def test_cycle_in_the_result(x):
    v = [x + 1]
    v.append(v)
    d = {"v": v}
    d["self"] = d
    return d


@program
def test_input_returned_as_it_is(x):
    return x, [x], x + 1


@program
def test_constants_returned(x):
    return None, 1, 2.5, "s", (1, (2,)), True, ..., b"b", torch.float32, x.dtype, x.device, x.shape, frozenset({1}), range(3), slice(1, 2)
