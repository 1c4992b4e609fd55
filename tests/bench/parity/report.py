"""What all verdicts come to: the table and the reasons."""
import collections
import math
import re

CAPTURED = ("ok", "recaptured")
REASONS_SHOWN = 15


class Share:
    """How many of how many."""

    def __init__(self):
        self.count = self.of = 0

    def add(self, yes):
        self.of += 1
        self.count += bool(yes)

    @property
    def percent(self):
        return 100 * self.count / self.of if self.of else 0.0

    def __str__(self):
        return f"{self.count}/{self.of} {self.percent:5.1f}%"


class Score:
    """One system's."""

    def __init__(self):
        self.programs, self.strict_programs, self.tests = Share(), Share(), Share()
        self.verdicts = collections.Counter()       # over all tests that run in eager
        self.recaptures = 0                         # static tests alone: a dynamic one may need a second graph
        self.ratios = []                            # capture seconds over Dynamo's
        self.reasons = Reasons()

    @property
    def ratio(self):
        """Geometric mean, or None."""
        return math.exp(sum(map(math.log, self.ratios)) / len(self.ratios)) if self.ratios else None


class Reasons:
    """Counts reasons; what is different from program to program in their words is left out. Keeps an example each."""

    def __init__(self):
        self.counts = collections.Counter()
        self.examples = {}

    def add(self, verdict, reason, example):
        key = verdict, re.sub(r"'[^']*'|\"[^\"]*\"|0x[0-9a-f]+|\d+", "_", reason)[:90]
        self.counts[key] += 1
        self.examples.setdefault(key, (reason, example))

    def lines(self):
        for key, n in self.counts.most_common(REASONS_SHOWN):
            reason, example = self.examples[key]
            yield f"{n:6}  {key[0]}: {reason[:100]}  [{example}]"
        rest = self.counts.most_common()[REASONS_SHOWN:]
        if rest:
            yield f"{sum(n for _, n in rest):6}  {len(rest)} more reasons"


class Summary:
    """All rows of a results file, added up."""

    def __init__(self, systems, rows):
        self.scores = {name: Score() for name in systems}
        self.programs = len(rows)
        self.tests = self.unstable = 0
        self.running_programs, self.static_programs, self.strict_programs = 0, 0, 0
        self.running_tests, self.static_tests = 0, 0
        self.not_running = Reasons()
        for row in rows:
            self.add(row)

    def add(self, row):
        running = self._running(row)
        if not running:
            return
        static = all(test["eager"]["static"] for test in running)
        strict = all(test["eager"]["strict"] for test in running)
        self.running_programs += 1
        self.static_programs += static
        self.strict_programs += strict
        for name, score in self.scores.items():
            captured = all(test[name]["verdict"] in CAPTURED for test in running)
            if static:
                score.programs.add(captured)
            if strict:
                score.strict_programs.add(captured)
            for test in running:
                self._score_test(name, score, test, row["file"])

    def _running(self, row):
        """The tests of a program that run in eager."""
        if "import" in row:
            self.not_running.add("import", row["import"], row["file"])
        self.tests += len(row["tests"])
        running = []
        for test in row["tests"]:
            eager = test["eager"]
            if eager["verdict"] == "runs":
                running.append(test)
                self.running_tests += 1
                self.static_tests += eager["static"]
                self.unstable += not eager["stable"]
            else:
                self.not_running.add(eager["verdict"], eager["reason"], _place(row["file"], test))
        return running

    def _score_test(self, name, score, test, file):
        found, dynamo = test[name], test.get("dynamo")
        verdict = found["verdict"]
        score.verdicts[verdict] += 1
        if dynamo and verdict in CAPTURED and dynamo["verdict"] in CAPTURED:
            score.ratios.append(found["seconds"] / dynamo["seconds"])
        if not test["eager"]["static"]:
            return
        score.tests.add(verdict in CAPTURED)
        score.recaptures += verdict == "recaptured"
        if verdict != "ok":
            score.reasons.add(verdict, found["reason"], _place(file, test))


def _place(file, test):
    return f"{file} {test['name']}"


# --- as text --------------------------------------------------------------------------

def text(summary):
    """The whole report."""
    lines = [
        f"{summary.programs} programs: {summary.running_programs} run in eager, {summary.static_programs} of those are "
        f"static, {summary.strict_programs} strictly.",
        f"{summary.tests} tests: {summary.running_tests} run in eager, {summary.static_tests} of those are static; "
        f"{summary.unstable} give other results when run again, which are not compared.",
        "", *table(summary)]
    for name, score in summary.scores.items():
        lines += _section(f"{name}: static tests that are not ok", score.reasons)
    lines += _section("eager: programs and tests that do not run", summary.not_running)
    return "\n".join(lines)


COLUMNS = ("system", "static programs", "strictly static", "static tests", "wrong", "errors", "crashes", "timeouts",
           "recaptures", "capture time")


def table(summary):
    rows = [COLUMNS, *(_cells(name, score) for name, score in summary.scores.items())]
    widths = [max(map(len, column)) for column in zip(*rows)]
    return ["  ".join(cell.rjust(width) if i else cell.ljust(width)
                      for i, (cell, width) in enumerate(zip(row, widths))) for row in rows]


def _cells(name, score):
    ratio = "-" if score.ratio is None else f"{score.ratio:.2f} ({len(score.ratios)})"
    counts = (score.verdicts[verdict] for verdict in ("wrong", "error", "crash", "timeout"))
    return (name, str(score.programs), str(score.strict_programs), str(score.tests), *map(str, counts),
            str(score.recaptures), ratio)


def _section(title, reasons):
    return ["", title, *reasons.lines()] if reasons.counts else []
