"""magpy.annotate: rules that users add for their own C and Python functions."""

import array
import asyncio
import copy
import gc
import types
import weakref
from syslog import LOG_MASK

import pytest
import torch
from torch import nn

import magpy
from magpy.recorder.callables.registry import ANNOTATED, KINDS, RULES, USERS
from support import compare
from support.expect import assert_counts, batch, check

SETTING = 2.0
LOG = []


@pytest.fixture(autouse=True)
def tables():
    """What a test annotates is forgotten after it."""
    import magpy.recorder.callables  # noqa: F401
    kept = [(table, table.copy()) for table in (RULES, KINDS, ANNOTATED, USERS)]
    LOG.clear()
    yield
    for table, before in kept:
        table.clear()
        table.update(before)


def compile_(fn, **options):
    return magpy.compile(fn, backend="eager", **options)


def stop_of(fn, *args):
    f = compile_(fn)
    want = fn(*copy.deepcopy(args))
    LOG.clear()
    compare.equal(f(*args), want)
    return magpy.explain(f).stops[0]


def entries(fn, calls, captures):
    """Calls of *fn*, compared with eager; how often it is captured."""
    f = compile_(fn, fullgraph=True)
    for args in calls:
        torch.testing.assert_close(f(*args()), fn(*args()))
    assert_counts(f, captures, len(calls) - captures)
    return f


# ---- how it is called -------------------------------------------------------------------------

def test_forms():
    def plain(x):
        return x

    @magpy.annotate("pure")
    def decorated(x):
        return x
    assert magpy.annotate(plain, "leaf") is plain and decorated(3) == 3
    assert magpy.annotate(LOG_MASK, "pure") is LOG_MASK
    assert id(plain) in ANNOTATED and LOG_MASK in RULES


class Point:
    def norm(self):
        return 5

    def __call__(self):
        return 6


def generator():
    yield


async def coroutine():
    pass


@pytest.mark.parametrize("args, error, text", [
    (("pur",), ValueError, "no kind 'pur'; there are: pure, reads, mutates, effect, leaf"),
    ((len, "quiet"), ValueError, "no kind 'quiet'"),
    ((len, 3), TypeError, "the kind is a word"),
    ((len,), TypeError, "needs a kind"),
    ((3, "pure"), TypeError, "something to call, not int"),
    ((Point().norm, "pure"), TypeError, "bound to an object: annotate the method of the class, Point.norm"),
    (([].append, "mutates"), TypeError, "list.append"),
    (("a".__len__, "pure"), TypeError, "str.__len__"),
    ((Point(), "pure"), TypeError, "Point.__call__"),
    ((staticmethod(len), "pure"), TypeError, "below staticmethod"),
    ((property(len), "pure"), TypeError, "below property"),
    ((generator, "pure"), TypeError, "generator or coroutine"),
    ((coroutine, "leaf"), TypeError, "generator or coroutine"),
    ((torch.relu, "pure"), ValueError, "operation of torch"),
    ((torch.Tensor.add, "pure"), ValueError, "operation of torch"),
    ((nn.ReLU(), "leaf"), TypeError, "plain function, not a ReLU"),
    ((magpy.compile(generator, backend="eager"), "leaf"), TypeError, "plain function"),
    ((LOG_MASK, "leaf"), TypeError, "leaf is about Python code"),
    ((array.array, "mutates"), TypeError, "pure or reads"),
])
def test_what_is_refused(args, error, text):
    with pytest.raises(error, match=text):
        magpy.annotate(*args)


def test_a_rule_of_magpys_own_is_replaced_with_a_warning(caplog):
    magpy.annotate(LOG_MASK, "reads")
    magpy.annotate(LOG_MASK, "pure")
    assert caplog.text == ""
    magpy.annotate(sorted, "pure")
    magpy.annotate(sorted, "pure")
    assert caplog.text.count("MagPy's own rule of sorted (") == 1


def test_an_annotation_dies_with_its_function():
    def local(x):
        return x
    magpy.annotate(local, "pure")
    gone, number = weakref.ref(local), id(local)
    del local
    gc.collect()
    assert gone() is None and number not in ANNOTATED


def test_inside_a_captured_call_it_ends_the_capture():
    def local(x):
        return x
    assert stop_of(lambda x: magpy.annotate(local, "leaf")(x), batch(0)).reason == "object-write"


# ---- pure -------------------------------------------------------------------------------------

def test_a_c_function_without_rule_and_with():
    def f(x, data):
        return x * (LOG_MASK(data) + 1)
    assert LOG_MASK not in RULES, "another function without a rule is needed here"
    assert stop_of(f, batch(0), 3).reason == "unknown-callable"
    magpy.annotate(LOG_MASK, "pure")
    entries(f, [lambda: (batch(0), 3), lambda: (batch(1), 3), lambda: (batch(2), 4), lambda: (batch(3), 3)], 2)


def test_pure_guards_containers_all_the_way_down():
    magpy.annotate(array.array, "pure")
    magpy.annotate(array.array.count, "pure")

    def f(x, numbers):
        return x * array.array("i", numbers).count(2)
    entries(f, [lambda: (batch(0), [1, 2]), lambda: (batch(1), [1, 2]), lambda: (batch(2), [2, 2])], 2)
    inner = magpy.annotate(lambda tree: sum(tree["a"]["b"]), "pure")
    entries(lambda x, tree: x * inner(tree),
            [lambda: (batch(0), {"a": {"b": [1, 2]}}), lambda: (batch(1), {"a": {"b": [1, 2]}}),
             lambda: (batch(2), {"a": {"b": [1, 5]}})], 2)


def test_a_pure_python_function_is_run_and_not_recorded():
    @magpy.annotate("pure")
    def factor(n, *rest, k=1, **more):
        return LOG_MASK(n) + sum(rest) + k + sum(more.values()) + (lambda: n)()

    def f(x, n):
        return x * factor(n, 2, n, k=3, extra=n)
    f = entries(f, [lambda: (batch(0), 3), lambda: (batch(1), 3), lambda: (batch(2), 4)], 2)
    assert "LOG_MASK" not in magpy.explain(f).entries[0].guards


def test_pure_functions_in_every_kind_of_call():
    double = magpy.annotate(lambda n: LOG_MASK(n) * 2, "pure")

    class Holder:
        twice = staticmethod(double)

        @magpy.annotate("reads")
        def times(self, n):
            return LOG_MASK(n) * self.k

        def __init__(self, k):
            self.k = k

    def f(x, values, holder):
        total = sum(map(double, values)) + max(values, key=double) + Holder.twice(3) + sorted(values, key=double)[0]
        total += sum(double(v) for v in values) + Holder(3).times(2) + holder.times(2)
        return x * total
    holder = Holder(2)
    compiled = entries(f, [lambda: (batch(0), [1, 2], holder), lambda: (batch(1), [1, 2], holder)], 1)
    holder.k = 5
    torch.testing.assert_close(compiled(batch(0), [1, 2], holder), f(batch(0), [1, 2], holder))
    assert magpy.explain(compiled).misses[0].startswith("arg[2].k: was 2, is 5")


def test_what_pure_cannot_read_ends_the_capture():
    class Thing:
        n = 3
    pure = magpy.annotate(lambda thing: thing.n, "pure")
    stop = stop_of(lambda x, thing: x * pure(thing), batch(0), Thing())
    assert stop.reason == "object-read" and "Thing" in stop.detail
    magpy.annotate(array.array.count, "pure")
    stop = stop_of(lambda x, numbers: x * numbers.count(2), batch(0), array.array("i", [2]))
    assert stop.reason == "object-read" and "array" in stop.detail


def test_a_tensor_is_no_value():
    # Python: recorded as any other function in such a call
    scaled = magpy.annotate(lambda x, k: x * k["k"], "pure")
    entries(lambda x, k: scaled(x, k), [lambda: (batch(0), {"k": 2}), lambda: (batch(1), {"k": 2}),
                                        lambda: (batch(2), {"k": 3})], 2)
    looks = magpy.annotate(lambda x: LOG_MASK(int(x[0])), "pure")
    assert stop_of(lambda x: x * looks(x), torch.ones(3)).reason == "unknown-callable"
    # C: stopped
    magpy.annotate(LOG_MASK, "pure")
    for given in (lambda x: x, lambda x: [x], lambda x: Config(x=x)):
        stop = stop_of(lambda x: (raises(LOG_MASK, given(x)), x + 1)[1], batch(0))
        assert stop.reason == "tensor-data" and "LOG_MASK gets a tensor" in stop.detail


def raises(function, *args):
    try:
        return function(*args)
    except (TypeError, ValueError):
        return None


def test_tensor_operations_of_a_pure_function_are_in_the_graph():
    ramp = magpy.annotate(lambda n: torch.arange(LOG_MASK(n)) * 2.0, "pure")
    f = entries(lambda x, n: x + ramp(n), [lambda: (batch(0), 2), lambda: (batch(1), 2)], 1)
    assert "arange" in magpy.explain(f).entries[0].graph
    looks = magpy.annotate(lambda n: float(torch.ones(n).sum()), "pure")
    check(lambda: (lambda x: x * looks(3)), captures=None, fullgraph=False)


def test_a_result_from_outside_is_of_unknown_origin():
    kept = [1.0]
    lends = magpy.annotate(lambda n: kept, "pure")
    f = compile_(lambda x: x * lends(1)[0])
    for value in (1.0, 2.0):
        kept[0] = value
        torch.testing.assert_close(f(batch(0)), batch(0) * value)
    assert magpy.explain(f).stops[0].reason == "unknown-object"
    lent = torch.ones(4)
    lends_tensor = magpy.annotate(lambda n: lent, "pure")
    assert stop_of(lambda x: x * lends_tensor(1), batch(0)).reason in ("unknown-tensor", "unknown-object")


def test_which_function_is_annotated_is_guarded():
    holder = types.SimpleNamespace(op=magpy.annotate(lambda n: n + 1, "pure"))
    one, two = holder.op, magpy.annotate(lambda n: n + 2, "pure")

    def f(x, op):
        return x * holder.op(3) + op(1)
    compiled = compile_(f, fullgraph=True)
    for op, passed in ((one, one), (one, one), (two, one), (two, two), (one, one)):
        holder.op = op
        torch.testing.assert_close(compiled(batch(0), passed), f(batch(0), passed))
    assert_counts(compiled, 3, 2)


def made(k):
    return lambda n: n * k


def test_functions_of_one_code_object_are_told_apart():
    two, three = made(2), made(3)
    magpy.annotate(two, "pure")
    entries(lambda x, op: x * op(5), [lambda: (batch(0), two), lambda: (batch(0), three), lambda: (batch(0), two)], 2)


def test_functions_of_cython():
    from magpy.guards.program import is_leaf
    assert "cython" in type(is_leaf).__name__ and stop_of(lambda x: x * is_leaf(3), batch(0)).reason == "unknown-callable"
    magpy.annotate(is_leaf, "pure")
    entries(lambda x, n: x * is_leaf(n), [lambda: (batch(0), 3), lambda: (batch(1), 3), lambda: (batch(2), 4)], 2)
    entries(lambda x, op: x * op(3), [lambda: (batch(0), is_leaf), lambda: (batch(1), is_leaf)], 1)


# ---- reads -------------------------------------------------------------------------------------

class Config:
    def __init__(self, **values):
        self.__dict__.update(values)


def test_reads_goes_through_attributes():
    volume = magpy.annotate(lambda config: config.a * config.inner.b[0], "reads")

    def f(x, config):
        return x * volume(config)
    entries(f, [lambda: (batch(0), Config(a=2, inner=Config(b=[3]))), lambda: (batch(1), Config(a=2, inner=Config(b=[3]))),
                lambda: (batch(2), Config(a=2, inner=Config(b=[4]))), lambda: (batch(3), Config(a=5, inner=Config(b=[3])))], 3)


# ---- mutates ------------------------------------------------------------------------------------

def test_mutates_is_replayed_as_that_operation():
    magpy.annotate(array.array.append, "mutates")
    ours, theirs = array.array("i"), array.array("i")

    def f(x, numbers, n):
        numbers.append(n)
        return x + n
    compiled = compile_(f, fullgraph=True)
    for n in (1, 1, 2, 1):
        torch.testing.assert_close(compiled(batch(0), ours, n), f(batch(0), theirs, n))
    assert ours == theirs == array.array("i", [1, 1, 2, 1])
    assert_counts(compiled, 2, 2)


def push(stack, value):
    stack.items.append(value)
    stack.n += 1


def push_and_tell(stack, value):
    push(stack, value)
    return stack.n


def push_fluent(stack, value):
    push(stack, value)
    return stack


def stack():
    return Config(items=[], n=0)


def test_mutates_of_python_code_with_tensors():
    magpy.annotate(push, "mutates")
    ours, theirs = stack(), stack()

    def f(x, target):
        y = x * 2
        push(target, y)
        return y + 1
    compiled = compile_(f, fullgraph=True)
    for i in range(4):
        torch.testing.assert_close(compiled(batch(i), ours), f(batch(i), theirs))
    assert ours.n == theirs.n == 4
    torch.testing.assert_close(ours.items, theirs.items)
    assert_counts(compiled, 1, 3)


def test_mutates_may_give_its_first_argument():
    magpy.annotate(push_fluent, "mutates")
    ours = stack()
    f = compile_(lambda x, target: (x + 1, push_fluent(push_fluent(target, 1), 2)), fullgraph=True)
    for i in range(3):
        assert f(batch(i), ours)[1] is ours
    assert ours.items == [1, 2] * 3 and magpy.explain(f).hits == 2


def reads_after(x, target):
    push(target, 1)
    return x * target.n


def iterates_after(x, target):
    target.items.append(2)
    push(target, 1)
    return x * len(target.__dict__)


def counts_after(x, target):
    push(target, 1)
    target.n += 1
    return x + 1


def looked_before(x, target):
    y = x * target.n
    push(target, 1)
    return y


@pytest.mark.parametrize("fn", [reads_after, iterates_after, counts_after,
                                lambda x, t: (looked_before(x, t), x * t.n)[1]])
def test_what_was_changed_unseen_is_not_read(fn):
    magpy.annotate(push, "mutates")
    f = compile_(fn)
    ours, theirs = stack(), stack()
    for i in range(4):
        torch.testing.assert_close(f(batch(i), ours), fn(batch(i), theirs))
        assert ours.n == theirs.n
    assert {stop.reason for stop in magpy.explain(f).stops} == {"hidden-write"} and magpy.explain(f).captures == 0


def test_reads_before_a_change_are_guards():
    magpy.annotate(push, "mutates")
    f = compile_(looked_before, fullgraph=True)
    ours, theirs = stack(), stack()
    for i in range(4):
        torch.testing.assert_close(f(batch(i), ours), looked_before(batch(i), theirs))
    assert ours.n == theirs.n == 4 and magpy.explain(f).captures == 4


def test_a_result_of_mutates_that_is_used_ends_the_capture():
    magpy.annotate(push_and_tell, "mutates")
    magpy.annotate(array.array.pop, "mutates")
    stop = stop_of(lambda x, target: x * push_and_tell(target, 2), batch(0), Config(items=[], n=-1))
    assert stop.reason == "effect" and "push_and_tell gave a int" in stop.detail
    f = compile_(lambda x, numbers: x * numbers.pop())
    numbers = array.array("i", [1, 2, 3])
    assert [float((f(torch.ones(1), numbers))[0]) for _ in range(3)] == [3, 2, 1]
    assert magpy.explain(f).captures == 0


def test_mutates_of_what_the_call_made():
    magpy.annotate(array.array, "pure"), magpy.annotate(array.array.append, "mutates")
    magpy.annotate(array.array.count, "pure"), magpy.annotate(push_and_tell, "mutates")

    def f(x, n):
        numbers = array.array("i", [n])
        numbers.append(n)
        target = stack()
        return x * numbers.count(n) * push_and_tell(target, n), target.items
    entries(f, [lambda: (batch(0), 1), lambda: (batch(1), 1), lambda: (batch(2), 2)], 2)


def test_mutates_of_tensors_and_classes_ends_the_capture():
    change = magpy.annotate(lambda target: None, "mutates")
    assert stop_of(lambda x: (change(x), x + 1)[1], batch(0)).reason == "leaf-mutation"
    assert stop_of(lambda x: (change(Config), x + 1)[1], batch(0)).reason == "object-write"


# ---- effect ----------------------------------------------------------------------------------------

@magpy.annotate("effect")
def tell(*args, **kwargs):
    LOG.append(as_it_is(args) + as_it_is(list(kwargs.items())))


def as_it_is(value):
    """What a log keeps: the content of now."""
    if isinstance(value, torch.Tensor):
        return value.clone()
    return [as_it_is(item) for item in value] if isinstance(value, (list, tuple)) else value


def tell_all(x, n):
    y = x * n
    tell("start", n, key={"n": n})
    numbers = [1]
    tell(numbers, (numbers, n))
    numbers.append(2)
    tell(numbers)
    tell(mean=y.mean(), item=y)
    return y + 1


@pytest.fixture
def telling():
    magpy.annotate(tell, "effect")


def test_effects_are_replayed_in_order_with_the_recorded_arguments(telling):
    f = compile_(tell_all, fullgraph=True)
    told = []
    for run in (f, tell_all):
        LOG.clear()
        for i, n in ((0, 2), (1, 2), (2, 3), (3, 2)):
            run(batch(i), n)
        told.append(list(LOG))
    compare.equal(*told)
    assert_counts(f, 2, 2)


def test_effects_of_c_code():
    magpy.annotate(array.array.append, "effect")
    ours, theirs = array.array("d"), array.array("d")

    def f(x, out):
        out.append(2.5)
        return x + 1
    compiled = compile_(f, fullgraph=True)
    for i in range(3):
        torch.testing.assert_close(compiled(batch(i), ours), f(batch(i), theirs))
    assert ours == theirs and magpy.explain(compiled).hits == 2


def test_an_effect_may_look_at_tensors(telling):
    @magpy.annotate("effect")
    def norms(x, module):
        tell(round(float(x.norm()), 4), [float(p.sum()) for p in module.parameters()])
    model = nn.Linear(4, 4)

    def f(x):
        y = model(x)
        norms(y, model)
        return y * 2
    compiled = compile_(f, fullgraph=True)
    told = []
    for run in (compiled, f):
        LOG.clear()
        told.append([run(batch(i)) for i in range(3)] + [list(LOG)])
    compare.equal(*told)
    assert_counts(compiled, 1, 2)


@pytest.mark.parametrize("reason, body", [
    ("effect", lambda x: tells_back(1)),
    ("effect", lambda x: tell(Config(a=1))),
    ("effect", lambda x: (tell(x), x.add_(1))),
    ("leaf-mutation", lambda x: changes(x)),
    ("random", lambda x: draws(x)),
])
def test_what_cannot_be_replayed_ends_the_capture(telling, reason, body):
    def f(x):
        body(x)
        return x + 1
    assert stop_of(f, batch(0)).reason == reason


tells_back = magpy.annotate(lambda n: n + 1, "effect")
changes = magpy.annotate(lambda x: (x[0].add_(0), None)[1], "effect")
draws = magpy.annotate(lambda x: tell(torch.rand(3).shape), "effect")


def test_an_effect_that_raises():
    @magpy.annotate("effect")
    def fails(n):
        if n:
            raise ValueError(n)

    def f(x, n):
        try:
            fails(n)
        except ValueError:
            return x + 2
        return x + 1
    compiled = compile_(f)
    for n in (1, 0, 0, 1, 1):
        torch.testing.assert_close(compiled(batch(0), n), f(batch(0), n))
    assert {stop.reason for stop in magpy.explain(compiled).stops} == {"effect"} and magpy.explain(compiled).hits == 1


def test_c_effects_called_by_c_code_end_the_capture():
    magpy.annotate(array.array.append, "effect")
    numbers = array.array("i")
    stop = stop_of(lambda x, out: (list(map(out.append, [1, 2])), x + 1)[1], batch(0), numbers)
    assert stop.reason in ("unknown-callable", "effect")


# ---- leaf --------------------------------------------------------------------------------------------

def test_a_leaf_is_run_and_its_tensor_operations_are_in_the_graph():
    state = Config(calls=0)

    @magpy.annotate("leaf")
    def shifted(x):
        state.calls += 1                    # not recorded, and so not replayed
        return x + LOG_MASK(2)
    f = compile_(lambda x: shifted(x) * 2, fullgraph=True)
    for i in range(3):
        torch.testing.assert_close(f(batch(i)), (batch(i) + 4) * 2)
    assert state.calls == 1 and "add" in magpy.explain(f).entries[0].graph
    assert_counts(f, 1, 2)


def test_a_leaf_that_looks_at_data_is_checked_for_it():
    positive = magpy.annotate(lambda x: 2 if x.sum() > 0 else LOG_MASK(2), "leaf")
    entries(lambda x: x * positive(x), [lambda: (torch.ones(2),), lambda: (-torch.ones(2),), lambda: (torch.ones(3)[1:],)], 2)


# ---- before and after -----------------------------------------------------------------------------------

def test_entries_made_before_keep_what_they_know():
    def scaled(x):
        return x * SETTING
    f = compile_(lambda x: scaled(x), fullgraph=True)
    f(batch(0))
    magpy.annotate(scaled, "leaf")
    f(batch(0))
    assert_counts(f, 1, 1)
    magpy.reset()
    f(batch(0))
    assert "SETTING" not in magpy.explain(f).entries[0].guards


def test_a_coroutine_can_still_be_run_outside():
    asyncio.run(coroutine())
