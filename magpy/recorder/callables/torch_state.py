"""Rules of torch's C functions that are no tensor operations, and torch's leaf code.

Most read settings. Those in `GlobalState` (grad mode, autocast, determinism, ...) are
guarded for every entry, and an entry is not used while a mode, a functorch transform or a
JIT trace is active; so reading them needs no guard of its own.
"""

import importlib
import sys
import threading
import types

import torch
import torch.utils.checkpoint

from magpy.refgraph.graph import ABSENT
from magpy.recorder.callables.reads import nothing, stops, values
from magpy.recorder.torch_mode import Tape
from magpy.recorder.callables.registry import FIELD_TYPES, IDENTITY_TYPES, LEAF_CODE, PREPARE, add, is_a, rule

C = torch._C


def present(owner, names):
    return [getattr(owner, name) for name in names.split() if hasattr(owner, name)]


# ---- settings -------------------------------------------------------------------------

GUARDED = """is_grad_enabled is_inference_mode_enabled get_default_dtype get_num_threads
    is_autocast_cache_enabled is_autocast_cpu_enabled get_autocast_cpu_dtype
    get_autocast_gpu_dtype _is_any_autocast_enabled _is_fwd_grad_enabled
    _get_deterministic_algorithms _get_deterministic_algorithms_warn_only
    _get_deterministic_fill_uninitialized_memory _get_cudnn_enabled _get_cudnn_benchmark
    _get_cudnn_deterministic _get_mkldnn_enabled _get_mkldnn_deterministic
    _get_flash_sdp_enabled _get_mem_efficient_sdp_enabled _get_math_sdp_enabled
    _get_cudnn_sdp_enabled"""
# None or False whenever an entry may be used: see guards.tensor_meta.foreign_modes.
WITHOUT_MODES = """_get_tracing_state _is_tracing _is_torch_function_enabled
    _is_torch_function_all_disabled _has_torch_function _has_torch_function_unary
    _has_torch_function_variadic _get_dispatch_mode _len_torch_dispatch_stack _get_dispatch_stack_at"""
# Seen as True only because the tape is a mode; what follows looks for modes of other kinds.
OF_THE_TAPE = "_is_torch_function_mode_enabled _len_torch_function_stack _get_function_stack_at"
# Fixed when torch was built or first loaded.
CONSTANTS = """_get_privateuse1_backend_name _is_autocast_available _cuda_getDeviceCount
    _cuda_isInBadFork _is_flash_attention_available _is_xnnpack_enabled _get_cpu_capability
    _cuda_getCompiledVersion _get_all_dtypes _get_accelerator _accelerator_getAccelerator
    _is_ck_sdpa_available"""

add(nothing, "state", *present(C, GUARDED), *present(C, WITHOUT_MODES), *present(C, CONSTANTS),
    *present(C, OF_THE_TAPE),
    *present(torch, "is_grad_enabled is_inference_mode_enabled get_default_dtype get_num_threads"))
add(nothing, "state", *present(C._functorch, """peek_interpreter_stack maybe_current_level
    get_dynamic_layer_stack_depth"""))
add(nothing, "effect", C._log_api_usage_once, C._log_api_usage_metadata)
# Subclasses of Tensor stop the capture; modes, of which the tape is one, go on.
add(nothing, "state", C.DisableTorchFunctionSubclass, *[
    found for name, found in C.DisableTorchFunctionSubclass.__dict__.items()
    if name in ("__new__", "__init__", "__enter__", "__exit__")])
# TorchDynamo's evaluator is not asked while a call is recorded, nor does a replay run Python code.
add(nothing, "effect", C._dynamo.eval_frame.set_eval_frame)

# Settings outside GlobalState: a guard asks them again.
POLLED = """_cuda_isCurrentStreamCapturing _cuda_getDevice is_anomaly_enabled
    is_anomaly_check_nan_enabled _get_float32_matmul_precision _get_cublas_allow_tf32
    _get_cudnn_allow_tf32 _is_multithreading_enabled _get_fa3_sdp_enabled
    _get_overrideable_sdp_enabled _get_math_sdp_allow_fp16_bf16_reduction
    _get_nnpack_enabled _get_warnAlways _get_qengine get_num_interop_threads _is_view_replay_enabled"""


@rule(*present(C, POLLED), kind="state")
def polled(r, func, args, kwargs):
    if func.__name__.startswith("_cuda") and not torch.cuda.is_available():
        return              # raises, always
    r.read_state(f"torch._C.{func.__name__}()", func(), func)


@rule(torch.get_default_device, kind="state")
def default_device(r, func, args, kwargs):
    """Another than the CPU is a function mode, under which nothing is captured."""
    r.leaf()


GUARDED_DEVICES = ("cpu", "cuda")


@rule(C.is_autocast_enabled, C.get_autocast_dtype, kind="state")
def autocast_of(r, func, args, kwargs):
    device = kwargs.get("device_type", args[0] if args else "cuda")
    if str(device) not in GUARDED_DEVICES:
        r.stop("unknown-callable", f"{func.__name__}({device!r})")


@rule(*present(C, """set_autocast_enabled set_autocast_dtype set_autocast_cache_enabled
    set_autocast_cpu_enabled set_autocast_cpu_dtype set_autocast_gpu_dtype
    autocast_increment_nesting autocast_decrement_nesting clear_autocast_cache"""), kind="effect")
def set_autocast(r, func, args, kwargs):
    """The tape does not see these setters, and the graph needs them."""
    values(r, func, args, kwargs)
    r.recording.tape.record_call(func, args, kwargs)


add(stops("global-state-changed"), "effect", C._InferenceMode, *present(C, """
    _set_default_dtype set_num_threads _set_deterministic_algorithms _set_cudnn_enabled
    _set_cudnn_benchmark _set_cudnn_deterministic _set_mkldnn_enabled _set_default_device
    set_num_interop_threads set_flush_denormal _set_float32_matmul_precision
    _set_cublas_allow_tf32 _set_cudnn_allow_tf32 _set_sdp_use_flash _set_sdp_use_math
    _set_sdp_use_mem_efficient _set_sdp_use_cudnn set_anomaly_enabled _set_fwd_grad_enabled"""))


@rule(torch.cuda.is_available, torch.cuda.device_count, kind="state")
def constant_of_the_process(r, func, args, kwargs):
    """They ask the driver, environment variables and caches of their own."""
    r.leaf()


# ---- values ------------------------------------------------------------------------------

IDENTITY_TYPES.update({torch.finfo, torch.iinfo, Tape})
add(values, "pure", torch.device, torch.finfo, torch.iinfo)
for _cls in (torch.finfo, torch.iinfo, torch.device, torch.dtype):
    add(values, "pure", *[method for name, method in _cls.__dict__.items()
                          if type(method).__name__ in ("method_descriptor", "wrapper_descriptor")
                          and name not in ("__init__", "__call__")])


IDENTITY_TYPES.add(type(torch.__version__))
FIELD_TYPES.add(torch.dtype)
# By dtype, layout and device, which are guarded.
add(nothing, "reads", type(torch.FloatTensor).__instancecheck__)


@rule(torch.broadcast_shapes, kind="pure")
def broadcast_shapes(r, func, args, kwargs):
    """Of numbers; it imports symbolic ones each time."""
    values(r, func, args, kwargs)
    r.leaf()


@rule(types.ModuleType.__getattribute__, kind="reads")
def module_attribute(r, func, args, kwargs):
    """torch.backends' modules ask the module that they stand for."""
    r.read_attr(*args)


# ---- torch.compile ------------------------------------------------------------------------------

def prepare_checkpoint(inner):
    """What the first checkpoint of a process makes and keeps: the wrapper that
    torch._disable_dynamo promises, and the name of the default device. What another thread
    makes counts as having been there before."""
    torch.utils.checkpoint.DefaultDeviceType.get_device_type()
    function = inner.__wrapped__
    if getattr(function, "__dynamo_disable", None) is None:
        recursive = inner.__closure__[inner.__code__.co_freevars.index("recursive")].cell_contents

        def make():
            dynamo = importlib.import_module("torch._dynamo")   # takes seconds: only who needs it pays
            function.__dynamo_disable = dynamo.disable(function, recursive, wrapping=False)
        thread = threading.Thread(target=make)
        thread.start()
        thread.join()


PREPARE.enter(torch.utils.checkpoint.checkpoint.__code__, prepare_checkpoint)


# It says no while real tensors are computed with.
LEAF_CODE.enter(torch.fx._symbolic_trace._get_is_fx_tracing.__code__)


@rule(C._dynamo.eval_frame.set_eval_frame, kind="effect")
def set_eval_frame(r, func, args, kwargs):
    """torch.compile's own hook, which such a function switches off and on again."""


AUTOGRAD = C._autograd
add(nothing, "allocates", AUTOGRAD._make_saved_tensor)
add(nothing, "effect", AUTOGRAD._pop_saved_tensors_default_hooks)
add(nothing, "state", AUTOGRAD._saved_tensors_hooks_is_enabled)


@rule(AUTOGRAD._push_saved_tensors_default_hooks, AUTOGRAD._top_saved_tensors_default_hooks,
      kind="effect")
def saved_tensors_hooks(r, func, args, kwargs):
    """Those of a checkpoint free memory for a second forward: the graph keeps what it needs.
    Others decide what a backward gets."""
    if func is AUTOGRAD._top_saved_tensors_default_hooks:
        args = func(*args) or (torch.utils.checkpoint.checkpoint,)
    if getattr(args[0], "__module__", None) != torch.utils.checkpoint.__name__:
        r.stop("autograd-in-graph", "saved_tensors_hooks")


# ---- tensors made or changed without the tape's knowledge ------------------------------------

add(stops("random"), "random", C.Generator, *[
    method for method in C.Generator.__dict__.values()
    if type(method).__name__ in ("method_descriptor", "wrapper_descriptor")])
# (TorchDynamo, once imported, has put a wrapper in the place of torch.manual_seed.)
add(stops("random"), "random", torch.manual_seed, torch.random.manual_seed, torch.seed, torch.set_rng_state,
    torch.initial_seed, torch.cuda.manual_seed, torch.cuda.manual_seed_all)


@rule(torch.get_rng_state, kind="state")
def random_state(r, func, args, kwargs):
    """The state where the graph is by then, as a tensor."""
    tape = r.recording.tape
    r.leaf()
    r.after_call(lambda result: result is ABSENT or tape.record_result(func, args, kwargs, result))


add(stops("unknown-tensor"), "allocates", torch.frombuffer, C.TensorBase, C.TensorBase.__new__)
add(stops("autograd-in-graph"), "effect", *[
    method for name, method in C._FunctionBase.__dict__.items()
    if type(method).__name__ in ("method_descriptor", "wrapper_descriptor") and not name.startswith("__")])
add(stops("leaf-mutation"), "mutates", *[C.TensorBase.__dict__[name] for name in (
    "set_", "as_subclass", "record_stream", "sparse_resize_", "sparse_resize_and_clear_")])


@rule(type(torch.FloatTensor).__instancecheck__, kind="reads")
def is_tensor_of_type(r, func, args, kwargs):
    """is_a(x, torch.FloatTensor): by dtype and device, which are guarded."""
    r.know(args[1])


@rule(torch.Tensor.__hash__, kind="reads")
def tensor_hash(r, func, args, kwargs):
    """A tensor's hash is its address: a dict or set asks which tensor it is."""
    r.observe_identity(args[0])
    r.leaf()


# ---- Python code that is run but not recorded ----------------------------------------------

@rule(torch.overrides.handle_torch_function, kind="calls")
def torch_function(r, func, args, kwargs):
    """A torch function with a Python body hands itself to the tape, which keeps it as one
    operation; only the outside containers among its arguments need guards."""
    for arg in (*args[2:], *kwargs.values()):
        r.read_deep(arg)
    r.leaf()


# Also when C code calls it; its frame is told apart by the code.
LEAF_CODE.enter(torch.overrides.handle_torch_function.__code__)
LEAF_CODE.enter(torch.Tensor.__hash__.__code__)
# C code calls it before it makes anything on a GPU; once it is done it does nothing.
LEAF_CODE.enter(torch.cuda._lazy_init.__code__)
# A mark for profilers, which is not set again at replay.
for method in (torch.autograd.profiler.record_function.__init__, torch.autograd.profiler.record_function.__enter__,
               torch.autograd.profiler.record_function.__exit__):
    LEAF_CODE.enter(method.__code__)


def leaves_of_dynamo():
    """Once torch.compile was used in a process, nn.Module.__init__ ends with a note of Dynamo's own about each
    module that is made. Dynamo is loaded by who needs it, at any time: asked at each recording."""
    guard = sys.modules.get("torch._dynamo.mutation_guard")
    if guard is not None:
        LEAF_CODE.enter(guard.GenerationTracker.tag.__func__.__code__)
