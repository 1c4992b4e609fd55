"""What happened in this process, in numbers: for tests, which must not pass by doing
nothing, and for people who ask why.

Two of the numbers are kept in C (hits, and bypasses on the way to a hit), since
counting in Python would cost as much as the hit itself; their owner registers a
function here that gives them.
"""

import collections

_counts = collections.Counter()
stops = collections.Counter()       # reason -> how often
bypasses = collections.Counter()    # why no entry was tried or made -> how often
_sources = []                       # functions () -> {name: count}, kept in C
_base = collections.Counter()       # what the sources said at the last clear()

NAMES = ("captures", "hits", "misses")


def add(name):
    """Count a capture or a miss."""
    _counts[name] += 1


def register_source(function):
    """*function*() gives further counts: {"hits": n, "bypass:reason": n}."""
    _sources.append(function)


def snapshot():
    """All counts as one dict: captures, hits, misses, ``stop:reason``, ``bypass:reason``."""
    totals = collections.Counter({name: _counts[name] for name in NAMES})
    for name, n in _from_sources().items():
        totals[name] += n - _base[name]
    totals.update({f"stop:{reason}": n for reason, n in stops.items()})
    totals.update({f"bypass:{reason}": n for reason, n in bypasses.items()})
    return {name: n for name, n in totals.items() if n or name in NAMES}


def clear():
    """Start again from zero."""
    _counts.clear()
    stops.clear()
    bypasses.clear()
    _base.clear()
    _base.update(_from_sources())


def _from_sources():
    totals = collections.Counter()
    for source in _sources:
        totals.update(source())
    return totals
