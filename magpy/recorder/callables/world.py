"""Rules of what is not the same on every run: time, files, threads, what only weak references
hold."""

import _random
import _thread
import io
import os
import sys
import threading
import time
import types
import weakref

from magpy.recorder.callables.reads import hashes, nothing, plain, stops, values
from magpy.recorder.callables.registry import RULES, add, is_a, rule, slots


def functions_of(module):
    return [each for each in vars(module).values()
            if is_a(each, types.BuiltinFunctionType)]


def methods_of(cls):
    return [each for each in cls.__dict__.values() if is_a(
        each, (types.MethodDescriptorType, types.WrapperDescriptorType))]


add(stops("time"), "random", *functions_of(time))
add(values, "allocates", time.struct_time, time.struct_time.__new__)
add(stops("random"), "random", _random.Random, os.urandom)
add(stops("effect"), "effect", *[each for each in functions_of(os) if each is not os.fspath
                                 and each is not os.urandom])
add(stops("effect"), "effect", *[
    method for cls in (io.TextIOWrapper, io.BufferedReader, io.BufferedWriter, io.FileIO)
    for method in methods_of(cls)
    if method.__name__ != "__getattribute__" and method not in RULES])      # see effects.py
add(stops("effect"), "effect", _thread.start_new_thread)
add(stops("object-read"), "state", sys._getframe, sys.getrefcount, sys.getsizeof)


@rule(sys.getrecursionlimit, sys.getswitchinterval, kind="state")
def setting(r, func, args, kwargs):
    r.read_state(f"sys.{func.__name__}()", func(), func)


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
    if r.know(args[0]) is not None:
        if len(args) > 1 or kwargs:
            r.stop("effect", "a lock acquired with conditions")
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


@rule(sys.gettrace, sys.getprofile, kind="state")
def watcher(r, func, args, kwargs):
    if func() is not None:
        r.stop("object-read", func.__name__)
    r.read_state(f"sys.{func.__name__}()", None, func)


# What the running frames hold, which the recording made; and a copy of a string.
add(nothing, "reads", sys.exc_info, sys.exception, sys.intern)


# ---- weak references -----------------------------------------------------------------------

@rule(weakref.ref, weakref.ref.__new__, kind="allocates")
def weak_reference(r, func, args, kwargs):
    """ref(obj) gives the reference that there is already, if there is one."""
    given = args if func is weakref.ref else args[1:]
    for arg in given:
        r.know(arg)
    if len(given) == 1 and type(given[0]).__weakrefoffset__ and (func is weakref.ref or args[0] is func.__self__):
        reference = weakref.ref(given[0])
        if not r.is_internal(reference):
            r.know_constant(reference)
            r.edge(r.const_node(reference), "deref", None, given[0], "a weak reference")


add(nothing, "allocates", *slots(weakref.ref, "__init__"))


def still_held(r, node):
    """Does what the call was reached from still hold the object of *node*, whatever the call
    has written?"""
    while node is not None and not node.const:
        edge = next((edge for edge in r.edges if edge.child is node), None)
        if edge is None:
            return False
        node = edge.parent
        if node is None:
            return True
        if node.written and node.kind != "object" or node.written_keys and edge.load in node.written_keys:
            return False
    return node is not None


@rule(*slots(weakref.ref, "__call__"), kind="reads")
def dereferenced(r, func, args, kwargs):
    reference = args[0]
    node = r.know(reference)
    target = weakref.ref.__call__(reference)
    if r.effects and target is not None and not r.is_internal(target) and not still_held(r, r.node_of(target)):
        r.stop("object-read", "a weak reference, after a write: only the recorder may hold what it refers to")
    if node is None:
        return
    if type(reference) is not weakref.ref:
        r.stop("object-read", f"a weak reference of type {type(reference).__name__}")
    r.edge(node, "deref", None, target, f"{node.path}()")


@rule(*slots(weakref.ref, "__hash__ __eq__ __ne__"), kind="reads")
def reference_compared(r, func, args, kwargs):
    """By what they refer to."""
    for arg in args:
        if is_a(arg, weakref.ref):
            node, obj = r.know(arg), weakref.ref.__call__(arg)
            if node is not None and not node.const:
                r.stop("object-read", "comparison of an outside weak reference")
            if obj is not None:
                hashes(r, obj)


@rule(weakref._remove_dead_weakref, kind="mutates")
def entry_died(r, func, args, kwargs):
    if r.know(args[0]) is not None:
        r.stop("object-write", "an entry of an outside weak dictionary")
