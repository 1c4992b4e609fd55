"""What backends expect to find around them while they compile.

torch.compile calls its backends inside a tracing context: AOTAutograd keeps its fake
mode and its metadata there, and Inductor's two disk caches are used only when it is
set with a shape environment (without it, `compile_fx` makes its own too late for the
cache lookup). The compile id names the compilation in torch's logs and in the lazily
compiled backward.

A shape environment would make every size symbolic. The examples are therefore turned
into fakes of fixed sizes first; the fake mode remembers them, and AOTAutograd, asking
for the same tensors, gets those.

The graph's own metadata says that it comes from a tracer of whole programs: Inductor
then takes the placeholders marked static (parameters) as memory that stays where it
is, and CUDA graphs don't copy them on each call.
"""

import contextlib
import copy
import itertools

import torch
from torch._dispatch.python import enable_python_dispatcher
from torch._guards import CompileContext, CompileId, TracingContext, compile_context, tracing
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import ShapeEnv

from magpy.fxgraph.values import add_example_values

_ids = itertools.count()
_FIRST_ID = 1_000_000       # apart from torch.compile's own


@contextlib.contextmanager
def compiling(gm, example_inputs):
    """Enter a fresh tracing context and compile id, with *gm* and the examples made
    known to it. *gm* gets metadata that compilers read."""
    identity = CompileId(frame_id=_FIRST_ID + next(_ids), frame_compile_id=0)
    mode = FakeTensorMode(shape_env=ShapeEnv())
    with compile_context(CompileContext(identity)), tracing(TracingContext(mode)):
        fakes = [mode.from_tensor(tensor, static_shapes=True) for tensor in example_inputs]
        gm.meta["dynamo_compile_id"] = identity
        gm._param_name_to_source = {}
        placeholders = gm.graph.find_nodes(op="placeholder")
        for node, example, fake in zip(placeholders, example_inputs, fakes, strict=True):
            node._dynamo_source = None
            node.meta["example_value"] = fake
            if isinstance(example, torch.nn.Parameter):
                node.meta["tensor_dict"] = {"_dynamo_static_input_type": "guarded"}
        add_example_values(gm, mode)
        with enable_python_dispatcher(), _lstm_that_trains(gm, example_inputs):
            yield


def _lstm_that_trains(gm, example_inputs):
    """AOTAutograd's decomposition of an LSTM on the CPU takes oneDNN's layer whenever the
    *input* needs no gradient. That layer has no backward for its weights, and the graph
    then fails when it is called (torch.compile never gets there: it breaks the graph at
    every RNN). Without oneDNN the layer is decomposed into plain operations."""
    if torch.is_grad_enabled() and any(t.requires_grad for t in example_inputs) and \
            any(node.target is torch.lstm for node in gm.graph.nodes):
        return torch.backends.mkldnn.flags(enabled=False)
    return contextlib.nullcontext()


def under_context(compiler):
    """*compiler* (``f(gm, example_inputs)``), called in a tracing context, on a copy of
    the graph: compilers change what they get, and users see the original in
    `magpy.explain`."""
    def compile_graph(gm, example_inputs):
        gm = copy.deepcopy(gm)
        with compiling(gm, example_inputs):
            return compiler(gm, example_inputs)
    return compile_graph
