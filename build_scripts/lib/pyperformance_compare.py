"""pyperformance_compare.py WITHOUT WITH [OPTION…]: the part of build_scripts/pyperformance_compare that measures.

WITHOUT and WITH are environments with pyperformance, of the interpreter without the series and of the one with it.
A *task* is what pyperformance reports as one benchmark; one script can hold several. In each round every task runs
on both interpreters, one right after the other, and the next round begins with the other one: what else the machine
does falls on both. A round gives the ratio of the two least times; the median of the rounds' ratios counts.
"""

import argparse
import json
import math
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SYSTEMS = ("without", "with")
VALUE_SECONDS = 0.1     # the least time of one value: loops are set so
LIMIT = 300             # seconds for one process
RESAMPLES = 2000

LIST = """
import json, os
from pyperformance._manifest import load_manifest
print(json.dumps([
    {"name": b.name, "script": b.runscript, "options": list(b.extra_opts or ()),
     "folder": os.path.basename(os.path.dirname(b.requirements_lockfile))}
    for b in load_manifest(None).benchmarks]))
"""


class Failed(Exception):
    """A benchmark does not run here; the text says why."""


def say(text, end="\n"):
    print(text, end=end, file=sys.stderr, flush=True)


# --- running ------------------------------------------------------------------


def variables(seed):
    """The benchmarks' environment variables. A round's seed is the same on both interpreters."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "MAGPY_"))}
    return {**kept, "PYTHONHASHSEED": str(seed)}


def run_worker(python, benchmark, options, seed=0, prefix=()):
    """What pyperf writes of one process: a run for each task."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "out.json")
        script = benchmark["script"].replace(benchmark["environment"], str(python.parents[1]), 1)
        command = [*prefix, str(python), script, *benchmark["options"], "--worker", *map(str, options), "-o", str(out)]
        try:
            done = subprocess.run(command, cwd=folder, env=variables(seed), stdin=subprocess.DEVNULL, timeout=LIMIT,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
        except subprocess.TimeoutExpired:
            raise Failed(f"takes more than {LIMIT} s") from None
        if done.returncode != 0 or not out.exists():
            lines = done.stdout.strip().splitlines() or [f"exit status {done.returncode}"]
            raise Failed(lines[-1][:200])
        suite = json.loads(out.read_text())
    runs = []
    for entry in suite["benchmarks"]:
        run, = entry["runs"]
        about = [part.get("metadata", {}) for part in (suite, entry, run)]      # what is common stands further out
        runs.append({**run, **about[0], **about[1], **about[2]})
    return runs


def calibrate(python, benchmark):
    """The tasks of a benchmark: names, and how many loops of each take long enough to be measured."""
    options = ["--calibrate-loops", "--min-time", VALUE_SECONDS, "-w", 0, "-n", 1]
    tasks = []
    for number, run in enumerate(run_worker(python, benchmark, options)):
        loops, seconds = run["warmups"][-1]
        tasks.append({"name": run["name"], "number": number, "loops": loops,
                      "seconds": seconds * loops * run.get("inner_loops", 1)})
    return tasks


def task_options(task, values, warmups):
    return ["--worker-task", task["number"], "-l", task["loops"], "-w", warmups, "-n", values]


def least_time(python, benchmark, task, seed):
    values = 3 if task["seconds"] < 0.5 else 2 if task["seconds"] < 1.5 else 1
    run, = run_worker(python, benchmark, task_options(task, values, 1), seed)
    return min(run["values"])


# --- instructions -------------------------------------------------------------


def perf_counts():
    """Does the processor count for us? Virtual machines often have no counters."""
    if shutil.which("perf") is None:
        return False
    done = subprocess.run(["perf", "stat", "-x,", "-e", "instructions:u", "true"], capture_output=True, text=True)
    return done.stderr[:1].isdigit()


class Counter:
    """Counts the instructions of a process and of those that it starts."""

    def __init__(self):
        self.by_perf = perf_counts()
        if not self.by_perf and shutil.which("valgrind") is None:
            sys.exit("--instructions: the processor's counters cannot be used here, and valgrind is not installed")

    def count(self, python, benchmark, options):
        with tempfile.TemporaryDirectory() as folder:
            if self.by_perf:
                prefix = ["perf", "stat", "-x,", "-e", "instructions:u", "-o", f"{folder}/counts"]
            else:
                prefix = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null",
                          "--trace-children=yes", f"--log-file={folder}/%p"]
            run_worker(python, benchmark, options, prefix=prefix)
            return sum(instructions(path.read_text()) for path in Path(folder).iterdir())

    def of(self, python, benchmark, task):
        """Of the second value alone: start-up and what is done once cancel out."""
        if not self.by_perf:
            task = {**task, "loops": max(1, task["loops"] // 8)}
        one, two = (self.count(python, benchmark, task_options(task, values, 0)) for values in (1, 2))
        return (two - one) / task["loops"]


def instructions(text):
    """What perf or cachegrind counted."""
    found = re.search(r"I\s+refs:\s+([\d,]+)", text) or re.search(r"^(\d+),,instructions", text, re.M)
    return int(found[1].replace(",", "")) if found else 0


# --- results ------------------------------------------------------------------


class Results:
    """A file of JSON lines: a header, then what was found. One that was killed can leave half a line at the end."""

    def __init__(self, path, header):
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        whole = path.read_bytes() if path.exists() else b""
        whole = whole[:whole.rfind(b"\n") + 1]
        found, *self.rows = [json.loads(line) for line in whole.splitlines()] or [header]
        if found != header:
            sys.exit(f"{path} holds results of other interpreters or benchmarks: choose another --out")
        path.write_bytes(whole or json.dumps(header).encode() + b"\n")

    def add(self, **row):
        self.rows.append(row)
        with open(self.path, "a") as file:
            file.write(json.dumps(row) + "\n")


class Measured:
    """What the rows say of one task."""

    def __init__(self, name):
        self.name = name
        self.seconds = {system: [] for system in SYSTEMS}
        self.instructions = None

    @property
    def ratios(self):
        return [after / before for before, after in zip(self.seconds["without"], self.seconds["with"])]

    @property
    def ratio(self):
        return statistics.median(self.ratios)


def measured(rows):
    """{name: Measured} of the tasks, and {name: reason} of what was left out."""
    tasks, left_out = {}, {}
    for row in rows:
        if "left_out" in row:
            left_out[row["benchmark"]] = row["left_out"]
        elif "task" in row:
            task = tasks.setdefault(row["task"], Measured(row["task"]))
            if "instructions" in row:
                task.instructions = row["instructions"]["with"] / row["instructions"]["without"]
            else:
                for system in SYSTEMS:
                    task.seconds[system].append(row[system])
    return tasks, left_out


def geometric_mean(values):
    return math.exp(statistics.fmean(map(math.log, values)))


def interval(tasks, resamples=RESAMPLES):
    """95 % of the geometric means that other draws of the same rounds would have given."""
    draw = random.Random(0)
    means = sorted(
        geometric_mean([statistics.median(draw.choices(task.ratios, k=len(task.ratios))) for task in tasks])
        for _ in range(resamples))
    return means[int(0.025 * resamples)], means[int(0.975 * resamples) - 1]


def table_line(task, width):
    counted = "" if task.instructions is None else f"{task.instructions:14.4f}"
    if not task.ratios:
        return f"{task.name:{width}}  {'':10}  {'':5}  {'':11}  {0:6}{counted}"
    before = statistics.median(task.seconds["without"]) * 1e3
    return (f"{task.name:{width}}  {before:7.4g} ms  {task.ratio:.3f}  {min(task.ratios):.3f}-{max(task.ratios):.3f}  "
            f"{len(task.ratios):6}{counted}")


def report(rows):
    """The table, the slowest first, and the means."""
    tasks, left_out = measured(rows)
    if not tasks:
        return "no benchmark ran"
    timed = sorted((task for task in tasks.values() if task.ratios), key=lambda task: task.ratio, reverse=True)
    width = max(len(name) for name in tasks)
    lines = [f"{'benchmark':{width}}  {'without':>10}  ratio  least-most   rounds  instructions"]
    lines += [table_line(task, width) for task in timed]
    lines += [table_line(task, width) for task in tasks.values() if not task.ratios]
    lines += [f"left out: {name} ({reason})" for name, reason in sorted(left_out.items())]
    if timed:
        low, high = interval(timed)
        lines.append(f"{len(timed)} benchmarks, time with the series / without: geometric mean "
                     f"{geometric_mean([task.ratio for task in timed]):.4f} (95 %: {low:.4f} to {high:.4f})")
    counted = [task.instructions for task in tasks.values() if task.instructions is not None]
    if counted:
        lines.append(f"{len(counted)} benchmarks, instructions: geometric mean {geometric_mean(counted):.4f}")
    return "\n".join(lines)


# --- the run ------------------------------------------------------------------


class Run:
    def __init__(self, environments, results, only):
        self.pythons = {system: path / "bin/python" for system, path in environments.items()}
        self.results = results
        self.tasks = []     # (benchmark, task)
        self.failed = {row["benchmark"] for row in results.rows if "left_out" in row}
        self.benchmarks = list(self._installed(environments["without"], only))

    def _installed(self, environment, only):
        done = subprocess.run([self.pythons["without"], "-P", "-c", LIST], env=variables(0),
                              stdout=subprocess.PIPE, text=True, check=True)
        missing = environment / "not-installed"
        missing = set(missing.read_text().split()) if missing.exists() else set()
        for benchmark in json.loads(done.stdout):
            if only and not benchmark["name"].startswith(only):
                continue
            if benchmark["folder"] not in missing:
                yield {**benchmark, "environment": str(environment)}
            elif benchmark["name"] not in self.failed:
                self.leave_out(benchmark, "its requirements do not install")

    def leave_out(self, benchmark, reason):
        say(f"left out: {benchmark['name']} ({reason})")
        self.failed.add(benchmark["name"])
        self.results.add(benchmark=benchmark["name"], left_out=reason)

    def calibrate(self):
        known = {row["benchmark"]: row["tasks"] for row in self.results.rows if "tasks" in row}
        for number, benchmark in enumerate(self.benchmarks, 1):
            name = benchmark["name"]
            if name in self.failed:
                continue
            if name not in known:
                say(f"calibrating {number}/{len(self.benchmarks)} {name}")
                try:
                    known[name] = calibrate(self.pythons["without"], benchmark)
                except Failed as failure:
                    self.leave_out(benchmark, str(failure))
                    continue
                self.results.add(benchmark=name, tasks=known[name])
            names = {task["name"] for _, task in self.tasks}    # some scripts run what others run, too
            self.tasks += [(benchmark, task) for task in known[name] if task["name"] not in names]

    def each(self, what, done, measure):
        """measure(benchmark, task) for each task not in *done*, with what it says."""
        for number, (benchmark, task) in enumerate(self.tasks, 1):
            if task["name"] in done or benchmark["name"] in self.failed:
                continue
            say(f"{what}  {number}/{len(self.tasks)}  {task['name']}", end="")
            try:
                ratio = measure(benchmark, task)
            except Failed as failure:
                say("")
                self.leave_out(benchmark, str(failure))
            else:
                say(f"  {ratio:.4f}")

    def round(self, number, rounds):
        started = time.monotonic()

        def measure(benchmark, task):
            order = SYSTEMS if number % 2 else SYSTEMS[::-1]
            seconds = {system: least_time(self.pythons[system], benchmark, task, number) for system in order}
            self.results.add(task=task["name"], round=number, **seconds)
            return seconds["with"] / seconds["without"]
        done = {row["task"] for row in self.results.rows if row.get("round") == number}
        self.each(f"round {number}/{rounds}", done, measure)
        say(f"round {number}/{rounds} took {time.monotonic() - started:.0f} s")

    def count(self):
        counter = Counter()

        def measure(benchmark, task):
            counts = {system: counter.of(self.pythons[system], benchmark, task) for system in SYSTEMS}
            if min(counts.values()) <= 0:
                raise Failed("its instructions cannot be counted")
            self.results.add(task=task["name"], instructions=counts)
            return counts["with"] / counts["without"]
        done = {row["task"] for row in self.results.rows if "instructions" in row}
        self.each("instructions", done, measure)


def header(environments):
    return {"pyperformance_compare": 1, **{system: path.name for system, path in environments.items()}}


def main():
    parser = argparse.ArgumentParser()
    for system in SYSTEMS:
        parser.add_argument(system, type=Path)
    parser.add_argument("--benchmarks", default="")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--cpu", type=int, default=max(os.sched_getaffinity(0)))
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--instructions", action="store_true")
    parser.add_argument("--report", action="store_true")
    options = parser.parse_args()
    environments = {system: getattr(options, system) for system in SYSTEMS}
    results = Results(options.out, header(environments))
    if not options.report:
        os.sched_setaffinity(0, {options.cpu})      # and all that is started from here
        run = Run(environments, results, tuple(filter(None, options.benchmarks.split(","))))
        run.calibrate()
        for number in range(1, options.rounds + 1):
            run.round(number, options.rounds)
        if options.instructions:
            run.count()
    print(report(results.rows))


if __name__ == "__main__":
    main()
