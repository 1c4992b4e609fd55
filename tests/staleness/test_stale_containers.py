"""Lists, dicts, sets, deques and what they hold: content, length, order, absence, nesting."""
import collections

import pytest

from support.expect import batch
from support.scenario import Case, run, scenario


def over_list(values):
    def f(x):
        for i, v in enumerate(values):
            x = x * v + i
        return x, len(values)
    return f


LIST_CHANGES = {
    "appended": lambda v: v.append(5.0),
    "deleted": lambda v: v.pop(),
    "reordered": lambda v: v.reverse(),
    "element changed": lambda v: v.__setitem__(1, 9.0),
    "int for float": lambda v: v.__setitem__(0, 2),
    "emptied": lambda v: v.clear(),
    "inserted": lambda v: v.insert(0, 7.0),
    "sliced": lambda v: v.__setitem__(slice(0, 2), [8.0, 8.0, 8.0]),
    "sorted": lambda v: v.sort(key=lambda n: -n),
}


@pytest.mark.parametrize("change", LIST_CHANGES)
def test_list(change):
    def build():
        values = [2.0, 3.0, 4.0]

        def back():
            values[:] = [2.0, 3.0, 4.0]
        return Case(over_list(values), lambda: LIST_CHANGES[change](values), back, differs=change != "int for float")
    run(build)


@scenario
def test_list_element_of_a_nested_list():
    values = [[1.0, 2.0], [3.0, [4.0]]]
    return Case(lambda x: x * values[1][1][0] + values[0][0], lambda: values[1][1].__setitem__(0, 7.0),
                lambda: values[1][1].__setitem__(0, 4.0), unrelated=lambda: values[0].__setitem__(1, 99.0))


@scenario
def test_list_indexed_only():
    values = [2.0, 3.0, 4.0]
    return Case(lambda x: x * values[1], lambda: values.__setitem__(1, 5.0), lambda: values.__setitem__(1, 3.0))


@scenario
def test_list_indexed_from_the_end():
    values = [2.0, 3.0, 4.0]
    return Case(lambda x: x * values[-1], lambda: values.append(9.0), lambda: values.__delitem__(slice(3, None)))


@scenario
def test_list_length_only():
    values = [2.0, 3.0]
    return Case(lambda x: x * len(values), lambda: values.append(0.0), lambda: values.__delitem__(slice(2, None)))


@scenario
def test_list_truth_only():
    values = []
    return Case(lambda x: x + 1 if values else x - 1, lambda: values.append(0.0), lambda: values.clear())


@scenario
def test_list_membership():
    values = [1, 2, 3]
    return Case(lambda x: x + 1 if 5 in values else x - 1, lambda: values.append(5), lambda: 5 in values and values.remove(5))


@scenario
def test_list_comprehension_source():
    values = [1.0, 2.0]
    return Case(lambda x: sum([x * v for v in values]), lambda: values.__setitem__(0, 3.0), lambda: values.__setitem__(0, 1.0))


@scenario
def test_list_through_zip_map_and_sorted():
    a, b = [1.0, 2.0], [3.0, 4.0]

    def f(x):
        for p, q in zip(a, map(lambda v: v + 1, sorted(b))):
            x = x * p + q
        return x

    return Case(f, lambda: b.__setitem__(0, 9.0), lambda: b.__setitem__(0, 3.0))


@scenario
def test_list_replaced_by_an_equal_tuple():
    import types
    o = types.SimpleNamespace(v=[1.0, 2.0])
    return Case(lambda x: (x * o.v[0], isinstance(o.v, list)), lambda: setattr(o, "v", (1.0, 2.0)), lambda: setattr(o, "v", [1.0, 2.0]))


def over_dict(d):
    def f(x):
        for k, v in d.items():
            x = x * v + v + 10 * len(k)
        return x
    return f


DICT_CHANGES = {
    "value changed": lambda d: d.update(a=9.0),
    "key added": lambda d: d.update(new=3.0),
    "key deleted": lambda d: d.pop("bb"),
    "reordered": lambda d: d.update(a=d.pop("a")),
    "key renamed": lambda d: d.update(ccc=d.pop("bb")),
    "emptied": lambda d: d.clear(),
}


@pytest.mark.parametrize("kind", [dict, collections.OrderedDict])
@pytest.mark.parametrize("change", DICT_CHANGES)
def test_dict(change, kind):
    def build():
        d = kind([("a", 2.0), ("bb", 3.0)])

        def back():
            d.clear()
            d.update([("a", 2.0), ("bb", 3.0)])
        return Case(over_dict(d), lambda: DICT_CHANGES[change](d), back)
    run(build)


@scenario
def test_dict_value_by_key():
    d = {"k": 2.0, "unused": 1}
    return Case(lambda x: x * d["k"], lambda: d.update(k=3.0), lambda: d.update(k=2.0), unrelated=lambda: d.update(unused=2))


@scenario
def test_dict_key_that_was_absent():
    d = {}
    return Case(lambda x: x * d.get("k", 2.0), lambda: d.update(k=3.0), lambda: d.pop("k", None), unrelated=lambda: d.update(z=1))


@scenario
def test_dict_key_that_was_absent_by_keyerror():
    d = {}

    def f(x):
        try:
            return x * d["k"]
        except KeyError:
            return x

    return Case(f, lambda: d.update(k=3.0), lambda: d.pop("k", None))


@scenario
def test_dict_membership():
    d = {}
    return Case(lambda x: x + 1 if "k" in d else x - 1, lambda: d.update(k=0), lambda: d.pop("k", None))


@scenario
def test_dict_nested():
    d = {"a": {"b": [1.0, {"c": 2.0}]}}
    return Case(lambda x: x * d["a"]["b"][1]["c"], lambda: d["a"]["b"][1].update(c=5.0), lambda: d["a"]["b"][1].update(c=2.0))


@scenario
def test_dict_passed_as_keywords():
    d = {"k": 2.0}

    def inner(x, k=1.0, j=0.0):
        return x * k + j

    return Case(lambda x: inner(x, **d), lambda: d.update(j=1.0), lambda: d.pop("j", None))


@scenario
def test_dict_copied_then_read():
    d = {"k": 2.0}
    return Case(lambda x: x * {**d, "j": 1.0}["k"] * dict(d)["k"], lambda: d.update(k=3.0), lambda: d.update(k=2.0))


@scenario
def test_defaultdict():
    d = collections.defaultdict(lambda: 1.0, a=2.0)
    return Case(lambda x: x * d["a"], lambda: d.update(a=3.0), lambda: d.update(a=2.0))


@scenario
def test_set():
    s = {1, 2}
    return Case(lambda x: x * sum(s) + (3 in s), lambda: s.add(3), lambda: s.discard(3))


@scenario
def test_deque():
    q = collections.deque([1.0, 2.0])

    def f(x):
        for v in q:
            x = x * v + 1
        return x

    def back():
        q.clear()
        q.extend([1.0, 2.0])

    return Case(f, lambda: q.appendleft(5.0), back)


@scenario
def test_tuple_of_lists():
    t = ([1.0], [2.0])
    return Case(lambda x: x * t[1][0], lambda: t[1].__setitem__(0, 4.0), lambda: t[1].__setitem__(0, 2.0))


@scenario
def test_argument_list():
    v = [1.0, 2.0]
    return Case(lambda x, ks: x * ks[0] + len(ks), lambda: v.append(3.0), lambda: v.__delitem__(slice(2, None)),
                args=lambda i: (batch(i), v))


@scenario
def test_argument_dict():
    d = {"a": 2.0}
    return Case(lambda x, d: sum((x * v for v in d.values()), 0), lambda: d.update(b=3.0), lambda: d.pop("b", None),
                args=lambda i: (batch(i), d))


@scenario
def test_list_subclass_with_its_own_len():
    class Odd(list):
        size = 2

        def __len__(self):
            return self.size

    v = Odd([1.0, 2.0, 3.0])
    return Case(lambda x: x * len(v), lambda: setattr(Odd, "size", 5), lambda: setattr(Odd, "size", 2))


class A:
    k = 2.0


class B:
    k = 3.0


@scenario
def test_a_dict_with_pairs_of_types():
    table = {(A, A): 1.0, (A, (B, "b")): 2.0}
    return Case(lambda x, a: x * table.get((type(a), B), 5.0) * table[type(a), (B, "b")],
                lambda: table.update({(A, B): 7.0}), lambda: table.pop((A, B), None), args=lambda i: (batch(i), A()),
                unrelated=lambda: table.update({(B, B): 0.0}))


@scenario
def test_pairs_of_types_are_looked_through():
    table = {(A, B): 1.0}

    def f(x):
        for first, second in table:
            x = x * first.k + second.k
        return x

    return Case(f, lambda: table.update({(B, A): 7.0}), lambda: table.pop((B, A), None))


@scenario
def test_pairs_of_types_are_put_in():
    table, kept = {A: 2.0, B: 3.0}, {}

    def f(x):
        kept[A, B] = x * table[B]
        return kept[A, B] + table[A]

    return Case(f, lambda: table.update({A: 7.0}), lambda: table.update({A: 2.0}), observe=lambda: dict(kept),
                captures=None)
