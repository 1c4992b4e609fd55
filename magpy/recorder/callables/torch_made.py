"""Rules of C functions that make tensors without the tape's knowledge: ``Variable``, the
constructors from before ``torch.tensor``, and a few more. What they made is looked at when
the call is over, and entered as the result of an operation that makes the same.
"""

import torch

from magpy.refgraph.graph import ABSENT
from magpy.recorder.callables.registry import is_a, rule
from magpy.recorder.torch_checks import tensors_in
from magpy.recorder.torch_ops import make_parameter

TENSOR_TYPES = [torch.Tensor, *torch._tensor_classes]
VARIABLE = torch._C._LegacyVariableBase
alias = torch.ops.aten.alias.default


def read_arguments(r, args, kwargs):
    for arg in (*args, *kwargs.values()):
        r.read_deep(arg)


def after(r, enter):
    """When the call is over, *enter* what it made."""
    def then(result):
        if result is not ABSENT:
            enter(r.recording.tape, result)
    r.after_call(then)


@rule(VARIABLE.__new__, kind="allocates")
def variable(r, func, args, kwargs):
    """Variable(data, requires_grad=…): *data*, detached."""
    data = kwargs.get("data", args[1] if len(args) > 1 else None)
    if not is_a(data, torch.Tensor):
        r.stop("unknown-tensor", "Variable without data")
    read_arguments(r, args[1:], kwargs)
    after(r, lambda tape, result: tape.record_leaf(torch.Tensor.detach, (data,), result))


@rule(torch.Tensor._make_subclass, torch._C.TensorBase.__dict__["_make_subclass"].__func__,
      kind="allocates")
def parameter(r, func, args, kwargs):
    """nn.Parameter(data, requires_grad): a leaf that shares memory with *data*."""
    cls, data, requires_grad = (*args, False)[:3]
    if cls is not torch.nn.Parameter or len(args) > 3 or kwargs:
        r.stop("tensor-subclass", cls.__qualname__)
    read_arguments(r, args[1:], kwargs)
    after(r, lambda tape, result: tape.record_result(make_parameter, (data, requires_grad), {}, result))


@rule(*TENSOR_TYPES, kind="allocates")
def legacy_constructor(r, func, args, kwargs):
    """torch.FloatTensor(sizes | data | tensor)"""
    read_arguments(r, args, kwargs)
    data = args[0] if args else kwargs.get("data", kwargs.get("other", kwargs.get("size", ())))

    def enter(tape, result):
        if is_a(data, torch.Tensor) and data.dim() > 0:
            tape.record_result(alias, (data,), {}, result)
        elif is_a(data, (int, torch.Size)):
            tape.record_result(torch.empty, (tuple(result.shape),),
                               {"dtype": result.dtype, "device": result.device}, result)
        elif tape.constants.value_known((args, kwargs)):
            tape.enter_constant(result)
        else:
            reason = "tensor-data" if next(tensors_in((args, kwargs)), None) is not None else "unknown-tensor"
            r.stop(reason, func.__name__)

    after(r, enter)


@rule(torch.range, kind="allocates")
def old_range(r, func, args, kwargs):
    read_arguments(r, args, kwargs)
    if next(tensors_in((args, kwargs)), None) is not None:
        r.stop("tensor-data", "torch.range of tensors")
    after(r, lambda tape, result: tape.record_result(torch.range, args, kwargs, result))
