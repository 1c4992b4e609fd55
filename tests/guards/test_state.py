"""The snapshot of torch's global state: every switch shows, and only while it is thrown."""

import contextlib
import threading

import pytest
import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from magpy.guards.tensor_meta import GlobalState, foreign_modes


@contextlib.contextmanager
def switched(getter, setter, value):
    before = getter()
    setter(value)
    try:
        yield
    finally:
        setter(before)


def attribute(owner, name, value):
    return switched(lambda: getattr(owner, name), lambda v: setattr(owner, name, v), value)


SWITCHES = {
    "grad_mode": torch.no_grad,
    "inference_mode": torch.inference_mode,
    "autocast_cpu": lambda: torch.autocast("cpu", dtype=torch.bfloat16),
    "autocast_cache": lambda: torch.autocast("cpu", cache_enabled=False),
    "default_dtype": lambda: switched(torch.get_default_dtype, torch.set_default_dtype, torch.float64),
    "num_threads": lambda: switched(torch.get_num_threads, torch.set_num_threads, torch.get_num_threads() + 1),
    "deterministic_algorithms": lambda: switched(
        torch.are_deterministic_algorithms_enabled, torch.use_deterministic_algorithms, True),
    "deterministic_fill": lambda: attribute(torch.utils.deterministic, "fill_uninitialized_memory", False),
    "cudnn_enabled": lambda: torch.backends.cudnn.flags(enabled=False, benchmark=False, deterministic=False),
    "cudnn_benchmark": lambda: attribute(torch.backends.cudnn, "benchmark", True),
    "cudnn_deterministic": lambda: attribute(torch.backends.cudnn, "deterministic", True),
    "mkldnn_enabled": lambda: torch.backends.mkldnn.flags(enabled=False),
    "flash_sdp": lambda: switched(torch.backends.cuda.flash_sdp_enabled, torch.backends.cuda.enable_flash_sdp, False),
    "math_sdp": lambda: torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.FLASH_ATTENTION),
    "cuda_matmul_precision": lambda: switched(
        torch.get_float32_matmul_precision, torch.set_float32_matmul_precision, "high"),
    "mkldnn_matmul_precision": lambda: switched(
        torch.get_float32_matmul_precision, torch.set_float32_matmul_precision, "medium"),
    "fp16_reduction": lambda: attribute(torch.backends.cuda.matmul, "allow_fp16_reduced_precision_reduction", False),
    "torch_function": torch._C.DisableTorchFunctionSubclass,
}


@pytest.mark.parametrize("name", SWITCHES)
def test_a_switch_shows(name):
    state = GlobalState()
    assert state.matches() and state == GlobalState() and state.why() == ""
    with SWITCHES[name]():
        assert not state.matches()
        assert f"{name}: was " in state.why()
        assert state != GlobalState()
        assert GlobalState().matches()
    assert state.matches(), state.why()


def test_autocast_of_other_devices_shows():
    state = GlobalState()
    before = torch.is_autocast_enabled("xpu")
    torch.set_autocast_enabled("xpu", not before)
    try:
        assert not state.matches()
        assert "dispatch_keys" in state.why()
    finally:
        torch.set_autocast_enabled("xpu", before)
    assert state.matches()


def test_thread_local_state_is_the_threads_own():
    with torch.no_grad():
        state, seen = GlobalState(), []
        thread = threading.Thread(target=lambda: seen.append(state.matches()))
        thread.start()
        thread.join()
        assert seen == [False] and state.matches()


def test_comparing_with_other_things():
    assert GlobalState() != 3
    with pytest.raises(TypeError):
        hash(GlobalState())
    assert "grad_mode=1" in repr(GlobalState())


def test_matching_creates_nothing_and_leaves_nothing():
    state = GlobalState()
    assert all(state.matches() for _ in range(100_000))


class FunctionMode(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


class DispatchMode(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("mode", [
    FunctionMode, DispatchMode, lambda: torch.device("cpu"), torch._C.DisableTorchFunction])
def test_foreign_modes(mode):
    assert not foreign_modes()
    with mode():
        assert foreign_modes()
    assert not foreign_modes()


def test_ordinary_switches_are_not_foreign():
    with torch.no_grad(), torch.autocast("cpu"):
        assert not foreign_modes()
    with torch.inference_mode():
        assert not foreign_modes()


def test_transforms_and_tracing_are_foreign():
    seen = []

    def f(x):
        seen.append(foreign_modes())
        return x.sin().sum()

    x = torch.rand(3)
    torch.func.grad(f)(x)
    torch.func.vmap(f)(torch.rand(2, 3))
    torch.jit.trace(f, x, check_trace=False)
    assert seen == [True] * 3
    f(x)
    assert seen[-1] is False
