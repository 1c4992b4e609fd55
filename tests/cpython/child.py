"""Runs one module of CPython's tests, each test method twice, and writes down what became of it.

    python child.py MODULE HOW OUT [--skip N] [--only TEXT] [--limit SECONDS]

HOW says what is the program (methods, statements) and whether it is compiled:

    methods       each test method is one program
    statements    each simple statement of a test method is one (see statements.py): tests call so much that few are
                  captured whole, and what comes after the first stop is not recorded
    stock-…       the same, run plainly: what the others are compared with

OUT gets one line of JSON before each test, and one after it, so that the parent knows the test that crashed or hung.
"""
import argparse
import collections
import doctest
import faulthandler
import json
import os
import re
import sys
import time
import types
import unittest

import torch

import magpy
from magpy.dispatch.compiled import table_of
from test import support

import statements


class Result(unittest.TestResult):
    """The outcome of one run, as a list of short texts."""

    def __init__(self):
        super().__init__()
        self.outcomes = []
        self.details = []

    def note(self, what, error=None, test=None):
        text = what if error is None else f"{what} {error[0].__qualname__}"
        if test is not None:
            text += f" in {test._subDescription()}"
        self.outcomes.append(re.sub("0x[0-9a-f]+", "0x…", text))
        if error is not None:
            self.details.append(self._exc_info_to_string(error, test or self.current)[-3000:])

    def startTest(self, test):
        super().startTest(test)
        self.current = test

    def addSuccess(self, test):
        self.note("pass")

    def addError(self, test, error):
        self.current = test
        self.note("error", error)

    def addFailure(self, test, error):
        self.note("fail", error)

    def addSkip(self, test, reason):
        self.note(f"skip: {reason}")

    def addExpectedFailure(self, test, error):
        self.note("expected failure", error)

    def addUnexpectedSuccess(self, test):
        self.note("unexpected success")

    def addSubTest(self, test, subtest, error):
        if error is not None:
            super().addSubTest(test, subtest, error)
            self.note("subtest", error, subtest)


class Programs:
    """How the code of a test is run: makes programs, and remembers them for what they have to say."""

    def __init__(self, how):
        self.plain = how.startswith("stock-")
        self.split = how.endswith("statements")
        self.made = []
        self.cache = {}     # test's function -> the program: the second run of a test calls what the first one made

    def clear(self):
        self.made.clear()
        self.cache.clear()

    def compiled(self, function):
        if self.plain:
            return function
        program = magpy.compile(function, backend="eager")
        self.made.append(program)
        return program

    def of(self, function):
        """The program that *function*, a test's code, is run as."""
        found = self.cache.get(function)
        if found is None:
            whole = statements.split(function, self.compiled) if self.split else None
            found = self.cache[function] = whole or self.compiled(function)
        return found

    def report(self):
        """Captures, hits, misses and stops of all programs made."""
        stops, misses, captures, hits = collections.Counter(), [], 0, 0
        for program in self.made:
            table = table_of(program)
            captures += table.history.captures
            hits += sum(entry.hits for entry in table.entries)
            misses += table.history.misses
            stops.update((stop.reason, stop.detail, f"{os.path.basename(stop.filename or '?')}:{stop.lineno}")
                         for stop in table.history.stops)
        return {"captures": captures, "hits": hits, "programs": len(self.made), "misses": misses[:20],
                "stops": [[*stop, n] for stop, n in stops.items()]}


def prepare(case, programs):
    """Let the test method of *case* be run as a program. unittest finds skips, expected failures and the like at the
    method itself, so that one stays."""
    method = getattr(case, case._testMethodName)
    if isinstance(method, types.MethodType) and method.__self__ is case:
        program = programs.of(method.__func__)
        case._callTestMethod = lambda method: program(case)
    else:
        program = programs.of(method)
        case._callTestMethod = lambda method: program()


def fresh(case):
    """Another instance of the same test."""
    if isinstance(case, doctest.DocTestCase):
        return type(case)(case._dt_test, case._dt_optionflags, case._dt_setUp, case._dt_tearDown, case._dt_checker)
    return type(case)(case._testMethodName)


def compile_examples(programs):
    """Each example of a doctest is a program: a function whose local names are the globals of the doctest."""
    def run(code, scope):
        scope.setdefault("__builtins__", __builtins__)
        return programs.compiled(types.FunctionType(code, scope))()
    doctest.exec = run


def run_once(case, programs):
    result = Result()
    if not isinstance(case, doctest.DocTestCase):
        prepare(case, programs)
    started = time.perf_counter()
    unittest.TestSuite([case]).run(result)
    return {"outcome": result.outcomes, "seconds": round(time.perf_counter() - started, 4), "details": result.details}


def flat(suite):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from flat(test)
        else:
            yield test


def warm_up():
    """The first capture loads the rest of magpy, which no test is to see."""
    magpy.compile(lambda x: x + 1, backend="eager")(torch.ones(1))
    magpy.reset()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("module")
    parser.add_argument("how")
    parser.add_argument("out")
    parser.add_argument("--skip", type=int, default=0)
    parser.add_argument("--only", default="")
    parser.add_argument("--limit", type=float, default=60)
    options = parser.parse_args()
    support.use_resources = []
    faulthandler.enable()
    warm_up()
    programs = Programs(options.how)
    with open(options.out, "a") as out:
        def say(**line):
            print(json.dumps(line), file=out, flush=True)
        loaded = unittest.defaultTestLoader.loadTestsFromName(f"test.{options.module}")
        compile_examples(programs)
        for i, case in enumerate(flat(loaded)):
            if i < options.skip or options.only not in case.id():
                continue
            say(number=i, test=case.id())
            faulthandler.dump_traceback_later(options.limit, exit=True)
            runs = [run_once(fresh(case), programs) for _ in range(2)]
            faulthandler.cancel_dump_traceback_later()
            say(number=i, test=case.id(), runs=runs, **programs.report())
            programs.clear()
        say(number=-1, test="", end=True)


if __name__ == "__main__":
    main()
