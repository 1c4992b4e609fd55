"""The rule of ``torch.autograd.Function.apply``.

Where a gradient is asked for, the call is one opaque operation of the graph, and runs
again at replay, so that autograd finds the user's backward (section.py). Where none is,
``apply`` is its ``forward`` under no_grad, and the operations inside are the graph's.
"""

import torch

from magpy.refgraph.graph import ABSENT
from magpy.recorder.callables.registry import FIELD_TYPES, LEAF_CODE, rule
from magpy.recorder.section import handling_of
from magpy.recorder.torch_checks import tensors_in

FIELD_TYPES.add(torch._C._FunctionBase)
# What apply() calls to fill in the defaults of forward(); they are read when it starts.
LEAF_CODE.enter(torch.autograd.function._bind_default_args.__code__)
READ_OF_THE_CLASS = ("_backward_cls", "forward", "setup_context", "generate_vmap_rule", "jvp", "vmap")


@rule(torch._C._FunctionBase.__dict__["apply"], kind="calls")
def function_apply(r, func, args, kwargs):
    cls, *inputs = args
    tape = r.recording.tape
    for name in READ_OF_THE_CLASS:
        r.read_attr(cls, name)
    r.read_deep(inputs)
    for value in kwargs.values():
        r.read_deep(value)
    if tape.in_section:
        return                      # of another opaque call
    if not torch.is_grad_enabled():
        r.after_call(lambda result: returned_inputs(tape, inputs, result))
    elif any(tensor.requires_grad for tensor in tensors_in((inputs, kwargs))):
        opaque_apply(r, tape, cls, inputs, kwargs)
    else:
        inline_apply(r, tape, inputs)


def opaque_apply(r, tape, cls, inputs, kwargs):
    if r.is_internal(cls):
        r.stop("autograd-in-graph", f"{cls.__qualname__} is made during the call")

    def done(result):
        r.end_section()
        if result is ABSENT:
            r.stop("autograd-in-graph", f"an exception left {cls.__qualname__}")
        tape.end_section(result)

    tape.begin_section(handling_of(cls), cls.apply, inputs, kwargs, keeps=True)
    r.begin_section(cls.__qualname__)
    r.after_call(done)


def inline_apply(r, tape, inputs):
    """apply() switches gradients off for forward(); so does the graph."""
    def done(result):
        tape.record_call(torch._C._set_grad_enabled, (True,))
        returned_inputs(tape, inputs, result)

    tape.record_call(torch._C._set_grad_enabled, (False,))
    r.after_call(done)


def returned_inputs(tape, inputs, result):
    """An input that forward() hands back comes out as a view of it."""
    for tensor in tensors_in(result):
        if tape.table.known(tensor) is None:
            for given in tensors_in(inputs):
                if same_place(given, tensor):
                    tape.record_result(torch.Tensor.view_as, (given, given), {}, tensor)
                    break


def same_place(a, b):
    return (a.data_ptr() == b.data_ptr() and a.shape == b.shape and a.stride() == b.stride()
            and a.dtype == b.dtype)
