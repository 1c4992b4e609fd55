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
    gm = torch.fx.symbolic_trace(lambda x: torch.relu(x) + 1)
    text = text_of(gm)
    assert "torch.relu(x)" in text and len(sources() - before) == 1
    assert torch.equal(gm(torch.ones(2)), torch.full((2,), 2.0))
    del gm
    gc.collect()
    assert sources() == before
