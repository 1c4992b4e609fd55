"""Under a minute: one function and one module through every stage, and what each stage made can be shown."""
import torch

import magpy
from support.expect import assert_counts, batch, check


def test_function_through_all_stages():
    def f(x, k=2):
        return {"scaled": x * k, "sum": (x + 1).sum()}

    check(lambda: f)


def test_module_through_all_stages():
    check(lambda: torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2)), train=True)


def test_backend_is_given_the_graph_and_is_called_on_hits():
    graphs, calls = [], []

    def backend(gm, example_inputs):
        graphs.append(gm)

        def run(*args):
            calls.append(len(args))
            return gm(*args)
        return run

    f = magpy.compile(lambda x: torch.relu(x) + 1, backend=backend, fullgraph=True)
    for i in range(4):
        x = batch(i)
        assert torch.equal(f(x), torch.relu(x) + 1)
    assert_counts(f, 1, 3)
    assert len(graphs) == 1 and isinstance(graphs[0], torch.fx.GraphModule)
    assert len(calls) == 3
    assert [n.target for n in graphs[0].graph.nodes if n.op == "call_function"][:1] == [torch.relu]


def test_explain_shows_guards_mock_code_and_graph():
    f = magpy.compile(lambda x: torch.relu(x) + 1, backend="eager", fullgraph=True)
    f(batch(0)), f(batch(1))
    text = str(magpy.explain(f))
    assert "relu" in text and "return" in text
    assert len(magpy.explain(f).entries) == 1 and not magpy.explain(f).stops


def test_a_miss_says_what_differed():
    f = magpy.compile(lambda x: x + 1, backend="eager", fullgraph=True)
    f(torch.ones(2, 3)), f(torch.ones(4, 3))
    misses = magpy.explain(f).misses
    assert misses == ["arg[0]: shape[0] was 2, is 4"]


def test_decorator_with_arguments():
    @magpy.compile(backend="eager", fullgraph=True)
    def f(x):
        return x - 1

    for i in range(4):
        assert torch.equal(f(batch(i)), batch(i) - 1)
    assert_counts(f, 1, 3)
