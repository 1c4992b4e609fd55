"""Rules of TorchScript functions: compiled code that holds no outside state, and runs as
one opaque operation of the graph."""

import torch

from magpy.recorder import fake_check
from magpy.refgraph.graph import ABSENT
from magpy.recorder.callables.registry import IDENTITY_TYPES, rule
from magpy.recorder.section import handling_of_script

IDENTITY_TYPES.add(torch.jit.ScriptFunction)


@rule(torch._C.ScriptFunction.__dict__["__call__"].__func__, kind="calls")
def script_function(r, func, args, kwargs):
    function, *inputs = args
    r.know(function)
    r.read_deep(inputs)
    for value in kwargs.values():
        r.read_deep(value)
    tape = r.recording.tape
    if tape.in_section:
        r.stop("unknown-callable", f"{function.name}, a TorchScript function inside {r.section}")
    fake_check.check(function, inputs, kwargs, function.name)
    tape.begin_section(handling_of_script(function), function, inputs, kwargs)

    def done(result):
        if result is ABSENT:
            r.stop("unknown-callable", f"{function.name}, a TorchScript function that raised")
        tape.end_section(result)

    r.read_attr(torch.compiler, "is_exporting")             # C++ calls it
    r.read_attr(torch.compiler, "_is_exporting_flag")
    r.leaf()
    r.after_call(done)


@rule(torch._C.ScriptMethod.__dict__["__call__"].__func__, kind="calls")
def script_method(r, func, args, kwargs):
    """A scripted or traced module has state in C++, which no guard reaches."""
    r.stop("unknown-callable", f"{args[0].name} of a TorchScript module")
