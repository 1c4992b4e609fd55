"""Rules of what is not the same on every run: time, random numbers, files, threads; and of
library calls that are effects of their own kind: warnings and logging."""

import _random
import _thread
import io
import logging
import os
import sys
import threading
import time
import types
import warnings
import weakref

from magpy.recorder.callables.reads import hashes, nothing, plain, stops
from magpy.recorder.callables.registry import LEAF_CODE, add, rule, slots


def functions_of(module):
    return [each for each in vars(module).values()
            if isinstance(each, types.BuiltinFunctionType)]


def methods_of(cls):
    return [each for each in cls.__dict__.values() if isinstance(
        each, (types.MethodDescriptorType, types.WrapperDescriptorType))]


add(stops("time"), "random", *functions_of(time))
add(stops("random"), "random", *[method for method in methods_of(_random.Random)],
    _random.Random, _random.Random.__new__, os.urandom)
add(stops("effect"), "effect", *[each for each in functions_of(os) if each is not os.fspath
                                 and each is not os.urandom])
add(stops("effect"), "effect", *[
    method for cls in (io.TextIOWrapper, io.BufferedReader, io.BufferedWriter, io.FileIO,
                       io.StringIO, io.BytesIO)
    for method in methods_of(cls) if method.__name__ not in ("__getattribute__",)])
add(stops("effect"), "effect", threading.get_ident, _thread.start_new_thread)
add(stops("object-read"), "state", sys._getframe, sys.getrefcount, sys.getsizeof,
    sys.getrecursionlimit)


# ---- locks ----------------------------------------------------------------------------------

LOCKS = (_thread.LockType, _thread.RLock)
add(stops("effect"), "effect", *[
    method for cls in LOCKS for method in methods_of(cls) if method.__name__ not in (
        "__repr__", "__init__", "__getattribute__", "acquire", "release", "__enter__", "__exit__")])
add(nothing, "allocates", _thread.allocate_lock, *LOCKS, *[cls.__new__ for cls in LOCKS])


@rule(*[method for cls in LOCKS for method in slots(cls, "acquire __enter__")], kind="mutates")
def acquire(r, func, args, kwargs):
    """A lock that the call takes and gives back leaves nothing to replay: `release` takes
    the effect away again."""
    if len(args) > 1 or kwargs:
        r.stop("effect", "a lock acquired with conditions")
    if r.know(args[0]) is not None:
        r.effect(type(args[0]).acquire, args)


@rule(*[method for cls in LOCKS for method in slots(cls, "release __exit__")], kind="mutates")
def release(r, func, args, kwargs):
    lock = args[0]
    if r.know(lock) is None:
        return
    for i in range(len(r.effects) - 1, -1, -1):
        effect = r.effects[i]
        if effect.func is type(lock).acquire and effect.args[0] is lock:
            del r.effects[i]
            return
    r.stop("effect", "a lock released that was acquired outside")


@rule(os.fspath, kind="reads")
def path_text(r, func, args, kwargs):
    if not plain(args[0]):
        r.special("__fspath__", args)


# What the running frames hold, which the recording made; and a copy of a string.
add(nothing, "reads", sys.exc_info, sys.exception, sys.intern)


# ---- weak references -----------------------------------------------------------------------

@rule(weakref.ref, kind="allocates")
def weak_reference(r, func, args, kwargs):
    for arg in args:
        r.know(arg)


@rule(*slots(weakref.ref, "__call__"), kind="reads")
def dereferenced(r, func, args, kwargs):
    reference = args[0]
    node = r.know(reference)
    if node is None:
        return
    if type(reference) is not weakref.ref:
        r.stop("object-read", f"a weak reference of type {type(reference).__name__}")
    r.edge(node, "deref", None, reference(), f"{node.path}()")


@rule(*slots(weakref.ref, "__hash__ __eq__ __ne__"), kind="reads")
def reference_compared(r, func, args, kwargs):
    """By what they refer to."""
    for arg in args:
        if isinstance(arg, weakref.ref):
            if r.know(arg) is not None:
                r.stop("object-read", "comparison of an outside weak reference")
            hashes(r, arg())


# ---- warnings -------------------------------------------------------------------------------

class Rewarn:
    """The function of a warning's effect: warns as if from the recorded place, so that
    filters and the once-per-place registry treat it as the same warning."""

    __slots__ = ("filename", "lineno", "module", "namespace", "__name__")

    def __init__(self, frame, depth):
        for _ in range(depth):
            frame = frame.f_back or frame
        self.filename = frame.f_code.co_filename
        self.lineno = frame.f_lineno
        self.namespace = frame.f_globals
        self.module = self.namespace.get("__name__") or "<string>"
        self.__name__ = "warn"

    def __call__(self, message, category):
        warnings.warn_explicit(
            message, category or UserWarning, self.filename, self.lineno, self.module,
            self.namespace.setdefault("__warningregistry__", {}))


@rule(warnings.warn, kind="effect")
def warn(r, func, args, kwargs):
    """Warned again at replay, where filters are asked anew."""
    given = dict(zip(("message", "category", "stacklevel", "source"), args))
    given.update(kwargs)
    message, category = given.get("message"), given.get("category")
    if type(message) is not str or given.get("source") is not None or \
            given.get("skip_file_prefixes"):
        r.stop("effect", "a warning that is no plain text")
    depth = max(given.get("stacklevel", 1), 1) - 1
    r.effect(Rewarn(calling_frame(), depth), (message, category))
    r.leaf()


# How a warning of C code reaches sys.stderr. The C code warns again when it is called again.
LEAF_CODE.add(warnings._showwarnmsg.__code__)


def calling_frame():
    """The frame whose call a rule is looking at."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").startswith("magpy.recorder"):
        frame = frame.f_back
    return frame


# ---- logging --------------------------------------------------------------------------------

LOG_METHODS = [getattr(logging.Logger, name) for name in (
    "debug", "info", "warning", "error", "critical", "log")]


@rule(*LOG_METHODS, kind="effect")
def log(r, func, args, kwargs):
    """Logged again at replay, where levels and handlers are asked anew."""
    if not all(plain(arg) for arg in args[1:]) or kwargs:
        r.stop("effect", f"logging.Logger.{func.__name__} of objects")
    r.effect(func, args)
    r.leaf()
