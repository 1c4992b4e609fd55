"""The tape as an FX graph: form, order, names, inputs and outputs."""
import operator
import pickle

import pytest
import torch
import torch.nn.functional as F
from support.taping import record, replay

from magpy.fxgraph.builder import build, identifier
from magpy.fxgraph.values import FACTS, add_example_values
from magpy.reasons import StopCapture
from magpy.recorder.torch_mode import InputRef

X = torch.arange(12.0).reshape(3, 4)


def targets(built):
    return [node.target for node in built.gm.graph.nodes
            if node.op in ("call_function", "call_method")]


def test_calls_are_torch_level():
    built = record(lambda x: (F.relu(x) @ x.T, x[0, 1:], 1 - x), X).build()
    assert targets(built) == [F.relu, getattr, "matmul", operator.getitem, "__rsub__"]
    built.gm.graph.lint()


def test_the_code_reads_like_the_users():
    built = record(lambda x: F.softmax(x.mul(2), dim=-1), X).build()
    code = built.gm.print_readable(print_output=False)
    assert "arg_0.mul(2)" in code and "torch.nn.functional.softmax(mul, dim = -1" in code


def test_results_are_reached_by_getitem_once():
    built = record(lambda x: (lambda r: (r[0] + 1, r[0] + 2, r[1]))(x.max(1)), X).build()
    assert targets(built).count(operator.getitem) == 2
    values = built.gm(X)
    assert torch.equal(values[2], X.max(1)[1])


def test_nested_results():
    built = record(lambda x: torch.lstm(
        x[None], (torch.zeros(1, 3, 4), torch.zeros(1, 3, 4)),
        [torch.ones(16, 4), torch.ones(16, 4)], False, 1, 0.0, False, False, False), X).build()
    assert len(built.gm(X)) == 3


def test_inputs_in_order_of_first_use_and_only_the_used():
    taped = record(lambda a, b, c: (c.shape, b + 1, a + b)[1:], X, X * 2, X * 3)
    built = taped.build()
    assert [ref.node for ref in built.inputs] == [1, 0]
    assert [n.name for n in built.gm.graph.find_nodes(op="placeholder")] == ["arg_1", "arg_0"]


def test_inputs_whose_paths_make_one_identifier():
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.level = torch.nn.ParameterList([torch.ones(4)])
            self.level_0 = torch.nn.Parameter(torch.full((4,), 2.0))

        def forward(self, x):
            return x * self.level_0 + self.level[0]
    built = replay(Net(), X)
    names = [node.target for node in built.gm.graph.find_nodes(op="placeholder")]
    assert names[:2] == ["arg_0", "self_level_0"] and len(set(names)) == 3


def test_an_input_may_be_an_output():
    taped = record(lambda x, y: (x.shape, x, y + 1)[1:], X, X * 2)
    assert taped.build().outputs[0] == InputRef(0)
    x = torch.ones(3, 4)
    built = taped.build()
    outs = built.gm(*[x if ref.node == 0 else X for ref in built.inputs])
    assert outs[0] is x


def test_outputs_are_given_once():
    taped = record(lambda x: x + 1, X)
    ref = taped.tape.table.known(taped.result)
    built = build(taped.tape, [ref, ref])
    assert built.outputs == [ref] and len(built.gm(X)) == 1


def test_changes_in_place_keep_their_order():
    def f(x):
        y = x.clone()
        view = y[0]
        y.add_(1)
        y[1] = 5
        return view + 1, y
    built = record(f, X).build()
    assert targets(built) == ["clone", operator.getitem, "add_", operator.setitem, "add"]
    assert torch.equal(built.gm(X)[0], X[0] + 2)


def test_nothing_to_run():
    taped = record(lambda x: x, X)
    assert build(taped.tape, []).empty
    assert not record(lambda x: x + 1, X).build().empty


def test_nodes_say_where_they_come_from():
    built = record(lambda x: x.exp(), X).build()
    trace = [n.meta["stack_trace"] for n in built.gm.graph.nodes if n.target == "exp"][0]
    assert __file__ in trace and "x.exp()" in trace


@pytest.mark.parametrize("path, name", [
    ("arg[0].fc.weight", "arg_0_fc_weight"), ("kwarg['x']", "kwarg_x"), ("0", "input_0"),
    ("", "input")])
def test_names_of_inputs(path, name):
    assert identifier(path) == name


def test_an_argument_no_graph_can_hold():
    taped = record(lambda x: x + 1, X)
    taped.tape.ops[0].kwargs["odd"] = object()
    with pytest.raises(StopCapture, match="graph-argument"):
        taped.build()


def test_keyword_and_container_arguments():
    built = record(lambda x, y: torch.cat([x, y], dim=1), X, X + 1).build()
    assert torch.equal(built.gm(X, X + 1)[0], torch.cat([X, X + 1], 1))


def test_example_values_come_from_the_recording():
    taped = record(lambda x: x.double().max(1), X)
    built = taped.build()
    from torch._subclasses.fake_tensor import FakeTensorMode
    add_example_values(built.gm, FakeTensorMode())
    nodes = {n.name: n for n in built.gm.graph.nodes}
    assert nodes["double"].meta["example_value"].dtype == torch.float64
    assert [v.shape for v in nodes["max_1"].meta["example_value"]] == [(3,), (3,)]
    assert all(FACTS not in n.meta for n in built.gm.graph.nodes)


def test_a_graph_pickles():
    built = record(lambda x: F.relu(x) + 1, X).build()
    assert torch.equal(pickle.loads(pickle.dumps(built.gm))(X)[0], F.relu(X) + 1)
