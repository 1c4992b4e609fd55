"""Why a guard failed, in words: "arg[0]: was list, is tuple".

A report must not run user code either, so objects are shown by their class only,
and leaves by their repr.
"""

from magpy.guards.program import is_leaf
from magpy.guards.twin_helpers import keys_of, len_of, truth_of
from magpy.refgraph.graph import ABSENT

_LONGEST = 80


def miss(program, i, fn, args, kwargs):
    """Why instruction *i* of *program* fails on this call; i == -1: the signature."""
    if i < 0:
        return signature(program, args, kwargs)
    instr = program.instrs[i]
    found, value = program.probe(i, fn, args, kwargs)
    if found < 0:
        return f"{instr.text}: what it is read from is gone or of another kind"
    if found == 0:
        value = ABSENT
    return f"{instr.text}{_difference(instr, value)}"


def signature(program, args, kwargs):
    names = tuple(kwargs or ())
    if len(args) != program.nargs:
        return f"positional arguments: were {program.nargs}, are {len(args)}"
    if names != program.kwnames:
        return f"keyword arguments: were {_names(program.kwnames)}, are {_names(names)}"
    return "the call has the recorded signature"


def _names(names):
    return "(" + ", ".join(map(str, names)) + ")"


def _difference(instr, value):
    check, expected = instr.check, instr.expected
    if value is ABSENT:
        return ": is absent" if check == "absent" else f": was {_expectation(instr)}, is absent"
    if check == "state":
        return f": {expected.why()}"
    if check == "tensor":
        return _tensor_difference(expected, value)
    if check == "type":
        return _pair("", class_text(expected), class_text(type(value)), type(value) is expected)
    if check == "len":
        return _pair("length ", expected, len_of(value), len_of(value) == expected)
    if check in ("same", "distinct"):
        return f": is {'another object than' if check == 'same' else 'the same object as'} before"
    if check == "unique":
        return ": two of them are the same object now"
    if check == "alias":
        return ": tensors share storage in another pattern"
    return f": was {_expectation(instr)}, is {_actual(check, value)}"


def _pair(what, was, now, equal):
    return f": {what}is {now} again" if equal else f": {what}was {was}, is {now}"


def _tensor_difference(meta, value):
    why = meta.why(value)
    if not why:
        return ": matches again"
    name, _, rest = why.partition(": ")
    return f".{name}: {rest}" if name.isidentifier() else f": {why}"


def _expectation(instr):
    check, expected = instr.check, instr.expected
    if check == "absent":
        return "absent"
    if check == "none":
        return "there"
    if check == "type":
        return class_text(expected)
    if check == "truth":
        return "true" if expected else "false"
    if check == "len":
        return f"of length {expected}"
    if check == "keys":
        return f"keys {_list(expected)}"
    if check == "set":
        return f"elements {_list(expected)}"
    if check == "is":
        return f"{value_text(expected)} (that object)"
    return value_text(expected)


def _actual(check, value):
    if check == "keys" and isinstance(value, dict):
        return _list(keys_of(value))
    if check == "set" and isinstance(value, (set, frozenset)):
        return _list(set.__iter__(value) if isinstance(value, set) else value)
    if check == "truth":
        return {True: "true", False: "false"}.get(truth_of(value), class_text(type(value)))
    return value_text(value)


def _list(values):
    text = ", ".join(value_text(value) for value in values)
    return "[" + (text if len(text) <= _LONGEST else text[:_LONGEST] + "...") + "]"


def class_text(cls):
    module = type.__getattribute__(cls, "__module__") if isinstance(cls, type) else ""
    name = type.__getattribute__(cls, "__qualname__")
    return name if module == "builtins" else f"{module}.{name}"


def value_text(value):
    """A leaf by its repr, any other object by its class (and name, if it has one)."""
    if value is ABSENT:
        return "absent"
    if isinstance(value, type):
        return class_text(value)
    if is_leaf(value):
        text = repr(value)
        return text if len(text) <= _LONGEST else text[:_LONGEST] + "..."
    name = value.__qualname__ if type(value).__name__ in (
        "function", "builtin_function_or_method", "method_descriptor") else None
    return f"{class_text(type(value))} {name}" if name else f"a {class_text(type(value))}"
