"""Rules of copying: copy.deepcopy and copy.copy, what object does for them, and id().

Both modules are Python, and recorded as such. Two things they ask of C: an object's state
(``object.__reduce_ex__``), which is its attributes, and the addresses of objects, by which
they remember what they have copied already.
"""

import copy
import copyreg
import inspect
import json.encoder
import pprint
import reprlib
import threading
import traceback
import types

import torch

from magpy.recorder.callables.effects import calling_frame
from magpy.recorder.callables.reads import (
    CONTAINERS, internal, iterates, name_of, plain, stops, value)
from magpy.recorder.callables.registry import COPIES_VALUES, RULES, add, is_a, rule, slots


@rule(copy.deepcopy, kind="allocates")
def deep_copied(r, func, args, kwargs):
    """Plain containers are read whole, and copied without being recorded."""
    if len(args) == 1 and not kwargs and simple(args[0], 0):
        r.read_deep(args[0])
        r.leaf()


def simple(obj, depth):
    if plain(obj):
        return True
    if type(obj) not in CONTAINERS or depth > 50:
        return False
    parts = obj.items() if type(obj) is dict else obj
    return all(simple(part, depth + 1) for part in parts)


# ---- addresses ----------------------------------------------------------------------------------

def code_of(function):
    """The code objects of a function and of the functions in it."""
    found = [function.__code__]
    for code in found:
        found += [const for const in code.co_consts if is_a(const, types.CodeType)]
    return found


# Code that asks for addresses only to tell objects apart: keys of a memo, which it does not
# iterate over or show.
TELLS_APART = frozenset(
    code for function in (
        copy.deepcopy, copy._keep_alive, copy._deepcopy_list, copy._deepcopy_tuple,
        copy._deepcopy_dict, copy._reconstruct, copy._deepcopy_method, reprlib.recursive_repr,
        json.encoder._make_iterencode, traceback.TracebackException.__init__,
        inspect.unwrap, pprint.PrettyPrinter._format, pprint.PrettyPrinter._safe_repr,
        torch.nn.Parameter.__deepcopy__)
    for code in code_of(function))


# A plain value is its own copy, for good: its identity is no accident there.
for function in (copy.deepcopy, copy._deepcopy_tuple):
    COPIES_VALUES.enter(function.__code__)


def tells_apart():
    """Is it such code that makes the call at hand?"""
    frame = calling_frame()
    return frame is not None and frame.f_code in TELLS_APART


@rule(id, kind="random")
def address(r, func, args, kwargs):
    if not tells_apart():
        r.stop("object-read", "id")
    r.know(args[0])
    if not plain(args[0]):
        r.observe_identity(args[0])


@rule(threading.get_ident, kind="random")
def thread(r, func, args, kwargs):
    if not tells_apart():
        r.stop("effect", name_of(func))


# ---- an object's state ----------------------------------------------------------------------------

@rule(*slots(object, "__reduce_ex__"), kind="reads")
def reduced(r, func, args, kwargs):
    """What protocol 2 and later make of an object: its class, arguments for __new__, its
    state, and the items of a list or dict."""
    obj, protocol = args[0], args[1] if len(args) > 1 else 0
    kind = type(obj)
    reducer = r.type_lookup(kind, "__reduce__")
    if reducer is not object.__dict__["__reduce__"]:
        if not is_a(reducer, types.FunctionType):
            r.special("__reduce__", (obj,))
        return
    if type(protocol) is not int or protocol < 2:
        r.stop("unknown-callable", f"__reduce_ex__ of {kind.__qualname__} by protocol {protocol}")
    for function in (copyreg.__newobj__, copyreg.__newobj_ex__):
        r.know_constant(function)
    for name in ("__getnewargs_ex__", "__getnewargs__", "__getstate__"):
        r.special(name, (obj,))
    if is_a(obj, list):
        iterates(r, obj)
    elif is_a(obj, dict):
        r.special("items", (obj,))


@rule(*slots(object, "__getstate__"), kind="reads")
def state(r, func, args, kwargs):
    obj = args[0]
    if hasattr(obj, "__dict__"):
        r.read_instance_dict(obj)
        r.read_content(obj.__dict__)
    for name in copyreg._slotnames(type(obj)):      # kept in the class; C code would ask, too
        r.read_attr(obj, name)


add(stops("object-read"), "reads", *slots(object, "__reduce__"))


@rule(*[cls.__dict__[name] for cls in (int, str, float, complex, bytes, tuple)
        for name in ("__getnewargs__",) if name in cls.__dict__], kind="reads")
def new_arguments(r, func, args, kwargs):
    value(r, args[0])
    if is_a(args[0], tuple):
        r.read_content(args[0])


def parts(r, func, args, kwargs):
    """__reduce__ and __copy__ of a C object that cannot change, or that the recording made."""
    internal(r, args[0])


FIXED = (torch.dtype, torch.layout, torch.memory_format, torch.qscheme, torch.device, torch.Size, range,
         slice)
add(parts, "reads", *[method for cls in FIXED for method in slots(cls, "__reduce__ __reduce_ex__")
                      if method not in RULES])
