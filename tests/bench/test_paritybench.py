"""paritybench.py on a small made-up checkout, and its parts by themselves."""
import itertools
import os
import signal
import subprocess
import sys
import textwrap
import time
import types
from unittest.mock import MagicMock

import pytest
import torch

import magpy
from bench.parity import chart, checkout, compare, judge, program, results, server
from bench.parity.checkout import UsageError
from bench.parity.children import Child, wait_for_any
from bench.parity.program import Test as ProgramTest
from bench.parity.progress import Progress
from bench.parity.report import Summary, text

COMMAND = os.path.join(os.path.dirname(__file__), "paritybench.py")

# As the real files begin and end; the modules between are this test's own.
HEAD = """
import sys
_module = sys.modules[__name__]
from _paritybench_helpers import _mock_config, patch_functional
from unittest.mock import mock_open, MagicMock
import abc, absent_library, collections, numpy, time, torch
from absent_library.layers import Layer
patch_functional()
open = mock_open()
yaml = logging = argparse = MagicMock()
import os
import torch.nn as nn
import torch.functional as F
"""
TAIL = """
from _paritybench_helpers import _mock_config, _mock_layer, _paritybench_base, _fails_compile
TESTCASES = [
    # (nn.Module, init_args, forward_args, jit_compiles)
%s
]
class Test_program(_paritybench_base):
    def test_000(self):
        self._check(*TESTCASES[0])
"""
X = "lambda: ([torch.rand([4, 4])], {})"

PROGRAMS = {
    "static": ("""
        class Plain(nn.Module):
            def __init__(self, config, layer):
                super().__init__()
                self.lin = layer(config.size, 4)
            def forward(self, x):
                return {"out": F.relu(self.lin(x))}

        class Counts(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("total", torch.zeros(4))
            def forward(self, x):
                self.total += x.sum(0)
                return x - self.total
        """, f"(Plain, lambda: ([], dict(config=_mock_config(size=4), layer=_mock_layer)), {X}, True),"
             f"(Counts, lambda: ([], {{}}), {X}, True)"),
    "dynamic": ("""
        class Repeats(nn.Module):
            def forward(self, x):
                for _ in range(int(x[0, 0] * 1000)):
                    x = x + 1
                return x
        """, f"(Repeats, lambda: ([], {{}}), {X}, False)"),
    "reads_data": ("""
        class Scaled(nn.Module):
            def forward(self, x):
                return x * x.max().item()
        """, f"(Scaled, lambda: ([], {{}}), {X}, False)"),
    "refused": ("""
        import magpy

        @magpy.disable
        @torch.compiler.disable
        def apart(x):
            return x + 1

        class Breaks(nn.Module):
            def forward(self, x):
                return apart(x) * 2
        """, f"(Breaks, lambda: ([], {{}}), {X}, False)"),
    "dies": ("""
        class First(nn.Module):
            def forward(self, x):
                return x + 1

        class Aborts(nn.Module):
            def forward(self, x):
                os.abort()

        class Last(nn.Module):
            def forward(self, x):
                return x - 1
        """, f"(First, lambda: ([], {{}}), {X}, True), (Aborts, lambda: ([], {{}}), {X}, True),"
             f"(Last, lambda: ([], {{}}), {X}, True)"),
    "fails": ("""
        class Raises(nn.Module):
            def forward(self, x):
                raise KeyError("no such thing")

        class Bodiless(nn.Module):
            pass
        """, f"(Raises, lambda: ([], {{}}), {X}, True), (Bodiless, lambda: ([], {{}}), {X}, True)"),
    "does_not_load": ("import torch.no_such_part", ""),
}


def write_checkout(folder):
    (folder / "generated").mkdir(parents=True)
    for name, (body, cases) in PROGRAMS.items():
        (folder / "generated" / f"test_{name}.py").write_text(HEAD + textwrap.dedent(body) + TAIL % cases)
    return str(folder)


def start(*arguments):
    root = os.path.dirname(os.path.dirname(magpy.__file__))
    return subprocess.Popen([sys.executable, COMMAND, *arguments], text=True, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, env={**os.environ, "PYTHONPATH": root})


def command(*arguments):
    process = start(*arguments)
    out, err = process.communicate()
    return subprocess.CompletedProcess(arguments, process.returncode, out, err)


class Run:
    """The command over the small checkout, interrupted after its first program and then continued."""

    def __init__(self, folder):
        self.out = str(folder / "kept" / "out.jsonl")
        arguments = ["--checkout", write_checkout(folder / "checkout"), "--out", self.out]
        process = start(*arguments)
        while len(self.lines()) < 2 and process.poll() is None:
            time.sleep(0.01)
        process.terminate()
        process.communicate()
        self.interrupted = process.returncode
        self.before = self.lines()
        with open(self.out, "a") as file:
            file.write(self.before[-1][:20])    # as if it had been killed in the middle of a line
        self.done = command(*arguments)
        assert self.done.returncode == 0, self.done.stderr
        self.header, self.rows = results.read(self.out)

    def lines(self):
        if not os.path.exists(self.out):
            return []
        with open(self.out) as file:
            return file.read().splitlines(keepends=True)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    return Run(tmp_path_factory.mktemp("paritybench"))


@pytest.fixture(scope="module")
def tests(finished):
    return {test["name"]: test for row in finished.rows for test in row["tests"]}


def verdicts(test):
    return {system: found["verdict"] for system, found in test.items() if system != "name"}


# --- the verdicts ---------------------------------------------------------------------

def test_static_programs_are_ok_under_every_system(tests):
    for name in ("First", "Last", "Counts"):
        assert verdicts(tests[name]) == {"eager": "runs", "magpy": "ok", "dynamo": "ok", "torchscript": "ok"}, name
        assert tests[name]["eager"]["static"] and tests[name]["eager"]["strict"] and tests[name]["eager"]["stable"]
        assert all(tests[name][system]["seconds"] > 0 for system in ("magpy", "dynamo", "torchscript"))


def test_the_helpers_of_program_files(tests):
    assert verdicts(tests["Plain"])["magpy"] == "ok" and tests["Plain"]["eager"]["ops"] >= 2


def test_dynamic(tests):
    assert not tests["Repeats"]["eager"]["static"] and not tests["Repeats"]["eager"]["strict"]
    assert set(tests["Repeats"]) == {"name", "eager", "magpy", "dynamo", "torchscript"}


def test_static_but_not_strictly(tests):
    assert tests["Scaled"]["eager"]["static"] and not tests["Scaled"]["eager"]["strict"]


def test_refused(tests):
    assert tests["Breaks"]["eager"]["strict"]
    assert [tests["Breaks"][system]["verdict"] for system in ("magpy", "dynamo")] == ["refused", "refused"]
    assert tests["Breaks"]["magpy"]["reason"].startswith("disabled: apart")
    assert tests["Breaks"]["dynamo"]["reason"].startswith("Unsupported: ")


def test_a_crash_costs_one_test(tests):
    assert tests["Aborts"]["eager"] == {"verdict": "crash", "reason": "killed by SIGABRT"}
    assert set(tests["Aborts"]) == {"name", "eager"}


def test_what_fails_in_eager_is_not_tried(tests):
    assert verdicts(tests["Raises"]) == {"eager": "fails"} and "no such thing" in tests["Raises"]["eager"]["reason"]
    assert verdicts(tests["Bodiless"]) == {"eager": "fails"}


def test_a_file_that_does_not_load(finished):
    row = next(row for row in finished.rows if row["file"] == "test_does_not_load.py")
    assert row["tests"] == [] and "torch.no_such_part" in row["import"]


# --- the command ----------------------------------------------------------------------

def test_report_of_the_run(finished):
    out = finished.done.stdout
    assert "7 programs: 5 run in eager, 4 of those are static, 3 strictly." in out
    assert "10 tests: 7 run in eager, 6 of those are static; 0 give other results" in out
    for system in ("magpy", "dynamo"):
        line = next(line for line in out.splitlines() if line.startswith(system + " "))
        assert line.split()[3:5] == ["2/3", "66.7%"], line      # of the strictly static ones, one is refused
    assert "refused: disabled: apart" in out and "[test_refused.py Breaks]" in out
    assert "crash: killed by SIGABRT" in out


def test_report_alone(finished):
    done = command("--report", "--out", finished.out)
    assert done.returncode == 0 and done.stdout == finished.done.stdout and done.stderr == ""


def test_an_interrupted_run_goes_on(finished):
    assert finished.interrupted == 130 and 2 <= len(finished.before) < len(PROGRAMS) + 1
    assert finished.lines()[:len(finished.before)] == finished.before
    assert sorted(row["file"] for row in finished.rows) == sorted(f"test_{name}.py" for name in PROGRAMS)
    rest = len(PROGRAMS) + 1 - len(finished.before)
    assert f"to run: {rest} of {len(PROGRAMS)} programs" in finished.done.stderr


def test_words_about_wrong_arguments(tmp_path):
    for arguments, words in [(["--report", "--out", str(tmp_path / "none")], "there is no results file"),
                             ([], "--checkout DIR is needed"),
                             (["--checkout", str(tmp_path)], "no program files"),
                             (["--checkout", ".", "--system", "magpy,tvm"], "no such system: tvm")]:
        done = command(*arguments)
        assert done.returncode == 1 and words in done.stderr and "Traceback" not in done.stderr


# --- the judge ------------------------------------------------------------------------

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(3))
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        self.total += x
        return x + self.total


class System:
    """A stand-in that is right unless a subclass is not."""

    graphs = 1
    missed_because = staticmethod(lambda: "a size")
    refusal = staticmethod(lambda error: "too hard" if isinstance(error, NotImplementedError) else None)

    def __init__(self, module):
        self.module = module

    def compiled(self, x):
        return self.module(x)

    def hits(self, calls):
        return calls - 1

    def state(self):
        return compare.tensors_of(self.module), compare.attributes_of(self.module)


class Refuses(System):
    def __init__(self, module):
        raise NotImplementedError


class FailsLater(System):
    def compiled(self, x):
        if self.module.calls == 2:
            raise ValueError("later")
        return self.module(x)


class Stale(System):
    """Bakes the first input in."""

    def compiled(self, x):
        self.kept = getattr(self, "kept", x.clone())
        return self.module(self.kept)


class ChangesItsArgument(System):
    def compiled(self, x):
        result = self.module(x)
        x.zero_()
        return result


class ForgetsABuffer(System):
    def compiled(self, x):
        result = self.module(x)
        if self.module.calls == 3:
            self.module.total -= x
        return result


class ForgetsAnAttribute(System):
    def compiled(self, x):
        result = self.module(x)
        self.module.calls = 0
        return result


class NoGraph(System):
    graphs = 0


class Recaptures(System):
    def hits(self, calls):
        return calls - 2


EAGER = {"verdict": "runs", "ops": 2, "stable": True}


def net():
    return ProgramTest(Net, lambda: ([], {}), lambda: ([torch.rand(3)], {}))


@pytest.mark.parametrize("system, verdict, words", [
    (System, "ok", None),
    (Refuses, "refused", "too hard"),
    (FailsLater, "error", "ValueError: later"),
    (Stale, "wrong", "call 3[0]: values differ"),
    (ChangesItsArgument, "wrong", "call 1[1][0]: values differ"),
    (ForgetsABuffer, "wrong", "state['total']: values differ"),
    (ForgetsAnAttribute, "wrong", "attributes['.calls']: 0, eager has 3"),
    (NoGraph, "no-graph", "the call went through and no graph was made"),
    (Recaptures, "recaptured", "a size"),
])
def test_judge(monkeypatch, system, verdict, words):
    monkeypatch.setitem(judge.SYSTEMS, "stand-in", system)
    found = judge.judge(net(), "stand-in", EAGER)
    assert (found["verdict"], found.get("reason")) == (verdict, words)


def test_results_that_differ_in_eager_are_not_compared(monkeypatch):
    monkeypatch.setitem(judge.SYSTEMS, "stand-in", Stale)
    assert judge.judge(net(), "stand-in", {**EAGER, "stable": False})["verdict"] == "ok"


def test_a_test_that_differs_from_itself_is_unstable():
    class Counts(torch.nn.Module):
        def forward(self, x):
            return x + next(numbers)
    numbers = itertools.count()
    found = judge.judge(ProgramTest(Counts, lambda: ([], {}), lambda: ([torch.rand(3)], {})), "eager", None)
    assert found == {"verdict": "runs", "ops": 1, "static": True, "strict": True, "stable": False}


def test_differences():
    class Box:
        def __init__(self, value):
            self.value = value
    one = torch.ones(2)
    for ours, theirs in [([one], (one,)), ({"a": [1, None]}, {"a": [1, None]}), (Box(one), Box(one + 1e-6)),
                         (float("nan"), float("nan")), (torch.tensor([float("nan")]), torch.tensor([float("nan")]))]:
        assert compare.difference(ours, theirs) == ""
    for ours, theirs, words in [
            (one, torch.ones(3), "result.shape: [2], eager has [3]"), (one, one.double(), "result.dtype"),
            (1, True, "result: 1, eager has True"), ({"a": 1}, {"b": 1}, "result: {'a': 1}"),
            ([1], [1, 2], "result: [1]"), (None, one, "result: a NoneType, eager has a tensor"),
            ({"a": [one]}, {"a": [one + 1]}, "result['a'][0]: values differ"), (Box(1), Box(2), "result['value']: 1")]:
        assert compare.difference(ours, theirs).startswith(words)


# --- the parts ------------------------------------------------------------------------

def test_choice_of_programs(tmp_path):
    paths = [f"test_{n:03}.py" for n in range(100)]
    assert checkout.choose(paths, sample=10) == paths[::10]
    assert checkout.choose(paths, part=(1, 4)) == paths[1::4]
    assert checkout.choose(paths, sample=50, part=(0, 2)) == paths[::4]
    assert checkout.choose(paths, sample=1000) == paths
    assert checkout.choose(paths, name="_04") == paths[40:50]
    assert checkout.parse_part("3/48") == (3, 48)
    for bad in ("3", "4/4", "-1/4", "a/b"):
        with pytest.raises(UsageError, match="I/N"):
            checkout.parse_part(bad)


def listen(work, seconds=20):
    child, messages = Child(work, seconds, 1 << 30, silent=True), []
    while not child.ended:
        ready, late = wait_for_any([child])
        if late:
            break
        messages += child.messages()
    return messages, child.end(), child


def test_a_child_that_ends_well():
    messages, death, child = listen(lambda send: [send({"n": n, "long": "x" * 100000}) for n in range(3)])
    assert [message["n"] for message in messages] == [0, 1, 2] and death == ""
    with pytest.raises(ChildProcessError):
        os.waitpid(child.pid, 0)


@pytest.mark.parametrize("work, words", [
    (lambda send: os._exit(3), "exit status 3"),
    (lambda send: os._exit(0), "exit status 0"),
    (lambda send: 1 / 0, "exit status 1"),
    (lambda send: os.kill(os.getpid(), signal.SIGTERM), "killed by SIGTERM"),
])
def test_a_child_that_dies(work, words):
    def first_says_something(send):
        send({"begun": True})
        work(send)
    messages, death, _ = listen(first_says_something)
    assert messages == [{"begun": True}] and death == words


def test_a_child_that_takes_too_long_goes_with_what_it_started():
    def work(send):
        started = subprocess.Popen(["sleep", "1000"])
        send({"pid": started.pid})
        time.sleep(1000)
    messages, death, _ = listen(work, seconds=1)
    assert death == "killed by SIGKILL"
    deadline = time.monotonic() + 10
    while _alive(messages[0]["pid"]):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def _alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_memory_limit():
    def work(send):
        try:
            bytearray(2 << 30)
        except MemoryError:
            send({"limited": True})
    assert listen(work)[0] == [{"limited": True}]


def test_a_timeout_costs_one_test_and_the_rest_goes_on():
    under_way = server.Program("/x/test_a.py", ["magpy"])
    under_way.receive({"names": ["A", "B", "C"]})
    under_way.receive({"verdict": {"verdict": "runs"}})
    under_way.lost("timeout", "took longer than 1 s")
    assert under_way.goes_on() and (under_way.system, under_way.todo) == ("eager", [2])
    under_way.receive({"verdict": {"verdict": "runs"}})
    assert under_way.goes_on() and (under_way.system, under_way.todo) == ("magpy", [0, 2])
    under_way.lost("crash", "killed by SIGSEGV")
    assert under_way.goes_on() and under_way.todo == [2]
    under_way.receive({"failed": "ImportError"})
    assert not under_way.goes_on()
    assert [verdicts(test) for test in under_way.tests] == [
        {"eager": "runs", "magpy": "crash"}, {"eager": "timeout"}, {"eager": "runs", "magpy": "error"}]


def test_a_file_that_kills_the_process_while_it_loads():
    under_way = server.Program("/x/test_a.py", ["magpy"])
    under_way.lost("crash", "killed by SIGSEGV")
    assert not under_way.goes_on() and under_way.row["import"] == "crash: killed by SIGSEGV"


def test_warm_up_imports_what_there_is(tmp_path, monkeypatch):
    imported = []
    monkeypatch.setattr(program, "importlib", types.SimpleNamespace(import_module=imported.append))
    path = tmp_path / "test_a.py"
    path.write_text("import abc, absent_library\nimport torch.nn as nn\ndef f():\n    import late\n")
    program.warm_up(str(path))
    path.write_text("no python")
    program.warm_up(str(path))
    assert imported == ["abc", "absent_library", "torch.nn"]


# --- results and report ---------------------------------------------------------------

def test_results_do_not_mix(tmp_path):
    path, header = str(tmp_path / "out.jsonl"), {"paritybench": 1, "torch": "2", "sample": None}
    kept = results.Results(path, header)
    kept.add({"file": "a", "tests": []})
    with pytest.raises(UsageError, match="another run is writing"):
        results.Results(path, header)
    kept.file.close()
    with pytest.raises(UsageError, match="torch: there 2, now 3"):
        results.Results(path, {**header, "torch": "3"})
    assert results.Results(path, header).rows == [{"file": "a", "tests": []}]
    (tmp_path / "other").write_text("hello\n")
    with pytest.raises(UsageError, match="is not a results file"):
        results.Results(str(tmp_path / "other"), header)


def test_the_header_knows_versions_and_sources():
    header = results.header(["magpy"], {"sample": 3}, "5 files")
    assert header["torch"] == torch.__version__ and header["magpy"].startswith(magpy.__version__)
    assert (header["systems"], header["sample"], header["checkout"]) == (["magpy"], 3, "5 files")


def row(file, *tests):
    return {"file": file, "tests": [
        {"name": f"T{i}", "eager": {"verdict": "runs", "ops": 1, "static": static, "strict": static, "stable": True},
         "magpy": magpy_, "dynamo": dynamo} for i, (static, magpy_, dynamo) in enumerate(tests)]}


OK = {"verdict": "ok", "seconds": 1.0}
ROWS = [
    row("a.py", (True, OK, {**OK, "seconds": 4.0}), (True, {**OK, "verdict": "recaptured", "reason": "r"}, OK)),
    row("b.py", (True, {"verdict": "wrong", "reason": "call 2: values differ"}, OK), (True, OK, OK)),
    row("c.py", (False, {"verdict": "refused", "reason": "tensor-data"}, {"verdict": "timeout", "reason": "60 s"})),
    row("d.py", (True, {"verdict": "refused", "reason": "no rule for 'f' at line 10"}, OK)),
    row("e.py", (True, {"verdict": "refused", "reason": "no rule for 'g' at line 20"},
                 {"verdict": "crash", "reason": "SEGV"})),
    {"file": "f.py", "tests": [], "import": "SyntaxError: x"},
]


def test_summary():
    summary = Summary(["magpy", "dynamo"], ROWS)
    assert (summary.programs, summary.running_programs, summary.static_programs) == (6, 5, 4)
    ours, dynamo = summary.scores.values()
    assert (ours.programs.count, ours.programs.of, ours.tests.count, ours.tests.of) == (1, 4, 3, 6)
    assert (dynamo.programs.count, dynamo.tests.count) == (3, 5)
    assert (ours.verdicts["wrong"], ours.recaptures) == (1, 1)
    assert (dynamo.verdicts["timeout"], dynamo.verdicts["crash"]) == (1, 1)
    assert ours.ratio == pytest.approx(4 ** (-1 / 3)) and dynamo.ratio == pytest.approx(1)


def test_report_groups_reasons():
    out = text(Summary(["magpy", "dynamo"], ROWS))
    assert "     2  refused: no rule for 'f' at line 10  [d.py T0]" in out
    assert "     1  import: SyntaxError: x  [f.py]" in out
    assert "tensor-data" not in out


def test_report_without_dynamo():
    rows = [{"file": "a.py", "tests": [{"name": "A", "eager": ROWS[0]["tests"][0]["eager"], "magpy": OK}]}]
    summary = Summary(["magpy"], rows)
    assert summary.scores["magpy"].ratio is None and "1/1 100.0%" in text(summary)


def test_progress_in_a_log_is_quiet(capsys, monkeypatch):
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    progress = Progress(["magpy", "dynamo"], 6, ROWS[:1])
    now = 129.0
    progress.add(ROWS[1])
    progress.tick()
    assert capsys.readouterr().err == ""
    progress.add(ROWS[2])
    now = 132.0
    progress.tick()
    progress.tick()
    assert capsys.readouterr().err == (
        "3 of 6 programs, 0 min 48 s left; static tests captured: magpy 3/4 (1 wrong)  dynamo 4/4 (1 timeout)\n")
    progress.end()
    assert capsys.readouterr().err == ""


def test_progress_on_a_terminal_is_one_line(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    progress = Progress(["magpy", "dynamo"], 2, [])
    for now in (101.0, 101.5):
        progress.tick()
        progress.add(ROWS[0])
    progress.end()
    assert capsys.readouterr().err == (
        "\r\x1b[K0 of 2 programs, ? left; static tests captured: magpy 0/0  dynamo 0/0"
        "\r\x1b[K2 of 2 programs, 0 min 00 s left; static tests captured: magpy 4/4  dynamo 4/4\n")


def test_chart(monkeypatch):
    matplotlib = MagicMock()
    figure, axes = MagicMock(), MagicMock()
    matplotlib.pyplot.subplots.return_value = figure, axes
    monkeypatch.setitem(sys.modules, "matplotlib", matplotlib)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", matplotlib.pyplot)
    assert chart.draw(Summary(["magpy", "dynamo"], ROWS), "/x/c.png") == "Chart: /x/c.png"
    assert [call.args[1] for call in axes.bar.call_args_list] == [[25, 75], [25, 75], [50, pytest.approx(500 / 6)]]
    assert figure.savefig.call_args.args == ("/x/c.png",)


def test_no_chart_without_matplotlib(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert "matplotlib is not installed" in chart.draw(Summary(["magpy"], ROWS), str(tmp_path / "c.png"))
    assert os.listdir(tmp_path) == []
