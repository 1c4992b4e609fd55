"""TORCH_OPERATORS: the C functions of torch that a TorchFunctionMode sees.

Such a call needs no rule of its own: the recorder makes sure that the outside containers
among its arguments are guarded, and the tape records it. The list is all of torch's
generated bindings (their argument parser asks for a function mode) without those that are
written by hand and do not ask. Found by trying each under a mode: a function that is
wrongly in here would run unseen, and what it changes in place would be lost.
"""

import types

import torch

from magpy.recorder.callables.registry import TORCH_OPERATORS, is_a

# Not seen by a function mode (or not at all a tensor operation).
UNSEEN = frozenset("""
    from_numpy _from_blob frombuffer from_file range nested_tensor _nnpack_available
    is_vulkan_available _use_cudnn_rnn_flatten_weight _use_miopen_ctc_loss
    _cufft_get_plan_cache_size _cufft_get_plan_cache_max_size _cufft_set_plan_cache_max_size
    _cufft_clear_plan_cache _validate_sparse_coo_tensor_args _print _foobar
    _cudnn_init_dropout_state
    set_ as_subclass __delitem__ _fix_weakref _use_count _view_func _view_func_unsafe
    _rev_view_func_unsafe record_stream sparse_resize_ sparse_resize_and_clear_
    """.split())

MODULES = ("_nn", "_fft", "_linalg", "_special", "_sparse", "_nested")


def collect():
    functions = torch._C._VariableFunctions
    for name in torch._C._VariableFunctionsClass.__dict__:
        enter(name, getattr(functions, name))
    for name, method in torch._C.TensorBase.__dict__.items():
        if is_a(method, (types.MethodDescriptorType, types.WrapperDescriptorType)):
            enter(name, method)
    for module in MODULES:
        for name, function in vars(getattr(torch._C, module)).items():
            enter(name, function)
    TORCH_OPERATORS.add(torch._C._set_grad_enabled)


def enter(name, function):
    if name not in UNSEEN and is_a(function, (
            types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType)):
        TORCH_OPERATORS.add(function)


collect()
