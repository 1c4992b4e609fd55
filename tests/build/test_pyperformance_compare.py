"""The comparison of the interpreters' speed: what it makes of its results, and the run itself on fake interpreters."""

import importlib.util
import json
import math
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "build_scripts/lib/pyperformance_compare.py"

spec = importlib.util.spec_from_file_location("pyperformance_compare", SCRIPT)
compare = importlib.util.module_from_spec(spec)
spec.loader.exec_module(compare)


def rounds(task, *pairs):
    return [{"task": task, "round": number, "without": before, "with": after}
            for number, (before, after) in enumerate(pairs, 1)]


ROWS = [
    {"benchmark": "old", "left_out": "its requirements do not install"},
    *rounds("quicker", (1.0, 0.5), (2.0, 1.0), (1.0, 9.0)),     # an outlier does not count
    *rounds("slower", (0.010, 0.011), (0.020, 0.022), (0.010, 0.011)),
    {"task": "slower", "instructions": {"without": 1000, "with": 1010}},
]


def test_table():
    head, slower, quicker, left_out, means, counted = compare.report(ROWS).splitlines()
    assert slower.split() == ["slower", "10", "ms", "1.100", "1.100-1.100", "3", "1.0100"]
    assert quicker.split() == ["quicker", "1000", "ms", "0.500", "0.500-9.000", "3"]
    assert left_out == "left out: old (its requirements do not install)"
    assert means.startswith(f"2 benchmarks, time with the series / without: geometric mean {math.sqrt(0.55):.4f} (95 %: ")
    assert counted == "1 benchmarks, instructions: geometric mean 1.0100"


def test_instructions_alone():
    head, slower, counted = compare.report(ROWS[-1:]).splitlines()
    assert slower.split() == ["slower", "0", "1.0100"]
    assert counted == "1 benchmarks, instructions: geometric mean 1.0100"


def test_nothing_is_no_result():
    assert compare.report(ROWS[:1]) == "no benchmark ran"


def test_interval():
    def of(*ratios):
        tasks, _ = compare.measured([*rounds("a", *[(1.0, ratio) for ratio in ratios]), *rounds("b", (2.0, 2.0))])
        return compare.interval(list(tasks.values()))
    assert of(1.21, 1.21, 1.21) == pytest.approx((1.1, 1.1))
    low, high = of(1.0, 1.21, 1.44)
    assert low == pytest.approx(1.0) and high == pytest.approx(1.2)


@pytest.mark.parametrize("text, number", [
    ("==7== \n==7== I   refs:      1,234,567\n", 1234567),
    ("# started\n\n987654,,instructions:u,1000,100.00,,\n", 987654),
    ("==7== Memcheck\n", 0),
])
def test_counted_instructions(text, number):
    assert compare.instructions(text) == number


# Lists two scripts: one of two tasks, one that fails. A loop takes 0.1 ms, and of the second task 10 % more on "with".
PYTHON = """#!{python}
import json, sys
from pathlib import Path
here, args = Path(__file__).parents[1], sys.argv[1:]
if args[0] == "-P":
    print(json.dumps([{{"name": name, "script": f"{{here}}/{{name}}.py", "options": ["-o1"], "folder": f"bm_{{name}}"}}
                      for name in ("pair", "broken", "old")]))
    sys.exit()
assert args[0] == f"{{here}}/{{args[0].rsplit('/', 1)[1]}}" and args[1:3] == ["-o1", "--worker"]
with open(here.parent / "log", "a") as log:
    print(here.name, *args[3:-2], file=log)
if "broken" in args[0]:
    sys.exit("no such module")
def run(number, loops, values):
    seconds = 1e-4 * (1.1 if here.name == "with" and number else 1)
    about = {{"name": f"task{{number}}"}}
    if values:
        return {{"metadata": about, "runs": [{{"values": [seconds] * values}}]}}
    return {{"metadata": about, "runs": [{{"warmups": [[1, seconds], [loops, seconds]]}}]}}
if "--calibrate-loops" in args:
    found = [run(number, 1024, 0) for number in (0, 1)]
else:
    option = lambda name: int(args[args.index(name) + 1])
    assert option("-l") == 1024
    found = [run(option("--worker-task"), 1024, option("-n"))]
Path(args[-1]).write_text(json.dumps({{"benchmarks": found}}))
"""


@pytest.fixture
def run(tmp_path):
    for system in ("without", "with"):
        python = tmp_path / system / "bin/python"
        python.parent.mkdir(parents=True)
        python.write_text(PYTHON.format(python=sys.executable))
        python.chmod(0o755)
    (tmp_path / "without/not-installed").write_text("bm_old\n")

    def run(*args):
        """Output, errors, and the processes that were started."""
        (tmp_path / "log").write_text("")
        done = subprocess.run([sys.executable, SCRIPT, tmp_path / "without", tmp_path / "with",
                               "--out", tmp_path / "build/out", *args], capture_output=True, text=True)
        return done.stdout.splitlines(), done.stderr, (tmp_path / "log").read_text().splitlines()

    return run


def test_a_run(run, tmp_path):
    lines, errors, processes = run("--rounds", "2")
    assert [line.split()[0] for line in lines[1:3]] == ["task1", "task0"]
    assert lines[3:5] == ["left out: broken (no such module)", "left out: old (its requirements do not install)"]
    assert f"geometric mean {math.sqrt(1.1):.4f}" in lines[5]
    first = [line.split() for line in processes if "--worker-task 1" in line]
    assert [line[0] for line in first] == ["without", "with", "with", "without"]
    assert "round 1/2  2/2  task1  1.1000" in errors

    # nothing is done twice, also after a kill in the middle of a line
    with open(tmp_path / "build/out", "a") as file:
        file.write('{"task": "ta')
    again, _, processes = run("--rounds", "3")
    assert len(processes) == 4 and again[1].split()[5] == "3"
    assert run("--rounds", "3", "--report") == (again, "", [])


def test_only_some_benchmarks(run):
    _, errors, processes = run("--rounds", "1", "--benchmarks", "pa,x")
    assert "broken" not in errors and "old" not in errors and len(processes) == 1 + 2 * 2


def test_results_of_other_interpreters_are_refused(run, tmp_path):
    run("--rounds", "1")
    header, rest = (tmp_path / "build/out").read_text().split("\n", 1)
    (tmp_path / "build/out").write_text(json.dumps({**json.loads(header), "with": "another"}) + "\n" + rest)
    lines, errors, processes = run()
    assert "results of other interpreters" in errors and not lines and not processes
