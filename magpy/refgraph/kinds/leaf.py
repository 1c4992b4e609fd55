"""Which objects are values: only their content counts, so emitted code can hold them."""

import enum

import torch

SCALARS = (
    type(None), bool, int, float, complex, str, bytes, type(Ellipsis), type(NotImplemented),
    range, torch.Size, torch.device, torch.dtype, torch.layout, torch.memory_format,
    torch.qscheme)
# By id: a class may have a metaclass whose __hash__ is user code.
_SCALAR_IDS = frozenset(map(id, SCALARS))


def is_value(obj):
    """An immutable value without references to anything but such values."""
    t = type(obj)
    if id(t) in _SCALAR_IDS:
        return True
    if t is tuple or t is frozenset:
        return all(map(is_value, obj))
    if t is slice:
        return is_value(obj.start) and is_value(obj.stop) and is_value(obj.step)
    return issubclass(type(t), enum.EnumType)
