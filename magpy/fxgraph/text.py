"""The Python code of a graph module, as text that does not outlive it.

torch.fx registers the source of every module it generates with linecache, for ever.
A process that compiles again and again would so keep every graph's text; here it goes
when the module goes.
"""

import linecache
import weakref

from torch.fx import graph_module


def text_of(gm):
    """The code of *gm*'s forward."""
    text = gm.code.strip()
    filename = getattr(getattr(type(gm).forward, "__code__", None), "co_filename", None)
    if filename is not None and filename.startswith("<eval_with_key>"):
        weakref.finalize(gm, _forget, filename).atexit = False
    return text


def _forget(filename):
    linecache.cache.pop(filename, None)
    loader = getattr(graph_module, "_loader", None)     # private: may be gone one day
    getattr(loader, "eval_cache", {}).pop(filename, None)
