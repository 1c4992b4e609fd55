"""The public functions: arguments, decorators, errors, settings, logs."""

import copy
import logging
import pickle
import subprocess
import sys

import pytest
import torch

import magpy
from magpy import counters, logs
from magpy.errors import describe_stop
from magpy.reasons import REASONS
from magpy.refgraph.graph import Stop


def add(x, y=1):
    """Adds."""
    return x + y


def child(code, *args, **env):
    import os
    root = os.path.dirname(os.path.dirname(magpy.__file__))
    return subprocess.run([sys.executable, "-c", code, *args], capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": root, **env})


def test_looks_like_the_function():
    f = magpy.compile(add, backend="eager")
    assert (f.__name__, f.__doc__, f.__module__, f.__wrapped__) == ("add", "Adds.", __name__, add)
    assert "add" in repr(f) and copy.deepcopy(f) is f and copy.copy(f) is f
    with pytest.raises(TypeError, match="compile it again"):
        pickle.dumps(f)
    f.mine = 1
    assert f.mine == 1 and not hasattr(add, "mine")


def test_decorator_forms():
    @magpy.compile(backend="eager")
    def a(x):
        return x + 1

    @magpy.compile
    def b(x):
        return x + 2
    assert a(1) == 2
    assert callable(b) and magpy.explain(b).name.endswith("b")


def test_methods():
    class Counter:
        def __init__(self, n):
            self.n = n

        @magpy.compile(backend="eager")
        def plus(self, x):
            return self.n + x
    a, b = Counter(1), Counter(10)
    assert a.plus(1) == 2 and b.plus(1) == 11 and Counter.plus(a, 5) == 6
    bound = magpy.compile(a.plus, backend="eager")
    assert bound(1) == 2


def test_disable_argument_gives_the_function_back():
    assert magpy.compile(add, disable=True) is add
    assert magpy.compile(disable=True)(add) is add


def test_mode_and_options_exclude_each_other():
    with pytest.raises(RuntimeError, match="Either mode or options can be specified"):
        magpy.compile(add, mode="default", options={"max_autotune": True})


def test_wrong_arguments_are_refused_at_once():
    with pytest.raises(Exception, match="no_such_backend"):
        magpy.compile(add, backend="no_such_backend")
    with pytest.raises(RuntimeError, match="no_such_mode"):
        magpy.compile(add, mode="no_such_mode")
    with pytest.raises(RuntimeError, match="no_such_option"):
        magpy.compile(add, options={"no_such_option": 1})
    with pytest.raises(TypeError, match="something to call"):
        magpy.compile(3)
    with pytest.raises(TypeError, match="backend"):
        magpy.compile(add, backend=3)
    with pytest.raises(TypeError):
        magpy.compile(add, no_such_argument=1)


def test_dynamic_is_said_once_to_have_no_effect(caplog):
    from magpy import api
    api._say_once.cache_clear()
    for _ in range(2):
        magpy.compile(add, backend="eager", dynamic=True)
    assert caplog.text.count("dynamic=True") == 1
    magpy.compile(add, backend="eager", dynamic=False)
    assert caplog.text.count("dynamic=") == 1


def test_explain_wants_a_compiled_callable():
    with pytest.raises(TypeError, match="function add; compile it first"):
        magpy.explain(add)
    with pytest.raises(TypeError, match="not a int"):
        magpy.explain(3)


def test_explain_of_something_that_never_ran():
    e = magpy.explain(magpy.compile(add, backend="eager"))
    assert (e.captures, e.hits, e.breaks, e.entries, e.misses, e.stops, e.reasons) == (0, 0, 0, [], [], [], [])
    assert str(e) == "add: 0 captures, 0 entries, 0 hits, 0 stops"


def test_disable_forms():
    @magpy.disable
    def a(x):
        return x

    @magpy.disable(reason="slow")
    def b(x):
        return x
    assert a(1) == b(1) == 1 and a._magpy_disable and b._magpy_disable_reason == "slow" and a.__name__ == "a"
    net = torch.nn.ReLU()
    assert magpy.disable(net) is net and net.forward._magpy_disable and net(torch.ones(1)) == 1

    @magpy.disable
    class C:
        def __call__(self):
            return 5
    assert C()() == 5 and C.__call__._magpy_disable
    with pytest.raises(TypeError):
        magpy.disable(3)
    with pytest.raises(ZeroDivisionError):
        magpy.disable(lambda: 1 / 0)()
    f = magpy.compile(lambda x: [x], backend="eager")
    f(1), f(1)
    assert magpy.explain(f).captures == 1      # not left disabled by the exception


def test_every_reason_has_a_sentence_and_advice():
    for reason, (sentence, advice) in REASONS.items():
        assert reason == reason.lower() and len(sentence) > 10 and len(advice) > 10
        assert not sentence.endswith(".") and not advice.endswith(".")
        text = describe_stop(Stop(reason, "thing", "a.py", 3, "f"))
        assert text.startswith(f"a.py:3 in f: [{reason}] ") and "thing" in text and advice in text


def test_capture_error_carries_the_place():
    e = magpy.CaptureError(Stop("random", "random.random", "a.py", 3, "f"))
    assert (e.reason, e.filename, e.lineno, e.function, e.detail) == ("random", "a.py", 3, "f", "random.random")
    assert isinstance(e, magpy.MagpyError) and isinstance(e, RuntimeError)


def test_config_refuses_nonsense():
    with pytest.raises(AttributeError, match="entry_limit"):
        magpy.config.entry_limits = 3
    with pytest.raises(TypeError):
        magpy.config.entry_limit = "3"
    with magpy.config.patch(entry_limit=2):
        assert magpy.config.entry_limit == 2
    assert magpy.config.entry_limit == 32


def test_counters_start_again():
    f = magpy.compile(lambda x: [x], backend="eager")
    f(1), f(1)
    counters.clear()
    assert counters.snapshot() == {"captures": 0, "hits": 0, "misses": 0}
    f(1)
    assert counters.snapshot()["hits"] == 1


def test_list_backends():
    names = magpy.list_backends()
    assert {"inductor", "eager", "aot_eager"} <= set(names) and names == sorted(names)


def test_refuses_a_stock_interpreter_in_one_sentence():
    done = child("import sys; del sys.magpy_info; import magpy")
    last = done.stderr.strip().splitlines()[-1]
    assert done.returncode == 1 and last.startswith("ImportError: magpy needs its own patched CPython")
    assert "build_scripts/magpy-python" in last


def test_import_is_light():
    done = child("import torch, sys; before = set(sys.modules); import magpy; "
                 "print(sorted(m for m in set(sys.modules) - before if m.startswith('torch._inductor')))")
    assert done.stdout.strip() == "[]", done.stderr


LOGGED = """
import magpy
f = magpy.compile(lambda x: [x], backend="eager")
f(1), f(1), f(2)
"""


def test_logs():
    done = child(LOGGED, MAGPY_LOGS="captures, mock,misses,guards,graphs")
    for topic in ("captures", "mock", "misses", "guards", "graphs"):
        assert f"[{topic}]" in done.stderr, done.stderr
    assert "return [1]" in done.stderr and done.stderr.startswith("I")
    assert child(LOGGED).stderr == ""
    only = child(LOGGED, MAGPY_LOGS="misses").stderr
    assert "[misses]" in only and "[captures]" not in only
    wrong = child(LOGGED, MAGPY_LOGS="miss").stderr
    assert "no topic 'miss'; there are: captures, guards" in wrong


def test_logs_reach_a_programs_own_handlers(caplog):
    f = magpy.compile(lambda x: [x], backend="eager")
    with caplog.at_level(logging.INFO, logger="magpy.captures"):
        f(1)
    assert "captured" in caplog.text and not logs.on("mock")
