"""The tape by itself: what it records, what ends a capture, and that it never gets in the
way of the user's call. A recorder stand-in knows the arguments (`support.taping`)."""
import gc
import weakref

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from support.taping import record, replay, stops

X = torch.arange(12.0).reshape(3, 4) / 7 - 0.5
WEIGHT = torch.ones(3, requires_grad=True)
IMAGE = torch.linspace(-1, 1, 384).reshape(2, 3, 8, 8)

REPLAYED = {
    "operators": lambda x: (x + 1, 1 + x, 1 - x, x - x, 2 ** x, x ** 2, x // 2, 2 // (x + 9),
                            x % 2, 2 % (x + 9), 2 / (x + 9), -x, abs(x), x @ x.T),
    "comparisons": lambda x: (x == x, x != 1, x > 0, ~(x > 0), (x > 0) & (x < 1),
                              True | (x > 0), (x > 0) ^ True),
    "numpy scalars": lambda x: (x * np.float32(2), np.float64(2) * x, x.view(np.int64(2), 6)),
    "indexing": lambda x: (x[0], x[..., None], x[:, ::2], x[1:, 0], x[[0, 1], [1, 2]],
                           x[torch.tensor([0, 1])], x[torch.tensor(2)]),
    "iteration": lambda x: [row * len(x) for row in x] + list(x) + [sum(x)],
    "attributes": lambda x: (x.T, x.mT, x.H, x.real, x.data * 2),
    "made from": lambda x: (x.new(2, 2).zero_(), x.new([1, 2]), x.new_tensor([1, 2]),
                            x.new_zeros(2), x.type("torch.DoubleTensor"), x.type_as(x.int())),
    "factories": lambda x: (torch.zeros(2), torch.tensor([[1, 2], [3, 4]]), torch.arange(3),
                            torch.as_tensor(3.0), torch.full_like(x, 2), torch.eye(2),
                            torch.ones(x.shape, dtype=torch.int), torch.linspace(0, 1, 3)),
    "several results": lambda x: (x.max(1), x.topk(2), x.sort(), torch.linalg.svd(x),
                                  x.chunk(2), torch.split(x, 2), x.unbind(), torch.meshgrid(
                                      x[0], x[1], indexing="ij"), torch._foreach_add([x], 1)),
    "functional": lambda x: (F.relu(x), F.softmax(x, -1), F.layer_norm(x, (4,)), F.gelu(x),
                             F.pad(x, (1, 1)), F.normalize(x), F.mse_loss(x, x + 1),
                             F.cross_entropy(x, torch.tensor([0, 1, 2])),
                             F.embedding(torch.tensor([0]), x), torch.einsum("ij,kj->ik", x, x)),
    "one hot": lambda x: F.one_hot(torch.tensor([1, 0]), 3),
    "in place": lambda x: _in_place(x),
    "no_grad": lambda x: _no_grad(x),
    "autograd's state": lambda x: _autograd_state(x),
    "data": lambda x: _data(x),
    "known sizes": lambda x: (
        x.view(torch.tensor(12)), torch.zeros(torch.tensor(3)), x[:torch.tensor(2)],
        torch.arange(torch.tensor(3)), x.repeat_interleave(torch.tensor([1, 2, 0]), 0),
        x.repeat_interleave(torch.tensor(2)), torch.tensor_split(x, torch.tensor([1])),
        torch.ones(2, 3).nonzero(), torch.ones(3)[torch.arange(3) > 1], x[torch.arange(3) > 0],
        x[:, torch.eye(4)[0] > 0], x[torch.ones(3, 4).triu() > 0], F.one_hot(torch.tensor([0, 2]))),
    "known data": lambda x: (
        x * torch.linspace(0, 1, 3).tolist()[1], x * torch.tensor([2, 3]).prod().item(),
        x + 1 if torch.ones(2).sum() > 1 else x, [x, -x][torch.tensor(1)],
        x * torch.full_like(x, 2).max().item(), x * torch.empty(2).fill_(3)[0].item(),
        torch.tensor([torch.tensor(1.0), 2.0]), [x + i for i in range(torch.tensor(2))],
        torch.tensor(np.ones(2)), torch.tensor(np.float64(1)), torch.as_tensor(np.arange(3))),
    "out": lambda x: torch.add(x, 1, out=torch.empty(3, 4)),
    "torch.ops": lambda x: (torch.ops.aten.add(x, x), torch.ops.aten.mul.Tensor(x, x),
                            torch.ops.aten.zeros([2])),
}


def _in_place(x):
    z = x.clone()
    z += 1
    z[0] = 1
    z[:, 1] = x[:, 1]
    z[0] += 1
    z[x > 0] = 0.0
    view = z.view(-1)
    view.mul_(2)
    return z, view


def _changed_by_view(x):
    known = torch.zeros(4)
    known.view(2, 2)[0].copy_(x[0, :2])
    return known


def _written_by_numpy(x):
    known = torch.zeros(4)
    known.numpy()[0] = 5
    return known * x


def _written_with_numpy(x):
    known = torch.zeros(4)
    array = known.numpy()
    known.add_(x[0])
    return array.sum()


def _autograd_state(x):
    y = x.clone().requires_grad_()
    z = torch.zeros(4, requires_grad=True)
    w = x * 2
    w.requires_grad = True
    v = (y * 3).detach_()
    u = y * z
    u.retain_grad()
    return y, z, w, v, u, x * (y.grad_fn is None), x * u.is_leaf, x * (x.clone().grad is None)


def _data(x):
    y = x * 2
    y.data.add_(1)
    y.data[0].mul_(2)
    z = x * 3
    z.data = y + 1
    z.add_(1)
    return y, z


def _no_grad(x):
    w = x.clone().detach()
    with torch.no_grad():
        y = w * 2
    return y, w * 3


@pytest.mark.parametrize("name", REPLAYED)
def test_replay_equals_recording(name):
    replay(REPLAYED[name], X.clone())


def test_known_data_of_what_inference_mode_changes():
    def f(x):
        known = torch.zeros(4)
        torch.add(x[0], 1, out=known)
        return known.tolist()
    with torch.inference_mode():
        assert stops(f, X.clone())[0] == "tensor-data"


@pytest.mark.parametrize("f", [
    lambda i: F.conv2d(i, torch.ones(4, 3, 3, 3)), lambda i: F.max_pool2d(i, 2),
    lambda i: F.max_pool2d(i, 2, return_indices=True), lambda i: F.interpolate(i, scale_factor=2),
    lambda i: F.scaled_dot_product_attention(i, i, i), lambda i: F.adaptive_avg_pool2d(i, 1),
    lambda i: F.grid_sample(i, torch.zeros(2, 4, 4, 2)), lambda i: F.unfold(i, 2),
    lambda i: F.batch_norm(i, None, None, training=True)])
def test_replay_of_image_functions(f):
    replay(f, IMAGE.clone())


@pytest.mark.parametrize("module, args", [
    (torch.nn.LSTM(4, 5, 2, bidirectional=True), (X,)), (torch.nn.GRU(4, 5), (X,)),
    (torch.nn.MultiheadAttention(4, 2), (X, X, X)),
    (torch.nn.TransformerEncoderLayer(4, 2, 8).eval(), (X,))])
def test_replay_of_modules(module, args):
    taped = record(module, *args)
    built = taped.build()
    again = built.gm(*taped.example(built))
    first = taped.result[0] if isinstance(taped.result, tuple) else taped.result
    torch.testing.assert_close(again[0], first, rtol=0, atol=0)


STOPS = {
    "tensor-data": [
        lambda x: x.sum().item(), lambda x: bool(x.sum()), lambda x: x.tolist(),
        lambda x: x.numpy(), lambda x: repr(x), lambda x: f"{x.sum()}", lambda x: np.sin(x),
        lambda x: x.data_ptr(), lambda x: torch.equal(x, x), lambda x: torch.allclose(x, x),
        lambda x: 1.0 in x, lambda x: max(x[0]), lambda x: float(x[0, 0]),
        lambda x: [1, 2, 3][x[0].argmin()], lambda x: list(range(x[0].argmin())),
        lambda x: x.storage_offset(), lambda x: torch.tensor([x[0, 0], 1.0]),
        lambda x: torch._assert(x.sum() < 99, ""), lambda x: x.untyped_storage(),
        lambda x: x * np.ones((3, 4)), lambda x: torch.is_nonzero(x[0, 0]),
        # Of tensors that nothing but the call has made, but not from known values alone.
        lambda x: torch.rand(2)[0].item(), lambda x: torch.zeros(2).normal_().tolist(),
        lambda x: torch.nn.init.xavier_normal_(torch.zeros(2, 2)).tolist(),
        lambda x: torch.empty(2).tolist(), lambda x: torch.zeros(2).resize_(50).tolist(), lambda x: torch.zeros(2).new(2).tolist(),
        lambda x: torch.full((2,), x[0, 0]).tolist(), lambda x: torch.ones(4).add_(x[0]).tolist(),
        lambda x: _changed_by_view(x).tolist(), lambda x: torch.full_like(x, x[0, 0]).tolist(),
        lambda x: torch.add(x[0], 1, out=torch.zeros(4)).tolist(),
        lambda x: torch.zeros(2).data_ptr(), lambda x: repr(torch.zeros(2))],
    "dynamic-output-shape": [
        lambda x: x[x > 0], lambda x: x.nonzero(), lambda x: torch.where(x > 0),
        lambda x: torch.unique(x), lambda x: torch.masked_select(x, x > 0),
        lambda x: F.one_hot(x.long().abs()), lambda x: torch.bincount(x[0].long().abs()),
        lambda x: x.view((x < 9).sum()), lambda x: torch.zeros((x < 9).sum()),
        lambda x: x[:(x < 9).sum()], lambda x: torch.arange((x < 9).sum()),
        lambda x: x.repeat_interleave(x[:, 0].long().abs(), 0), lambda x: x.argwhere(),
        lambda x: torch.tensor_split(x, x[0, :1].long()), lambda x: x.to_sparse(),
        lambda x: torch.ops.aten.nonzero(x), lambda x: x.unique(),
        lambda x: torch.nn.utils.rnn.pack_padded_sequence(
            x[..., None], (x < 9).sum(1), batch_first=True).data],
    "autograd-in-graph": [
        lambda x: x.grad, lambda x: x.clone().requires_grad_().grad, lambda x: x._version,
        lambda x: (x.clone().requires_grad_() * 2).sum().backward(),
        lambda x: WEIGHT.register_hook(print), lambda x: x.output_nr],
    "leaf-mutation": [
        lambda x: x.resize_(2, 2),
        lambda x: x.clone().map_(x, lambda a, b: a)],
    "aliasing": [lambda x: x.as_strided((2,), (1,)), lambda x: x[1].as_strided((2,), (1,)),
                 _written_by_numpy, _written_with_numpy],
    "graph-argument": [
        lambda x: torch.rand(2, generator=torch.Generator()),
        lambda x: F.triplet_margin_with_distance_loss(x, x, x, distance_function=lambda a, b: a)],
    "unknown-tensor": [lambda x: x + torch.from_numpy(np.ones(4)), lambda x: x + IMAGE[0, 0, 0, :4],
                       lambda x: torch.FloatTensor([1, 2]) + 1],
    "tensor-subclass": [lambda x: torch.stack([x.as_subclass(Odd)])],
}


class Odd(torch.Tensor):
    pass


@pytest.mark.parametrize("reason, f", [(r, f) for r, fs in STOPS.items() for f in fs])
def test_stop(reason, f):
    assert stops(f, X.clone())[0] == reason


@pytest.mark.parametrize("f", [
    lambda x: (x.shape, x.size(0), x.dim(), x.ndim, x.numel(), x.stride(), x.dtype, x.device,
               x.is_cuda, x.requires_grad, x.is_leaf, x.layout, x.element_size(), x.nbytes,
               x.is_contiguous(), x.is_floating_point(), torch.is_floating_point(x), len(x),
               x.type(), torch.result_type(x, 1), x.get_device(), x.is_complex(), x == None,  # noqa: E711
               torch.device("cpu"), hasattr(x, "nope"), isinstance(x, torch.nn.Parameter))])
def test_metadata_is_free(f):
    taped = record(f, X.clone())
    assert taped.stop is None and taped.names == []


def test_returning_the_argument_needs_no_operation():
    taped = record(lambda x: (x.contiguous(), x.to(torch.float32), x.cpu(), x.float(),
                              F.dropout(x, 0.5, False), x.requires_grad_(False)), X.clone())
    assert taped.stop is None and taped.names == []
    assert len({id(t) for t in taped.result}) == 1


def test_in_place_result_keeps_its_first_reference():
    taped = record(lambda x: (lambda z: (z, z.add_(1), F.relu(z, inplace=True)))(x * 2), X.clone())
    refs = {taped.tape.table.known(t) for t in taped.result}
    assert taped.names == ["mul", "add_", "relu"] and len(refs) == 1
    assert [op.inplace for op in taped.tape.ops] == [False, True, True]


def test_arguments_are_copied():
    sizes = [3, 4]

    def f(x):
        y = x.reshape(sizes)
        sizes[:] = [12]
        return y
    taped = record(f, X.reshape(-1).clone())
    assert taped.tape.ops[0].args[1] == [3, 4]


def test_changed_inputs_are_named():
    def f(x, y, z):
        x.view(-1).add_(1)
        return x + y + z.clone().mul_(2)
    tensors = [X.clone() for _ in range(3)]
    taped = record(f, *tensors)
    assert {r.node for r in taped.tape.mutated_inputs()} == {0}


def test_changes_through_data_are_changes():
    tensors = [X.clone() for _ in range(3)]
    taped = record(lambda x, y, z: (x.data[0].add_(1), setattr(y, "data", z.data * 2)), *tensors)
    assert {r.node for r in taped.tape.mutated_inputs()} == {0, 1}
    assert [op.opaque for op in taped.tape.ops] == [True, False, True, False, False, True]


def test_running_statistics_count_as_changed():
    norm = torch.nn.BatchNorm2d(3)
    taped = record(norm, IMAGE)
    paths = {taped.tape.paths[r] for r in taped.tape.mutated_inputs()}
    assert paths == {"self.running_mean", "self.running_var", "self.num_batches_tracked"}


def test_changes_in_inference_mode_are_seen():
    with torch.inference_mode():
        x = X.clone()
        taped = record(lambda x: F.relu(x[0], inplace=True), x)
    assert {r.node for r in taped.tape.mutated_inputs()} == {0}


def test_is_leaf_of_what_needs_grad():
    w = X.clone().requires_grad_()
    assert stops(lambda t: t.is_leaf, w * 2)[0] == "autograd-in-graph"
    assert stops(lambda t: t.grad_fn is None, w * 2)[0] == "autograd-in-graph"
    assert record(lambda t: t.is_leaf, torch.nn.Parameter(X.clone())).stop is None


def test_intermediates_are_freed():
    freed = []

    def f(x):
        y = x * 2
        weakref.finalize(y, freed.append, 1)
        z = y + 1
        del y
        gc.collect()
        assert freed == [1]
        return z
    assert record(f, X.clone()).stop is None


def test_freed_addresses_are_not_mistaken():
    def f(x):
        for _ in range(200):
            x = (x + 1) * 1.5
        return x
    taped = record(f, X.clone())
    built = taped.build()
    again = built.gm(*taped.example(built))[0]
    torch.testing.assert_close(again, taped.result, rtol=0, atol=0)
    assert len(taped.tape.ops) == 400


def test_exceptions_of_operations_pass_and_leave_no_operation():
    def f(x):
        try:
            x.view(7)
        except RuntimeError:
            return x + 1
    taped = record(f, X.clone())
    assert taped.stop is None and taped.names == ["add"]
    with pytest.raises(RuntimeError, match="shape"):
        record(lambda x: x.view(7), X.clone())
    assert torch._C._len_torch_function_stack() == 0


def test_after_a_stop_nothing_is_recorded():
    taped = record(lambda x: (x.sum().item(), x + 1), X.clone())
    assert taped.stop == ("tensor-data", "item") and taped.names == ["sum"]
    assert taped.result[0] == X.sum().item()


def test_a_changed_grad_mode_is_an_operation():
    def f(x):
        with torch.no_grad():
            y = x * 2
        return y
    assert record(f, X.clone()).names == ["_set_grad_enabled", "mul", "_set_grad_enabled"]


def test_places_are_the_users():
    taped = record(lambda x: F.softmax(x, 0), X.clone())
    filename, line, function = taped.tape.ops[0].place
    assert (filename, function) == (__file__, "<lambda>")


def test_calls_entered_by_rules():
    def f(x):
        made = torch.FloatTensor([1, 2])
        taped_tape().record_result(torch.tensor, ([1.0, 2.0],), {}, made)
        return made + 1
    tapes = []

    def taped_tape():
        return tapes[-1]

    def run(x):
        tapes.append(torch.overrides._get_current_function_mode())
        return f(x)
    taped = record(run, X.clone())
    assert taped.stop is None and taped.names == ["tensor", "add"]


def test_a_fault_of_the_tape_does_not_reach_the_user(monkeypatch):
    from magpy.recorder import torch_mode
    monkeypatch.setattr(torch_mode, "user_place", lambda frame: 1 / 0)
    taped = record(lambda x: x + 1, X.clone())
    assert taped.stop[0] == "internal-error" and torch.equal(taped.result, X + 1)
