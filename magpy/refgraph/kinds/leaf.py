"""Which objects are values (only their content counts) and which are identities.

A value can be put into emitted code as it is. An identity is an object that code
only ever refers to: a type, a module, a builtin function. Anything else is state.
"""

import enum
import types

import torch

SCALARS = frozenset((
    type(None), bool, int, float, complex, str, bytes, type(Ellipsis),
    type(NotImplemented), range, torch.Size, torch.device))

IDENTITY_SCALARS = frozenset((
    torch.dtype, torch.layout, torch.memory_format, torch.qscheme))

IDENTITIES = frozenset((
    types.MethodDescriptorType, types.WrapperDescriptorType,
    types.ClassMethodDescriptorType, types.GetSetDescriptorType,
    types.MemberDescriptorType, types.CodeType, property, staticmethod, classmethod,
    types.GenericAlias, types.UnionType, torch._ops.OpOverload,
    torch._ops.OpOverloadPacket, types.ModuleType))


def is_value(obj):
    """An immutable value without references to anything but such values."""
    t = type(obj)
    if t in SCALARS or t in IDENTITY_SCALARS:
        return True
    if t is tuple or t is frozenset:
        return all(map(is_value, obj))
    if t is slice:
        return is_value(obj.start) and is_value(obj.stop) and is_value(obj.step)
    return issubclass(type(t), enum.EnumType)


def is_identity(obj):
    """An outside object for which only "the same one" counts."""
    t = type(obj)
    if t is types.BuiltinFunctionType:
        owner = obj.__self__
        return owner is None or issubclass(type(owner), (types.ModuleType, type))
    return t in IDENTITIES or issubclass(t, type)
