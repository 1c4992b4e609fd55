"""Rules of running and storing code and objects as text: eval, exec, compile, pickle."""

import pickle
import pickletools
import sys
import types

from magpy.recorder.callables.effects import calling_frame
from magpy.recorder.callables.reads import fixed, known, plain, stops, value, values
from magpy.recorder.callables.registry import add, is_a, rule, slots


@rule(eval, exec, kind="calls")
def run_text(r, func, args, kwargs):
    """The code runs in a frame of its own, and is recorded there. C code puts ``__builtins__``
    into a namespace that lacks it."""
    source, *spaces = args
    if type(source) is not types.CodeType and not plain(source) or "closure" in kwargs:
        r.stop("unknown-callable", f"{func.__name__} of a {type(source).__qualname__}")
    r.know(source)
    spaces += [kwargs[name] for name in ("globals", "locals") if kwargs.get(name) is not None]
    for space in spaces:
        if r.know(space) is not None and not (is_a(space, dict) and "__builtins__" in space):
            r.stop("object-write", f"{func.__name__} in an outside namespace")


@rule(compile, kind="allocates")
def compiled(r, func, args, kwargs):
    if not all(plain(arg) for arg in (*args, *kwargs.values())):
        r.stop("unknown-callable", "compile() of an object")


@rule(sys._getframemodulename, kind="reads")
def module_of_frame(r, func, args, kwargs):
    """The module of a frame that the recording runs; who called it may be another each time."""
    frame = calling_frame()
    for _ in range((*args, *kwargs.values(), 0)[0]):
        frame = frame.f_back
    if frame is None or frame.f_globals.get("__name__", "").startswith("magpy."):
        r.stop("object-read", "who called")


add(known, "allocates", types.FunctionType, types.CellType, types.ModuleType, types.FunctionType.__new__)
add(values, "pure", *slots(types.CodeType, "__eq__ __ne__ __hash__ co_lines co_positions replace __replace__"))


# ---- pickle ---------------------------------------------------------------------------------------

RUNS_CODE = frozenset("""GLOBAL STACK_GLOBAL INST OBJ REDUCE BUILD NEWOBJ NEWOBJ_EX PERSID BINPERSID EXT1 EXT2
    EXT4 NEXT_BUFFER""".split())


@rule(pickle.loads, kind="allocates")
def loaded(r, func, args, kwargs):
    """A pickle that names no class or function runs no code."""
    value(r, args[0])
    try:
        harmless = all(op.name not in RUNS_CODE for op, _, _ in pickletools.genops(bytes(args[0])))
    except Exception:
        harmless = False
    if not harmless or not all(fixed(arg) for arg in kwargs.values()):
        r.stop("unknown-callable", "pickle of objects")


# What a pickle looks like depends on which equal values are one object.
add(stops("unknown-callable"), "reads", pickle.dumps)
add(stops("unknown-callable"), "effect", pickle.dump, pickle.load)
