"""Runs a module of CPython's tests in children (tests/cpython/child.py) and compares what they say.

A child that crashes or hangs is the outcome of the test that it was in; another one goes on behind that test.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

CHILD = pathlib.Path(__file__).parents[1] / "cpython" / "child.py"
ENVIRONMENT = {"PYTHONHASHSEED": "1", "OMP_NUM_THREADS": "1", "PYTHONFAULTHANDLER": "1"}


class Record:
    """What one child said about one test."""

    def __init__(self, said):
        self.test = said["test"]
        self.runs = said.get("runs", [])
        self.captures = said.get("captures", 0)
        self.hits = said.get("hits", 0)
        self.programs = said.get("programs", 0)
        self.stops = said.get("stops", [])
        self.misses = said.get("misses", [])
        self.died = said.get("died")        # how its child ended, if it did not end the test
        self.log = said.get("log", "")

    @property
    def outcomes(self):
        """Of both runs. Some subtests come from a set of functions: in any order."""
        return self.died or [sorted(run["outcome"]) for run in self.runs]

    @property
    def seconds(self):
        return sum(run["seconds"] for run in self.runs)


def run(module, how, only="", limit=300):
    """{test: Record} of one module, run as *how* says (see child.py)."""
    records, skip = {}, 0
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder, "out")
        while skip is not None:
            out.write_text("")
            work = tempfile.mkdtemp(dir=folder)     # what a child that died left in it is no other's trouble
            command = [sys.executable, str(CHILD), module, how, str(out),
                       "--skip", str(skip), "--only", only, "--limit", str(limit)]
            with open(pathlib.Path(folder, "log"), "w+") as log:
                ended = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=work,
                                       env={**os.environ, **ENVIRONMENT}, check=False)
                log.seek(0)
                skip = _read(out, records, f"child ended with {ended.returncode}", log.read()[-6000:])
    return records


def _read(out, records, how_it_ended, log):
    """Adds what a child wrote. The number of the test at which to go on, None at the end."""
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    for line in lines:
        if line.get("runs"):
            records[line["test"]] = Record(line)
    if lines and lines[-1].get("end"):
        return None
    if not lines or "runs" in lines[-1]:
        raise RuntimeError(f"{how_it_ended} between tests:\n{log}")
    records[lines[-1]["test"]] = Record({**lines[-1], "died": how_it_ended, "log": log})
    return lines[-1]["number"] + 1


def differences(stock, ours, known):
    """What differs between two results of `run`, as texts; *known* are tests that may differ."""
    if stock.keys() != ours.keys():
        return [f"other tests: {sorted(stock.keys() ^ ours.keys())}"]
    return [_difference(stock[test], ours[test]) for test in stock
            if test not in known and stock[test].outcomes != ours[test].outcomes]


def _difference(stock, ours):
    details = "\n".join([ours.log, *(text for run in ours.runs for text in run["details"])])
    return f"{ours.test}: stock {stock.outcomes}, compiled {ours.outcomes}\n{details}"


def internal_errors(ours, known):
    """Faults of the recorder, as texts."""
    return [f"{record.test}: {stop[1]} ({stop[2]})" for record in ours.values() for stop in record.stops
            if stop[0] == "internal-error" and record.test not in known]
