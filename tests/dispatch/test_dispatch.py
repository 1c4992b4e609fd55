"""From a call to an entry: hits, order, misses, limits, stops and errors.

The recorder is a fake that is told what it saw, so every case can be made at will; what
it gives goes through the real pipeline, guards and hit path.
"""

import gc
import threading
import weakref

import pytest
import torch

import magpy
from magpy import counters
from magpy.dispatch import compiled
from magpy.reasons import StopCapture
from magpy.refgraph.graph import Recording, Stop
from magpy.refgraph.nodes import Edge
from support.fake_recorder import FakeRecorder, FakeTable


class FakeTape:
    """A recording's tape that holds nothing."""

    ops, prologue, paths, outcomes, draws_random = (), (), {}, 0, False

    def mutated_inputs(self):
        return set()


class Seen:
    """Stands for the recorder: guards each argument as a leaf, by type or not at all."""

    def __init__(self):
        self.calls = 0
        self.stop = None
        self.fail_in_finish = None
        self.effects = []

    def record(self, fn, args, kwargs, finish=None, on_stop=None, outcomes=False):
        self.calls += 1
        recording = Recording(fn, args, kwargs)
        recording.recorder, recording.table, recording.tape = FakeRecorder(), FakeTable(), FakeTape()
        try:
            recording.result = fn(*args, **kwargs)
        except Exception as error:
            recording.exception = error
            recording.stop = Stop("exception", type(error).__name__, "f.py", 1, "f")
        if self.stop is not None:
            recording.stop = Stop(self.stop, "detail", "user.py", 12, "forward")
        loads = [("arg", i, v) for i, v in enumerate(args)] + [("kwarg", k, v) for k, v in kwargs.items()]
        for load, key, value in loads:
            check = ("leaf", value) if type(value) in (int, str) else ("type", type(value))
            recording.edges.append(Edge((load, key), None, check, None, f"{load}[{key}]"))
        if finish is not None:
            finish(recording)
        return recording


@pytest.fixture
def seen(monkeypatch):
    from magpy.recorder import recorder
    fake = Seen()
    monkeypatch.setattr(recorder, "record", fake.record)
    counters.clear()
    return fake


def compile_(f, **options):
    return magpy.compile(f, backend="eager", **options)


def numbers(f):
    e = magpy.explain(f)
    return e.captures, e.hits, len(e.misses), e.breaks


def test_capture_then_hits(seen):
    ran = []
    f = compile_(lambda a: ran.append(a) or [a, 2])
    assert [f(1), f(1), f(1)] == [[1, 2]] * 3
    assert numbers(f) == (1, 2, 0, 0) and ran == [1] and seen.calls == 1
    assert f(1) is not f(1)
    assert counters.snapshot() == {"captures": 1, "hits": 4, "misses": 0}


def test_miss_says_what_differed_and_makes_a_second_entry(seen):
    f = compile_(lambda a, k="x": (a, k))
    assert f(1, k="y") == (1, "y") and f(2, k="y") == (2, "y")
    assert numbers(f)[:3] == (2, 0, 1)
    assert "arg[0]" in magpy.explain(f).misses[0] and "1" in magpy.explain(f).misses[0]
    assert f(1, k="y") == (1, "y") and f(2, k="y") == (2, "y") and numbers(f)[:2] == (2, 2)


def test_other_arguments_miss(seen):
    f = compile_(lambda *args, **kwargs: (args, kwargs))
    assert f(1) == ((1,), {}) and f(1, 2) == ((1, 2), {}) and f(1, b=2) == ((1,), {"b": 2})
    assert numbers(f)[:2] == (3, 0)
    assert magpy.explain(f).misses[0] == "positional arguments: were 1, are 2"
    assert f(1) == ((1,), {}) and f(1, 2) == ((1, 2), {}) and f(1, b=2) == ((1,), {"b": 2})
    assert numbers(f)[:2] == (3, 3)


def test_the_entry_of_the_last_call_that_looked_like_this_one_is_tried_first(seen):
    f = compile_(lambda a: a)
    for i in range(4):
        f(i)
    entries = list(compiled.table_of(f).entries)
    for i in (1, 3):
        f(i)
    for i in (1, 3, 1):
        for entry in entries:
            assert entry.guards.match(None, (), None) is None and entry.guards.failed == -1
        assert f(i) == i
        assert [entry.guards.failed for entry in entries] == [-1] * 4     # none was tried in vain
    assert compiled.table_of(f).entries == entries and [entry.hits for entry in entries] == [2, 0, 3, 0]


def test_entry_limit(seen):
    f = compile_(lambda a: a * 2)
    with magpy.config.patch(entry_limit=3):
        assert [f(i) for i in range(6)] == [0, 2, 4, 6, 8, 10]
        assert f(0) == 0
    assert numbers(f)[:2] == (3, 1)
    assert magpy.explain(f).bypasses == {"entry-limit": 3} and seen.calls == 3


def warnings_of(caplog):
    return [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]


def test_the_entry_limit_is_one_warning_that_names_what_kept_missing(seen, caplog):
    f = compile_(lambda a, b: a * b)
    with magpy.config.patch(entry_limit=3):
        for a, b in ((1, "x"), (2, "x"), (2, "y"), (3, "x"), (4, "x"), (5, "x")):
            f(a, b)
    warning, = warnings_of(caplog)
    assert "test_dispatch.py:" in warning and "has 3 captures" in warning
    lines = warning.split("\n")
    assert "config.entry_limit" in lines[0]
    assert "2 times, the last: arg[0]: was 2, is 3" in warning and "1 times, the last: arg[1]: was 'x', is 'y'" in warning
    assert warning.index("arg[0]") < warning.index("arg[1]") and "raise magpy.config.entry_limit" in lines[-1]
    assert magpy.explain(f).bypasses == {"entry-limit": 3}


def test_the_entry_limit_with_fullgraph_is_an_error_and_no_warning(seen, caplog):
    f = compile_(lambda a: a, fullgraph=True)
    with magpy.config.patch(entry_limit=1):
        f(1)
        with pytest.raises(magpy.CaptureError):
            f(2)
    assert warnings_of(caplog) == []


def test_the_stop_limit_is_one_warning_that_names_the_last_stop(seen, caplog):
    seen.stop = "tensor-data"
    f = compile_(lambda a: a)
    with magpy.config.patch(stop_limit=2):
        for i in range(5):
            f(i)
        warning, = warnings_of(caplog)
        assert "last 2 captures stopped" in warning and "user.py:12" in warning and "[tensor-data]" in warning
        magpy.reset()
        for i in range(3):
            f(i)
    assert len(warnings_of(caplog)) == 2, "said again of a new life"


def test_misses_of_every_entry_the_closest_first(seen):
    f = compile_(lambda a, b: (a, b))
    f(1, 1), f(1, 2), f(2, 5), f(1, 3)
    e = magpy.explain(f)
    assert e.missed_entries[-1] == ("arg[1]: was 2, is 3", "arg[1]: was 1, is 3", "arg[0]: was 2, is 1")
    assert [each[0] for each in e.missed_entries] == e.misses


def test_equal_misses_are_counted(seen):
    f = compile_(lambda a: a)
    f(1)
    with magpy.config.patch(entry_limit=1):
        for _ in range(3):
            f(2)
    e = magpy.explain(f)
    assert e.miss_counts == {"arg[0]: was 1, is 2": 3} and "arg[0]: was 1, is 2 (3 times)" in str(e)


def test_words_about_misses_end_when_the_callable_is_left_alone(seen):
    f = compile_(lambda a: a)
    f(0)
    with magpy.config.patch(entry_limit=1):
        for i in range(magpy.config.history + 10):
            f(1)
    assert sum(magpy.explain(f).miss_counts.values()) == magpy.config.history
    assert counters.snapshot()["misses"] == magpy.config.history + 10


def test_entry_limit_with_fullgraph_raises_after_the_call(seen):
    ran = []
    f = compile_(lambda a: ran.append(a), fullgraph=True)
    with magpy.config.patch(entry_limit=1):
        f(1)
        with pytest.raises(magpy.CaptureError, match="entry_limit"):
            f(2)
    assert ran == [1, 2]


def test_a_stop_gives_the_users_result_and_is_explained(seen):
    seen.stop = "tensor-data"
    f = compile_(lambda a: a + 1)
    assert f(1) == 2
    e = magpy.explain(f)
    assert (e.captures, e.breaks, len(e.stops)) == (0, 1, 1)
    assert e.stops[0].lineno == 12 and e.reasons[0].startswith("tensor-data: ")
    assert "user.py:12" in str(e) and "torch.where" in str(e)
    assert counters.snapshot()["stop:tensor-data"] == 1


def test_fullgraph_raises_after_the_call(seen):
    seen.stop = "tensor-data"
    ran = []
    f = compile_(lambda a: ran.append(a), fullgraph=True)
    with pytest.raises(magpy.CaptureError) as e:
        f(1)
    assert ran == [1]
    assert (e.value.reason, e.value.filename, e.value.lineno) == ("tensor-data", "user.py", 12)
    assert "user.py:12" in str(e.value) and "[tensor-data]" in str(e.value) and e.value.advice in str(e.value)


def test_stop_limit_leaves_the_callable_alone_but_never_with_fullgraph(seen):
    seen.stop = "random"
    f, g = compile_(lambda a: a), compile_(lambda a: a, fullgraph=True)
    with magpy.config.patch(stop_limit=2):
        assert [f(i) for i in range(5)] == list(range(5))
        assert seen.calls == 2 and magpy.explain(f).bypasses == {"stop-limit": 3}
        for i in range(4):
            with pytest.raises(magpy.CaptureError):
                g(i)
        magpy.reset()
        seen.stop = None
        assert f(1) == 1 and numbers(f)[0] == 1


def test_the_users_exception_wins(seen):
    def fail(a):
        raise ValueError(a)
    for fullgraph in (False, True):
        f = compile_(fail, fullgraph=fullgraph)
        with pytest.raises(ValueError) as e:
            f(3)
        assert e.value.args == (3,) and e.value.__cause__ is None and e.value.__context__ is None
        assert "in fail" in str(e.getrepr()) or e.traceback[-1].name == "fail"
        assert numbers(f)[0] == 0


def test_exceptions_are_not_kept_alive(seen):
    def fail(a):
        raise Held
    class Held(Exception):
        pass
    f = compile_(fail)
    gc.disable()
    try:
        try:
            f(3)
        except Held as error:
            gone = weakref.ref(error)
        assert gone() is None
    finally:
        gc.enable()


def test_output_that_cannot_be_made_again(seen):
    f = compile_(lambda a: iter({a: 0}))
    assert next(f(1)) == 1 and next(f(2)) == 2
    assert magpy.explain(f).stops[0].reason == "output-kind"
    assert magpy.explain(f).stops[0].filename == __file__


def test_a_bug_of_ours_costs_nothing_but_words(seen, monkeypatch, caplog):
    from magpy import pipeline

    def lower(job):
        raise ZeroDivisionError("ours")
    monkeypatch.setattr(pipeline, "BUILD", (pipeline.build_graph, pipeline.emit_mock, lower))
    f, g = compile_(lambda a: a), compile_(lambda a: a, fullgraph=True)
    assert f(1) == 1 and f(1) == 1
    assert [s.reason for s in magpy.explain(f).stops] == ["internal-error"] * 2
    assert caplog.text.count("in MagPy's stage lower") == 1
    with pytest.raises(magpy.CaptureError) as e:
        g(1)
    assert isinstance(e.value.__cause__, ZeroDivisionError) and e.value.reason == "internal-error"


def test_busy_is_nobodys_fault(seen):
    seen.stop = "busy"
    f = compile_(lambda a: a, fullgraph=True)
    assert f(1) == 1 and numbers(f) == (0, 0, 0, 0) and magpy.explain(f).bypasses == {"busy": 1}


def test_nested_call_in_a_recording_runs_as_it_is(seen):
    inner = compile_(lambda a: a + 1)
    outer = compile_(lambda a: inner(a) * 2)
    assert outer(1) == 4 and numbers(inner) == (0, 0, 0, 0) and numbers(outer)[0] == 1
    assert inner(1) == 2 and numbers(inner)[0] == 1


def test_recursion(seen):
    def down(n):
        return [] if n == 0 else [f(n - 1)]
    f = compile_(down)
    assert f(3) == [[[[]]]] and f(3) == [[[[]]]] and numbers(f)[:2] == (1, 1)


def test_disabled(seen):
    ran = []
    f = compile_(lambda a: ran.append(a))
    f(1)
    with magpy.disable():
        f(1)
    magpy.disable(f)(1)
    assert ran == [1, 1, 1] and numbers(f)[:2] == (1, 0)
    f(1)
    assert ran == [1, 1, 1] and numbers(f)[:2] == (1, 1)
    assert counters.snapshot()["bypass:disabled"] == 2


def test_disable_holds_for_this_thread_only(seen):
    f = compile_(lambda a: a)
    f(1)
    with magpy.disable():
        thread = threading.Thread(target=f, args=(1,))
        thread.start()
        thread.join()
    assert numbers(f)[1] == 1


def test_under_a_users_mode_the_function_runs_as_it_is(seen):
    from torch.overrides import TorchFunctionMode
    f = compile_(lambda a: a)
    f(1)
    with TorchFunctionMode():
        f(1)
    assert numbers(f)[:2] == (1, 0) and counters.snapshot()["bypass:modes"] == 1


def test_reset_drops_entries(seen):
    f = compile_(lambda a: a)
    f(1), f(1)
    magpy.reset()
    assert magpy.explain(f).entries == [] and numbers(f)[:2] == (1, 1)
    f(1), f(1)
    assert numbers(f)[:2] == (2, 2)


def test_reset_in_the_middle_of_a_call(seen):
    class Resets:
        def __del__(self):
            magpy.reset()

    def body(a):
        return [a]
    f = compile_(body)
    f(1)
    real = compiled.table_of(f).entries[0]
    assert real.hits == 0
    f2 = compile_(lambda a: magpy.reset() or a)
    assert f2(1) == 1 and f2(1) == 1 and f(1) == [1]


def test_many_threads(seen):
    f = compile_(lambda a: [a])
    f(1)
    results, errors = [], []

    def work():
        try:
            for _ in range(2000):
                assert f(1) == [1]
            results.append(1)
        except BaseException as error:
            errors.append(error)
    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not errors and len(results) == 4 and numbers(f)[:2] == (1, 8000)


def test_nothing_is_kept_of_a_call_or_a_callable(seen):
    class Big:
        pass
    arg = Big()
    f = compile_(lambda a: None)
    f(arg), f(arg)
    assert numbers(f)[:2] == (1, 1)
    kept, table = weakref.ref(arg), weakref.ref(compiled.table_of(f))
    del arg
    gc.collect()
    assert kept() is None
    del f
    gc.collect()
    assert table() is None


def test_entries_in_a_cycle_are_collected(seen):
    class Holder:
        pass
    holder = Holder()
    holder.f = compile_(lambda a: holder and a)
    holder.f(1)
    gone = weakref.ref(holder)
    del holder
    gc.collect()
    assert gone() is None


def test_stop_capture_needs_a_catalogued_reason():
    with pytest.raises(KeyError):
        StopCapture("no such reason")
    assert "at the values" in str(StopCapture("tensor-data", "item"))


def test_explain_of_an_entry(seen):
    f = compile_(lambda a: [a, [a]])
    f(1), f(1)
    view = magpy.explain(f).entries[0]
    assert view.hits == 1 and "return [1, [1]]" in view.mock and view.graph is None
    assert "arg" in view.guards
    assert "lower" in view.seconds
    assert "1 capture, 1 entry, 1 hit, 0 stops" in str(magpy.explain(f))


def test_tensor_argument_without_operations(seen):
    x = torch.ones(2)
    f = compile_(lambda a: 7)
    assert f(x) == 7 and f(x) == 7 and numbers(f)[:2] == (1, 1)


def test_calls_that_raise_do_not_use_up_the_stop_limit():
    def f(x, n):
        if n < 0:
            raise ValueError(n)
        return x * n
    compiled = magpy.compile(f, backend="eager")
    for _ in range(magpy.config.stop_limit + 2):
        with pytest.raises(ValueError):
            compiled(torch.ones(2), -1)
    compiled(torch.ones(2), 2)
    compiled(torch.ones(2), 2)
    assert (magpy.explain(compiled).captures, magpy.explain(compiled).hits) == (1, 1)


def test_a_compiled_callable_without_a_table_says_so():
    bare = compiled.Compiled.__new__(compiled.Compiled)
    with pytest.raises(TypeError, match="magpy.compile"):
        bare(1)
