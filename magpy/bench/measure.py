"""Times of the systems, taken in turns, and what an entry consists of.

The backend's graph is made free: it returns the outputs of its first run. So what is timed is the guards, the
dispatch and the rebuilding of the outputs. The systems alternate within each round, so that a busy machine slows
all of them; the least time over the rounds counts.
"""
import contextlib
import functools
import gc
import resource
import time

import torch
from torch import nn

import magpy
from magpy.dispatch.compiled import table_of

MAGPY, TORCH_COMPILE, UNSAFE = "magpy", "torch.compile", "torch.compile, unsafe"
BATCH_SECONDS = 0.005           # calls between two looks at the clock take about this long
WARM_UP = 20                    # calls
ENTRIES = 64


class FreeBackend:
    """A graph that costs nothing from its second run on. ``arguments``: how many the last graph takes."""

    arguments = 0

    def __call__(self, gm, example_inputs):
        self.arguments = len(example_inputs)
        kept = None

        def run(*args):
            nonlocal gm, kept
            if kept is None:
                kept, gm = gm(*args), None
            return kept
        return run


def compile_with(system, f, backend=None):
    backend = backend or FreeBackend()
    if system == MAGPY:
        return magpy.compile(f, backend=backend, fullgraph=True)
    return torch.compile(f, backend=backend, fullgraph=True, dynamic=False)


def context_of(system):
    """Under which context *system* is called."""
    if system == UNSAFE:
        return torch.compiler.set_stance(skip_guard_eval_unsafe=True)
    return contextlib.nullcontext()


def made(case):
    f = case.make()
    return f.eval() if isinstance(f, nn.Module) else f


def milliseconds(f, x):
    started = time.perf_counter()
    f(x)
    return (time.perf_counter() - started) * 1e3


def loop(f, inputs, times):
    """Microseconds a call."""
    started = time.perf_counter()
    for _ in range(times):
        for x in inputs:
            f(x)
    return (time.perf_counter() - started) / (times * len(inputs)) * 1e6


class Contest:
    """Callables that are timed in turns: ``add`` them, then ``run``."""

    def __init__(self):
        self.runners = {}       # name -> (callable, inputs, system)

    def add(self, name, f, inputs, system=MAGPY):
        self.runners[name] = f, inputs, system

    def run(self, rounds):
        """{name: least microseconds a call}."""
        for name in self.runners:       # the first calls of an entry also set up its short way through the guards
            self._loop(name, WARM_UP)
        best = {name: self._loop(name, WARM_UP) for name in self.runners}
        times = {name: max(1, int(BATCH_SECONDS * 1e6 / (us * len(self.runners[name][1]))))
                 for name, us in best.items()}
        for n in range(rounds):
            for name in list(self.runners)[::-1 if n % 2 else 1]:
                best[name] = min(best[name], self._loop(name, times[name]))
        return best

    def _loop(self, name, times):
        f, inputs, system = self.runners[name]
        with context_of(system):
            return loop(f, inputs, times)


def calls_and_captures(case, rounds):
    """({system: least microseconds a call}, {system: milliseconds of the first call}, MagPy's compiled callable).

    "arguments" is besides in the first: a plain call of a function like the free graph with as many arguments."""
    torch._dynamo.reset()
    contest, captures, x, backend = Contest(), {}, case.make_input(), FreeBackend()
    for system in (TORCH_COMPILE, MAGPY) if case.torch_compile else (MAGPY,):
        f = made(case)
        f(x)
        compiled = compile_with(system, f, backend)
        captures[system] = milliseconds(compiled, x)
        contest.add(system, compiled, [x], system)
        if system == TORCH_COMPILE:
            contest.add(UNSAFE, compiled, [x], UNSAFE)
    contest.add("arguments", plain_call(backend.arguments), [x])
    best = contest.run(rounds)
    if magpy.explain(compiled).captures != 1:
        raise RuntimeError(f"{case.name}: a call was captured again")
    return best, captures, compiled


def plain_call(n):
    """A call that hands *n* arguments on to a free graph, as the mock code does, and does nothing else."""
    run = FreeBackend()(lambda *args: args[:1], range(n))
    return functools.partial(run, *[None] * (n - 1)) if n else lambda x: run()


def guards(compiled):
    """{kind: how many} of the guards of the only entry, and all of them under "all"."""
    entry, = table_of(compiled).entries
    program = entry.guards
    return {"all": len(program), **(program.pushed() or {})}


def resident():
    """Bytes of this process that are in memory."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def entry_bytes(case, seconds):
    """How much memory an entry takes, C++ included: many callables over one model, one entry each.

    None when *seconds* are not enough for a number above the noise."""
    f, x, kept = made(case), case.make_input(), []
    gc.collect()
    ends = time.monotonic() + seconds
    while len(kept) < 500 and (time.monotonic() < ends or len(kept) < 3):
        if len(kept) == 1:      # lazily filled caches are not an entry's
            gc.collect()
            before = resident()
        kept.append(compile_with(MAGPY, f))
        kept[-1](x)
        kept[-1](x)
    gc.collect()
    grown = resident() - before
    return grown / (len(kept) - 1) if grown > 1 << 18 else None


def many_entries(make, rounds):
    """Calls of one callable with 64 shapes, against 64 inputs of one shape: ({system: us}, {system: us})."""
    same = [torch.randn(4, 8) for _ in range(ENTRIES)]
    shapes = [torch.randn(4, n + 1) for n in range(ENTRIES)]
    torch._dynamo.reset()
    contest, limit = Contest(), magpy.config.entry_limit
    limits = {"recompile_limit": ENTRIES, "accumulated_recompile_limit": ENTRIES * 4}
    try:
        magpy.config.entry_limit = ENTRIES
        with torch._dynamo.config.patch(**limits):
            for system in (TORCH_COMPILE, MAGPY):
                for name, inputs in (("one", same), ("many", shapes)):
                    compiled = compile_with(system, fresh(make))
                    for x in inputs:
                        compiled(x)
                    contest.add((system, name), compiled, inputs, system)
            best = contest.run(rounds)
    finally:
        magpy.config.entry_limit = limit
    return tuple({system: best[system, name] for system in (TORCH_COMPILE, MAGPY)} for name in ("one", "many"))


def fresh(f):
    """A copy of function *f* with code of its own: torch.compile keeps its entries by code."""
    return type(f)(f.__code__.replace(), f.__globals__)
