"""Rules of exceptions: making them, and their few methods."""

import builtins
import types

from magpy.recorder.callables.reads import (
    calls, internal, items_of, nothing, text, truth, values, watch)
from magpy.recorder.callables.registry import add, is_a, rule, slots

EXCEPTIONS = [each for each in vars(builtins).values()
              if is_a(each, type) and issubclass(each, BaseException)]


def raised(r, func, args, kwargs):
    """An exception keeps its arguments as they are; OSError and the like look at numbers
    and strings among them."""


add(raised, "allocates", *EXCEPTIONS)
for _cls in EXCEPTIONS:
    add(raised, "allocates", *slots(_cls, "__new__"))


@rule(*[method for cls in EXCEPTIONS for method in slots(cls, "__init__")], kind="mutates")
def exception_init(r, func, args, kwargs):
    """*self* is None when the type is being called."""
    if args[0] is not None and r.know(args[0]) is not None:
        r.stop("object-write", f"{type(args[0]).__qualname__}.__init__ on an outside exception")


@rule(*[method for cls in EXCEPTIONS for method in slots(cls, "__str__ __repr__")], kind="calls")
def exception_text(r, func, args, kwargs):
    internal(r, args[0])
    for item in args[0].args:
        text(r, item)
        text(r, item, "__repr__")


@rule(BaseException.with_traceback, BaseException.add_note, kind="mutates")
def exception_change(r, func, args, kwargs):
    if r.know(args[0]) is not None:
        r.stop("object-write", f"{func.__name__} on an outside exception")
    values(r, func, args[1:] if func is BaseException.add_note else (), {})


@rule(BaseExceptionGroup, ExceptionGroup, kind="allocates")
def exception_group(r, func, args, kwargs):
    items_of(r, args[1])


add(nothing, "pure", *slots(BaseException, "__getattribute__"))


@rule(*slots(BaseExceptionGroup, "derive split subgroup"), kind="calls")
def group_method(r, func, args, kwargs):
    """By a class, a tuple of classes, or a function."""
    internal(r, args[0])
    for arg in args[1:]:
        if is_a(arg, (types.FunctionType, types.MethodType)):
            calls(r, arg, ())
            watch(r, getattr(arg, "__func__", arg), lambda found: truth(r, found))
        elif func.__name__ == "derive":
            items_of(r, arg)
        elif not is_a(arg, type):
            values(r, func, (arg,), {})
