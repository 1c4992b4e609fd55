"""Names, options and errors of backends; the contract of a custom one."""
import pytest
import torch

import magpy
from support.taping import record

from magpy.backends import registry
from magpy.errors import BackendError

X = torch.arange(12.0).reshape(3, 4)


def built():
    taped = record(lambda x: (x + 1).relu(), X)
    graph = taped.build()
    return graph.gm, taped.example(graph)


def test_names_are_those_of_torch_compile():
    assert {"eager", "inductor", "aot_eager"} <= set(registry.names())


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_named_backends_run(backend):
    gm, examples = built()
    outs = registry.get(backend)(gm, examples)(X * 2)
    assert isinstance(outs, (tuple, list)) and torch.equal(outs[0], X * 2 + 1)


def test_a_custom_backend_gets_a_module_and_real_tensors():
    seen = []

    def backend(gm, example_inputs):
        seen.append((gm, example_inputs))
        return gm.forward
    gm, examples = built()
    outs = registry.get(backend)(gm, examples)(X)
    assert isinstance(seen[0][0], torch.fx.GraphModule) and seen[0][1][0] is X
    assert isinstance(outs, tuple) and torch.equal(outs[0], X + 1)


def test_a_custom_backend_gets_mode_and_options_when_there_are_any():
    def backend(gm, example_inputs, **kwargs):
        assert kwargs == {"mode": "reduce-overhead", "options": {"a": 1}}
        return gm.forward
    registry.get(backend, "reduce-overhead", {"a": 1})(*built())


def test_a_backend_may_change_the_graph_and_explain_shows_the_recorded_one():
    def backend(gm, example_inputs):
        gm.graph.erase_node(gm.graph.output_node())
        return lambda *inputs: [inputs[0]]
    f = magpy.compile(lambda x: torch.relu(x), backend=backend)
    x = torch.randn(3)
    assert torch.equal(f(x), torch.relu(x)) and torch.equal(f(x), x)
    graph = magpy.explain(f).entries[0].graph
    assert "torch.relu" in graph and "return" in graph


def test_a_failing_backend_is_named():
    def broken(gm, example_inputs):
        raise ValueError("no such thing")
    with pytest.raises(BackendError, match="'broken' failed: ValueError: no such thing") as info:
        registry.get(broken)(*built())
    assert isinstance(info.value.__cause__, ValueError)


def test_a_backend_must_return_a_callable():
    with pytest.raises(BackendError, match="returned int"):
        registry.get(lambda gm, examples: 3)(*built())


def test_unknown_backend():
    with pytest.raises(Exception, match="nonesuch"):
        registry.get("nonesuch")
    with pytest.raises(TypeError, match="backend must be"):
        registry.get(3)


def test_options_of_inductor_are_checked_at_once():
    with pytest.raises(RuntimeError, match="Unexpected optimization option nonesuch"):
        registry.get("inductor", None, {"nonesuch": 1})
    with pytest.raises(RuntimeError, match="Unexpected type of attr"):
        registry.get("inductor", None, {"max_autotune": "yes"})
    with pytest.raises(RuntimeError, match="Unrecognized mode"):
        registry.get("inductor", "nonesuch")
    with pytest.raises(RuntimeError, match="both can't"):
        registry.get("inductor", "default", {"max_autotune": True})


def test_eager_takes_no_options():
    with pytest.raises(RuntimeError, match="takes neither"):
        registry.get("eager", "max-autotune")


def test_eager_restores_grad_mode_after_an_error():
    def f(x):
        with torch.no_grad():
            y = x.view(12) * 2
        return y
    taped = record(f, X)
    graph = taped.build()
    run = registry.get("eager")(graph.gm, taped.example(graph))
    with pytest.raises(RuntimeError):
        run(torch.ones(5))
    assert torch.is_grad_enabled()
