"""Rules of TorchScript: compiled functions and methods, each one opaque operation of the graph.

A function holds no outside state. A method reads the parameters, buffers and attributes of
its module, which live in C++ where no guard sees them: it runs on them as they are then, and
the graph checks that they, and what it gives, look the same as far as Python can tell.
"""

import torch

from magpy.fxgraph.outcome import OutcomeChanged
from magpy.reasons import StopCapture
from magpy.recorder import fake_check
from magpy.refgraph.graph import ABSENT
from magpy.recorder.callables.reads import nothing
from magpy.recorder.callables.registry import FILLS, IDENTITY_TYPES, add, rule
from magpy.recorder.section import handling_of_script

IDENTITY_TYPES.update((torch.jit.ScriptFunction, torch._C.ScriptMethod))

CALL = torch._C.ScriptFunction.__dict__["__call__"]
add(nothing, "pure", type(CALL).__dict__["__get__"])      # pybind11's methods bind as functions do


def keep_method(module, name):
    """A TorchScript module makes the Python object of a method when it is first asked for."""
    own, inner = module.__dict__, module.__dict__.get("_c")
    if own.get("_initializing") or inner is None or name in own["_modules"] or inner.hasattr(name) \
            or not inner._has_method(name):
        return False
    own[name] = inner._get_method(name)
    return True


FILLS.enter(torch.jit.RecursiveScriptModule.__getattr__.__code__, keep_method)


@rule(CALL.__func__, kind="calls")
def script_function(r, func, args, kwargs):
    function, *inputs = args
    fake_check.check(function, inputs, kwargs, function.name)
    script_call(r, function, function, inputs, kwargs, None)


@rule(torch._C.ScriptMethod.__dict__["__call__"].__func__, kind="calls")
def script_method(r, func, args, kwargs):
    method, *inputs = args
    owner = method.owner
    before = tensors_of(owner)
    if any(training and buffers for training, _, buffers in before):
        r.stop("leaf-mutation", f"{method.name} of a TorchScript module in training mode, which may change buffers")
    expected = looks(before)

    def call(*args, **kwargs):
        if looks(tensors_of(owner)) != expected:
            raise OutcomeChanged(f"{method.name}: a parameter or buffer of a TorchScript module looks different")
        return method(*args, **kwargs)

    script_call(r, method, call, inputs, kwargs,
                StopCapture("tensor-data", f"{method.name} of a TorchScript module, after a change of outside tensors"))


def script_call(r, script, target, inputs, kwargs, outcome):
    r.know(script)
    r.read_deep(inputs)
    for value in kwargs.values():
        r.read_deep(value)
    tape = r.recording.tape
    if tape.in_section:
        r.stop("unknown-callable", f"{script.name}, TorchScript inside {r.section}")
    tape.begin_section(handling_of_script(target, script.name), script, inputs, kwargs, outcome)

    def done(result):
        if result is ABSENT:
            r.stop("unknown-callable", f"{script.name}, TorchScript that raised")
        tape.end_section(result)

    r.read_attr(torch.compiler, "is_exporting")             # C++ calls it
    r.read_attr(torch.compiler, "_is_exporting_flag")
    r.leaf()
    r.after_call(done)


def tensors_of(module):
    """(training, parameters, buffers) of a TorchScript module and of those below it."""
    training = module.hasattr("training") and module.getattr("training")
    found = [(training, [tensor for _, tensor in torch._C.ParameterDict(module).items()],
              [tensor for _, tensor in torch._C.BufferDict(module).items()])]
    for _, child in torch._C.ModuleDict(module).items():
        found += tensors_of(child)
    return found


def looks(modules):
    """What Python can tell of their tensors without looking at the data."""
    return [(training, [(t.shape, t.stride(), t.dtype, t.device, t.requires_grad) for t in (*parameters, *buffers)])
            for training, parameters, buffers in modules]
