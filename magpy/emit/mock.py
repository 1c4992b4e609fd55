"""Mock code: the Python function that redoes what a recorded call did.

Always in this order: call the graph, make the new objects (each once), redo the
effects in the order they were recorded, return. New objects are made in their final
state before any effect hands them to the outside, so nothing outside ever sees a
half-made one.

    def mock(s, graph):
        g0, g1 = graph(*s[:2])      # s[0]: arg[0], s[1]: self.weight
        o0 = {"loss": g0, "out": [g1]}
        list.append(s[2], o0)       # s[2]: self.seen
        return o0

``s`` are the objects that the guards found: the graph's inputs first, in order, then
what else the code needs. A thousand parameters so cost one slice instead of a
thousand local names.
"""

import collections
import functools
import itertools
import keyword
import types
from typing import NamedTuple

from magpy.emit.source import Namespace, Writer
from magpy.fxgraph.outcome import GraphFailed, Memory, OutcomeChanged, OutsideRandom, RandomState
from magpy.reasons import StopCapture
from magpy.refgraph.values import New

_KNOWN = {
    "object": object, "list": list, "tuple": tuple, "dict": dict, "set": set,
    "frozenset": frozenset, "int": int, "float": float, "str": str, "slice": slice,
    "setattr": setattr, "delattr": delattr,
    "OrderedDict": collections.OrderedDict, "defaultdict": collections.defaultdict,
    "deque": collections.deque, "partial": functools.partial,
    "GraphFailed": GraphFailed, "OutcomeChanged": OutcomeChanged, "RandomState": RandomState,
    "OutsideRandom": OutsideRandom, "Memory": Memory,
    "Exception": Exception,
    "MethodType": types.MethodType, "CellType": types.CellType,
}
_LONGEST_INLINE = 60     # an object used once is written where it is used, if this short
_serial = itertools.count()


class MockCode:
    """``source``, the compiled ``function(s, graph)``, and ``slots``: the nodes whose
    objects it wants in ``s``, in order."""

    __slots__ = ("source", "function", "slots")

    def __init__(self, source, function, slots):
        self.source = source
        self.function = function
        self.slots = slots


class Again(NamedTuple):
    """How a call can be made anew when its graph raises ``error`` (a class by its name):
    ``random`` if the graph draws random numbers, so that their state must be restored;
    ``changed`` are the nodes of inputs that must be, too."""

    error: str
    random: bool
    changed: tuple


class EffectRecipe:
    """One effect with its arguments described."""

    __slots__ = ("func", "args", "kwargs")

    def __init__(self, func, args, kwargs):
        self.func = func
        self.args = args
        self.kwargs = kwargs


def build(inputs, noutputs, result, effects, slots, title="call", again=None,
          draws=()):
    """Emit and compile the mock code.

    *inputs*: nodes of the graph's inputs in order, None when there is no graph;
    *noutputs*: how many outputs it has; *result*: a recipe; *effects*: EffectRecipes;
    *slots*: the nodes that the recipes use; *again*: an Again, or
    None when the call cannot be made anew; *draws*: EffectRecipes of random numbers drawn
    outside torch.
    """
    ordered = list(dict.fromkeys(inputs or ()))
    if inputs is not None and len(ordered) != len(inputs):
        raise AssertionError("a graph takes the same input twice")
    taken = {node.index for node in ordered}
    ordered += [node for node in slots if node.index not in taken]
    namespace = Namespace(_KNOWN)
    writer = Writer(namespace, {node.index: f"s[{i}]" for i, node in enumerate(ordered)})
    before = [_effect(draw, writer) for draw in draws]
    generators = [writer.ref(draw.args[0]) for draw in draws]
    changed = [f"s[{ordered.index(node)}]" for node in again.changed] if again is not None else []
    body = _guarded(before + _graph_call(inputs, noutputs, ordered), again, generators, changed)
    body += _Builder(writer).lines(_roots(result, effects))
    body += [_effect(effect, writer) for effect in effects]
    body.append(f"return {writer.ref(result)}")
    source = _legend(ordered, len(inputs or ())) + "def mock(s, graph):\n"
    source += "".join(f"    {line}\n" for line in body)
    function = namespace.function(source, "mock", f"magpy/mock/{title}#{next(_serial)}")
    return MockCode(source, function, ordered)


def _legend(ordered, ninputs):
    """What is in ``s``: the first few inputs, and all the rest."""
    shown = 12
    lines = [f"# s[{i}] is {node.path}\n" for i, node in enumerate(ordered)
             if i < shown or i >= ninputs]
    if ninputs > shown:
        lines.insert(shown, f"# ... s[{ninputs - 1}] is {ordered[ninputs - 1].path}\n")
    return "".join(lines)


def _graph_call(inputs, noutputs, ordered):
    if inputs is None:
        return []
    if not inputs:
        call = "graph()"
    elif len(inputs) == len(ordered):
        call = "graph(*s)"
    else:
        call = f"graph(*s[:{len(inputs)}])"
    if noutputs == 0:
        return [call]
    names = ", ".join(f"g{i}" for i in range(noutputs))
    return [f"{names}, = {call}" if noutputs == 1 else f"{names} = {call}"]


def _guarded(lines, again, generators, changed):
    """The call of the graph; what it raises is told to dispatch."""
    if not lines or again is None:
        return lines
    save, restore = (["rng = RandomState()"], ["    rng.restore()"]) if again.random else ([], [])
    if generators:
        save.append(f"outside = OutsideRandom({', '.join(dict.fromkeys(generators))})")
        restore.append("    outside.restore()")
    if changed:
        save.append(f"memory = Memory({', '.join(changed)})")
        restore.append("    memory.restore()")
    return [*save, "try:", *[f"    {line}" for line in lines],
            f"except {again.error} as error:", *restore, "    raise GraphFailed(error)"]


def _roots(result, effects):
    roots = [result]
    for effect in effects:
        roots += effect.args
        roots += effect.kwargs.values()
    return roots


class _Builder:
    """Orders the making of new objects: parts before wholes; where they form a cycle,
    everything is made first and filled afterwards."""

    def __init__(self, writer):
        self.writer = writer
        self.body = []

    def lines(self, roots):
        order, cyclic = _post_order(roots, lambda new: new.parts)
        if cyclic:
            self.make_then_fill(order)
        else:
            uses = collections.Counter(id(r) for r in roots)
            uses.update(id(part) for new in order for part in new.parts)
            for new in order:
                self.make_whole(new, uses[id(new)] == 1)
        return self.body

    def make_whole(self, new, used_once):
        text = new.kind.whole(new, self.writer)
        if text is None:
            name = self.assign(new, new.kind.make(new, self.writer))
            self.body += new.kind.fill(new, name, self.writer)
        elif used_once and len(text) <= _LONGEST_INLINE:
            self.writer.made[id(new)] = text
        else:
            self.assign(new, text)

    def make_then_fill(self, reachable):
        order, impossible = _post_order(reachable, lambda new: new.parts[:new.kind.first(new)])
        if impossible:
            raise StopCapture("output-kind", "objects that need each other to be made")
        for new in order:
            self.assign(new, new.kind.make(new, self.writer))
        for new in order:
            self.body += new.kind.fill(new, self.writer.made[id(new)], self.writer)

    def assign(self, new, text):
        name = self.writer.made[id(new)] = f"o{len(self.writer.made)}"
        self.body.append(f"{name} = {text}")
        return name


def _post_order(roots, children):
    """The News reachable through *children*, each after its own; and whether there
    was a cycle. Without recursion: a linked list may be long."""
    order, state, cyclic = [], {}, False
    stack = [(None, iter(roots))]
    while stack:
        parent, rest = stack[-1]
        for part in rest:
            if type(part) is not New:
                continue
            seen = state.get(id(part))
            if seen is None:
                state[id(part)] = "open"
                stack.append((part, iter(children(part))))
                break
            cyclic = cyclic or seen == "open"
        else:
            stack.pop()
            if parent is not None:
                state[id(parent)] = "done"
                order.append(parent)
    return order, cyclic


# --- effects ----------------------------------------------------------------------

def _effect(effect, w):
    """One statement that does *effect* again."""
    func, args = effect.func, effect.args
    if func is setattr and _is_name(args[1]) and not effect.kwargs:
        return f"{w.ref(args[0])}.{args[1].obj} = {w.ref(args[2])}"
    if func is delattr and _is_name(args[1]) and not effect.kwargs:
        return f"del {w.ref(args[0])}.{args[1].obj}"
    texts = [w.ref(a) for a in args]
    texts += [f"{name}={w.ref(a)}" for name, a in effect.kwargs.items()]
    return f"{_callable(func, w)}({', '.join(texts)})"


def _is_name(recipe):
    """A constant string that can stand after a dot as it is."""
    text = getattr(recipe, "obj", None)
    return (type(text) is str and text.isidentifier() and not keyword.iskeyword(text)
            and text.isascii())


def _callable(func, w):
    """``list.append`` for a method of a type that emitted code knows by name."""
    owner, name = getattr(func, "__objclass__", None), getattr(func, "__name__", "effect")
    if owner is None:
        key = getattr(func, "key", None)        # an increment (recorder): name what it counts
        return w.constant(func, f"{name}_{key}" if type(key) is str else name)
    if w.namespace.names.get(owner.__name__) is owner and owner.__dict__.get(name) is func:
        return f"{owner.__name__}.{name}"
    return w.constant(func, f"{owner.__name__}_{name}")
