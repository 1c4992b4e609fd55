"""The public functions: compile, disable, reset, list_backends."""

from __future__ import annotations

import functools
import types
import weakref
from collections.abc import Callable
from typing import Any

from torch import nn

from magpy import logs
from magpy.dispatch import compiled, miss
from magpy.dispatch.entry import History, Settings, name_of
from magpy.function import CompiledFunction
from magpy.module import class_for

_tables: weakref.WeakSet = weakref.WeakSet()
_FREE = ("inductor", "eager")       # nothing to check, so no need to import them yet


def compile(model: Callable[..., Any] | None = None, *, backend: str | Callable[..., Any] = "inductor",
            mode: str | None = None, options: dict[str, Any] | None = None, dynamic: bool | None = None,
            fullgraph: bool = False, disable: bool = False) -> Any:
    """A callable that does what *model* does, through captured graphs where it can.

    *model* is a function, a method, an ``nn.Module`` (the result is one too and shares
    its state) or any other callable. Without it, `compile` is a decorator with
    arguments. The arguments mean what they mean for ``torch.compile``:

    backend     a name (`list_backends`) or a function (gm, example_inputs) -> callable
    mode        a preset of the inductor backend: "default", "reduce-overhead", ...
    options     a dict of the backend's own options; not together with mode
    dynamic     accepted; shapes are specialised whatever it says
    fullgraph   raise `CaptureError` after a call that could not be captured whole
    disable     return *model* unchanged
    """
    settings = _checked(Settings(backend, mode, options, dynamic, bool(fullgraph)))
    if model is None:
        return lambda f: f if disable else compile_with(f, settings)
    return model if disable else compile_with(model, settings)


def _checked(settings: Settings) -> Settings:
    if settings.mode is not None and settings.options is not None:
        raise RuntimeError("Either mode or options can be specified, but both can't be "
                           "specified at the same time.")
    backend = settings.backend
    if not isinstance(backend, str) and not callable(backend):
        raise TypeError(f"backend is a name or a function (gm, example_inputs), not {backend!r}")
    if backend not in _FREE or settings.mode is not None or settings.options is not None:
        settings.compiler()
    if settings.dynamic:
        _say_once("dynamic=True has no effect yet: shapes are specialised, so each new "
                  "combination of shapes is captured once")
    return settings


@functools.cache
def _say_once(text: str) -> None:
    logs.warn("captures", text)


def compile_with(model: Callable[..., Any], settings: Settings) -> Any:
    """`compile` with its arguments checked and gathered."""
    if isinstance(model, compiled.Compiled):
        model = compiled.table_of(model).fn
    if not callable(model):
        raise TypeError(f"compile takes something to call, not {type(model).__name__}: {model!r:.80}")
    table = compiled.Table(model, settings, History(name_of(model)), miss.call, miss.graph_failed)
    _tables.add(table)
    if isinstance(model, nn.Module):
        return class_for(model)(table)
    return CompiledFunction(table)


def reset() -> None:
    """Drop every entry of every compiled callable, and try again where captures failed."""
    for table in list(_tables):
        history = table.history
        history.hits_of_dropped += sum(entry.hits for entry in table.entries)
        history.stopped_in_a_row = history.other_weights = 0
        history.said.clear()
        history.known_stops.clear()
        table.clear()


def list_backends() -> list[str]:
    """The names that ``backend=`` takes."""
    from magpy.backends import registry
    return registry.names()


def graph_break() -> None:
    """Does nothing, but ends the capture of a call that is being recorded.

    The call then runs as it is, from its beginning to its end, and so do later calls that
    come here in the same way; compiled callables that it calls are captured on their own.
    With ``fullgraph=True`` it is a `CaptureError`, like every other stop.
    """


def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """Run *fn*, and all it calls, as it is: no entry is used and none is made.

    As a function or decorator (``@magpy.disable``, ``@magpy.disable(reason=...)``), and
    as a context manager (``with magpy.disable():``). Inside a captured call it ends the
    capture, where ``torch.compiler.disable`` would break the graph; *reason* is shown
    there. With ``recursive=False`` only *fn* itself is left alone: compiled callables
    that it calls use their entries, and make new ones.
    """
    switch = _Disable(recursive, reason)
    return switch if fn is None else switch(fn)


class _Disable:
    """Decorator and context manager in one."""

    def __init__(self, recursive: bool, reason: str | None):
        self.recursive = recursive
        self.reason = reason

    def __enter__(self) -> _Disable:
        compiled.enter_disabled()
        return self

    def __exit__(self, *error: object) -> None:
        compiled.leave_disabled()

    def __call__(self, fn: Any) -> Any:
        if isinstance(fn, nn.Module):
            fn.forward = self(fn.forward)
            return fn
        if isinstance(fn, type):
            fn.__call__ = self(fn.__call__)
            return fn
        if not callable(fn):
            raise TypeError(f"disable takes something to call, not {type(fn).__name__}")
        return self.wrap(fn)

    def wrap(self, fn: Callable[..., Any]) -> types.FunctionType:
        original = compiled.table_of(fn).fn if isinstance(fn, compiled.Compiled) else fn

        @functools.wraps(fn, updated=())
        def disabled(*args, **kwargs):
            compiled.enter_disabled()
            try:
                return fn(*args, **kwargs)
            finally:
                compiled.leave_disabled()

        @functools.wraps(fn, updated=())
        def not_captured(*args, **kwargs):
            return original(*args, **kwargs)

        disabled = disabled if self.recursive else not_captured
        disabled._magpy_disable = True      # the recorder stops at a call of such a function
        disabled._magpy_disable_reason = self.reason
        return disabled
