"""Snapshots of tensors: what makes a tensor another one for guards, and what does not."""

import gc
import sys

import pytest
import torch
from torch import nn

from magpy.guards.tensor_meta import (
    Content, TensorMeta, WeakTensor, distinct_storages, impl_key, storage_key, version)


class Sub(torch.Tensor):
    pass


def sparse(*shape, dense=0):
    return torch.ones(*shape).to_sparse(len(shape) - dense)


def inference(*shape):
    with torch.inference_mode():
        return torch.ones(*shape)


# (name, tensor) pairs that all differ from each other
TENSORS = {
    "plain": torch.zeros(4, 8),
    "rows": torch.zeros(5, 8),
    "transposed": torch.zeros(8, 4).t(),
    "three dims": torch.zeros(4, 8, 1),
    "0-d": torch.tensor(1.0),
    "empty": torch.zeros(0),
    "double": torch.zeros(4, 8, dtype=torch.float64),
    "int": torch.zeros(4, 8, dtype=torch.int64),
    "bool": torch.zeros(4, 8, dtype=torch.bool),
    "bfloat16": torch.zeros(4, 8, dtype=torch.bfloat16),
    "float8": torch.zeros(4, 8).to(torch.float8_e4m3fn),
    "meta": torch.zeros(4, 8, device="meta"),
    "requires grad": torch.zeros(4, 8, requires_grad=True),
    "parameter": nn.Parameter(torch.zeros(4, 8)),
    "frozen parameter": nn.Parameter(torch.zeros(4, 8), requires_grad=False),
    "subclass": torch.zeros(4, 8).as_subclass(Sub),
    "every other": torch.zeros(4, 16)[:, ::2],
    "expanded": torch.zeros(1, 8).expand(4, 8),
    "channels last": torch.zeros(1, 3, 4, 4).contiguous(memory_format=torch.channels_last),
    "channels first": torch.zeros(1, 3, 4, 4),
    "complex": torch.zeros(4, 8, dtype=torch.complex64),
    "conjugate": torch.zeros(4, 8, dtype=torch.complex64).conj(),
    "negative": torch.zeros(4, 8, dtype=torch.complex64).conj().imag,
    "sparse": sparse(4, 8),
    "hybrid sparse": sparse(4, 8, dense=1),
    "csr": torch.ones(4, 8).to_sparse_csr(),
    "inference": inference(4, 8),
}


@pytest.mark.parametrize("name", TENSORS)
def test_matches_itself_and_its_likes_only(name):
    tensor = TENSORS[name]
    meta = TensorMeta(tensor)
    assert meta.matches(tensor) and meta.why(tensor) == ""
    for other_name, other in TENSORS.items():
        if other_name != name:
            assert not meta.matches(other), other_name
            assert ": was " in meta.why(other)
    for value in (None, 3, torch.Tensor, [tensor], tensor.shape):
        assert not meta.matches(value)
        assert meta.why(value).startswith("type: was ")
    repr(meta)


def test_values_storage_and_history_do_not_matter():
    x = torch.zeros(4, 8, requires_grad=True)
    meta = TensorMeta(torch.zeros(4, 8))
    assert meta.matches(torch.rand(4, 8))
    assert meta.matches(torch.rand(5, 8)[1:])
    assert meta.matches(x.detach()) and meta.matches(x.data)
    assert TensorMeta(x).matches(x * 2)          # a leaf or not
    assert TensorMeta(torch.zeros(1).expand(1)).matches(torch.zeros(1))


def test_storage_offset_on_demand():
    x = torch.zeros(4, 8)
    assert TensorMeta(x).matches(torch.zeros(8, 8)[4:])
    strict = TensorMeta(x, compare_offset=True)
    assert strict.matches(torch.zeros(4, 8)) and strict.matches(torch.zeros(8, 8)[:4])
    assert not strict.matches(torch.zeros(8, 8)[4:])
    assert strict.why(torch.zeros(8, 8)[4:]) == "storage_offset: was 0, is 32"


def test_changes_in_place():
    x = torch.zeros(4, 8)
    meta = TensorMeta(x)
    for change, undo in [
        (lambda: x.requires_grad_(), lambda: x.requires_grad_(False)),
        (lambda: x.t_(), lambda: x.t_()),
        (lambda: x.resize_(2, 8), lambda: x.resize_(4, 8)),
        (lambda: setattr(x, "data", torch.zeros(3)), lambda: setattr(x, "data", torch.zeros(4, 8))),
        (lambda: setattr(x, "data", torch.zeros(4, 8).half()), lambda: setattr(x, "data", torch.zeros(4, 8))),
        (lambda: x.unsqueeze_(0), lambda: x.squeeze_(0)),
    ]:
        change()
        assert not meta.matches(x) and meta.why(x)
        undo()
        assert meta.matches(x)
    x.add_(1)
    x.grad = torch.zeros(4, 8)
    assert meta.matches(x)


def test_reasons():
    meta = TensorMeta(torch.zeros(4, 8))
    assert meta.why(torch.zeros(5, 8)) == "shape: was (4, 8), is (5, 8)"
    assert meta.why(torch.zeros(8, 4).t()) == "strides: was (8, 1), is (1, 4)"
    assert meta.why(torch.zeros(4, 8).double()) == "dtype: was torch.float32, is torch.float64"
    assert meta.why(torch.zeros(4, 8, requires_grad=True)) == "requires_grad: was False, is True"
    assert meta.why(nn.Parameter(torch.zeros(4, 8))) == (
        "type: was torch.Tensor, is torch.nn.parameter.Parameter")
    assert meta.why(torch.zeros(4, 8, device="meta")).startswith("device: was cpu, is meta")
    assert meta.why([]) == "type: was Tensor, is list"


def test_facts():
    meta = TensorMeta(nn.Parameter(torch.zeros(4, 8)[1:]))
    assert (meta.type, meta.shape, meta.strides, meta.dtype) == (nn.Parameter, (3, 8), (8, 1), torch.float32)
    assert (meta.device, meta.requires_grad, meta.comparable) == (torch.device("cpu"), True, True)
    assert TensorMeta(torch.zeros(4)[2:]).storage_offset == 2
    assert TensorMeta(sparse(2, 2)).strides is None


def test_symbolic_and_nested_sizes_never_match():
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.fx.experimental.symbolic_shapes import ShapeEnv

    with FakeTensorMode(shape_env=ShapeEnv()) as mode:
        fake = mode.from_tensor(torch.zeros(4, 8), static_shapes=False)
    nested = torch.nested.nested_tensor([torch.zeros(2), torch.zeros(3)])
    for tensor in (fake, nested):
        meta = TensorMeta(tensor)
        assert not meta.comparable and not meta.matches(tensor)
        assert meta.why(tensor).startswith("cannot be compared: ")
        assert not TensorMeta(torch.zeros(4, 8)).matches(tensor)


def test_wrapper_subclasses_run_no_user_code():
    class Wrapper(torch.Tensor):
        @staticmethod
        def __new__(cls, policy):
            return torch.Tensor._make_wrapper_subclass(
                cls, (4, 8), dispatch_sizes_strides_policy=policy, dispatch_device=policy is not None)

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            calls.append(func)
            raise AssertionError("user code ran")

    calls = []
    plain = Wrapper(None)
    assert TensorMeta(plain).matches(plain)
    for policy in ("sizes", "strides"):
        custom = Wrapper(policy)
        assert not TensorMeta(custom).matches(custom)
        assert not TensorMeta(plain).matches(custom)
    assert not calls


def test_functorch_wrappers_differ():
    meta = TensorMeta(torch.zeros(4))
    seen = []

    def f(x):
        seen.append(meta.matches(x))
        return x

    torch.func.vmap(f)(torch.zeros(2, 4))
    assert seen == [False]


def test_only_tensors():
    for function in (TensorMeta, impl_key, storage_key, version, WeakTensor):
        with pytest.raises(TypeError, match="a tensor is needed, not int"):
            function(3)


def test_identity():
    x = torch.zeros(4)
    assert impl_key(x) == impl_key(x) != impl_key(x.view(4))
    assert storage_key(x) == storage_key(x[2:]) != storage_key(x.clone())
    assert storage_key(sparse(2, 2)) == 0
    assert impl_key(x.detach()) != impl_key(x)


def test_version():
    x = torch.zeros(4)
    before = version(x)
    x[1:].add_(1)
    assert version(x) == before + 1 == x._version
    assert version(inference(2)) == 0


def test_partition():
    x, y = torch.zeros(4), torch.zeros(4)
    assert distinct_storages([]) == ()
    assert distinct_storages([x, y, x[1:], y, torch.zeros(1)]) == (0, 1, 0, 1, 2)
    s = sparse(2, 2)
    assert distinct_storages([s, sparse(2, 2), s]) == (0, 1, 0)


def test_weak_tensor_keeps_the_address_not_the_data():
    x = torch.zeros(4)
    key, weak, storage = impl_key(x), WeakTensor(x), x.untyped_storage()
    assert weak.alive() and weak.key == key
    data_users = sys.getrefcount(storage)
    del x
    gc.collect()
    assert not weak.alive() and weak.key == key
    assert sys.getrefcount(storage) <= data_users
    assert all(impl_key(torch.zeros(4)) != key for _ in range(100))


def test_no_leak():
    x = torch.zeros(4, 8)
    meta = TensorMeta(x)
    refs = sys.getrefcount(x)
    blocks = sys.getallocatedblocks()
    for _ in range(100_000):
        meta.matches(x)
    for _ in range(2000):
        TensorMeta(x)
        WeakTensor(x).alive()
        meta.why(x)
    gc.collect()
    assert sys.getrefcount(x) == refs
    assert abs(sys.getallocatedblocks() - blocks) < 500


# --- content ----------------------------------------------------------------------------------

@pytest.mark.parametrize("size", [1, 15, 16, 100, 191, 192, 193, 383, 384, 385, 1000, 5000])
def test_every_byte_counts(size):
    """Around the sizes at which the number is computed another way."""
    data = torch.randint(0, 256, (size,), dtype=torch.uint8)
    content = Content(data)
    assert content.matches(data.clone())
    for i in range(size):
        for bit in (1, 128):
            data[i] ^= bit
            assert not content.matches(data), (i, bit)
            data[i] ^= bit
    assert content.matches(data)


CONTENT_CHANGES = {
    "negated": lambda w: w.neg_(),
    "doubled": lambda w: w.mul_(2),
    "zeros": lambda w: w.zero_(),
    "halves swapped": lambda w: w.copy_(w.roll(w.numel() // 2)),
    "thirds swapped": lambda w: w.copy_(w.roll(w.numel() // 3)),
    "moved by a block": lambda w: w.copy_(w.roll(16)),
    "moved by four": lambda w: w.copy_(w.roll(4)),
    "turned round": lambda w: w.copy_(w.flip(0)),
    "two swapped": lambda w: w.index_copy_(0, torch.tensor([100, 116]), w[[116, 100]]),
    "low bits": lambda w: w.view(torch.int32).bitwise_xor_(1),
    "high bits": lambda w: w.view(torch.int32).bitwise_xor_(-2**31),
}


@pytest.mark.parametrize("change", CONTENT_CHANGES)
def test_changes_with_a_pattern(change):
    weight = torch.randn(3 * 4096)
    content = Content(weight)
    CONTENT_CHANGES[change](weight)
    assert not content.matches(weight)


def test_no_two_of_many_contents_are_taken_for_each_other():
    """All sparse contents of a kind: two bytes set."""
    contents = [Content(_with_bytes(i, j)) for i in range(0, 768, 37) for j in range(i + 1, 768, 41)]
    samples = [_with_bytes(i, j) for i in range(0, 768, 37) for j in range(i + 1, 768, 41)]
    found = sum(content.matches(sample) for content in contents[::7] for sample in samples)
    assert found == len(contents[::7])


def _with_bytes(*places):
    data = torch.zeros(768, dtype=torch.uint8)
    data[list(places)] = 1
    return data
