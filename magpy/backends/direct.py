"""Inductor's code, called without AOTAutograd's wrappers around it where they do nothing.

A graph without gradients goes through five Python functions of torch's before Inductor's
code runs. They write changed inputs back, make outputs that are views of inputs anew, take
tensor subclasses apart, switch autocast off. AOTAutograd writes the inmost of these functions
as source text, with only the steps that the graph needs: where its code is that of `PLAIN`, and
nothing else stands between it and what compile_fx gave, there are no such steps. What the
graph changes in place by itself it changes all the same.

None of this is torch's public interface: so each link of the chain is compared, and where
one is not what is known here, the callable stays as compile_fx gave it.
"""

import types

import torch
from torch._C._dynamo.eval_frame import get_eval_frame_callback
from torch._dynamo.eval_frame import innermost_fn
from torch._functorch import aot_autograd
from torch._functorch._aot_autograd import runtime_wrappers
from torch._inductor.output_code import CompiledFxGraph
from torch.autograd import profiler

PLAIN = '''\
def _runtime_wrapper(_compiled_fn_, _first_ctx_, _on_before_call_, args):
    orig_inputs = {{}}
    with _first_ctx_():
        grad_enabled = torch.is_grad_enabled()
        try:
            if grad_enabled: torch._C._set_grad_enabled(False)
            _on_before_call_()
            all_outs = _compiled_fn_(args)
            if isinstance(all_outs, tuple):
                all_outs = list(all_outs)
            elif not isinstance(all_outs, list):
                all_outs = [all_outs]
        finally:
            if grad_enabled: torch._C._set_grad_enabled(True)
    del args
    if len(all_outs) != {outputs}:
        raise AssertionError(f"expected {outputs} outputs, got {{len(all_outs)}}")
    fw_outs = all_outs
    ret_outs = fw_outs
    return ret_outs
'''


def without_wrappers(compiled, outputs):
    """*compiled*, what compile_fx gave for a graph of so many *outputs*, or a shorter way to
    the same code."""
    boxed, constants = _boxed_code(compiled, outputs)
    return compiled if boxed is None else _shorter(compiled, boxed, constants)


def _shorter(compiled, boxed, constants):
    """The first call goes the whole way: then Inductor ends its tuning, and AOTAutograd looks
    at what the user's own operators give back. So do calls that somebody watches: the profiler
    sees the wrappers' marks, and Dynamo must not trace Inductor's code."""
    call = None

    def graph(*inputs):
        nonlocal call
        if call is None or profiler._is_profiler_enabled or get_eval_frame_callback() is not None:
            outputs = compiled(*inputs)
            call = boxed.current_callable if type(boxed) is CompiledFxGraph else boxed
            return outputs
        if not torch.is_grad_enabled():
            return call([*constants, *inputs])
        torch._C._set_grad_enabled(False)
        try:
            return call([*constants, *inputs])
        finally:
            torch._C._set_grad_enabled(True)
    return graph


def _boxed_code(compiled, outputs):
    """What the wrappers around *compiled* call with a list of constants and the inputs, if that is all they
    do, and the constants; else two times None."""
    forward = _closure(innermost_fn(compiled), aot_autograd, "aot_module_simplified.<locals>.forward", varargs=True)
    if forward is None or type(forward.get("params_buffers_flat")) is not list:
        return None, None
    wrapper = _closure(_unpacked(forward.get("compiled_fn")), runtime_wrappers,
                       "_create_runtime_wrapper.<locals>.runtime_wrapper")
    if wrapper is None or not _is_plain(wrapper.get("_codegen_runtime_wrapper"), outputs):
        return None, None
    boxed = _unpacked(wrapper.get("_inner_compiled_fn"))
    return (boxed, forward["params_buffers_flat"]) if getattr(boxed, "_boxed_call", False) else (None, None)


def _unpacked(function):
    """AOTAutograd's cache keeps functions in such boxes: what it stores is in the inner one, what it loads
    in an outer one."""
    return function.compiled_fn if type(function) is runtime_wrappers.SerializableCompiledFunction else function


def _closure(function, module, name, varargs=False):
    """{variable: value} of what the function of this *name* in torch's *module* closes over; None
    when *function* is another one."""
    if type(function) is not types.FunctionType or function.__globals__ is not vars(module):
        return None
    code = function.__code__
    if code.co_qualname != name or bool(code.co_flags & 0x04) != varargs:
        return None
    return dict(zip(code.co_freevars, (cell.cell_contents for cell in function.__closure__), strict=True))


def _is_plain(function, outputs):
    """Is this `PLAIN`, written by AOTAutograd?"""
    if type(function) is not types.FunctionType or function.__globals__.get("torch") is not torch:
        return False
    scope = {}
    exec(PLAIN.format(outputs=outputs), scope)
    return _contents(function.__code__) == _contents(scope["_runtime_wrapper"].__code__)


def _contents(code):
    return code.co_code, code.co_consts, code.co_names, code.co_varnames, code.co_exceptiontable
