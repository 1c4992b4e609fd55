"""Why a guard failed, in words: "arg[0]['act']: was 'relu', is 'none' (read at model.py:12)".

First the access path of what was read, then what it was in the recorded call and what it
is now, then the line of the user's code that read it. A report must not run user code, so
objects are shown by their class only, functions by where they are defined, and leaves by
their repr.
"""

import functools
import types
from typing import NamedTuple

import torch

from magpy.guards.buffers import same_buffer
from magpy.guards.instr import Const
from magpy.guards.program import is_leaf, own_dict
from magpy.guards.tensor_meta import TensorMeta, distinct_storages
from magpy.guards.twin_helpers import keys_of, len_of, truth_of
from magpy.refgraph.graph import ABSENT, short_name

_LONGEST = 80


class Miss(NamedTuple):
    """One guard that failed: the ``read`` it was about (an access path), and the whole
    ``text``."""

    read: str
    text: str


def miss(program, i, fn, args, kwargs):
    """Why instruction *i* of *program* fails on this call; i == -1: the signature."""
    if i < 0:
        read, words = _signature(program, args, kwargs)
        return Miss(read, f"{read}: {words}")
    instr = program.instrs[i]
    read, words = _Failure(program, fn, args, kwargs).words(i)
    place = f" (read at {instr.place})" if instr.place is not None else ""
    return Miss(read, f"{read}: {words}{place}")


def _signature(program, args, kwargs):
    names = tuple(kwargs or ())
    if len(args) != program.nargs:
        return "positional arguments", f"were {program.nargs}, are {len(args)}"
    if names != program.kwnames:
        return "keyword arguments", f"were {_names(program.kwnames)}, are {_names(names)}"
    return "the call", "has the recorded signature"


def _names(names):
    return "(" + ", ".join(map(str, names)) + ")"


class _Failure:
    """A program, and a call that it does not fit."""

    def __init__(self, program, fn, args, kwargs):
        self.program = program
        self.call = fn, args, kwargs

    def words(self, i):
        """(what was read, the difference)."""
        instr = self.program.instrs[i]
        if instr.check == "unique":
            return self.met_again(instr)
        if instr.check == "alias":
            return self.storages(instr)
        if instr.check == "apart":
            return self.shared_dict(instr)
        if instr.check == "lacks":
            return instr.text, f"did not have {self.path(instr.key[1])} as a key"
        found, value = self.program.probe(i, *self.call)
        if found < 0:
            return instr.text, f"was {_expectation(instr)}, cannot be read now{self.source(instr)}"
        value = value if found else ABSENT
        if instr.check in ("same", "distinct"):
            return instr.text, self.identity(instr, value)
        return instr.text, _difference(instr, value)

    def filled(self, slot):
        """Index of the instruction that fills *slot*."""
        return next(i for i, instr in enumerate(self.program.instrs) if instr.dst == slot)

    def path(self, slot):
        return self.program.instrs[self.filled(slot)].text

    def value(self, slot):
        return self.program.probe(self.filled(slot), *self.call)[1]

    def source(self, instr):
        """What stands now where *instr* reads from."""
        if isinstance(instr.src, Const) or instr.src < 0:
            return ""
        return f": {self.path(instr.src)} is {value_text(self.value(instr.src))}"

    def identity(self, instr, value):
        path = self.path(instr.expected)
        if instr.check == "distinct":
            return f"was another object than {path}, is the same"
        if value is self.value(instr.expected):
            return f"is the same object as {path} again"
        return f"was the same object as {path}, is {value_text(value)}"

    def met_again(self, instr):
        """The first two slots that hold one object."""
        first = {}
        for slot in instr.key:
            other = first.setdefault(id(self.value(slot)), slot)
            if other != slot:
                return f"{self.path(other)} and {self.path(slot)}", "were two objects, are the same"
        return instr.text, "are different objects again"

    def shared_dict(self, instr):
        """The first two slots of which one was written, and that have one dict."""
        first = {}
        for slot, (written, is_dict) in zip(instr.key, instr.expected):
            held = self.value(slot) if is_dict else own_dict(self.value(slot))
            other, before = first.setdefault(id(held), (slot, written))
            if held is not None and other != slot and (written or before):
                return f"{self.path(other)} and {self.path(slot)}", "had dicts of their own, share one"
        return instr.text, "have dicts of their own again"

    def storages(self, instr):
        """The first two tensors that share memory now and did not, or the reverse."""
        was, now = instr.expected, distinct_storages([self.value(slot) for slot in instr.key])
        for j, slot in enumerate(instr.key):
            for i in range(j):
                before, after = was[i] == was[j], now[i] == now[j]
                if before != after:
                    return (f"{self.path(instr.key[i])} and {self.path(slot)}",
                            "did not share memory, do now" if after else "shared memory, do not now")
        return instr.text, "tensors share memory as before again"


# --- the difference ------------------------------------------------------------------------

def _difference(instr, value):
    check, expected = instr.check, instr.expected
    if value is ABSENT:
        return "is absent again" if check == "absent" else f"was {_expectation(instr)}, is absent"
    if check == "state":
        return _state_difference(expected.differences())
    if check == "tensor":
        return _tensor_difference(expected, value)
    if check == "type":
        return _class_difference(expected, value)
    if check == "len":
        return _pair("length ", expected, len_of(value)) if len_of(value) >= 0 \
            else f"was of length {expected}, is {value_text(value)}"
    if check == "keys" and isinstance(value, dict):
        return _keys_difference(expected, keys_of(value))
    if check == "set" and isinstance(value, (set, frozenset)):
        content = set.__iter__(value) if isinstance(value, set) else frozenset.__iter__(value)
        return f"elements were {_list(expected)}, are {_list(content)}"
    if check == "truth":
        now = {True: "true", False: "false"}.get(truth_of(value)) or value_text(value)
        return _pair("", "true" if expected else "false", now)
    if check == "quiet":
        return f"was something that nobody sees go, is {value_text(value)} with a finalizer or a weak reference"
    if check == "leaf":
        return _leaf_difference(expected, value)
    if check == "frozen":
        return "is as it was frozen again" if expected.matches(value) else "its data was changed since it was frozen"
    if check == "buffer":
        return _buffer_difference(expected, value)
    if value is expected:
        return f"is {value_text(value)} again"
    return _pair("", _expectation(instr), value_text(value), same="is another one")


def _pair(what, was, now, same=None):
    if was == now:
        return f"{what}was {was}, {same}" if same else f"{what}is {now} again"
    return f"{what}was {was}, is {now}"


def _class_difference(expected, value):
    if type(value) is expected:
        return f"is {_a(class_text(expected))} again"
    return _pair("", _a(class_text(expected)), value_text(value), same="is of another class of that name")


def _leaf_difference(expected, value):
    was, now = value_text(expected), value_text(value)
    if was != now:
        return f"was {was}, is {now}"
    if isinstance(expected, (str, bytes, tuple)) and type(value) is type(expected):
        for i, (a, b) in enumerate(zip(expected, value)):
            if a != b:
                return f"was {was}, differs at index {i}"
        if len(expected) != len(value):
            return f"was {was}, length was {len(expected)}, is {len(value)}"
    return f"was {was}, is {now} again"


def _keys_difference(expected, now):
    was, are = _list(expected), _list(now)
    if not (was.endswith("...]") or are.endswith("...]")):
        return f"keys were {was}, are {are}" if was != are else f"keys are {are} again"
    old, new = [value_text(key) for key in expected], [value_text(key) for key in now]
    before, after = set(old), set(new)
    gone, added = [k for k in old if k not in after], [k for k in new if k not in before]
    parts = [f"without {', '.join(gone[:5])}"] if gone else []
    parts += [f"with {', '.join(added[:5])}"] if added else []
    return f"keys were {was}, are {' and '.join(parts) or 'in another order'} now"


def _tensor_difference(meta, value):
    if type(value) is not meta.type:
        was, now = class_text(meta.type), value_text(value)
        return _pair("", _a(was), now, same="is of another class of that name")
    reason = meta.why_incomparable(value)
    if reason:
        return f"cannot be compared: {reason}"
    found = {name: (was, now) for name, was, now in meta.differences(value)}
    if "shape" in found:
        found.pop("strides", None)
    if len(found) > 1:
        found.pop("dispatch keys", None)
    parts = [part for name, (was, now) in found.items() for part in _fact(name, was, now)]
    return ", ".join(parts) or "matches again"


def _fact(name, was, now):
    if name == "shape" and len(was) == len(now):
        return [f"shape[{i}] was {a}, is {b}" for i, (a, b) in enumerate(zip(was, now)) if a != b]
    if name == "dtype":
        was, now = was.removeprefix("torch."), now.removeprefix("torch.")
    return [f"{name} was {was}, is {now}"]


def _state_difference(found):
    if any(not name.endswith("dispatch_keys") for name, *_ in found):
        found = [each for each in found if not each[0].endswith("dispatch_keys")]
    return ", ".join([f"{name} was {_setting(name, was)}, is {_setting(name, now)}"
                      for name, was, now in found]) or "is as before again"


def _setting(name, value):
    if name.endswith("dtype"):
        return _dtypes().get(value, value)
    if name.endswith("dispatch_keys"):
        return hex(value)
    return bool(value) if value in (0, 1) and name not in _COUNTS else value


_COUNTS = ("num_threads", "cuda_matmul_precision", "cudnn_conv_precision",
           "mkldnn_matmul_precision", "mkldnn_conv_precision")


@functools.cache
def _dtypes():
    """ATen's numbers of the dtypes that can be a default -> their names."""
    return {TensorMeta(torch.empty(0, dtype=dtype, device="meta")).scalar_type: str(dtype).removeprefix("torch.")
            for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64)}


def _buffer_difference(expected, value):
    if type(value) is not expected.type:
        return _class_difference(expected.type, value)
    return "is as before again" if same_buffer(value, expected) else "content was another"


def _expectation(instr):
    check, expected = instr.check, instr.expected
    if check == "absent":
        return "absent"
    if check == "none":
        return "there"
    if check == "frozen":
        return "a frozen tensor"
    if check == "quiet":
        return "something that nobody sees go"
    if check == "type":
        return _a(class_text(expected))
    if check == "tensor":
        return f"a tensor of shape {expected.shape}"
    if check == "truth":
        return "true" if expected else "false"
    if check == "len":
        return f"of length {expected}"
    if check == "keys":
        return f"a dict with keys {_list(expected)}"
    if check == "set":
        return f"a set of {_list(expected)}"
    return value_text(expected)


# --- objects as text ---------------------------------------------------------------------------

def _list(values):
    text = ", ".join([value_text(value) for value in values])
    return "[" + (text if len(text) <= _LONGEST else text[:_LONGEST] + "...") + "]"


def _a(name):
    return f"an {name}" if name[0] in "aeiou" else f"a {name}"


def class_text(cls):
    module = type.__getattribute__(cls, "__module__") if isinstance(cls, type) else ""
    name = type.__getattribute__(cls, "__qualname__")
    return name if module == "builtins" else f"{module}.{name}"


def value_text(value):
    """A leaf by its repr, functions and code by where they are, any other object by its class."""
    kind = type(value)
    if value is ABSENT:
        return "absent"
    if issubclass(kind, type):
        return f"class {class_text(value)}"
    if kind is tuple and value and all(issubclass(type(item), type) for item in value):     # an MRO
        return "(" + ", ".join(map(class_text, value)) + ")"
    if is_leaf(value):
        text = repr(value)
        return text if len(text) <= _LONGEST else text[:_LONGEST] + "..."
    named = _NAMED.get(kind)
    if named is not None:
        return named(value)
    return _a(class_text(kind))


def _code_text(code):
    return f"{code.co_qualname} ({short_name(code.co_filename)}:{code.co_firstlineno})"


def _module_text(module):
    return f"module {object.__getattribute__(module, '__dict__').get('__name__')}"


def _property_text(value):
    return f"property {value_text(value.fget)}"


_NAMED = {
    types.FunctionType: lambda f: f"function {_code_text(f.__code__)}",
    types.CodeType: lambda code: f"the code of {_code_text(code)}",
    types.MethodType: lambda method: f"method {value_text(method.__func__)}",
    types.ModuleType: _module_text,
    property: _property_text,
    staticmethod: lambda value: f"staticmethod {value_text(value.__func__)}",
    classmethod: lambda value: f"classmethod {value_text(value.__func__)}",
    **dict.fromkeys((types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType),
                    lambda f: f"builtin {f.__qualname__}"),
}
