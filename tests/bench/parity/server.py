"""Every program through every system, each in a child of its own.

The parent has imported all that the programs import and forks for each (program, system). A child says which test it
begins and what the verdict is. One that dies or takes too long costs the test that it was at; the program's other tests
go on in another child. The verdicts of a program are given away together, when it is through.
"""
import collections
import gc
import os
import warnings

import torch

from . import judge, program, systems
from .children import Child, wait_for_any


class Limits:
    """Seconds for each test under each system; bytes that a child may use besides what it inherits."""

    def __init__(self, seconds, memory):
        self.seconds = seconds
        self.memory = memory


def warm_up(names, path):
    """Everything that the children would otherwise do each for itself."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    program.warm_up(path)
    systems.warm_up(names)
    gc.collect()
    gc.freeze()


def run(paths, names, limits, jobs, silent, tick):
    """Yields the row of each program of *paths*, as they become ready; calls *tick* in between."""
    waiting = collections.deque(Program(path, names) for path in paths)
    working = {}
    try:
        while waiting or working:
            while waiting and len(working) < jobs:
                _start(waiting.popleft(), working, limits, silent)
            yield from _listen(working, limits, silent)
            tick()
    finally:
        for child in working:
            child.end()


def _start(program, working, limits, silent):
    working[Child(program.work(), limits.seconds, limits.memory, silent)] = program


def _listen(working, limits, silent):
    ready, late = wait_for_any(working)
    for child in ready:
        for message in child.messages():
            working[child].receive(message)
    for child in [child for child in ready if child.ended] + late:
        program = working.pop(child)
        death = child.end()
        if child in late:
            program.lost("timeout", f"took longer than {limits.seconds} s")
        elif death:
            program.lost("crash", death)
        if program.goes_on():
            _start(program, working, limits, silent)
        else:
            yield program.row


class Program:
    """One program on its way through eager and the systems."""

    def __init__(self, path, names):
        self.path = path
        self.row = {"file": os.path.basename(path), "tests": []}
        self.systems = collections.deque(("eager", *names))
        self.todo = None        # the system's tests; None while it is not known which there are

    @property
    def tests(self):
        return self.row["tests"]

    @property
    def system(self):
        return self.systems[0]

    def work(self):
        """What the next child does."""
        path, system, todo = self.path, self.system, self.todo
        eager = [test.get("eager") for test in self.tests]
        return lambda send: _judge_tests(path, system, todo, eager, send)

    def receive(self, message):
        if "failed" in message:
            self.not_loaded(message["failed"])
        elif "names" in message:
            self.row["tests"] = [{"name": name} for name in message["names"]]
            self.todo = list(range(len(self.tests)))
        else:
            self.verdict(message["verdict"])

    def not_loaded(self, reason):
        if self.todo is None:
            self.row["import"] = reason
        while self.todo:
            self.verdict({"verdict": "error", "reason": f"the file loads no more: {reason}"})

    def verdict(self, verdict):
        self.tests[self.todo.pop(0)][self.system] = verdict

    def lost(self, verdict, reason):
        """The child ended in the middle of the first test that is to be done."""
        if self.todo is None:
            self.row["import"] = f"{verdict}: {reason}"
        elif self.todo:
            self.verdict({"verdict": verdict, "reason": reason})

    def goes_on(self):
        """Sets out for what is to be done next; False if nothing is."""
        while not self.todo and len(self.systems) > 1:
            self.systems.popleft()
            self.todo = [i for i, test in enumerate(self.tests) if test["eager"]["verdict"] == "runs"]
        return bool(self.todo)


def _judge_tests(path, system, todo, eager, send):
    """The work of a child: tests *todo* of a program (or all), in that order, under one system."""
    try:
        tests = program.load(path)
    except BaseException as error:
        send({"failed": f"{type(error).__name__}: {systems.first_line(error)}"[:300]})
        return
    if todo is None:
        send({"names": [test.name for test in tests]})
        todo, eager = range(len(tests)), [None] * len(tests)
    for i in todo:
        send({"verdict": judge.judge(tests[i], system, eager[i])})
        gc.collect()
