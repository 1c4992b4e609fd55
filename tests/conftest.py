"""Every test starts and ends clean.

Hook state, the cache of compiled entries and torch's global switches are process-wide: one dirty test spoils the
rest of the run and the blame falls on an innocent one. So the state is set here before each test, and a test that
leaves it changed fails itself. What tests share lives in ``support/``, importable as ``support.…`` from any folder.
"""
import os
import random
import sys

import pytest

# Threads of several processes fight over few cores: densenet's backward took 20 times as long with torch's default.
os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from support.order import for_workers  # noqa: E402


def pytest_configure(config):
    config.addinivalue_line("markers", "slow: takes more than 20 seconds; deselect with -m 'not slow'")
    config.addinivalue_line("markers", "long: is run before others where tests run side by side; a slow one before all")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    workers = getattr(config, "workerinput", {}).get("workercount", 1)
    if workers > 1:
        items[:] = for_workers(items, workers, _weight)


def _weight(item):
    return sum(item.get_closest_marker(mark) is not None for mark in ("slow", "long"))


def _torch_state(torch):
    return {
        "grad mode": torch.is_grad_enabled(),
        "inference mode": torch.is_inference_mode_enabled(),
        "default dtype": torch.get_default_dtype(),
        "autocast": torch.is_autocast_enabled("cpu"),
        "deterministic algorithms": torch.are_deterministic_algorithms_enabled(),
        "function modes": torch._C._len_torch_function_stack(),
        "dispatch modes": torch._C._len_torch_dispatch_stack(),
    }


@pytest.fixture(autouse=True)
def clean_state():
    """Fresh entries and seeds for the test; afterwards torch's global state must be what it was."""
    torch = sys.modules.get("torch")
    if torch is None:
        yield
        return
    before = _torch_state(torch)
    torch.manual_seed(0)
    random.seed(0)
    _reset()
    yield
    _reset()
    after = _torch_state(torch)
    changed = {k: (before[k], after[k]) for k in before if before[k] != after[k]}
    assert not changed, f"the test left torch's global state changed: {changed}"


def _reset():
    magpy = sys.modules.get("magpy")
    if magpy is not None and hasattr(magpy, "reset"):
        magpy.reset()
