"""The call that found no entry: say why, make it for real, keep what it showed.

Whatever happens here, the caller gets what the function itself gave. A capture that
fails costs time and a line in `magpy.explain`; only ``fullgraph=True`` turns it into
an error, and then after the call, since the user's own exception comes first.
"""

import contextlib
import gc

from magpy import config, counters, logs, reasons
from magpy.dispatch import compiled, entry
from magpy.errors import BackendError, CaptureError, describe_stop
from magpy.fxgraph.outcome import OutcomeChanged
from magpy.guards import describe
from magpy.reasons import DELIBERATE, StopCapture


def call(table, args, kwargs, outcome=None):
    """Make the call for which no entry of *table* fits; *outcome*: see `Table`."""
    known = known_stop(table, args, kwargs) if outcome is None else None
    if known is not None:
        return call_uncaptured(table, args, kwargs, known.reason)
    refusal = refuses(table)
    if outcome is None:
        note_miss(table, args, kwargs, refusal)
    else:
        note_outcome(table, outcome)
    if refusal is not None:
        if refusal not in table.history.said and not table.settings.fullgraph:
            warn_of_refusal(table, refusal)
        return call_uncaptured(table, args, kwargs, refusal)
    return call_captured(table, args, kwargs)


def refuses(table):
    """Why this callable is not captured any more, or None."""
    if len(table.entries) >= config.entry_limit:
        return "entry-limit"
    if table.history.stopped_in_a_row >= config.stop_limit and not table.settings.fullgraph:
        return "stop-limit"
    return None


def known_stop(table, args, kwargs):
    """The KnownStop that this call is going to come to, or None."""
    for known in list(table.history.known_stops):
        if known.guards.run(table.fn, args, kwargs) is not None:
            return known
    return None


def remember_stop(table, recording):
    """A deliberate stop comes again in every call that does the same up to there. Such
    calls need not be recorded, and others still are: one path through the function may
    come to a graph_break(), another be captured."""
    from magpy import pipeline
    known = table.history.known_stops
    if table.settings.fullgraph or len(known) >= config.entry_limit:
        return
    if recording.tape.outcomes or recording.draws:
        return      # the way there may have been decided by what guards cannot tell
    trouble = Trouble(table)
    with trouble:
        known.append(entry.KnownStop(pipeline.guards_until_stop(recording), recording.stop.reason))
    if trouble.error is not None:
        logs.warn("captures", "%s", describe_stop(trouble.stop), error=trouble.error)


def call_uncaptured(table, args, kwargs, refusal):
    history = table.history
    history.bypasses[refusal] += 1
    counters.bypasses[refusal] += 1
    result = table.fn(*args, **kwargs)
    if table.settings.fullgraph:
        stop = entry.stop_at(table.fn, "entry-limit", f"{len(table.entries)} entries")
        note_stop(table, stop)
        raise CaptureError(stop)
    return result


def call_captured(table, args, kwargs):
    """The recorded call."""
    from magpy import pipeline      # it knows every stage: loaded by the first capture
    from magpy.recorder.recorder import record
    trouble = Trouble(table)
    job = None

    def finish(recording):
        nonlocal job
        if recording.stop is None:
            job = pipeline.Job(recording, table.settings, table.history.name, freezing_pays(table))
            with trouble:
                pipeline.run(pipeline.DESCRIBE, job)

    def on_stop(recording):
        if recording.stop.reason in DELIBERATE:
            remember_stop(table, recording)

    with collector_waits():
        compiled.enter_recording()
        try:
            recording = record(table.fn, args, kwargs, finish, on_stop, checks_pay(table))
        finally:
            compiled.leave_recording()
        if recording.stop is None and trouble.stop is None:
            with trouble:
                pipeline.run(pipeline.BUILD, job)
    if recording.stop is None and trouble.stop is None:
        with trouble:
            pipeline.run(pipeline.COMPILE, job)
    stop = recording.stop or trouble.stop
    trouble.error = trouble.error or recording.fault
    if stop is None:
        note_capture(table, job)
    else:
        note_stop(table, stop, trouble.error)
    job = finish = on_stop = None
    recording.release()
    return outcome(table, recording, stop, trouble)


@contextlib.contextmanager
def collector_waits():
    """The garbage collector does not run."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def outcome(table, recording, stop, trouble):
    """The user's own result or exception; or the CaptureError that was asked for."""
    # An exception refers to the frames that it passes, these among them: none of them
    # may go on referring to it, or only the garbage collector could free what it holds.
    result, error, cause = recording.result, recording.exception, trouble.error
    recording.result = recording.exception = trouble.error = None
    try:
        if error is not None:
            raise error
        if stop is not None and stop.reason != "busy" and table.settings.fullgraph:
            raise CaptureError(stop) from cause
        return result
    finally:
        error = cause = None


class Trouble:
    """A context in which a failed stage becomes a Stop instead of the user's problem."""

    def __init__(self, table):
        self.table = table
        self.stop = None
        self.error = None

    def __enter__(self):
        return self

    def __exit__(self, kind, error, traceback):
        if error is None:
            return False
        if not isinstance(error, Exception):
            return False            # KeyboardInterrupt and the like are not ours
        if isinstance(error, StopCapture):
            reason, detail = error.reason, error.detail
        elif isinstance(error, BackendError):
            reason, detail = "backend-failed", str(error)
            self.error = error
        else:
            reason, detail = "internal-error", f"{type(error).__name__}: {error}"
            self.error = error
        self.stop = entry.stop_at(self.table.fn, reason, detail)
        return True


# --- outcomes -------------------------------------------------------------------------

def graph_failed(error):
    """The graph of an entry raised *error*. What is said of another outcome: another entry
    may fit, or the call be captured anew. None: it is the user's error, or the backend's;
    the function itself will show it."""
    return str(error) if isinstance(error, OutcomeChanged) else None


def note_outcome(table, outcome):
    """No entry fits, and one did not only because of *outcome*."""
    history = table.history
    counters.add("misses")
    history.other_outcomes += 1
    history.miss(outcome.partition(" was ")[0], outcome, ())
    logs.log("misses", "%s: %s", history.name, outcome)
    if not checks_pay(table):
        logs.log("captures", "%s: values inside tensors differ from call to call; what depends on them "
                 "is not captured any more", history.name)
        table.drop(lambda entry: entry.texts.checks)


def checks_pay(table):
    """Do values that Python code saw inside tensors come again often enough?"""
    history = table.history
    hits = history.hits_of_dropped + sum(entry.hits for entry in table.entries)
    return history.other_outcomes < max(config.outcome_limit, hits / 4)


# --- frozen weights -------------------------------------------------------------------

def note_weights(table, guards):
    """*guards* came closest: did they fail because a frozen weight was changed?"""
    history = table.history
    if guards.failed < 0 or guards.instrs[guards.failed].check != "frozen":
        return
    history.other_weights += 1
    if not freezing_pays(table):
        logs.warn("captures", "magpy: %s: its weights were changed %d times since they were frozen; they are "
                  "not frozen any more (magpy.config.freezing_limit)", history.name, history.other_weights)
        table.drop(lambda entry: entry.texts.frozen)


def freezing_pays(table):
    """Do weights stay as they are long enough?"""
    return table.history.other_weights < config.freezing_limit


# --- what is written down -------------------------------------------------------------

def note_miss(table, args, kwargs, refusal):
    """Say what kept each entry from fitting, the one that came closest first."""
    history = table.history
    # Entries share their beginnings: the furthest failure is the closest entry.
    entries = sorted(table.entries, key=lambda entry: entry.guards.failed, reverse=True)
    if not entries:
        return
    counters.add("misses")
    if refusal is not None and history.bypasses[refusal] >= config.history:
        return      # the same words at every call from here would cost more than they tell
    note_weights(table, entries[0].guards)
    closest, *others = [why_not(entry.guards, table.fn, args, kwargs) for entry in entries]
    history.miss(closest.read, closest.text, tuple([other.text for other in others]))
    logs.log("misses", "%s: %s", history.name, closest.text)


def why_not(guards, fn, args, kwargs):
    try:
        return describe.miss(guards, guards.failed, fn, args, kwargs)
    except Exception as error:      # words about a miss must not break the call
        read = guards.instrs[guards.failed].text
        return describe.Miss(read, f"{read}: changed ({type(error).__name__} while describing it)")


def warn_of_refusal(table, refusal):
    """One warning for each callable and limit: the user asked for speed and does not get it."""
    history = table.history
    history.said.add(refusal)
    filename, line, _ = entry.place_of(table.fn)
    name = f"{history.name} ({filename}:{line})" if filename else history.name
    logs.warn("captures", "magpy: %s %s", name, "\n  ".join(REFUSALS[refusal](table)))


def entry_limit_reached(table):
    reads = sorted(table.history.missed_reads.items(), key=lambda item: -item[1].times)
    yield (f"has {len(table.entries)} captures, as many as magpy.config.entry_limit allows; a call "
           "that fits none of them runs as it is from here")
    if reads:
        yield "what kept missing:"
    for _, missed in reads[:5]:
        yield f"  {missed.times} times, the last: {missed.last}"
    yield f"what to do: {reasons.advice('entry-limit')}"


def stop_limit_reached(table):
    yield (f"runs as it is from here, as its last {table.history.stopped_in_a_row} captures stopped "
           "(magpy.config.stop_limit); magpy.reset() tries again")
    yield f"the last: {describe_stop(table.history.stops[-1])}"


REFUSALS = {"entry-limit": entry_limit_reached, "stop-limit": stop_limit_reached}


def note_capture(table, job):
    history = table.history
    table.add(job.entry)
    history.captures += 1
    history.stopped_in_a_row = 0
    counters.add("captures")
    if logs.on("captures"):
        stages = ", ".join(f"{name} {1e3 * s:.1f} ms" for name, s in job.seconds.items())
        logs.log("captures", "%s captured: %d instructions in %.1f ms; %d guards, %d effects; %s",
                 history.name, job.recording.events, 1e3 * job.recording.seconds,
                 len(job.guards), len(job.effects), stages)


def note_stop(table, stop, cause=None):
    history = table.history
    if stop.reason == "busy":
        history.bypasses["busy"] += 1
        counters.bypasses["busy"] += 1
        return
    counters.stops[stop.reason] += 1
    history.stops.append(stop)
    history.breaks += 1
    if stop.reason != "exception":      # which says nothing about the next call
        history.stopped_in_a_row += 1
    ours = stop.reason in ("internal-error", "backend-failed")
    if ours and stop.reason not in history.said and not table.settings.fullgraph:
        history.said.add(stop.reason)
        logs.warn("captures", "%s", describe_stop(stop), error=cause)
    else:
        logs.log("captures", "%s", describe_stop(stop))
