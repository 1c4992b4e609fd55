"""Every change of an outside container: redone at each hit, seen by later reads of the same call, never stale.

Each change runs in three programs: alone; followed by a look at all of the container; and between two looks. Each
program is called several times next to its eager twin, and somebody else changes the containers in between.
"""
import bisect
import collections
import heapq
import operator

import pytest
import torch

import magpy
from support.expect import batch


class Stack(list):
    pass


def lists(): return [3, 1, 2]
def tables(): return {"a": 1, "b": 2, "c": 3}
def sets(): return {1, 2, 3}
def ordered(): return collections.OrderedDict(a=1, b=2, c=3)
def queues(): return collections.deque([1, 2, 3], maxlen=5)
def counts(): return collections.Counter("aab")
def defaults(): return collections.defaultdict(list, a=[1])
def numbers(): return collections.defaultdict(int, a=1)
def made(): return collections.defaultdict(lambda: {"n": 0})
def stacks(): return Stack([3, 1, 2])


def inplace(operate, o, value):
    operate(o, value)


def gives(*items):
    yield from items


CHANGES = {
    "list.append": (lists, lambda o: o.append(4)),
    "list.extend": (lists, lambda o: o.extend([4, 5])),
    "list.extend, generator": (lists, lambda o: o.extend(i * 2 for i in (1, 2))),
    "list.extend, map": (lists, lambda o: o.extend(map(abs, [-1, 2]))),
    "list +=": (lists, lambda o: inplace(operator.iadd, o, (4,))),
    "list += generator": (lists, lambda o: inplace(operator.iadd, o, gives(4))),
    "list *=": (lists, lambda o: inplace(operator.imul, o, 2)),
    "list.insert": (lists, lambda o: o.insert(1, 9)),
    "list.insert, negative": (lists, lambda o: o.insert(-1, 9)),
    "list.pop": (lists, lambda o: o.pop()),
    "list.pop(0)": (lists, lambda o: o.pop(0)),
    "list.remove": (lists, lambda o: o.remove(o[0])),
    "list.clear": (lists, lambda o: o.clear()),
    "list.reverse": (lists, lambda o: o.reverse()),
    "list.sort": (lists, lambda o: o.sort()),
    "list.sort, reverse": (lists, lambda o: o.sort(reverse=True)),
    "list[i] =": (lists, lambda o: operator.setitem(o, 0, 8)),
    "list[-1] =": (lists, lambda o: operator.setitem(o, -1, 8)),
    "list[a:b] =": (lists, lambda o: operator.setitem(o, slice(0, 2), [7, 7, 7])),
    "del list[i]": (lists, lambda o: operator.delitem(o, 0)),
    "del list[a:b]": (lists, lambda o: operator.delitem(o, slice(0, 2))),
    "insort": (lists, lambda o: bisect.insort(o, 2)),
    "heappush": (lists, lambda o: heapq.heappush(o, 0)),
    "heappop": (lists, lambda o: heapq.heappop(o)),
    "heapify": (lists, lambda o: heapq.heapify(o)),
    "heapreplace": (lists, lambda o: heapq.heapreplace(o, 5)),
    "Stack.append": (stacks, lambda o: o.append(4)),
    "Stack.pop": (stacks, lambda o: o.pop()),
    "Stack[i] =": (stacks, lambda o: operator.setitem(o, 0, 8)),
    "dict[k] =": (tables, lambda o: operator.setitem(o, "n", 4)),
    "dict[k] = again": (tables, lambda o: operator.setitem(o, "a", 4)),
    "del dict[k]": (tables, lambda o: o.__delitem__("a") if "a" in o else None),
    "dict.pop": (tables, lambda o: o.pop("a", None)),
    "dict.popitem": (tables, lambda o: o.popitem()),
    "dict.setdefault": (tables, lambda o: (o.setdefault("n", 4), o.setdefault("a", 5))),
    "dict.update": (tables, lambda o: o.update({"n": 1}, a=5)),
    "dict.update, generator": (tables, lambda o: o.update((k, 1) for k in "an")),
    "dict.update, generator over itself": (tables, lambda o: o.update((k, v + 1) for k, v in list(o.items()))),
    "dict |=": (tables, lambda o: inplace(operator.ior, o, {"n": 1})),
    "dict.clear": (tables, lambda o: o.clear()),
    "dict +=": (tables, lambda o: operator.setitem(o, "b", o["b"] + 1)),
    "set.add": (sets, lambda o: o.add(4)),
    "set.add again": (sets, lambda o: o.add(1)),
    "set.discard": (sets, lambda o: o.discard(1)),
    "set.remove": (sets, lambda o: o.remove(1) if 1 in o else None),
    "set.clear": (sets, lambda o: o.clear()),
    "set.update": (sets, lambda o: o.update([4], {5})),
    "set |=": (sets, lambda o: inplace(operator.ior, o, {4})),
    "set &=": (sets, lambda o: inplace(operator.iand, o, {1, 2, 4})),
    "set -=": (sets, lambda o: inplace(operator.isub, o, {1})),
    "set ^=": (sets, lambda o: inplace(operator.ixor, o, {1, 9})),
    "set.difference_update": (sets, lambda o: o.difference_update([1])),
    "set.intersection_update": (sets, lambda o: o.intersection_update([1, 2])),
    "set.symmetric_difference_update": (sets, lambda o: o.symmetric_difference_update([1, 8])),
    "OrderedDict[k] =": (ordered, lambda o: operator.setitem(o, "n", 4)),
    "OrderedDict.move_to_end": (ordered, lambda o: o.move_to_end(next(iter(o)))),
    "OrderedDict.move_to_end, first": (ordered, lambda o: o.move_to_end(next(reversed(o)), last=False)),
    "OrderedDict.popitem": (ordered, lambda o: o.popitem()),
    "OrderedDict.popitem, first": (ordered, lambda o: o.popitem(last=False)),
    "OrderedDict.pop": (ordered, lambda o: o.pop("a", 0)),
    "OrderedDict.update": (ordered, lambda o: o.update(n=1)),
    "OrderedDict.setdefault": (ordered, lambda o: o.setdefault("n", 4)),
    "OrderedDict.clear": (ordered, lambda o: o.clear()),
    "del OrderedDict[k]": (ordered, lambda o: o.__delitem__(next(iter(o)))),
    "deque.append": (queues, lambda o: o.append(4)),
    "deque.appendleft": (queues, lambda o: o.appendleft(4)),
    "deque.extend": (queues, lambda o: o.extend([4, 5])),
    "deque.extendleft": (queues, lambda o: o.extendleft([4, 5])),
    "deque +=": (queues, lambda o: inplace(operator.iadd, o, [4])),
    "deque.pop": (queues, lambda o: o.pop()),
    "deque.popleft": (queues, lambda o: o.popleft()),
    "deque.rotate": (queues, lambda o: o.rotate(1)),
    "deque.reverse": (queues, lambda o: o.reverse()),
    "deque.clear": (queues, lambda o: o.clear()),
    "deque.insert": (lambda: collections.deque([1, 2]), lambda o: o.insert(1, 9)),
    "deque.remove": (queues, lambda o: o.remove(o[0])),
    "deque[i] =": (queues, lambda o: operator.setitem(o, 0, 8)),
    "del deque[i]": (queues, lambda o: operator.delitem(o, 0)),
    "Counter[k] +=": (counts, lambda o: operator.setitem(o, "a", o["a"] + 1)),
    "Counter.update": (counts, lambda o: o.update("az")),
    "Counter.update, generator": (counts, lambda o: o.update(k for k in "aaz")),
    "Counter.subtract": (counts, lambda o: o.subtract("a")),
    "defaultdict(list), new": (defaults, lambda o: o["n"].append(4)),
    "defaultdict(list), there": (defaults, lambda o: o["a"].append(4)),
    "defaultdict(list), two": (defaults, lambda o: [o[k].append(4) for k in "nm"] and None),
    "defaultdict(list), by map": (defaults, lambda o: list(map(o.__getitem__, "nm")) and None),
    "defaultdict(int)": (numbers, lambda o: operator.setitem(o, "n", o["n"] + 1)),
    "defaultdict by a function": (made, lambda o: operator.setitem(o["n"], "n", o["n"]["n"] + 1)),
    "defaultdict.pop": (defaults, lambda o: o.pop("a", None)),
}


def outside(o):
    """What somebody else does to it between calls."""
    if isinstance(o, dict):
        o["z"] = [] if isinstance(next(iter(o.values()), 0), list) else {"n": 5} if isinstance(next(iter(o.values()), 0), dict) else 7
        o["a"] = o["z"] if not isinstance(o.get("a"), int) else o["a"] + 10
    elif isinstance(o, set):
        o.update((1, 12))
    else:
        o.extend([6, 1, 6])


def copied(value):
    if isinstance(value, dict):
        return [(k, copied(v)) for k, v in value.items()]
    if isinstance(value, (list, tuple, collections.deque)):
        return [copied(v) for v in value]
    return sorted(value) if isinstance(value, set) else value


def all_of(o):
    if isinstance(o, dict):
        return [(k, list(v) if type(v) is list else dict(v) if type(v) is dict else v) for k, v in o.items()]
    return sorted(o) if isinstance(o, set) else list(o)


PROGRAMS = {
    "alone": lambda change: lambda o, x: (change(o), x + 1),
    "then read": lambda change: lambda o, x: (change(o), all_of(o), len(o), x + 1),
    "between reads": lambda change: lambda o, x: (all_of(o), change(o), all_of(o), bool(o), x + 1),
}


@pytest.mark.parametrize("name", CHANGES)
def test_changes_of_outside_containers(name):
    make, change = CHANGES[name]
    for kind, program in PROGRAMS.items():
        f = program(change)
        ours, plain = make(), make()
        compiled = magpy.compile(lambda x, ours=ours, f=f: f(ours, x), backend="eager", fullgraph=True)
        for i in range(6):
            if i in (2, 4):
                outside(ours), outside(plain)
            got, want = outcome(compiled, batch(i)), outcome(lambda x: f(plain, x), batch(i))
            assert copied(ours) == copied(plain), (kind, i)
            assert type(ours) is type(plain)
            assert got == want, (kind, i)
            if want == "raised":
                outside(ours), outside(plain)
        captured = magpy.explain(compiled)
        assert captured.captures > 0 or want == "raised", (kind, captured.stops)


def outcome(f, x):
    try:
        *rest, y = f(x)
    except (IndexError, KeyError, ValueError):
        return "raised"
    assert torch.equal(y, x + 1)
    return copied(rest)


GROWING = ["list.append", "list.extend", "list.extend, generator", "list +=", "list.insert", "list.clear", "list.reverse", "dict[k] =", "dict.update",
           "dict.clear", "set.add", "set.update", "set |=", "deque.append", "deque.appendleft", "deque.extend", "deque.rotate", "deque.clear",
           "OrderedDict[k] =", "OrderedDict.update", "Stack.append"]


@pytest.mark.parametrize("name", GROWING)
def test_a_change_that_reads_nothing_needs_no_guard_on_the_content(name):
    make, change = CHANGES[name]
    container = make()
    compiled = magpy.compile(lambda x: (change(container), x + 1), backend="eager", fullgraph=True)
    for i in range(5):
        compiled(batch(i))
        outside(container)
    assert magpy.explain(compiled).hits == 4, magpy.explain(compiled).misses
