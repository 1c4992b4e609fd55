"""Settings that hold for the whole process: ``magpy.config.entry_limit = 8``.

A name that does not exist, or a value of the wrong type, is refused at once, since a
misspelt setting would otherwise do nothing without a word.
"""

import contextlib
import sys
import types

#: Captures kept for one compiled callable; further kinds of call run as they are.
entry_limit: int = 32

#: Captures of one callable that may fail in a row before it is left alone
#: (never with ``fullgraph=True``).
stop_limit: int = 8

#: Calls of one callable in which a value inside a tensor, seen by Python code
#: (``if x.sum() > 0``), was not what it was when the call was captured, before such code is
#: not captured any more; 0: never capture it. More are allowed while four times as many hit.
outcome_limit: int = 8

#: Misses of one callable because a frozen weight was changed (``options={"freezing": True}``)
#: before its weights are not frozen any more; 0: never freeze.
freezing_limit: int = 4

#: Misses and stops that ``magpy.explain`` remembers for one callable.
history: int = 64

#: What ``torch.compiler.is_compiling()`` says during a recorded call. A recorded call is
#: a real eager call, so it says False; but some libraries look into their tensors only
#: to choose a faster path, and skip that where it says True. Set it to capture those.
is_compiling: bool = False

_SETTINGS = {"entry_limit": int, "stop_limit": int, "outcome_limit": int,
             "freezing_limit": int, "history": int, "is_compiling": bool}


class _Config(types.ModuleType):

    def __setattr__(self, name, value):
        if name.startswith("__"):
            super().__setattr__(name, value)
            return
        if name not in _SETTINGS:
            raise AttributeError(f"magpy.config has no setting {name!r}; there are: {', '.join(_SETTINGS)}")
        wanted = _SETTINGS[name]
        if type(value) is not wanted or value < 0:
            what = "True or False" if wanted is bool else "a number from 0"
            raise TypeError(f"magpy.config.{name} is {what}, not {value!r}")
        super().__setattr__(name, value)

    @contextlib.contextmanager
    def patch(self, **settings):
        """Settings for the length of a ``with`` block."""
        before = {name: getattr(self, name) for name in settings}
        try:
            for name, value in settings.items():
                setattr(self, name, value)
            yield
        finally:
            for name, value in before.items():
                setattr(self, name, value)


sys.modules[__name__].__class__ = _Config
