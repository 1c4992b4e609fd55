"""Corners: state written and read in one call, or reached by two ways.

Only the right result on every call is asked for here, captured or not; the programs are meant to be unkind.
"""
import types

import pytest
import torch
from torch import nn

import magpy
from support import compare
from support.expect import batch, check
from support.scenario import Case, right


def steps(build, calls=8, state=None):
    """A program whose own state moves on from call to call, beside its eager twin."""
    check(build, calls=calls, captures=None, fullgraph=False, state=state)


def holder(**attributes):
    return types.SimpleNamespace(**attributes)


# --- written and read in one call

def test_counter_read_after_it_was_counted():
    def build():
        o = holder(n=0)

        def f(x):
            o.n += 1
            return x * 2 if o.n % 3 == 0 else x
        return f
    steps(build)


def test_counter_read_before_it_is_counted():
    def build():
        o = holder(n=0)

        def f(x):
            k = o.n
            o.n += 1
            return x + 1 if k > 4 else x
        return f
    steps(build)


def test_two_counters_that_meet():
    def build():
        a = holder(n=0)
        b = a

        def f(x):
            a.n += 1
            b.n += 1
            return x + (a.n - b.n)
        f.a = a
        return f
    steps(build, state=lambda f: f.a.n)


@pytest.mark.parametrize("later", [1.5, True, "text", None, torch.ones(2), [1]], ids=repr)
def test_counter_of_another_type_later(later):
    def build():
        o = holder(n=0)

        def f(x):
            o.n += 1
            return x * 2
        f.o = o
        return f
    plain, ours = build(), build()
    compiled = magpy.compile(ours, backend="eager")
    for _ in range(3):
        plain(batch(0)), compiled(batch(0))
    outcomes = []
    for f, o in ((plain, plain.o), (compiled, ours.o)):
        o.n = list(later) if isinstance(later, list) else later
        try:
            outcomes.append([f(batch(1)), o.n])
        except TypeError as e:
            outcomes.append(["TypeError", str(e), o.n])
    compare.equal(outcomes[1], outcomes[0])


def test_counter_that_has_become_a_property():
    class C:
        pass

    class D:
        @property
        def n(self):
            return 10

        @n.setter
        def n(self, v):
            self.set = v

    def build():
        o = C()
        o.n = 0

        def f(x):
            o.n += 1
            return x * 2
        f.o = o
        return f
    plain, ours = build(), build()
    compiled = magpy.compile(ours, backend="eager")
    for f, o in ((plain, plain.o), (compiled, ours.o)):
        f(batch(0)), f(batch(0))
        o.__class__ = D
        f(batch(0))
    assert vars(plain.o) == vars(ours.o)


def test_length_of_a_list_that_is_appended_to():
    def build():
        log = []

        def f(x):
            log.append(x.shape[0])
            return x * len(log)
        return f
    steps(build)


def test_last_item_of_a_list_that_is_appended_to():
    def build():
        log = [0.0]

        def f(x):
            log.append(log[-1] + 1.0)
            return x * log[-1]
        return f
    steps(build)


def test_value_written_by_the_previous_call():
    def build():
        o = holder(k=1.0)

        def f(x):
            y = x * o.k
            o.k = 2.0 if o.k == 1.0 else 1.0
            return y
        return f
    steps(build)


def test_tensor_written_by_the_previous_call():
    def build():
        o = holder(h=torch.zeros(4))

        def f(x):
            o.h = torch.tanh(o.h + x.sum(0))
            return o.h * 2
        return f
    steps(build)


def test_tensor_that_is_none_at_first():
    def build():
        o = holder(h=None)

        def f(x):
            if o.h is None:
                o.h = torch.zeros(4)
            o.h = o.h + x.sum(0)
            return o.h
        f.o = o
        return f
    steps(build, state=lambda f: f.o.h)


def test_queue_that_runs_empty():
    def build():
        queue = [1.0, 2.0, 3.0, 4.0]

        def f(x):
            while queue:
                return x * queue.pop()
            return x
        f.queue = queue
        return f
    steps(build, state=lambda f: f.queue)


def test_flag_that_is_set_once():
    def build():
        o = holder(ready=False)

        def f(x):
            if not o.ready:
                o.ready = True
                return x * 100
            return x
        return f
    steps(build)


def test_deleted_attribute_is_missing_next_time():
    def build():
        o = holder(k=2.0)

        def f(x):
            del o.k
            return x
        return f
    f = build()
    compiled = magpy.compile(f, backend="eager")
    compiled(batch(0))
    for _ in range(2):
        with pytest.raises(AttributeError):
            compiled(batch(0))


def test_cache_with_a_limit():
    def build():
        cache = {}

        def f(x):
            n = len(cache)
            cache[n % 3] = n
            return x * sum(cache.values())
        f.cache = cache
        return f
    steps(build, state=lambda f: f.cache)


def test_moving_average_in_a_python_number():
    def build():
        o = holder(avg=0.0)

        def f(x):
            o.avg = 0.9 * o.avg + 0.1 * x.shape[0]
            return x * o.avg
        return f
    steps(build)


# --- one object by two ways

@right
def test_two_attributes_become_one_object():
    o = holder(a=[1.0], b=[1.0])
    old = o.b

    def f(x):
        o.a.append(2.0)
        k = len(o.b)
        o.a.pop()
        return x * k
    return Case(f, lambda: setattr(o, "b", o.a), lambda: setattr(o, "b", old))


@right
def test_one_object_becomes_two():
    shared = [1.0]
    o = holder(a=shared, b=shared)

    def f(x):
        o.a[0] = 5.0
        k = o.b[0]
        o.a[0] = 1.0
        return x * k
    return Case(f, lambda: setattr(o, "b", [1.0]), lambda: setattr(o, "b", shared))


@right
def test_argument_is_the_object_behind_an_attribute():
    o = holder(k=1.0)
    other = holder(k=1.0)
    which = [other]

    def f(x, p):
        o.k = 3.0
        y = x * p.k
        o.k = 1.0
        return y
    return Case(f, lambda: which.__setitem__(0, o), lambda: which.__setitem__(0, other), args=lambda i: (batch(i), which[0]))


def test_parameter_as_an_argument():
    def build():
        m = nn.Linear(4, 4)

        def f(x, p):
            with torch.no_grad():
                p.add_(1)
            return m(x)
        f.m = m
        return f
    plain, ours = build(), build()
    ours.m.load_state_dict(plain.m.state_dict())
    compiled = magpy.compile(ours, backend="eager")
    for other in (False, False, True, True, False):
        outs = [f(batch(0), torch.zeros(4, 4) if not other else m.weight) for f, m in ((compiled, ours.m), (plain, plain.m))]
        compare.equal(*outs)


def test_view_kept_beside_its_base():
    def build():
        base = torch.zeros(4)
        o = holder(base=base, row=base[:2])

        def f(x):
            o.base.add_(x.sum(0))
            return o.row * 2
        f.o = o
        return f
    steps(build)
    f = build()
    compiled = magpy.compile(f, backend="eager")
    compiled(batch(0)), compiled(batch(1))
    f.o.row = torch.ones(2)
    assert torch.equal(compiled(batch(2)), torch.full((2,), 2.0))


def test_buffer_returned_and_written_by_the_next_call():
    def build():
        m = nn.Module()
        m.register_buffer("b", torch.zeros(4))

        def f(x):
            m.b.add_(x.sum(0))
            return m.b
        f.m = m
        return f
    plain, ours = build(), build()
    compiled = magpy.compile(ours, backend="eager", fullgraph=True)
    kept = [(compiled(batch(i)), plain(batch(i))) for i in range(4)]
    for got, want in kept:
        compare.equal(got, want)
        assert got is ours.m.b and want is plain.m.b


@right
def test_tied_weights_untied():
    m = nn.Module()
    m.a, m.b = nn.Linear(4, 4, bias=False), nn.Linear(4, 4, bias=False)
    m.b.weight = m.a.weight
    new = nn.Parameter(m.a.weight.detach() * 2)

    def f(x):
        return m.b(m.a(x))
    return Case(f, lambda: setattr(m.b, "weight", new), lambda: setattr(m.b, "weight", m.a.weight))


def test_closure_of_a_function_made_inside_an_outside_function():
    """A function made in the call shares cells of the outside function around it, which is another one each time."""
    def make(k):
        def outer(x):
            return (lambda: x * k)()
        return outer
    f = magpy.compile(lambda g, x: g(x), backend="eager", fullgraph=True)
    for k in (1.0, 2.0, 2.0, 3.0, 1.0):
        g, x = make(k), batch(0)
        compare.equal(f(g, x), g(x), f"k={k}")
    assert (magpy.explain(f).captures, magpy.explain(f).hits) == (3, 2)


def test_attribute_of_an_outside_base_read_through_a_class_made_inside():
    class Base:
        k = 2.0

    def f(x):
        class Inner(Base):
            pass
        return x * Inner.k
    compiled = magpy.compile(f, backend="eager", fullgraph=True)
    for k in (2.0, 2.0, 5.0, 5.0):
        Base.k = k
        compare.equal(compiled(batch(0)), f(batch(0)), f"k={k}")
    assert (magpy.explain(compiled).captures, magpy.explain(compiled).hits) == (2, 2)


def test_identity_of_equal_values_stops():
    """A guard compares strings by value, so which of two equal ones it is cannot be captured."""
    held, other = "".join(["tra", "in"]), "".join(["t", "rain"])

    def f(x, mode):
        return x + 1 if mode is held else x
    compiled = magpy.compile(f, backend="eager")
    for mode in (held, other, held, other, "eval"):
        compare.equal(compiled(batch(0), mode), f(batch(0), mode), mode)
    assert {s.reason for s in magpy.explain(compiled).stops} == {"object-read"}
    assert magpy.explain(compiled).captures == 1       # "eval" differs in value, too
