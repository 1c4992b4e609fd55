"""From a recording's edges to guards: instructions, and their readable Python twin.

An edge is already one guard (refgraph/graph.py), and edges are in an order in which
every parent comes before its children, so emitting is one pass that only decides which
values need a slot: those that something hangs on, that the mock code wants, or that
another check names. What hangs on a constant starts from the constant itself and
needs none. The twin is the same list as Python text, one line an instruction; it is
what `explain` shows, and tests run it against the native program.
"""

import itertools

from magpy.emit.source import Namespace
from magpy.guards import twin_helpers
from magpy.guards.instr import Const, Instr
from magpy.refgraph.graph import Node

_SAME_OR_NOT = ("same", "distinct")
_NO_SOURCE = ("type_lookup", "type_own", "type_mro", "arg", "kwarg", "fn", "const", "slots", "call")
_serial = itertools.count()


def emit(recording, want_nodes):
    """(instrs, nslots) for a recording. Afterwards each node in *want_nodes* has its
    ``slot``. Must run while the recording's nodes hold their objects."""
    return _Emitter(recording).emit(want_nodes)


class _Emitter:
    def __init__(self, recording):
        self.recording = recording
        self.instrs = []
        self.nslots = 0
        self.filled = set()     # indexes of the nodes whose slot is filled by now

    def emit(self, want_nodes):
        for node in self.recording.nodes:
            node.slot = None
        self.add_state()
        needed = self.needed(want_nodes)
        for node in needed.values():
            if node.const:
                self.add("const", -1, node.obj, ("none", None), node, node.path)
        for edge in self.recording.edges:
            self.add_edge(edge, needed)
        for node in want_nodes:
            self.slot_of(node, "the mock code")
        return self.instrs, self.nslots

    def needed(self, want_nodes):
        """The nodes that need a slot, by index, in order of first need."""
        needed = {node.index: node for node in want_nodes}
        for edge in self.recording.edges:
            if edge.parent is not None and not edge.parent.const:
                needed.setdefault(edge.parent.index, edge.parent)
            for node in _named_nodes(edge):
                needed.setdefault(node.index, node)
        return needed

    def add_state(self):
        state = self.recording.state
        if state is not None:
            self.add("state", -1, None, ("state", state), None, "torch's global state")

    def add_edge(self, edge, needed):
        op, key = edge.load
        if op == "slots":
            key = tuple(self.slot_of(node, edge.text) for node in key)
        child = edge.child
        if child is not None and (child.index not in needed or child.index in self.filled):
            child = None
        self.add(op, self.source(edge), key, self.check(edge), child, edge.text)

    def source(self, edge):
        parent = edge.parent
        if parent is None:
            return -1
        if edge.load[0] in _NO_SOURCE:
            raise ValueError(f"{edge.text}: the load {edge.load[0]!r} has no parent")
        if parent.const:
            return Const(parent.obj)
        return self.slot_of(parent, edge.text)

    def check(self, edge):
        op, expected = edge.check
        if op in _SAME_OR_NOT and isinstance(expected, Node):
            if op == "same" and expected.const:
                return "is", expected.obj
            return op, self.slot_of(expected, edge.text)
        return op, expected

    def slot_of(self, node, user):
        if node.index not in self.filled:
            raise ValueError(f"{user} needs {node!r}, which no guard has loaded before it")
        return node.slot

    def add(self, op, src, key, check, child, text):
        dst = -1
        if child is not None:
            dst = child.slot = self.nslots
            self.nslots += 1
            self.filled.add(child.index)
        self.instrs.append(Instr(op, src, key, check[0], check[1], dst, text))


def _named_nodes(edge):
    """The nodes that an edge's check or key names."""
    op, expected = edge.check
    if op in _SAME_OR_NOT and isinstance(expected, Node):
        return () if op == "same" and expected.const else (expected,)
    return edge.load[1] if edge.load[0] == "slots" else ()


# --- The Python twin ---

def source(instrs, name="guards"):
    """The guards as Python text."""
    return _Twin(instrs).text(name)


def twin(instrs, want=(), name="guards"):
    """The guards as a Python function (fn, args, kwargs) -> the wanted slots' values, or
    None. It does what `GuardProgram.run` does but for checking the call's signature."""
    return _Twin(instrs).function(tuple(want), name)


class _Twin:
    def __init__(self, instrs):
        self.names = Namespace(twin_helpers.HELPERS)
        self.lines = [self.line(instr) for instr in instrs]

    def text(self, name, result="True"):
        body = "".join(f"    {line}\n" for line in self.lines)
        return f"def {name}(fn, args, kwargs):\n{body}    return {result}\n"

    def function(self, want, name):
        result = "[" + ", ".join(f"v{slot}" for slot in want) + "]"
        text = self.text(name, result)
        run = self.names.function(text, name, f"<magpy guards {next(_serial)}>")

        def checked(fn, args, kwargs):
            try:
                values = run(fn, args, kwargs or {})
            except twin_helpers.Miss:
                return None
            return None if values is False else values
        return checked

    def line(self, instr):
        value = self.load(instr)
        if instr.dst >= 0:
            value = f"(v{instr.dst} := {value})"
        test = self.failed(instr, value)
        return f"if {test}: return False    # {_one_line(instr.text)}"

    def load(self, instr):
        op, key = instr.load, instr.key
        if op == "arg":
            return f"args[{key}]"
        if op == "kwarg":
            return f"kwargs[{key!r}]"
        if op in ("state", "slots"):
            return ""
        if op == "fn":
            return "fn"
        if op == "call":
            return f"{self.literal(key)}()"
        if op == "const":
            return self.literal(key)
        if op in ("type_lookup", "type_own"):
            return f"{op}({self.literal(key[0])}, {key[1]!r})"
        if op == "type_mro":
            return f"type_mro({self.literal(key)})"
        src = self.src(instr)
        if op == "slot":
            return src
        if op in ("cell", "instance_dict"):
            return f"{op}({src})"
        return f"{_HELPER_OF.get(op, op)}({src}, {self.literal(key)})"

    def src(self, instr):
        if isinstance(instr.src, Const):
            return self.literal(instr.src.obj)
        return f"v{instr.src}" if instr.src >= 0 else "fn"

    def failed(self, instr, value):
        """The condition under which the instruction fails."""
        op, expected = instr.check, instr.expected
        if op == "state":
            return f"not {self.names.name(expected, 'state')}.matches()"
        if op == "alias":
            slots = ", ".join(f"v{slot}" for slot in instr.key)
            return f"storages({slots}) != {tuple(expected)!r}"
        if op == "tensor":
            return f"not {self.names.name(expected, 'meta')}.matches({value})"
        if op == "same":
            return f"{value} is not v{expected}"
        if op == "distinct":
            return f"not distinct({value}, v{expected})"
        if op in ("none", "absent"):
            return f"{value} {'is' if op == 'none' else 'is not'} ABSENT"
        text = self.literal(expected)
        if op == "type":
            return f"type({value}) is not {text}"
        if op == "is" or (op == "leaf" and twin_helpers.is_singleton(expected)):
            return f"{value} is not {text}"
        if op in ("len", "truth"):
            return f"{op}_of({value}) != {text}"
        return f"not {_CHECK_HELPER[op]}({value}, {text})"

    def literal(self, obj):
        if _is_literal(obj) and len(text := repr(obj)) <= 60:
            return text if obj is not ... else "..."
        hint = getattr(obj, "__name__", None)
        if not isinstance(hint, str):
            hint = type(obj).__name__.lower()
        return self.names.name(obj, hint)


_HELPER_OF = {"attr": "own", "dict": "item", "list": "element", "tuple": "element",
              "key": "key_at"}
_CHECK_HELPER = {"leaf": "equal", "keys": "has_keys", "set": "has_content"}


def _is_literal(obj):
    """Does repr() give text that makes the same leaf?"""
    kind = type(obj)
    if kind is tuple:
        return all(map(_is_literal, obj))
    if kind is float:
        return obj - obj == 0
    return kind in (bool, int, str, bytes, type(None), type(...))


def _one_line(text):
    return " ".join(text.split())
