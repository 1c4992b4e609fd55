"""The readable Python twin of a guard program: one line an instruction, in their order.

It is what `explain` shows. It is also a second statement of what the instructions mean,
in plain Python (guards/twin_helpers.py), so that tests can run it against the native
program: text that is only shown would drift from what runs. How a recording's
edges become instructions is in emit/lower.py.
"""

import itertools
import types

from magpy.emit.source import Namespace
from magpy.guards import twin_helpers
from magpy.guards.instr import Const

_serial = itertools.count()


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
        if op in ("cell", "instance_dict", "deref"):
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
        if op == "unique":
            return f"not unique({', '.join(f'v{slot}' for slot in instr.key)})"
        if op == "apart":
            return f"not apart({instr.expected!r}, {', '.join(f'v{slot}' for slot in instr.key)})"
        if op == "lacks":
            return f"not lacks({', '.join(f'v{slot}' for slot in instr.key)})"
        if op == "quiet":
            return f"not quiet({value}, {', '.join(map(repr, instr.expected))})"
        if op == "tensor":
            return f"not {self.names.name(expected, 'meta')}.matches({value})"
        if op == "frozen":
            return f"not {self.names.name(expected, 'content')}.matches({value})"
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
        hint = _name_of(obj)
        if not isinstance(hint, str):
            hint = type(obj).__name__.lower()
        return self.names.name(obj, hint)


_HELPER_OF = {"attr": "own", "dict": "item", "list": "element", "tuple": "element",
              "deque": "element",
              "key": "key_at", "deque": "deque_element"}
_CHECK_HELPER = {"leaf": "equal", "keys": "has_keys", "set": "has_content", "buffer": "same_buffer"}


_NAMED = (types.FunctionType, types.BuiltinFunctionType, types.ModuleType, types.MethodDescriptorType,
          types.WrapperDescriptorType, types.GetSetDescriptorType, types.MemberDescriptorType, types.MethodType)


def _name_of(obj):
    """The name of a class, function or module. That of anything else may be code of the user's."""
    if issubclass(type(obj), type):
        return type.__dict__["__name__"].__get__(obj)
    return getattr(obj, "__name__", None) if type(obj) in _NAMED else None


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
