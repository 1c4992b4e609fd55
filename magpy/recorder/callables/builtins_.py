"""Rules of the builtin functions."""

import builtins
import types

from magpy.refgraph.graph import ABSENT
from magpy.recorder.callables.objects import subclass_hook
from magpy.recorder.callables.sequences import sorts
from magpy.recorder.callables.reads import (
    compare, compared, each_item, index, is_tensor, nothing, operate, plain, stops, text, truth, values)
from magpy.recorder.callables.registry import add, is_a, rule


# ---- attributes ---------------------------------------------------------------------------

def exact(r, name):
    """An attribute's name, without what a subclass of str adds. It is a key: a subclass
    that hashes and compares in its own way may find another attribute, or none."""
    kind = type(name)
    if kind is not str:
        if not r.is_internal(name):
            r.stop("object-read", f"an attribute whose name is a {kind.__qualname__}")     # its text is no guard's
        for method in ("__hash__", "__eq__"):
            if r.type_lookup(kind, method) is not str.__dict__[method]:
                r.stop("dict-key", f"an attribute's name of type {kind.__qualname__}")
    return str.__str__(name)


@rule(getattr, hasattr, kind="reads")
def get_attribute(r, func, args, kwargs):
    if is_a(args[1], str):
        r.read_attr(args[0], exact(r, args[1]))


@rule(setattr, kind="mutates")
def set_attribute(r, func, args, kwargs):
    if is_a(args[1], str):
        r.write_attr(args[0], exact(r, args[1]), args[2])


@rule(delattr, kind="mutates")
def delete_attribute(r, func, args, kwargs):
    if is_a(args[1], str):
        r.delete_attr(args[0], exact(r, args[1]))


@rule(callable, kind="reads")
def is_callable(r, func, args, kwargs):
    r.know(args[0])
    r.type_lookup(type(args[0]), "__call__")


@rule(vars, kind="reads")
def instance_dict(r, func, args, kwargs):
    if not args:
        return              # the frame's own names
    r.read_attr(args[0], "__dict__")


# What globals() gives is known since the frame looked up the name "globals"; locals()
# makes a new dict in a function.
add(nothing, "reads", globals, locals)
add(stops("object-read"), "random", dir)


# ---- one operator each ----------------------------------------------------------------------

@rule(len, kind="reads")
def length(r, func, args, kwargs):
    if not plain(args[0]):
        r.special("__len__", args)


@rule(hash, kind="reads")
def hash_of(r, func, args, kwargs):
    key = args[0]
    if plain(key):
        return
    if type(key).__hash__ is object.__hash__ or is_tensor(key):
        r.stop("object-read", f"hash({type(key).__qualname__}): the object's address")
    r.special("__hash__", args)


@rule(abs, kind="calls")
def absolute(r, func, args, kwargs):
    if not plain(args[0]):
        r.special("__abs__", args)


@rule(round, kind="calls")
def rounded(r, func, args, kwargs):
    if not plain(args[0]):
        r.special("__round__", args)


@rule(divmod, kind="calls")
def division(r, func, args, kwargs):
    operate(r, "divmod", *args)


@rule(pow, kind="calls")
def power(r, func, args, kwargs):
    if len(args) == 2 and not kwargs:
        operate(r, "pow", *args)
    elif not all(plain(arg) for arg in (*args, *kwargs.values())):
        r.stop("unknown-callable", "pow() of three objects")


@rule(ord, chr, bin, hex, oct, kind="calls")
def of_index(r, func, args, kwargs):
    index(r, args[0])


@rule(repr, ascii, kind="calls")
def repr_of(r, func, args, kwargs):
    text(r, args[0], "__repr__")


@rule(format, kind="calls")
def format_of(r, func, args, kwargs):
    if not plain(args[0]):
        r.special("__format__", (args[0], args[1] if len(args) > 1 else ""))


@rule(bool, kind="calls")
def bool_of(r, func, args, kwargs):
    for arg in args:
        truth(r, arg)


# ---- over items -----------------------------------------------------------------------------

@rule(any, all, kind="calls")
def any_of(r, func, args, kwargs):
    each_item(r, args[0], lambda item: truth(r, item))


@rule(sum, kind="calls")
def sum_of(r, func, args, kwargs):
    previous = args[1] if len(args) > 1 else kwargs.get("start", 0)

    def added(item):
        nonlocal previous
        if type(item) not in (int, float):
            operate(r, "add", previous, item)
            previous = item
    each_item(r, args[0], added)


def in_order(r, name):
    """What to do with each item when C code finds the least, or sorts: compares it."""
    previous = []

    def seen(item):
        compared(r, item, name)
        if previous:
            compare(r, item, previous[0], name)
        previous[:] = [item]
    return seen


@rule(min, max, kind="calls")
def extreme_of(r, func, args, kwargs):
    """The greatest or least of the items, or of the arguments."""
    key = kwargs.get("key")
    items = args[0] if len(args) == 1 else args
    if key is not None:
        sorts(r, items, key)
    else:
        each_item(r, items, in_order(r, "__lt__" if func is min else "__gt__"))


@rule(sorted, kind="calls")
def sorted_items(r, func, args, kwargs):
    key = kwargs.get("key")
    if key is not None:
        sorts(r, args[0], key)
    else:
        each_item(r, args[0], in_order(r, "__lt__"))


# ---- what is not for captured code --------------------------------------------------------------

add(stops("effect"), "effect", input, open)
add(nothing, "allocates", object)


@rule(builtins.__build_class__, kind="calls")
def class_statement(r, func, args, kwargs):
    bases = args[2:]
    if any(type(base).__module__ == "typing" or type(base) is types.GenericAlias for base in bases):
        bases = types.resolve_bases(bases)      # Generic[T], list[int]
    for base in bases:
        if not is_a(base, type):
            r.stop("unknown-callable", "a class with a base that is no class")
        subclass_hook(r, base)
    meta = kwargs.get("metaclass", type(bases[0]) if bases else type)
    for meta in {meta, *map(type, bases)} - {type}:
        for name in ("__prepare__", "__new__", "__init__", "__call__"):
            found = r.type_lookup(meta, name)
            if is_a(found, (staticmethod, classmethod)):
                r.know_part(found, "__func__")


@rule(builtins.__import__, kind="effect")
def import_call(r, func, args, kwargs):
    r.stop("import-in-forward", str(args[0]))
