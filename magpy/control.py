"""What users say about their own functions: magpy.annotate and magpy.allow_in_graph.

What a C function reads and writes cannot be seen, and some Python code is not worth
seeing. Both say it in a word; the rules behind the words are in
recorder/callables/users.py.
"""

from __future__ import annotations

import inspect
import types
import weakref
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from magpy import logs
from magpy.dispatch import compiled

KINDS = ("pure", "reads", "mutates", "effect", "leaf")

_DESCRIPTORS = (types.MethodDescriptorType, types.WrapperDescriptorType, types.ClassMethodDescriptorType)


def annotate(fn: Any, kind: str | None = None) -> Any:
    """Tell what *fn*, a C callable or a Python function, reads and writes; returns *fn*.

    ``magpy.annotate(ext.checksum, "pure")``, or as a decorator: ``@magpy.annotate("pure")``.
    *kind* is one of:

    pure      The result depends on the values of the arguments alone, and nothing is changed.
              The values are guarded: numbers, strings, and containers of them, all the way down.
    reads     As pure, and it also reads what plain Python objects among its arguments hold in
              their attributes.
    mutates   It changes its first argument and nothing else. At replay it is called again.
              Its result is None, or that argument.
    effect    Input or output. At replay it is called again, in its place among the effects,
              with the recorded arguments. Its result is None.
    leaf      Python code that is run but not recorded. What it reads is not guarded and what it
              writes is not replayed; its tensor operations are in the graph as ever.

    It is taken at its word: what is said wrongly here can make a replay wrong. What can be
    checked is: a "mutates" or "effect" whose result is another, a tensor that would be
    changed behind the graph's back, and data of tensors end the capture. So a C function that
    is "pure" and gets a tensor is not captured (guards do not hold its data), and a Python
    function is recorded as any other in such a call.

    *fn* is a function, a C type, or a method as its class has it (``Point.norm``, not
    ``point.norm``). To annotate again replaces; a rule of MagPy's own is replaced with a
    warning. What was captured before stays as it is until `magpy.reset`.
    """
    if kind is None:
        if not isinstance(fn, str):
            raise TypeError(f"annotate needs a kind: one of {', '.join(KINDS)}")
        _check_kind(fn)
        return lambda function: annotate(function, fn)
    _check_kind(kind)
    _check_callable(fn, "annotate")
    from magpy.recorder.callables import users      # fills the tables of rules first
    if isinstance(fn, types.FunctionType):
        _enter_python(fn, users.PYTHON[kind])
        return fn
    if kind == "leaf":
        raise TypeError(f"leaf is about Python code, which {_name(fn)} is not")
    if isinstance(fn, type) and kind not in ("pure", "reads"):
        raise TypeError(f"a call of the class {_name(fn)} gives an object: it is pure or reads")
    _enter_c(fn, users.C[kind], users.KIND_OF_RULE[kind])
    return fn


def allow_in_graph(fn: Any) -> Any:
    """Make each call of *fn* one operation of the graph; returns *fn* (also as a decorator).

    *fn* is a function of tensors and constants that gives tensors, None, or tuples and lists
    of them. Its body is not recorded: at replay it runs again, as it is, also where a
    compiler works on the rest of the graph. As for ``torch.compiler.allow_in_graph``, it is
    taken at its word that it depends on its arguments alone and changes nothing outside.
    Its result's shapes must not depend on the tensors' data: looking at data inside ends
    the capture. A list or tuple of functions is allowed one by one.
    """
    if isinstance(fn, (list, tuple)):
        return [allow_in_graph(each) for each in fn]
    owner = getattr(fn, "__self__", None)
    if isinstance(owner, type) and issubclass(owner, torch.autograd.Function):
        return fn       # its apply is one operation anyway
    _check_callable(fn, "allow_in_graph")
    from magpy.recorder.callables import users
    if isinstance(fn, types.FunctionType):
        _enter_python(fn, users.operation)
    elif isinstance(fn, type):
        raise TypeError(f"an operation gives tensors; {_name(fn)} is a class")
    else:
        _enter_c(fn, users.operation_of_c, "calls")
    return fn


def _check_kind(kind: Any) -> None:
    if not isinstance(kind, str):
        raise TypeError(f"the kind is a word, one of {', '.join(KINDS)}; not {kind!r:.80}")
    if kind not in KINDS:
        raise ValueError(f"no kind {kind!r}; there are: {', '.join(KINDS)}")


def _name(fn: Any) -> str:
    name = getattr(fn, "__qualname__", None) or getattr(fn, "__name__", None)
    return name if isinstance(name, str) else type(fn).__qualname__


def _check_callable(fn: Any, what: str) -> None:
    """TypeError or ValueError for what no rule can be found by, with what to do instead."""
    if isinstance(fn, (staticmethod, classmethod, property)):
        raise TypeError(f"{what} the function below {type(fn).__name__}, not the {type(fn).__name__}")
    if not callable(fn):
        raise TypeError(f"{what} takes something to call, not {type(fn).__name__}: {fn!r:.80}")
    if isinstance(fn, (compiled.Compiled, nn.Module)):
        raise TypeError(f"{what} takes a plain function, not a {type(fn).__qualname__}: use the one inside")
    if isinstance(fn, types.FunctionType):
        if inspect.isgeneratorfunction(fn) or inspect.iscoroutinefunction(fn) or inspect.isasyncgenfunction(fn):
            raise TypeError(f"{_name(fn)} does not run when it is called: it makes a generator or coroutine")
        return
    owner = getattr(fn, "__self__", None)
    bound = owner is not None and not isinstance(owner, (type, types.ModuleType))
    if isinstance(fn, (types.MethodType, types.MethodWrapperType)) or bound and isinstance(
            fn, types.BuiltinFunctionType) and not type(owner).__name__.startswith(("pybind11_detail", "PyCapsule")):
        raise TypeError(f"{_name(fn)} is bound to an object: {what} the method of the class, "
                        f"{type(owner).__qualname__}.{getattr(fn, '__name__', '...')}")
    if isinstance(fn, (type, types.BuiltinFunctionType, *_DESCRIPTORS)):
        from magpy.recorder.callables.registry import TORCH_OPERATORS
        if fn in TORCH_OPERATORS:
            raise ValueError(f"{_name(fn)} is an operation of torch, which goes into the graph as it is")
    elif isinstance(getattr(type(fn), "__call__", None), types.FunctionType) or \
            type(fn).__hash__ is not object.__hash__:
        raise TypeError(f"{what} takes functions: for a {type(fn).__qualname__} object, "
                        f"{type(fn).__qualname__}.__call__")


def _enter_python(fn: types.FunctionType, rule: Callable[..., Any]) -> None:
    from magpy.recorder.callables.registry import ANNOTATED, KINDS, RULES
    if RULES.pop(fn, None) is not None:
        _say_replaced(fn, KINDS.pop(fn))
    number = id(fn)
    ANNOTATED[number] = (weakref.ref(fn, lambda _: ANNOTATED.pop(number, None)), rule)


def _enter_c(fn: Any, rule: Callable[..., Any], kind: str) -> None:
    from magpy.recorder.callables.registry import KINDS, RULES, USERS
    if fn in RULES and fn not in USERS:
        _say_replaced(fn, KINDS[fn])
    USERS.add(fn)
    RULES[fn], KINDS[fn] = rule, kind


def _say_replaced(fn: Any, kind: str) -> None:
    logs.warn("captures", "magpy: MagPy's own rule of %s (%s) is replaced by yours", _name(fn), kind)
