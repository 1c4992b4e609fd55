"""From a Recording to an Entry: the stages, as a list, and the one wrapper that runs them.

A stage reads and writes fields of a Job. Stages know data types, not each other; this
file is the only place that knows them all. The wrapper times each, logs what it made
when somebody listens, and names the stage in what goes wrong.

`describe` runs while the recorder still knows which objects the call made
(``record(finish=...)``); the rest runs afterwards, so that a backend's own Python is
never taken for the user's. The garbage collector waits until the backend's turn: all that
a capture makes is alive until then.
"""

import time

import torch

from magpy import logs
from magpy.backends import eager, examples, freezing
from magpy.dispatch.compiled import Entry, Replay
from magpy.dispatch.entry import Texts
from magpy.emit import guards
from magpy.emit import lower as lowering
from magpy.emit import mock, replay
from magpy.errors import BackendError
from magpy.fxgraph import builder
from magpy.fxgraph.outcome import OutcomeChanged
from magpy.fxgraph.text import ready, text_of
from magpy.guards.program import GuardProgram
from magpy.reasons import StopCapture
from magpy.refgraph.nodes import Edge
from magpy.refgraph.values import Describer


class Job:
    """What the stages make of one recording."""

    __slots__ = ("recording", "settings", "title", "describer", "result", "effects", "draws",
                 "built", "inputs", "graph_text", "mock", "lowered", "guards", "graph",
                 "entry", "seconds", "freezes", "frozen")

    def __init__(self, recording, settings, title, freezes=False):
        self.recording = recording
        self.settings = settings
        self.title = title
        self.freezes = freezes      # if the backend does
        self.frozen = {}            # node -> the Content of a weight that is a constant
        self.inputs = None
        self.graph = self.graph_text = None
        self.seconds = {}


# --- stages ------------------------------------------------------------------------------

def describe(job):
    """Recipes for the result and for the arguments of every effect."""
    recording = job.recording
    d = job.describer = Describer(recording.recorder, recording.table, recording.nodes, torch.Tensor)
    job.result = d.value(recording.result)
    job.effects, job.draws = [
        [mock.EffectRecipe(effect.func, [d.value(a) for a in effect.args],
                           {name: d.value(a) for name, a in (effect.kwargs or {}).items()})
         for effect in effects] for effects in (recording.effects, recording.draws)]


def build_graph(job):
    """The FX graph whose outputs the recipes want."""
    job.built = builder.build(job.recording.tape, job.describer.outputs)
    if not job.built.empty:
        job.inputs = [job.recording.nodes[ref.node] for ref in job.built.inputs]
        job.graph_text = text_of(job.built.gm)


def freeze(job):
    """Weights as constants of the graph, where the user asked for it."""
    if not job.inputs or not job.freezes or not job.settings.compiler().freezes():
        return
    recording = job.recording
    weights = freezing.weights(job.built.gm, job.inputs, recording, job.describer.output_memory)
    job.frozen = freezing.freeze(job.built.gm, job.inputs, weights)
    job.inputs = [node for node in job.inputs if node not in job.frozen]


def emit_mock(job):
    """The function that calls the graph and redoes the rest."""
    job.mock = mock.build(job.inputs, len(job.describer.outputs), job.result, job.effects,
                          job.describer.slots, job.title, again(job), job.draws)


def without_python(job):
    """The mock code as a Replay, or None when it does more than that can."""
    after = again(job)
    if job.effects or job.draws or (after is not None and (after.random or after.changed)):
        return None
    steps = replay.steps(job.result, job.mock.slots)
    if steps is None:
        return None
    error = after and (OutcomeChanged if after.error == "OutcomeChanged" else Exception)
    return Replay(steps, len(job.inputs or ()), len(job.describer.outputs), job.inputs is not None, error)


def again(job):
    """After which errors of its graph a call can be made anew: see `mock.build`. What is
    changed outside before a check is put back; other errors may come at any time."""
    tape = job.recording.tape
    if tape.outcomes or job.draws:
        changed = [job.recording.nodes[ref.node] for ref in sorted(tape.put_back)]
        return mock.Again("OutcomeChanged" if tape.mutated_inputs() else "Exception", tape.draws_random, changed)
    return None if tape.draws_random or tape.mutated_inputs() else mock.Again("Exception", False, ())


def lower(job):
    """Guard instructions, with slots for what the mock code wants."""
    frozen = [Edge(("slot", None), node, ("frozen", content), None, node.path)
              for node, content in job.frozen.items()]
    job.lowered = lowering.lower([*job.recording.edges, *frozen], job.recording.state, job.mock.slots)


def build_guards(job):
    """The native guard program."""
    recording, lowered = job.recording, job.lowered
    job.guards = GuardProgram(lowered.instrs, len(recording.args), tuple(recording.kwargs),
                              lowered.nslots, lowered.want)
    recording.forget_reads()       # the garbage collector would look at them all


def compile_graph(job):
    """The backend's turn. The graph is its to change from here."""
    if job.inputs is None:
        return
    inputs = [examples.as_recorded(node.obj, node.meta) for node in job.inputs]
    if any(example is None for example in inputs):
        logs.warn("captures", "%s: the graph runs as it is: the call gave an input another form", job.title)
        job.graph = ready(eager.compile_graph(job.built.gm, inputs))
    else:
        job.graph = ready(job.settings.compiler()(job.built.gm, inputs))


def make_entry(job):
    """Everything that a hit needs, and the texts that people read."""
    texts = Texts(job.title, job.mock.source, job.graph_text, dict(job.seconds),
                  job.recording.tape.outcomes + len(job.draws), len(job.frozen))
    job.entry = Entry(job.guards, job.mock.function, job.graph, texts, without_python(job))


def guards_until_stop(recording):
    """The guards under which a call does again what the stopped *recording* saw: it comes
    to the same stop."""
    lowered = lowering.lower(recording.edges, recording.state, ())
    return GuardProgram(lowered.instrs, len(recording.args), tuple(recording.kwargs), lowered.nslots, lowered.want)


DESCRIBE = (describe,)
BUILD = (build_graph, freeze, emit_mock, lower, build_guards)
COMPILE = (compile_graph, make_entry)

# What a stage's log topic shows of the job.
_DUMPS = {
    build_graph: ("graphs", lambda job: job.graph_text or "no operations"),
    emit_mock: ("mock", lambda job: job.mock.source),
    build_guards: ("guards", lambda job: guards.source(job.lowered.instrs)),
}


def run(stages, job):
    """Run *stages* on *job*. StopCapture and BackendError pass as they are; any other
    error is a bug of ours and gets a note that says in which stage."""
    for stage in stages:
        started = time.perf_counter()
        try:
            stage(job)
        except (StopCapture, BackendError):
            raise
        except Exception as error:
            error.add_note(f"in MagPy's stage {stage.__name__}, capturing {job.title}")
            raise
        job.seconds[stage.__name__] = time.perf_counter() - started
        topic, text = _DUMPS.get(stage, (None, None))
        if topic and logs.on(topic):
            logs.log(topic, "%s\n%s", job.title, text(job))
