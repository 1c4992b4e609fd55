"""The Python code of a graph module: compiled when it is called, as text that does not outlive it.

Most compilers read the graph and never call its forward: torch's lazy graph module, which Dynamo hands
to backends as well, compiles it at the first call.

torch.fx registers the source of every module that it compiles with linecache, for ever.
A process that compiles again and again would so keep every graph's text; here it goes
when the module goes.
"""

import linecache
import weakref

import torch
from torch.fx import graph_module
from torch.fx._lazy_graph_module import _LazyGraphModule


def module_of(graph):
    """A GraphModule without attributes that runs *graph*."""
    return _LazyGraphModule(torch.nn.Module(), graph)


def ready(function):
    """*function*; a graph module's forward that is not compiled yet is compiled now, not asked for at each call."""
    if getattr(function, "__func__", None) is _LazyGraphModule.forward:
        gm = function.__self__
        gm.real_recompile()
        return gm.forward
    return function


def text_of(gm):
    """The code of *gm*'s forward as it is now."""
    weakref.finalize(gm, _forget, type(gm), _file_of(type(gm))).atexit = False
    return gm.graph.python_code("self").src.strip()


def _file_of(cls):
    """The name under which the source of a module's class, which is its own, is kept."""
    return getattr(getattr(cls.forward, "__code__", None), "co_filename", "")


def _forget(cls, first):
    """Forget what was kept at *first*, and what is after a compiler has changed the graph."""
    for filename in {first, _file_of(cls)}:
        if not filename.startswith("<eval_with_key>"):
            continue
        linecache.cache.pop(filename, None)
        loader = getattr(graph_module, "_loader", None)     # private: may be gone one day
        getattr(loader, "eval_cache", {}).pop(filename, None)
