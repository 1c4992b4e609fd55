"""The Python code of a graph module, as text that does not outlive it.

torch.fx registers the source of every module that it compiles with linecache, for ever.
A process that compiles again and again would so keep every graph's text; here it goes
when the module goes.
"""

import linecache
import weakref

from torch.fx import graph_module


def text_of(gm):
    """The code of *gm*'s forward. It is only written here: most backends walk the graph, and
    the code is compiled when somebody calls it."""
    weakref.finalize(gm, _forget, type(gm)).atexit = False
    return gm.graph.python_code("self").src.strip()


def _forget(cls):
    """Forget the source of a module's class, which is its own."""
    filename = getattr(getattr(cls.forward, "__code__", None), "co_filename", "")
    if filename.startswith("<eval_with_key>"):
        linecache.cache.pop(filename, None)
        loader = getattr(graph_module, "_loader", None)     # private: may be gone one day
        getattr(loader, "eval_cache", {}).pop(filename, None)
