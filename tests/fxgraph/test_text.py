"""A graph module is compiled when it is called; its text goes when the module does."""

import gc
import linecache

import torch
from torch.fx import graph_module

from magpy.fxgraph.text import module_of, ready, text_of


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


def test_a_module_is_compiled_when_it_is_called_or_made_ready():
    gc.collect()
    before = sources()
    called, given = [module_of(torch.fx.Tracer().trace(lambda x: torch.relu(x) + 1)) for _ in range(2)]
    assert "torch.relu(x)" in text_of(called) and text_of(given) == text_of(called) and sources() == before
    assert torch.equal(called(torch.ones(2)), torch.full((2,), 2.0)) and len(sources() - before) == 1
    forward = ready(given.forward)
    assert forward.__code__.co_varnames[:2] == ("self", "x") and len(sources() - before) == 2
    assert torch.equal(forward(torch.ones(2)), torch.full((2,), 2.0))
    assert ready(forward) == forward and ready(len) is len
    del called, given, forward
    gc.collect()
    assert sources() == before
