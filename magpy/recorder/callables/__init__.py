"""Rules for C callables: which outside state a call of each reads and writes.

The tables are filled by importing the modules below, one for each area. What is not in
them stops the capture when it is called: see registry.py.
"""

from magpy.recorder.callables import (  # noqa: F401
    autograd_, builtins_, collections_, compiled_, context, copying, dates, effects, encoding, exceptions,
    functools_, hooks, iterators, itertools_, jit_, library, mappings, numbers_strings, numeric_modules, numpy_,
    objects, operator_, orders, own_objects, plain_modules, running, sequences, sets, torch_made,
    torch_operators, torch_state, users, world)
