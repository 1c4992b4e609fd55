"""C code that reads outside containers and objects: each reader, after each change, must read the new content.

A recorder sees Python instructions; what ``torch.tensor(v)``, ``"".join(v)`` or ``max(d, key=d.get)`` read inside C it
must know by rule, or stop. Right results are asked for here, captured or not.
"""
import bisect
import collections
import contextvars
import copy
import functools
import heapq
import itertools
import json
import logging
import math
import operator
import os
import pickle
import re
import struct
import sys
import types
import warnings

import pytest
import torch
import torch.nn.functional as F

import magpy
from support import compare
from support.expect import batch


class Item:
    def __init__(self, key, v):
        self.key, self.v = key, v

    def __lt__(self, other):
        return self.key < other.key

    def __repr__(self):
        return f"Item({self.v})"


def world():
    return types.SimpleNamespace(
        v=[2.0, 3.0], n=[1, 2], d={"a": 2.0, "b": 3.0}, s={1, 2}, name="relu", words=["ab", "c"], items=[Item(1, 2.0), Item(2, 3.0)],
        q=collections.deque([1.0, 2.0]), ts=[torch.ones(4), torch.zeros(4)], nested=[[1.0], {"k": [2.0]}], idx=1, t=(1, [2]),
        counter=collections.Counter("aab"), od=collections.OrderedDict(p=1.0, q=2.0), dd=collections.defaultdict(float, a=1.0),
        chain=collections.ChainMap({"z": 1.0}, {"w": 2.0}), data=bytearray(b"ab"), var=contextvars.ContextVar("v", default=1.0))


CHANGES = {
    "v item": lambda o: o.v.__setitem__(0, 7.0),
    "v longer": lambda o: o.v.append(4.0),
    "n item": lambda o: o.n.__setitem__(0, 2),
    "d value": lambda o: o.d.update(a=9.0),
    "d key": lambda o: o.d.update(c=1.0),
    "d order": lambda o: o.d.update(a=o.d.pop("a")),
    "s": lambda o: o.s.add(5),
    "name": lambda o: setattr(o, "name", "tanh"),
    "words": lambda o: o.words.__setitem__(1, "dd"),
    "item value": lambda o: setattr(o.items[1], "v", 8.0),
    "item key": lambda o: setattr(o.items[0], "key", 9),
    "q": lambda o: o.q.appendleft(6.0),
    "ts in place": lambda o: o.ts[0].add_(1),
    "ts replaced": lambda o: o.ts.__setitem__(1, torch.full((4,), 3.0)),
    "ts longer": lambda o: o.ts.append(torch.full((4,), 5.0)),
    "nested": lambda o: o.nested[1]["k"].__setitem__(0, 6.0),
    "idx": lambda o: setattr(o, "idx", 0),
    "t": lambda o: o.t[1].append(3),
    "counter": lambda o: o.counter.update("b"),
    "od": lambda o: o.od.move_to_end("p"),
    "dd": lambda o: o.dd.update(a=4.0),
    "chain": lambda o: o.chain.maps[1].update(w=5.0),
    "data": lambda o: o.data.extend(b"c"),
    "var": lambda o: o.var.set(3.0),
}

READERS = {
    # torch operators that read Python containers
    "torch.tensor": lambda o, x: torch.tensor(o.v) + torch.tensor(o.nested[1]["k"]),
    "torch.tensor of tuple of list": lambda o, x: torch.tensor(o.t[1]),
    "torch.as_tensor": lambda o, x: torch.as_tensor(o.v),
    "torch.zeros": lambda o, x: torch.zeros(o.n),
    "torch.full": lambda o, x: torch.full(o.n, o.v[0]),
    "x.new_ones": lambda o, x: x.new_ones(o.n),
    "x.expand": lambda o, x: x[0, :1].expand(*o.n, 1),
    "x.sum dims": lambda o, x: x.unsqueeze(0).sum(dim=o.n),
    "x.repeat": lambda o, x: x.repeat(*o.n),
    "index by list": lambda o, x: x[o.n],
    "index by tuple": lambda o, x: x[tuple(o.n)],
    "F.pad": lambda o, x: F.pad(x, o.n),
    "split sizes": lambda o, x: x.split([o.n[0], 3 - o.n[0]]),
    "torch.stack": lambda o, x: torch.stack(o.ts),
    "torch.cat": lambda o, x: torch.cat(tuple(o.ts)),
    "sum of tensors": lambda o, x: sum(o.ts) + x,
    "einsum": lambda o, x: torch.einsum("j,ij->i", [o.ts[0], x]),
    "torch.tensor of generator": lambda o, x: torch.tensor([w * 2 for w in o.v]),
    "meshgrid": lambda o, x: torch.meshgrid(*o.ts, indexing="ij")[1],
    "isin": lambda o, x: torch.isin(x, torch.tensor(list(o.s), dtype=x.dtype)),
    # builtins and methods
    "sum": lambda o, x: x * sum(o.v),
    "max key": lambda o, x: x + len(max(o.d, key=o.d.get)) + ord(max(o.d, key=o.d.get)),
    "min of items": lambda o, x: x * min(o.items).v,
    "sorted items": lambda o, x: [x * i.v for i in sorted(o.items)],
    "sorted dict items": lambda o, x: (sorted(o.d.items(), key=operator.itemgetter(1)), x + 1),
    "list of dict": lambda o, x: (list(o.d), list(o.d.values()), x + 1),
    "first key": lambda o, x: (next(iter(o.d)), x + 1),
    "dict of zip": lambda o, x: (dict(zip(o.words, o.v)), x + 1),
    "set of list": lambda o, x: (sorted(set(o.v)), x + 1),
    "set operators": lambda o, x: (sorted(o.s & {1, 5}), o.s <= {1, 2}, len(o.s | {9}), x + 1),
    "map str": lambda o, x: (list(map(str, o.v)), x + 1),
    "join": lambda o, x: ("".join(o.words), x + 1),
    "format": lambda o, x: (f"{o.v} {o.words[1]:>3} {o.items[1]}", "{0[a]}".format(o.d), "%s" % o.n, x + 1),
    "repr": lambda o, x: (repr(o.d), str(o.nested), x + 1),
    "getattr by name": lambda o, x: getattr(torch, o.name)(x),
    "any all": lambda o, x: (any(i.v > 5 for i in o.items), all(o.v), x + 1),
    "list index": lambda o, x: (o.v.index(3.0), o.v.count(7.0), o.n[o.idx], o.v[-1], x + 1),
    "list slices": lambda o, x: (o.v[1:], o.v[::-1], o.v * 2, o.v + [1], [*o.v], x + 1),
    "comparison": lambda o, x: (o.v == [2.0, 3.0], o.v < [5.0], o.d == {"a": 2.0, "b": 3.0}, o.t == (1, [2]), x + 1),
    "membership": lambda o, x: (7.0 in o.v, "c" in o.d, 5 in o.s, 6.0 in o.q, x + 1),
    "lengths": lambda o, x: x * (len(o.v) + 10 * len(o.d) + 100 * len(o.s) + 1000 * len(o.q)),
    "copies": lambda o, x: (o.v.copy(), dict(o.d), o.d | {"z": 1}, copy.copy(o.d), copy.deepcopy(o.nested), x + 1),
    "star call": lambda o, x: (lambda *a, **k: (a, k))(*o.v, **o.d),
    "unpacking": lambda o, x: (lambda a, *b: (a, b))(*o.q),
    "deque": lambda o, x: (list(o.q), o.q[0], o.q.count(6.0), x + 1),
    "counter": lambda o, x: (o.counter.most_common(1), o.counter["b"], x + 1),
    "ordered dict": lambda o, x: (list(o.od), next(reversed(o.od)), x + 1),
    "defaultdict": lambda o, x: (o.dd["a"], o.dd.get("zz"), x + 1),
    "chainmap": lambda o, x: (o.chain["w"], dict(o.chain), x + 1),
    "bytearray": lambda o, x: (len(o.data), bytes(o.data), x + 1),
    "enumerate zip reversed": lambda o, x: ([*enumerate(o.v)], [*zip(o.v, o.n)], [*reversed(o.v)], [*zip(*[o.v, o.v])], x + 1),
    "filter": lambda o, x: ([*filter(lambda w: w > 5, o.v)], x + 1),
    "contextvar": lambda o, x: x * o.var.get(),
    # modules of the standard library
    "itertools": lambda o, x: ([*itertools.chain(o.v, o.n)], [*itertools.accumulate(o.v)], [*itertools.product(o.n, repeat=2)], x + 1),
    "itertools islice": lambda o, x: ([*itertools.islice(o.d.items(), 1)], [*itertools.chain.from_iterable(o.nested)], x + 1),
    "functools.reduce": lambda o, x: functools.reduce(lambda a, b: a * b, o.v, x),
    "partial": lambda o, x: functools.partial(lambda t, *b, **k: t * sum(b) + sum(k.values()), x)(*o.v, **o.d),
    "operator": lambda o, x: (operator.itemgetter(0)(o.v), operator.attrgetter("items")(o)[1].v, operator.methodcaller("get", "a")(o.d), operator.contains(o.v, 7.0), operator.concat(o.v, []), x + 1),
    "math": lambda o, x: x * math.prod(o.v) + math.fsum(o.v) + math.dist(o.v[:2], [0.0, 0.0]),
    "json": lambda o, x: (json.dumps(o.d), x + 1),
    "pickle": lambda o, x: (pickle.dumps(o.v), x + 1),
    "heapq": lambda o, x: (heapq.nsmallest(1, o.v), heapq.nlargest(1, o.items)[0].v, x + 1),
    "bisect": lambda o, x: (bisect.bisect(o.v, 2.5), x + 1),
    "re": lambda o, x: (re.sub(r"d+", "z", " ".join(o.words)), re.match("r", o.name) is None, x + 1),
    "struct": lambda o, x: (struct.pack("2d", *o.v[:2]), x + 1),
    "vars": lambda o, x: (sorted(vars(o.items[1]).items()), x + 1),
    "dir": lambda o, x: ("late" in dir(o), x + 1),
    "namespace repr": lambda o, x: (repr(o.items), x + 1),
    "type call": lambda o, x: (tuple(o.v), set(o.n), frozenset(o.n), str(o.name), float(o.v[0]), int(o.v[0]), bool(o.v), complex(o.v[0]), x + 1),
    "slice objects": lambda o, x: (x[slice(*o.n)], range(*o.n), x[o.n[0]:]),
    "hash": lambda o, x: (hash(tuple(o.v)), x + 1),
    "bytes": lambda o, x: (bytes(o.n), x + 1),
    "getitem dunder": lambda o, x: (o.v.__getitem__(0), o.d.__contains__("c"), o.v.__len__(), list.__len__(o.v), dict.get(o.d, "a"), x + 1),
}


def _run(f, args):
    try:
        return f(*args)
    except Exception as e:
        return type(e).__name__, [str(a) for a in e.args]


@pytest.mark.parametrize("name", READERS)
def test_reader_sees_every_change(name):
    read = READERS[name]
    worlds = world(), world()
    fs = [lambda x, o=o: read(o, x) for o in worlds]
    compiled = magpy.compile(fs[0], backend="eager")

    def same(when):
        # A combination that eager refuses too (a shape that does not fit) is an answer as good as any.
        got, want = contextvars.copy_context().run(lambda: [_run(f, (batch(0),)) for f in (compiled, fs[1])])
        try:
            compare.equal(got, want)
        except AssertionError as e:
            raise AssertionError(f"{name}, {when}: {e}; stops {[s.reason for s in magpy.explain(compiled).stops]}") from None
    with magpy.config.patch(entry_limit=100):
        same("first"), same("second")
        for what, change in CHANGES.items():
            for o in worlds:
                change(o)
            same(what), same(f"{what}, again")


@pytest.mark.parametrize("name", ["logging", "warnings", "os.path", "sys", "recursionlimit"])
def test_process_state(name, tmp_path, caplog):
    log = logging.getLogger(f"magpy_tests.{name}")

    def logging_(x):
        log.info("shape %s", tuple(x.shape))
        return x + log.isEnabledFor(logging.INFO)

    def warnings_(x):
        warnings.warn("careful")
        return x + 1

    def path(x):
        return x + os.path.exists(tmp_path / "made")

    def sys_(x):
        return x + len(sys.argv)

    def recursion(x):
        return x + sys.getrecursionlimit()

    f = {"logging": logging_, "warnings": warnings_, "os.path": path, "sys": sys_, "recursionlimit": recursion}[name]
    compiled = magpy.compile(f, backend="eager")
    old = sys.getrecursionlimit()

    def same():
        seen = []
        for g in (compiled, f):
            caplog.clear()
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                seen.append((g(batch(0)), [str(w.message) for w in caught], [r.getMessage() for r in caplog.records]))
        compare.equal(*seen)
    try:
        log.setLevel(logging.WARNING)
        same(), same()
        log.setLevel(logging.DEBUG)
        (tmp_path / "made").touch()
        sys.argv.append("extra")
        sys.setrecursionlimit(old + 10)
        same(), same()
    finally:
        sys.argv.remove("extra")
        sys.setrecursionlimit(old)
