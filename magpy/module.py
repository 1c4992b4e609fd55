"""A compiled module that stays the nn.Module it was made from.

`CompiledModule` shares the original's ``__dict__``: there is one set of parameters,
buffers, hooks and flags, whoever changes it. Everything but a few names of its own is
looked up on the original, so methods that the original's class overrides count, and
state_dict keys have no prefix. Calls go to the C call of `Compiled`, which comes
before nn.Module's in the class.

torch.compile wraps the original as a child instead; then ``state_dict`` keys get a
prefix, and ``train()`` of the original's class is not the one that is called.
"""

import copy
import functools
import operator

from torch import nn

from magpy.dispatch import compiled

# Looked up on the compiled module; everything else is the original's.
_OWN = frozenset((
    "__class__", "__dict__", "__weakref__", "__reduce_ex__", "__copy__", "__deepcopy__", "_orig_mod"))

# Methods of nn.Module that return self: they return the compiled module here.
_FLUENT = frozenset((
    "train", "eval", "to", "to_empty", "cpu", "cuda", "xpu", "ipu", "mtia", "half", "float",
    "double", "bfloat16", "type", "requires_grad_", "apply", "share_memory"))


class CompiledModule(compiled.Compiled, nn.Module):
    """What ``magpy.compile(module)`` returns. ``_orig_mod`` is the module itself."""

    def __init__(self, table):
        # Not nn.Module's: it would reset the state that is shared from here on.
        compiled.set_table(self, table)
        object.__setattr__(self, "__dict__", table.fn.__dict__)

    @property
    def _orig_mod(self):
        return compiled.table_of(self).fn

    def __getattribute__(self, name):
        if name in _OWN:
            return object.__getattribute__(self, name)
        original = compiled.table_of(self).fn
        value = getattr(original, name)
        if name in _FLUENT and callable(value):
            return _fluent(self, original, value)
        return value

    def __getattr__(self, name):
        # Asked after __getattribute__ failed; nn.Module's would answer in our name.
        return getattr(compiled.table_of(self).fn, name)

    def __setattr__(self, name, value):
        setattr(compiled.table_of(self).fn, name, value)

    def __delattr__(self, name):
        delattr(compiled.table_of(self).fn, name)

    def __dir__(self):
        return sorted({*dir(compiled.table_of(self).fn), "_orig_mod"})

    def __repr__(self):
        original = repr(compiled.table_of(self).fn).replace("\n", "\n  ")
        return f"CompiledModule(\n  (_orig_mod): {original}\n)"

    def __deepcopy__(self, memo):
        return _like(self, copy.deepcopy(self._orig_mod, memo))

    def __copy__(self):
        return _like(self, copy.copy(self._orig_mod))

    def __reduce_ex__(self, protocol):
        # A graph cannot be pickled: what is saved is the original, to be compiled again.
        # Said through a plain function, so that loading needs no magpy.
        return operator.getitem, ((self._orig_mod,), 0)


def _like(module, original):
    from magpy.api import compile_with
    return compile_with(original, compiled.table_of(module).settings)


def _fluent(module, original, method):
    @functools.wraps(method)
    def call(*args, **kwargs):
        result = method(*args, **kwargs)
        return module if result is original else result
    return call


# --- containers: Sequential, ModuleList, and modules with __len__ and the like --------

# Python looks these up on the class, past __getattribute__.
_SPECIAL = ("__len__", "__getitem__", "__setitem__", "__delitem__", "__iter__",
            "__contains__", "__bool__", "__reversed__", "__add__", "__iadd__", "__mul__",
            "__enter__", "__exit__", "__index__", "__int__", "__float__")


def class_for(original):
    """CompiledModule, with those special methods that the class of *original* has."""
    return _class_with(tuple(name for name in _SPECIAL if hasattr(type(original), name)))


@functools.lru_cache(maxsize=None)
def _class_with(names):
    if not names:
        return CompiledModule
    return type("CompiledModule", (CompiledModule,),
                {"__module__": __name__, **{name: _forward(name) for name in names}})


def _forward(name):
    def method(self, *args):
        original = compiled.table_of(self).fn
        return getattr(type(original), name)(original, *args)
    method.__name__ = name
    return method
