"""Rules of the immutable builtin types: int, float, complex, bool, str, bytes, range, slice.

Their methods depend on nothing but values. An argument of another type is converted by
that type's own method, which is what these rules look up.
"""

import array

import torch

from magpy.recorder.callables.reads import (
    convert, each_item, fixed, index, internals, is_tensor, items_of, nothing, number, plain,
    text, value, values)
from magpy.recorder.callables.registry import add, rule, slots

VALUE_TYPES = (int, float, complex, bool, str, bytes, range, slice, torch.Size)
BUFFERS = (bytearray, memoryview, array.array)


# ---- operators and methods ------------------------------------------------------------

def operands(r, func, args, kwargs):
    """Operators look at operands of their own kind only; others are asked by their
    reflected method, which is a call of its own."""
    for arg in args:
        if isinstance(arg, VALUE_TYPES + BUFFERS):
            value(r, arg)


def method_arguments(r, func, args, kwargs):
    """Methods of str, bytes and numbers: values, or iterables and indices made of them."""
    for arg in (*args, *kwargs.values()):
        if fixed(arg):
            continue
        if isinstance(arg, (list, tuple, dict, *VALUE_TYPES, *BUFFERS)):
            value(r, arg)
        else:
            convert(r, arg, "__index__")


def is_operator(name):
    return name.startswith("__") and name not in (
        "__format__", "__round__", "__getnewargs__", "__getitem__", "__contains__")


SPECIAL_CASES = {"join", "format", "format_map", "__mod__", "__init__", "__new__", "__class__",
                 "__init_subclass__", "__subclasshook__", "__sizeof__", "__dir__",
                 "__getattribute__", "__reduce__", "__reduce_ex__", "fromhex", "from_bytes",
                 "maketrans", "__class_getitem__", "__getformat__", "translate"}

for _cls in (int, float, complex, bool, str, bytes, range, slice):
    for _name, _method in _cls.__dict__.items():
        if callable(_method) and _name not in SPECIAL_CASES:
            add(operands if is_operator(_name) else method_arguments, "pure", _method)

add(values, "pure", *[cls.__dict__[name] for cls, name in (
    (int, "from_bytes"), (float, "fromhex"), (bytes, "fromhex"), (str, "translate"))
    if name in cls.__dict__])
add(values, "pure", str.maketrans, bytes.maketrans)
add(nothing, "pure", *slots(int, "__getattribute__"))


@rule(*slots(range, "__iter__ __reversed__"), *slots(str, "__iter__"), *slots(bytes, "__iter__"),
      kind="allocates")
def iterates_values(r, func, args, kwargs):
    value(r, args[0])


# ---- text -------------------------------------------------------------------------------

@rule(str.join, bytes.join, kind="reads")
def join(r, func, args, kwargs):
    value(r, args[0])
    each_item(r, args[1], lambda item: value(r, item))


@rule(str.format, str.format_map, kind="reads")
def str_format(r, func, args, kwargs):
    """Each argument is formatted; fields that go into an argument (``{0.name}``) read
    more of it than can be told here."""
    value(r, args[0])
    given = args[1:]
    if func is str.format_map:
        given, kwargs = (), args[1]
        value(r, kwargs)
        if not isinstance(kwargs, dict):
            r.stop("unknown-callable", "str.format_map of a mapping")
    for arg in (*given, *kwargs.values()):
        if plain(arg):
            continue
        if any(mark in args[0] for mark in (".", "[")):
            r.stop("object-read", "str.format with an attribute or an index of an object")
        formatted(r, arg)


def formatted(r, obj):
    """However *obj* gets into a string: by format(), str() or repr()."""
    if plain(obj):
        return
    r.special("__format__", (obj, ""))
    r.special("__str__", (obj,))
    if type(obj).__repr__ is not object.__repr__:
        r.special("__repr__", (obj,))


@rule(*slots(str, "__mod__"), kind="reads")
def str_modulo(r, func, args, kwargs):
    value(r, args[0])
    given = args[1]
    if isinstance(given, dict):
        r.read_deep(given)
        given = tuple(dict.values(given))
    if not isinstance(given, tuple):
        given = (given,)
    for arg in given:
        if not plain(arg):
            r.special("__str__", (arg,))
            if "%r" in args[0] or "%a" in args[0]:
                r.special("__repr__", (arg,))


# ---- constructors -----------------------------------------------------------------------

@rule(int, kind="pure")
def int_type(r, func, args, kwargs):
    for arg in args[:1]:
        convert(r, arg, "__int__", "__index__", "__trunc__")
    for base in (*args[1:], *kwargs.values()):
        index(r, base)


@rule(float, kind="pure")
def float_type(r, func, args, kwargs):
    for arg in args:
        number(r, arg)


@rule(complex, kind="pure")
def complex_type(r, func, args, kwargs):
    for arg in (*args, *kwargs.values()):
        convert(r, arg, "__complex__", "__float__", "__index__")


@rule(str, kind="pure")
def str_type(r, func, args, kwargs):
    if len(args) == 1 and not kwargs:
        text(r, args[0])
    else:
        values(r, func, args, kwargs)


@rule(bytes, kind="pure")
def bytes_type(r, func, args, kwargs):
    for arg in (*args[:1], *kwargs.values()):
        if isinstance(arg, VALUE_TYPES + BUFFERS):
            value(r, arg)
        elif not r.special("__bytes__", (arg,)) and not r.special("__index__", (arg,)):
            items_of(r, arg)


@rule(range, slice, kind="allocates")
def range_type(r, func, args, kwargs):
    for arg in args:
        if func is range:
            index(r, arg)


add(values, "pure", torch.Size)


@rule(bytearray, kind="allocates")
def bytearray_type(r, func, args, kwargs):
    bytes_type(r, func, args, kwargs)


add(internals, "mutates", *[
    method for name, method in bytearray.__dict__.items()
    if callable(method) and name not in ("__new__", "__init__", "fromhex", "maketrans")
    and not name.startswith("__reduce")])


@rule(*[cls.__dict__["__new__"] for cls in (int, float, complex, str, bytes) ], kind="allocates")
def value_new(r, func, args, kwargs):
    """int.__new__(cls, ...), also for a subclass: the value is copied into the object."""
    for arg in (*args[1:], *kwargs.values()):
        if is_tensor(arg) or plain(arg):
            continue
        convert(r, arg, {int: "__int__", float: "__float__", complex: "__complex__",
                         str: "__str__", bytes: "__bytes__"}[func.__self__], "__index__")


for _name, _method in torch.Size.__dict__.items():
    if callable(_method) and _name not in ("__new__", "__reduce__"):
        add(operands if is_operator(_name) else method_arguments, "pure", _method)
add(values, "allocates", torch.Size.__new__)
