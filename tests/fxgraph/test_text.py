"""A graph module's text goes when the module does."""

import gc
import linecache

import torch
from torch.fx import graph_module

from magpy.fxgraph.text import text_of


def sources():
    return {k for k in (*linecache.cache, *graph_module._loader.eval_cache) if "eval_with_key" in str(k)}


def test_text_does_not_outlive_its_module():
    gc.collect()
    before = sources()
    graph = torch.fx.Tracer().trace(lambda x: torch.relu(x) + 1)
    gm = torch.fx.GraphModule(torch.nn.Module(), graph)
    del graph
    gc.collect()
    assert "torch.relu(x)" in text_of(gm)
    gm.recompile()
    assert torch.equal(gm(torch.ones(2)), torch.full((2,), 2.0)) and len(sources() - before) == 2
    del gm
    gc.collect()
    assert sources() == before
