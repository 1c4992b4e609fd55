"""Frozen weights: constants of the graph for as long as they hold what was frozen, however they are changed."""
import copy

import pytest
import torch
from support.expect import assert_counts
from torch import nn

import magpy

FREEZING = {"freezing": True}
X = torch.randn(2, 3, 8, 8, generator=torch.Generator().manual_seed(1))
ROWS = torch.randn(4, 6, generator=torch.Generator().manual_seed(2))


def linear(seed=0):
    torch.manual_seed(seed)
    return nn.Linear(6, 5).eval()


def convolution():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU()).eval()
    model[1].running_mean.normal_()
    model[1].running_var.uniform_(0.5, 2)
    return model


def frozen(model, **settings):
    return magpy.compile(model, options=FREEZING, **settings)


def inputs_of(compiled):
    """How many tensors the newest entry hands to its graph."""
    return magpy.explain(compiled).entries[0].mock.count("# s[")


def agree(compiled, model, x):
    with torch.no_grad():
        got, want = compiled(x), model(x)
    torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-5)
    assert got.stride() == want.stride()


def test_weights_and_statistics_are_constants():
    model = convolution()
    compiled = frozen(model)
    for _ in range(3):
        agree(compiled, model, X)
    assert_counts(compiled, 1, 2)
    assert inputs_of(compiled) == 1
    assert magpy.explain(compiled).entries[0].guards.count("content") == 6


def fused_adam(model):
    model.weight.grad = torch.ones_like(model.weight)
    torch.optim.Adam([model.weight], lr=0.1, fused=True).step()
    model.weight.grad = None


def in_no_grad(change):
    def changed(model):
        with torch.no_grad():
            change(model)
    return changed


CHANGES = {
    "in place": in_no_grad(lambda model: model.weight.add_(1)),
    "data": lambda model: model.weight.data.add_(1),
    "detach": lambda model: model.weight.detach().mul_(2),
    "view": in_no_grad(lambda model: model.weight.t()[0].fill_(7)),
    "one element": lambda model: model.weight.data.view(-1)[-1:].zero_(),
    "numpy": lambda model: model.weight.detach().numpy().__setitem__(0, 3),
    "dlpack": lambda model: torch.from_dlpack(model.weight.detach()).add_(1),
    "storage": lambda model: model.bias.untyped_storage().fill_(1),
    "load_state_dict": lambda model: model.load_state_dict(linear(1).state_dict()),
    "assign": lambda model: model.load_state_dict(linear(1).state_dict(), assign=True),
    "rebound": lambda model: setattr(model, "weight", linear(1).weight),
    "other data": lambda model: setattr(model.weight, "data", linear(1).weight.data),
    "init": lambda model: nn.init.normal_(model.weight),
    "fused optimizer": fused_adam,
    "vector": lambda model: nn.utils.vector_to_parameters(torch.randn(35), model.parameters()),
}


def test_every_way_to_change_a_weight_is_seen():
    """Also those that raise no version counter. Guards alone are asked: one compilation is enough for all."""
    model = linear()
    before = copy.deepcopy(model.state_dict())
    compiled = frozen(model)
    agree(compiled, model, ROWS)
    [entry] = magpy.dispatch.compiled.table_of(compiled).entries
    call = model, (ROWS,), {}
    with torch.no_grad():
        for name, change in CHANGES.items():
            assert entry.guards.match(*call) is not None, f"before {name}"
            change(model)
            assert entry.guards.match(*call) is None, name
            assert entry.guards.instrs[entry.guards.failed].check == "frozen", name
            model.load_state_dict(before)


@pytest.mark.parametrize("name", ["data", "rebound", "fused optimizer"])
def test_a_changed_weight_is_frozen_anew_and_the_old_one_found_again(name):
    model = linear()
    before = copy.deepcopy(model.state_dict())
    compiled = frozen(model)
    agree(compiled, model, ROWS)
    old = model.weight
    CHANGES[name](model)
    agree(compiled, model, ROWS)
    agree(compiled, model, ROWS)
    assert_counts(compiled, 2, 1)
    assert magpy.explain(compiled).misses == ["fn.weight: its data was changed since it was frozen"]
    old.data.zero_()                                    # constants are nobody's memory
    model.load_state_dict(before)
    agree(compiled, model, ROWS)
    assert_counts(compiled, 2, 2)


def test_another_type_is_another_entry():
    model = linear()
    compiled = frozen(model)
    agree(compiled, model, ROWS)
    model.double()
    agree(compiled, model, ROWS.double())
    agree(compiled, model, ROWS.double())
    assert_counts(compiled, 2, 1)


def test_weights_that_keep_changing_are_not_frozen(caplog):
    model = linear()
    compiled = frozen(model)
    with magpy.config.patch(freezing_limit=2), caplog.at_level("WARNING", "magpy.captures"):
        for _ in range(5):
            agree(compiled, model, ROWS)
            model.weight.data.add_(1)
    assert_counts(compiled, 3, 2)
    assert inputs_of(compiled) == 3
    assert len(magpy.explain(compiled).entries) == 1
    assert [r.getMessage() for r in caplog.records if "not frozen any more" in r.getMessage()] == [
        "magpy: Linear: its weights were changed 2 times since they were frozen; they are not frozen any more "
        "(magpy.config.freezing_limit)"]


def test_training_is_untouched():
    model, twin = linear(), linear()
    compiled = frozen(model)
    for ours in (compiled, twin):
        optimizer = torch.optim.SGD(ours.parameters(), lr=0.1)
        for _ in range(3):
            ours(ROWS).pow(2).sum().backward()
            optimizer.step()
            optimizer.zero_grad()
    torch.testing.assert_close(model.state_dict(), twin.state_dict())
    assert_counts(compiled, 1, 2)
    assert inputs_of(compiled) == 3


def test_the_users_parameters_stay_as_they_are():
    model = convolution()
    before = {name: (tensor.clone(), tensor.data_ptr(), tensor._version) for name, tensor in model.state_dict().items()}
    agree(frozen(model), model, X)
    for name, tensor in model.state_dict().items():
        content, address, version = before[name]
        assert torch.equal(tensor, content) and (tensor.data_ptr(), tensor._version) == (address, version)
    assert all(not vars(parameter) and parameter.requires_grad for parameter in model.parameters())


class Gives(nn.Module):
    """Gives a part of one weight away, and something made of the other alone."""

    def __init__(self):
        super().__init__()
        self.a = nn.Parameter(torch.randn(4))
        self.b = nn.Parameter(torch.randn(4))
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x):
        self.calls.add_(1)
        return x * self.b, self.a.view(2, 2), self.b * 2


def test_what_is_given_away_or_changed_is_not_a_constant():
    torch.manual_seed(0)
    model = Gives()
    twin = copy.deepcopy(model)
    compiled = frozen(model)
    with torch.no_grad():
        for i in range(3):
            results = [f(ROWS[0, :4]) for f in (compiled, twin)]
            torch.testing.assert_close(*results)
            for product, part, doubled in results:
                part.fill_(i)
                product.zero_()
                doubled.zero_()
            torch.testing.assert_close(model.state_dict(), twin.state_dict())
    assert_counts(compiled, 1, 2)
    assert inputs_of(compiled) == 3             # the argument, a and calls


def test_inference_mode():
    with torch.inference_mode():
        model = linear()
        compiled = frozen(model)
        for i in range(3):
            torch.testing.assert_close(compiled(ROWS), model(ROWS), rtol=1e-4, atol=1e-5)
            assert_counts(compiled, 1 + (i == 2), 1 if i else 0)
            if i == 1:
                model.weight.add_(1)            # which has no version counter


def test_a_parameter_that_is_an_argument_is_no_constant():
    weights = [nn.Parameter(torch.randn(6)) for _ in range(3)]
    compiled = frozen(lambda x, weight: x * weight)
    with torch.no_grad():
        for weight in weights:
            torch.testing.assert_close(compiled(ROWS, weight), ROWS * weight)
    assert_counts(compiled, 1, 2)
