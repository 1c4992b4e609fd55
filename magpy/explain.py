"""``magpy.explain(f)``: what became of a compiled callable's calls, and why."""

import collections
import dataclasses

from magpy.dispatch import compiled
from magpy.emit import guards
from magpy.errors import describe_stop
from magpy.reasons import REASONS


@dataclasses.dataclass(frozen=True)
class EntryView:
    """One capture, as texts: ``guards`` and ``mock`` are Python, ``graph`` is the FX
    graph's code (None when the call had no tensor operation)."""

    hits: int
    guards: str
    mock: str
    graph: str | None
    seconds: dict

    def __str__(self):
        parts = [("guards", self.guards), ("mock code", self.mock), ("FX graph", self.graph or "# no operations")]
        return "\n".join(f"--- {title}\n{text.strip()}" for title, text in parts)


@dataclasses.dataclass(frozen=True)
class Explanation:
    """What `explain` found. ``captures`` counts the graphs made so far, also those that
    a reset dropped; ``breaks`` the calls whose capture stopped; ``stops`` are the last
    of those, ``reasons`` their ids and sentences, each once. ``misses`` say what kept the
    closest entry from fitting in each of the last calls that none fitted, ``missed_entries``
    the same for every entry of that time, the closest first; ``miss_counts`` counts equal
    texts of all misses."""

    name: str
    captures: int
    entries: list
    hits: int
    misses: list
    missed_entries: list
    miss_counts: dict
    stops: list
    breaks: int
    bypasses: dict
    reasons: list

    def __str__(self):
        lines = [f"{self.name}: {_count(self.captures, 'capture')}, {_count(len(self.entries), 'entry', 'entries')}, "
                 f"{_count(self.hits, 'hit')}, {_count(self.breaks, 'stop')}"]
        for i, entry in enumerate(self.entries):
            lines += [f"\n=== entry {i}, {_count(entry.hits, 'hit')}", str(entry)]
        lines += _section("misses", {text: self.miss_counts[text] for text in self.misses})
        lines += _section("stops", collections.Counter([describe_stop(stop) for stop in self.stops]))
        lines += _section("calls that ran as they are", {f"{why}: {n}": 1 for why, n in self.bypasses.items()})
        return "\n".join(lines)


def explain(f):
    """What happened to the calls of *f*, something that `magpy.compile` returned."""
    if not isinstance(f, compiled.Compiled):
        raise TypeError(f"explain takes what magpy.compile returned, not {_kind(f)}")
    table = compiled.table_of(f)
    history = table.history
    return Explanation(
        name=history.name,
        captures=history.captures,
        entries=[_view(entry) for entry in table.entries],
        hits=history.hits_of_dropped + sum(entry.hits for entry in table.entries),
        misses=[miss.text for miss in history.misses],
        missed_entries=[(miss.text, *miss.others) for miss in history.misses],
        miss_counts=dict(history.miss_counts),
        stops=list(history.stops),
        breaks=history.breaks,
        bypasses=dict(history.bypasses),
        reasons=[f"{reason}: {REASONS[reason].sentence}"
                 for reason in dict.fromkeys(stop.reason for stop in history.stops)])


def _view(entry):
    texts = entry.texts
    return EntryView(entry.hits, guards.source(entry.guards.instrs), texts.mock, texts.graph, texts.seconds)


def _kind(f):
    name = getattr(f, "__qualname__", None)
    hint = "; compile it first: f = magpy.compile(f)" if callable(f) else ""
    return (f"the {type(f).__name__} {name}" if name else f"a {type(f).__name__}") + hint


def _count(n, one, many=None):
    return f"{n} {one}" if n == 1 else f"{n} {many or one + 's'}"


def _section(title, counted):
    if not counted:
        return []
    return [f"\n=== {title}"] + [text if n == 1 else f"{text} ({n} times)" for text, n in counted.items()]
