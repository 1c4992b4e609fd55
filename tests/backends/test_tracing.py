"""The fake tensors that compilers are given for the inputs of a graph."""
import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch._subclasses.meta_utils import MetaConverter
from torch.fx.experimental.symbolic_shapes import ShapeEnv

from magpy.backends.tracing import fakes_of


@pytest.fixture
def taken_apart(monkeypatch):
    """The tensors that torch takes apart to make fakes of them."""
    seen = []
    whole = MetaConverter.meta_tensor

    def meta_tensor(self, *args, **kwargs):
        seen.append(args)
        return whole(self, *args, **kwargs)
    monkeypatch.setattr(MetaConverter, "meta_tensor", meta_tensor)
    return seen


def facts(tensor):
    return (tensor.shape, tensor.stride(), tensor.dtype, tensor.device, tensor.requires_grad, tensor.is_leaf,
            isinstance(tensor, torch.nn.Parameter), tensor.storage_offset())


def test_plain_inputs_have_fakes_without_being_taken_apart(taken_apart):
    tensors = [*torch.nn.Linear(3, 4).parameters(), torch.ones(2, dtype=torch.long), torch.empty_strided((3, 4), (1, 3))]
    mode = FakeTensorMode(shape_env=ShapeEnv())
    fakes = fakes_of(mode, tensors)
    assert not taken_apart
    assert [facts(fake) for fake in fakes] == [facts(tensor) for tensor in tensors]
    assert all(mode.from_tensor(tensor) is fake for tensor, fake in zip(tensors, fakes))


def test_views_and_what_shares_memory_are_taken_apart(taken_apart):
    base = torch.arange(6.)
    tensors = [base[1:], base, base.view(2, 3)]
    fakes = fakes_of(FakeTensorMode(shape_env=ShapeEnv()), tensors)
    assert len(taken_apart) == 4       # and the base of a view
    assert [facts(fake) for fake in fakes] == [facts(tensor) for tensor in tensors]
    assert len({fake.untyped_storage()._cdata for fake in fakes}) == 1
