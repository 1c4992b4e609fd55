"""Rules of the immutable builtin types: int, float, complex, bool, str, bytes, range, slice.

Their methods depend on nothing but values. An argument of another type is converted by
that type's own method, which is what these rules look up.
"""

import _string
import array

import torch

from magpy.recorder.callables.reads import (
    convert, each_item, fixed, index, internals, is_tensor, items_of, nothing, number, plain,
    text, value, values)
from magpy.recorder.callables.registry import add, is_a, rule, slots

VALUE_TYPES = (int, float, complex, bool, str, bytes, range, slice, torch.Size)
BUFFERS = (bytearray, memoryview, array.array)


# ---- operators and methods ------------------------------------------------------------

def operands(r, func, args, kwargs):
    """Operators look at operands of their own kind only; others are asked by their
    reflected method, which is a call of its own."""
    for arg in args:
        if is_a(arg, VALUE_TYPES + BUFFERS):
            value(r, arg)


def method_arguments(r, func, args, kwargs):
    """Methods of str, bytes and numbers: values, or iterables and indices made of them."""
    for arg in (*args, *kwargs.values()):
        if fixed(arg):
            continue
        if is_a(arg, (list, tuple, dict, *VALUE_TYPES, *BUFFERS)):
            value(r, arg)
        if type(arg) not in (list, tuple, dict, *VALUE_TYPES, *BUFFERS):
            convert(r, arg, "__index__")


def repeated(r, func, args, kwargs):
    """Text times an index."""
    operands(r, func, args, kwargs)
    convert(r, args[1], "__index__")


def is_operator(name):
    return name.startswith("__") and name not in (
        "__format__", "__round__", "__getnewargs__", "__getitem__", "__contains__")


SPECIAL_CASES = {"join", "format", "format_map", "__mod__", "__init__", "__new__", "__class__",
                 "__init_subclass__", "__subclasshook__", "__sizeof__", "__dir__",
                 "__getattribute__", "__reduce__", "__reduce_ex__", "fromhex", "from_bytes",
                 "maketrans", "__class_getitem__", "__getformat__", "translate"}
NUMBERS_TOO = {"__mod__"}       # what is special for text only

for _cls in (int, float, complex, bool, str, bytes, range, slice):
    for _name, _method in _cls.__dict__.items():
        if callable(_method) and (_name not in SPECIAL_CASES
                                  or _name in NUMBERS_TOO and _cls in (int, float)):
            add(operands if is_operator(_name) else method_arguments, "pure", _method)

add(repeated, "pure", *slots(str, "__mul__ __rmul__"), *slots(bytes, "__mul__ __rmul__"))
add(values, "pure", *[cls.__dict__[name] for cls, name in (
    (int, "from_bytes"), (float, "fromhex"), (bytes, "fromhex"), (str, "translate"),
    (bytes, "translate"), (bytearray, "fromhex"), (float, "__getformat__"))
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
    """Each argument is formatted, or a part of it (``{0.name}``)."""
    value(r, args[0])
    given = args[1:]
    if func is str.format_map:
        given, kwargs = (), args[1]
        value(r, kwargs)
        if not is_a(kwargs, dict) or r.type_lookup(type(kwargs), "__getitem__") is not dict.__getitem__:
            r.stop("unknown-callable", "str.format_map of a mapping")
    try:
        parts = list(_string.formatter_parser(str.__str__(args[0])))
    except ValueError:
        return              # the call raises it, too
    fields = [name for _, name, spec, _ in parts if name is not None]
    if any(spec and "{" in spec for _, _, spec, _ in parts):    # whose fields count, too
        for arg in (*given, *dict.values(kwargs)):
            formatted(r, arg)
    for number, name in enumerate(fields):
        into_field(r, name, number, given, kwargs)


def into_field(r, field, number, given, named):
    """``{0.name[key]}``: what is read on the way, as far as no code can run there."""
    first, path = _string.formatter_field_name_split(field)
    try:
        obj = given[number] if first == "" else given[first] if type(first) is int else named[first]
    except (IndexError, KeyError):
        return
    for is_attribute, key in path:
        if is_attribute:
            r.read_attr(obj, key)
            obj = attribute_now(r, obj, key)
        else:
            if type(obj) not in (list, tuple, dict):
                r.stop("object-read", f"str.format with an index of a {type(obj).__qualname__}")
            r.special("__getitem__", (obj, key))
            obj = obj[key]
    formatted(r, obj)


def attribute_now(r, obj, name):
    """obj.name, looked at before the call does."""
    if is_tensor(obj) and name in ("shape", "dtype", "device", "ndim", "layout", "requires_grad") \
            or name in getattr(obj, "__dict__", ()):
        return getattr(obj, name)
    r.stop("object-read", f"str.format with attribute {name!r} of a {type(obj).__qualname__}")


def formatted(r, obj):
    """However *obj* gets into a string: by format(), str() or repr()."""
    if plain(obj):
        return
    r.special("__format__", (obj, ""))
    r.special("__str__", (obj,))
    if type(obj).__repr__ is not object.__repr__:
        r.special("__repr__", (obj,))


@rule(*slots(str, "__mod__"), *slots(bytes, "__mod__"), kind="reads")
def str_modulo(r, func, args, kwargs):
    value(r, args[0])
    given = args[1]
    if is_a(given, dict):
        r.read_deep(given)
        given = tuple(dict.values(given))
    if not is_a(given, tuple):
        given = (given,)
    for arg in given:
        if not plain(arg):
            r.special("__str__", (arg,))
            if is_tensor(arg) or type(arg).__repr__ is not object.__repr__:
                r.special("__repr__", (arg,))
            if is_a(args[0], bytes):
                value(r, arg)
            for name in ("__index__", "__int__", "__float__", "__bytes__"):     # %d, %f, %b
                r.special(name, (arg,))


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
        if is_a(arg, VALUE_TYPES + BUFFERS):
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
