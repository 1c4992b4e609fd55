"""MagPy: PyTorch graphs of ordinary Python programs, captured by the interpreter itself.

    import magpy

    model = magpy.compile(model)
    model(x)                        # runs for real, is recorded and captured
    model(x)                        # guards, then the captured graph
    print(magpy.explain(model))     # guards, mock code and graph as readable Python
"""

import sys

if not hasattr(sys, "magpy_info") or sys.magpy_info.patch_level < 2:
    raise ImportError(
        f"magpy needs its own patched CPython, which {sys.executable or 'this interpreter'} is not: "
        "run your program with build_scripts/magpy-python from a checkout of MagPy, which sets "
        "everything up the first time it is used")

from magpy import backends, config, counters, logs  # noqa: E402
from magpy.api import compile, disable, graph_break, list_backends, reset  # noqa: E402
from magpy.control import allow_in_graph, annotate  # noqa: E402
from magpy.errors import BackendError, CaptureError, MagpyError  # noqa: E402
from magpy.explain import Explanation, explain  # noqa: E402

__all__ = ["BackendError", "CaptureError", "Explanation", "MagpyError", "allow_in_graph",
           "annotate", "backends", "compile",
           "config", "counters", "disable", "explain", "graph_break", "list_backends", "reset"]
__version__ = "0.1.0"

logs.set_up()
