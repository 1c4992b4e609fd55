"""``import magpy`` on a stock interpreter: one clear sentence, not a crash and not a silent no-op."""
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]


def _stock():
    """A Python on this machine that is not ours, or None."""
    for name in ("python3", "python3.13", "python3.12", "python3.11"):
        for folder in ("/usr/bin", "/usr/local/bin", *os.environ.get("PATH", "").split(os.pathsep)):
            found = shutil.which(name, path=folder)
            if found and _run(found, "import sys; sys.exit(not hasattr(sys, 'magpy_info'))").returncode == 1:
                return found
    return None


def _run(python, code, **env):
    return subprocess.run([python, "-S", "-c", code], capture_output=True, text=True, timeout=60,
                          env={"PYTHONPATH": str(ROOT), "PATH": os.environ.get("PATH", ""), **env})


REFUSED = """
try:
    import magpy
except ImportError as e:
    print("refused:", e)
else:
    print("imported")
"""


def _assert_refusal(done):
    assert done.returncode == 0, done.stderr
    out = done.stdout.strip()
    assert out.startswith("refused: "), out
    assert "\n" not in out, "one sentence, one line"
    assert "magpy-python" in out, "must say how to get the right interpreter"
    assert not done.stderr


def test_stock_interpreter_is_refused():
    python = _stock()
    if python is None:
        pytest.skip("no stock Python on this machine; the faked one below stands for it")
    _assert_refusal(_run(python, REFUSED))


def test_faked_stock_interpreter_is_refused():
    """Our own interpreter with the mark taken away: what a stock 3.13 looks like."""
    _assert_refusal(_run(sys.executable, "import sys; del sys.magpy_info\n" + REFUSED))
