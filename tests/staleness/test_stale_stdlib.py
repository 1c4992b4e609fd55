"""Corners of the standard library's rules where a stale answer could hide."""
import collections
import contextlib
import copy
import functools
import heapq
import io
import json
import logging
import operator
import types
import weakref

import pytest
import torch

import magpy
from support import compare
from support.expect import batch
from support.scenario import Case, right, scenario


class Thing:
    def __init__(self, n):
        self.n = n

    def __str__(self):
        return f"thing {self.n}"

    def __lt__(self, other):
        return self.n < other.n


class Plain:
    pass


@scenario
def test_text_of_an_object_in_a_stream():
    thing = Thing(1)

    def f(x):
        out = io.StringIO()
        print(thing, file=out)
        return x, out.getvalue()
    return Case(f, lambda: setattr(thing, "n", 20), lambda: setattr(thing, "n", 1), args=lambda i: (batch(i),))


@scenario
def test_the_str_of_a_class_is_replaced():
    class Local(Thing):
        pass
    thing = Local(1)

    def f(x):
        out = io.StringIO()
        print(thing, file=out)
        return x, out.getvalue()

    def back():
        if "__str__" in vars(Local):
            del Local.__str__
    return Case(f, lambda: setattr(Local, "__str__", lambda self: "other"), back)


@scenario
def test_copies_of_one_object_and_of_two():
    pair = [Thing(1), Thing(1)]
    kept = pair[1]

    def f(x):
        a, b = copy.deepcopy(pair)
        return x, a is b
    return Case(f, lambda: pair.__setitem__(1, pair[0]), lambda: pair.__setitem__(1, kept))


@scenario
def test_a_copy_method_that_comes_later():
    class Local(Thing):
        pass
    thing = Local(1)

    def back():
        if "__deepcopy__" in vars(Local):
            del Local.__deepcopy__
    return Case(lambda x: x * copy.deepcopy(thing).n, lambda: setattr(Local, "__deepcopy__", lambda self, memo: Thing(7)), back)


@scenario
def test_another_object_in_a_set():
    first, second = Thing(1), Thing(5)
    things = {first}

    def f(x):
        for thing in things:
            x = x * thing.n
        return x

    def put(new):
        things.clear()
        things.add(new)
    return Case(f, lambda: put(second), lambda: put(first))


@scenario
def test_an_argument_that_is_in_a_set():
    inside, outsider = Plain(), Plain()
    things = {inside}
    current = [inside]
    return Case(lambda x: x * (2 if current[0] in things else 3), lambda: current.__setitem__(0, outsider),
                lambda: current.__setitem__(0, inside), captures=None)


@scenario
def test_an_object_that_is_a_key():
    key, other = Plain(), Plain()
    table = {key: 2, other: 5}
    current = [key]
    return Case(lambda x: x * table[current[0]], lambda: current.__setitem__(0, other), lambda: current.__setitem__(0, key), captures=None)


@scenario
def test_writes_to_an_element_of_a_set_by_way_of_an_argument():
    """What is written to is the argument, whatever the set holds."""
    element, other = Plain(), Plain()
    element.n = other.n = 0
    things, current = {element}, [element]

    def f(x):
        target = current[0]
        for each in things:
            target.n = target.n + (each is target)
        return x + 1
    return Case(f, lambda: current.__setitem__(0, other), lambda: current.__setitem__(0, element), captures=None, differs=False,
                observe=lambda: (element.n, other.n))


@scenario
def test_the_factory_of_a_defaultdict():
    table = collections.defaultdict(lambda: 2)

    def f(x):
        y = x * table["k"]
        del table["k"]
        return y
    first = table.default_factory
    return Case(f, lambda: setattr(table, "default_factory", lambda: 3), lambda: setattr(table, "default_factory", first))


@scenario
def test_json_of_another_order():
    table = collections.OrderedDict(a=1, b=2)
    return Case(lambda x: (x, json.dumps(table)), lambda: table.move_to_end("a"), lambda: table.move_to_end("a", last=False))


@scenario
def test_text_of_an_ordered_dict():
    table = collections.OrderedDict(a=1, b=2)
    return Case(lambda x: (x, str(table)), lambda: table.move_to_end("a"), lambda: table.move_to_end("a", last=False))


@scenario
def test_a_deque_folded_up():
    numbers = collections.deque([1, 2, 3])
    return Case(lambda x: x * functools.reduce(operator.add, numbers, 0), lambda: numbers.append(4), lambda: numbers.pop())


@scenario
def test_a_heap_of_objects():
    heap = [Thing(1), Thing(5)]
    return Case(lambda x: x * heapq.nsmallest(1, heap)[0].n, lambda: setattr(heap[1], "n", 0), lambda: setattr(heap[1], "n", 5))


@scenario
def test_a_heap_whose_deep_items_decide():
    low, high = [1], [2]
    items = [(1,), (1, low), (1,), (1, high)]
    return Case(lambda x: x * max(items)[1][0], lambda: low.__setitem__(0, 9), lambda: low.__setitem__(0, 1))


@scenario
def test_a_weak_reference_to_another_object():
    first, second = Plain(), Plain()
    first.n, second.n = 2, 3
    holder = types.SimpleNamespace(thing=first)

    def f(x):
        return x * weakref.ref(holder.thing)().n
    keep = weakref.ref(first), weakref.ref(second)
    return Case(f, lambda: setattr(holder, "thing", second), lambda: setattr(holder, "thing", first) or keep and None)


@scenario
def test_a_logger_that_is_disabled():
    log = logging.getLogger("magpy.test.stale")
    log.setLevel(logging.INFO)
    return Case(lambda x: x * (2 if log.isEnabledFor(logging.INFO) else 3), lambda: setattr(log, "disabled", True),
                lambda: setattr(log, "disabled", False))


@scenario
def test_logging_that_is_disabled_everywhere():
    log = logging.getLogger("magpy.test.stale")
    log.setLevel(logging.INFO)
    return Case(lambda x: x * (2 if log.isEnabledFor(logging.INFO) else 3), lambda: logging.disable(logging.CRITICAL),
                lambda: logging.disable(logging.NOTSET))


@scenario
def test_a_name_in_evaluated_text():
    space = {"n": 2, "__builtins__": {}}
    return Case(lambda x: x * eval("n + 1", space), lambda: space.update(n=5), lambda: space.update(n=2))


@scenario
def test_a_field_of_a_format():
    thing = types.SimpleNamespace(width=3)
    return Case(lambda x: (x, "{0:{1.width}d}".format(7, thing)), lambda: setattr(thing, "width", 5), lambda: setattr(thing, "width", 3),
                captures=None, fullgraph=False)


@scenario
def test_a_cached_method_of_another_function():
    table = {"f": functools.partial(max, 1)}
    return Case(lambda x: x * list(map(table["f"], [0, 2]))[0], lambda: table.update(f=functools.partial(max, 7)),
                lambda: table.update(f=functools.partial(max, 1)), captures=None, fullgraph=False)


@right
def test_an_exception_half_way_through_extend():
    log = []
    limit = [2]

    def numbers():
        for n in range(4):
            if n == limit[0]:
                raise ValueError
            yield n

    def f(x):
        try:
            log.extend(numbers())
        except ValueError:
            pass
        return x + 1
    return Case(f, lambda: limit.__setitem__(0, 3), lambda: limit.__setitem__(0, 2), observe=lambda: list(log))


@right
def test_a_generator_that_changes_what_it_extends():
    log = [0]
    step = [1]

    def numbers():
        for n in range(2):
            log.append(-n)
            yield n * step[0]

    def f(x):
        log.extend(numbers())
        return x + len(log)
    return Case(f, lambda: step.__setitem__(0, 3), lambda: step.__setitem__(0, 1), observe=lambda: list(log))


@right
def test_entries_that_were_the_same_before():
    """A key that is set to the value it has is set all the same."""
    table = {"a": 1}
    return Case(lambda x: (table.update((k, 1) for k in "ab"), x + 1)[1], lambda: table.update(a=5), lambda: table.update(a=1),
                differs=False, observe=lambda: dict(table))


def test_a_generator_handed_out_runs_when_it_is_used():
    state = [1]

    def f(x):
        return (x * state[0] for _ in range(2))
    compiled = magpy.compile(f, backend="eager", fullgraph=True)
    for i in range(4):
        ours, plain = compiled(batch(i)), f(batch(i))
        state[0] += 1
        compare.equal(list(ours), list(plain))
    assert magpy.explain(compiled).hits == 3


def test_what_is_made_again_is_made_anew():
    def f(x):
        return io.StringIO("ab"), iter([1, 2]), collections.deque([x]), types.SimpleNamespace(a=[1]), bytearray(b"a"), ValueError([1])
    compiled = magpy.compile(f, backend="eager", fullgraph=True)
    for i in range(3):
        stream, iterator, queue, space, data, error = compiled(batch(i))
        assert (stream.read(), list(iterator), len(queue), space.a, data, error.args) == ("ab", [1, 2], 1, [1], b"a", ([1],))
        stream.write("x"), queue.append(1), space.a.append(2), data.append(5), error.args[0].append(6)
    assert magpy.explain(compiled).hits == 2


def test_the_stream_of_the_day(capsys):
    def f(x):
        print("to nobody", Plain)
        return x + 1
    compiled = magpy.compile(f, backend="eager", fullgraph=True)
    for i in range(4):
        with contextlib.redirect_stdout(io.StringIO()) as out:
            compiled(batch(i))
        assert out.getvalue() == f"to nobody {Plain}\n"
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("inside", [True, False])
def test_output_that_is_redirected_inside(inside, capsys):
    def f(x):
        with contextlib.redirect_stdout(io.StringIO()) as out:
            print("hidden", [1])
        if not inside:
            print("shown")
        return x + 1, out.getvalue()
    compiled = magpy.compile(f, backend="eager", fullgraph=True)
    for i in range(3):
        y, text = compiled(batch(i))
        assert torch.equal(y, batch(i) + 1) and text == "hidden [1]\n"
        assert capsys.readouterr().out == ("" if inside else "shown\n")
