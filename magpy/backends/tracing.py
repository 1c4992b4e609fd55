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

import collections
import contextlib
import itertools

import torch
from torch._dispatch.python import enable_python_dispatcher
from torch._guards import CompileContext, CompileId, TracingContext, compile_context, tracing
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.fx.experimental.symbolic_shapes import ShapeEnv
from torch.utils._mode_utils import no_dispatch

from magpy.fxgraph.values import add_example_values
from magpy.guards.tensor_meta import storage_key

_ids = itertools.count()
_FIRST_ID = 1_000_000       # apart from torch.compile's own


@contextlib.contextmanager
def compiling(gm, example_inputs):
    """Enter a fresh tracing context and compile id, with *gm* and the examples made
    known to it. *gm* gets metadata that compilers read."""
    identity = CompileId(frame_id=_FIRST_ID + next(_ids), frame_compile_id=0)
    mode = FakeTensorMode(shape_env=ShapeEnv())
    with compile_context(CompileContext(identity)), tracing(TracingContext(mode)):
        fakes = fakes_of(mode, example_inputs)
        gm.meta["dynamo_compile_id"] = identity
        gm._param_name_to_source = _sources_of_weights(gm)
        placeholders = gm.graph.find_nodes(op="placeholder")
        for node, example, fake in zip(placeholders, example_inputs, fakes, strict=True):
            node._dynamo_source = None
            node.meta["example_value"] = fake
            if isinstance(example, torch.nn.Parameter):
                node.meta["tensor_dict"] = {"_dynamo_static_input_type": "guarded"}
        add_example_values(gm, mode)
        with enable_python_dispatcher(), _lstm_that_trains(gm, example_inputs):
            yield


def _sources_of_weights(gm):
    """A name for each weight that is part of the graph (see freezing.py). AOTAutograd wants one
    of Dynamo's sources."""
    names = [name for name, _ in gm.named_buffers()]
    if not names:
        return {}
    from torch._dynamo.source import LocalSource
    return {name: LocalSource(name) for name in names}


def fakes_of(mode, tensors):
    """Fake tensors of fixed sizes for *tensors*, remembered by *mode*.

    `FakeTensorMode.from_tensor` takes a tensor apart completely, in about 100 us. Most inputs
    are parameters with nothing special about them, and a model has a thousand."""
    alone = collections.Counter(storage_key(tensor) for tensor in tensors)
    plain = [tensor for tensor in tensors if alone[storage_key(tensor)] == 1 and _is_plain(tensor)]
    converter = mode.fake_tensor_converter
    fakes = []          # what is remembered is held weakly
    with no_dispatch():
        for tensor in plain:
            meta = torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device="meta",
                                       requires_grad=tensor.requires_grad)
            fake = FakeTensor(mode, meta, tensor.device)
            if type(tensor) is torch.nn.Parameter:
                fake._is_param = True
            converter.set_tensor_memo(tensor, fake)
            fakes.append(fake)
    return [mode.from_tensor(tensor, static_shapes=True) for tensor in tensors]


def _is_plain(tensor):
    """A dense leaf with memory of its own, all of it, and without a gradient."""
    return (type(tensor) in (torch.Tensor, torch.nn.Parameter) and tensor.layout is torch.strided
            and tensor.device.type in ("cpu", "cuda") and tensor.is_leaf and tensor._base is None
            and not (tensor.is_inference() or tensor.is_quantized or tensor.is_conj() or tensor.is_neg()
                     or tensor.is_nested or torch._C._functorch.is_functorch_wrapped_tensor(tensor))
            and tensor.grad is None and tensor.storage_offset() == 0
            and tensor.untyped_storage().nbytes() == tensor.nbytes)


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
    """*compiler* (``f(gm, example_inputs)``), called in a tracing context. The graph is its to
    change: what users see in `magpy.explain` is a text that was made before."""
    def compile_graph(gm, example_inputs):
        with compiling(gm, example_inputs):
            return compiler(gm, example_inputs)
    return compile_graph
