"""What backends expect to find around them while they compile.

torch.compile calls its backends inside a tracing context: AOTAutograd keeps its fake
mode and its metadata there, and Inductor's two disk caches are used only when it is
set (without it, `compile_fx` makes its own too late for the cache lookup). The compile
id names the compilation in torch's logs and in the lazily compiled backward.

The graph's own metadata says that it comes from a tracer of whole programs: Inductor
then takes the placeholders marked static (parameters) as memory that stays where it
is, and CUDA graphs don't copy them on each call.
"""

import contextlib
import functools
import itertools

import torch
from torch._guards import CompileContext, CompileId, TracingContext, compile_context, tracing
from torch._subclasses.fake_tensor import FakeTensorMode

_ids = itertools.count()
_FIRST_ID = 1_000_000       # apart from torch.compile's own


@contextlib.contextmanager
def compiling(shape_env=None):
    """Enter a fresh tracing context and compile id. Without a shape environment real
    examples become fakes of fixed sizes; with one they do only for a compiler that is
    told to ignore it."""
    identity = CompileId(frame_id=_FIRST_ID + next(_ids), frame_compile_id=0)
    context = TracingContext(FakeTensorMode(shape_env=shape_env))
    with compile_context(CompileContext(identity)), tracing(context):
        yield context.fake_mode


def under_context(compiler):
    """*compiler* (``f(gm, example_inputs)``), called in a tracing context."""
    @functools.wraps(compiler)
    def compile_graph(gm, example_inputs):
        with compiling():
            describe(gm, example_inputs)
            return compiler(gm, example_inputs)
    return compile_graph


def describe(gm, example_inputs):
    """Write on *gm* what AOTAutograd reads there about its inputs."""
    gm.meta["dynamo_compile_id"] = CompileContext.current_compile_id()
    gm._param_name_to_source = {}
    placeholders = gm.graph.find_nodes(op="placeholder")
    for node, example in zip(placeholders, example_inputs, strict=True):
        node._dynamo_source = None
        if isinstance(example, torch.nn.Parameter):
            node.meta["tensor_dict"] = {"_dynamo_static_input_type": "guarded"}
