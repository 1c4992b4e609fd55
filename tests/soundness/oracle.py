"""Runs a program eagerly and compiled, and says whether anybody could tell the two apart.

Each run executes the source in a namespace of its own and does the steps in order. After each step all of these are
noted: the result or exception, the outside state (everything reachable from the namespace), what was printed and
warned, and torch's random state.
"""
import contextlib
import dataclasses
import gc
import io
import sys
import warnings

import torch
from torch.utils.hooks import RemovableHandle

import magpy
from magpy.dispatch import compiled
from soundness import prelude, snapshot

MODULE = "prog"
OURS = ("internal-error", "backend-failed")     # stops that the program is not the reason of


@dataclasses.dataclass
class Step:
    """What can be seen after one step; and of a compiled run, what became of the call."""
    state: snapshot.Snapshot
    error: tuple | None
    printed: str
    warned: tuple
    rng: bytes
    outcome: str = ""       # hit, capture, stop, bypass, or nothing when the step makes no call


@dataclasses.dataclass
class Verdict:
    """How a program went. ``failure`` is None when nobody could tell."""
    failure: str | None = None
    step: int = -1
    invalid: bool = False
    outcomes: list = dataclasses.field(default_factory=list)
    stops: list = dataclasses.field(default_factory=list)
    changed: int = 0        # calls whose eager result differs from that of the call before
    calls: int = 0


class Invalid(Exception):
    """The program cannot even be set up."""


def check(program, compare_decoys=False, faults=True):
    """The Verdict on a program; with ``faults`` a capture that MagPy itself broke is a failure, too, though the
    result is right."""
    verdict = Verdict()
    try:
        plain = run(program, lambda f: f)
        ours = run(program, compile_eager, verdict)
    except Invalid:
        verdict.invalid = True
        return verdict
    verdict.outcomes = [step.outcome for step in ours]
    for i, (a, b) in enumerate(zip(ours, plain)):
        verdict.failure = difference(a, b)
        if verdict.failure is not None:
            verdict.step = i
            return verdict
    if faults:
        verdict.failure = next((f"{stop}" for stop in verdict.stops if stop.reason in OURS), None)
    note_changes(verdict, program, plain)
    if program.decoys and compare_decoys and verdict.failure is None:
        check_decoys(program, verdict)
    return verdict


def check_decoys(program, verdict):
    """Steps that change what the program never reads must cost no hit."""
    control = run(program.without_decoys(), compile_eager)
    for i, (a, b) in enumerate(zip(verdict.outcomes, control)):
        if a != b.outcome:
            verdict.failure = f"a {a or 'call'}, without the decoy steps a {b.outcome or 'call'}"
            verdict.step = i
            return


def compile_eager(f):
    return magpy.compile(f, backend="eager")


def run(program, compile_with, verdict=None):
    """All Steps of a program under ``compile_with``."""
    names = dict(prelude.NAMES)
    names["__name__"] = MODULE
    names["compile"] = compile_with
    torch.manual_seed(0)
    RemovableHandle.next_id = 0     # hooks are kept by numbers of the whole process
    steps = []
    codes = [code_of(text, "<step>") for text in program.steps]     # a change of the filters forgets what was warned
    source = code_of(program.source, "<source>")
    collect = gc.collect if "weakref" in program.source else int    # who is dead then is no matter of time
    try:
        with quiet() as (printed, warned):
            try:
                exec(source, names)
                names["run"] = compile_with(names["target"])
            except Exception as error:
                raise Invalid(error) from error
            for code in codes:
                before = counts(names["run"])
                steps.append(step(code, names, printed, warned, collect))
                steps[-1].outcome = outcome(before, counts(names["run"]))
        if verdict is not None and isinstance(names["run"], compiled.Compiled):
            verdict.stops = list(compiled.table_of(names["run"]).history.stops)
    finally:
        prelude.restore()
        with unheard():
            names.clear()
    return steps


@contextlib.contextmanager
def unheard():
    """Finalizers of a program that has ended miss its globals."""
    before, sys.unraisablehook = sys.unraisablehook, lambda unraisable: None
    try:
        yield
    finally:
        sys.unraisablehook = before


def step(code, names, printed, warned, collect):
    error = None
    names.pop("result", None)
    try:
        exec(code, names)
    except Exception as raised:
        error = snapshot.message(raised)
    collect()
    seen = snapshot.Snapshot(MODULE)
    if "result" in names:
        seen.visit(names["result"], "result")
    state = sorted((k, v) for k, v in names.items() if k not in IGNORED and prelude.NAMES.get(k, seen) is not v)
    for name, value in state:
        seen.put(name, name)
        seen.visit(value, name)
    seen.keep.clear()
    seen.numbers.clear()
    step = Step(seen, error, printed.getvalue(), tuple(warned), torch.get_rng_state().numpy().tobytes())
    printed.seek(0)
    printed.truncate()
    warned.clear()
    return step

IGNORED = frozenset(("__builtins__", "__name__", "compile", "run", "result", "__warningregistry__"))


@contextlib.contextmanager
def quiet():
    """Printing and warnings go into a buffer and a list."""
    printed, warned = io.StringIO(), []
    with contextlib.redirect_stdout(printed), warnings.catch_warnings():
        warnings.simplefilter("default")
        warnings.showwarning = lambda message, category, *rest: warned.append((category.__name__, str(message)))
        always = torch.is_warn_always_enabled()
        torch.set_warn_always(True)     # what torch says once in a process is said in both runs
        try:
            yield printed, warned
        finally:
            torch.set_warn_always(always)


_codes = {}


def code_of(text, name):
    code = _codes.get(text)
    if code is None:
        if len(_codes) > 500:
            _codes.clear()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", SyntaxWarning)
                code = _codes[text] = compile(text, name, "exec")
        except SyntaxError as error:
            raise Invalid(error) from error
    return code


def difference(ours, theirs):
    if ours.error != theirs.error:
        return f"raised {ours.error}, eager {theirs.error}"
    for name in ("printed", "warned", "rng"):
        if getattr(ours, name) != getattr(theirs, name):
            return f"{name}: {getattr(ours, name)!r:.200}, eager {getattr(theirs, name)!r:.200}"
    return snapshot.first_difference(ours.state, theirs.state)


def counts(run):
    if not isinstance(run, compiled.Compiled):
        return (0, 0, 0, 0)
    table = compiled.table_of(run)
    history = table.history
    hits = sum(entry.hits for entry in table.entries)
    return hits, history.captures, history.breaks, sum(history.bypasses.values())


def outcome(before, after):
    for name, a, b in zip(("hit", "capture", "stop", "bypass"), before, after):
        if b > a:
            return name
    return ""


def note_changes(verdict, program, plain):
    last = None
    for text, seen in zip(program.steps, plain):
        if "run(" in text:
            verdict.calls += 1
            if last is not None and (seen.error, seen.state.tokens[:12]) != last:
                verdict.changed += 1
            last = seen.error, seen.state.tokens[:12]
