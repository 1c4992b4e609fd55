"""Rules for C callables: which outside state a call of each reads and writes.

The tables are filled by importing the modules below, one for each area.
"""

from magpy.recorder.callables import (  # noqa: F401
    builtins_, compiled_, containers, exceptions, iterators, numbers_strings, numeric_modules, objects,
    operator_, torch_operators, torch_state)
