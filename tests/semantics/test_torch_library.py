"""Parts of torch's library that do more than call operators: packed sequences, checkpoints, parallel wrappers, norms that
change their weights, parametrizations, pruning, distributions, profiler marks, and questions about torch's settings."""
import pytest
import torch
import torch.nn as nn
import torch.nn.utils.prune
from torch.nn.utils.rnn import pack_padded_sequence, pack_sequence, pad_packed_sequence, pad_sequence
from torch.utils.checkpoint import checkpoint, checkpoint_sequential

import magpy
from support.expect import batch, built, check, program


def sequences(i):
    return batch(i, 3, 5, 4)


class Net(nn.Module):
    """A module whose forward is a function of itself and the input."""

    def __init__(self, forward, **modules):
        super().__init__()
        self.f = forward
        for name, module in modules.items():
            setattr(self, name, module)

    def forward(self, x):
        return self.f(self, x)


RECURRENT = {
    "lstm": lambda: Net(lambda s, x: s.r(x), r=nn.LSTM(4, 6, 2, batch_first=True)),
    "gru": lambda: Net(lambda s, x: s.r(x), r=nn.GRU(4, 6, bidirectional=True, batch_first=True)),
    "rnn": lambda: Net(lambda s, x: s.r(x, torch.zeros(1, 3, 6)), r=nn.RNN(4, 6, batch_first=True, nonlinearity="relu")),
    "projected": lambda: Net(lambda s, x: s.r(x), r=nn.LSTM(4, 6, batch_first=True, proj_size=2)),
    "cells": lambda: Net(lambda s, x: (s.a(x[0]), s.b(x[0]), s.c(x[0])), a=nn.LSTMCell(4, 4), b=nn.GRUCell(4, 4), c=nn.RNNCell(4, 4)),
    "flattened": lambda: Net(lambda s, x: (s.r.flatten_parameters(), s.r(x))[1], r=nn.LSTM(4, 6, batch_first=True)),
}


@pytest.mark.parametrize("name", RECURRENT)
def test_recurrent(name):
    check(RECURRENT[name], sequences, train=True)


def sorted_lengths(s, x):
    packed = pack_padded_sequence(x, [5, 3, 2], batch_first=True)
    out, state = s.r(packed)
    padded, lengths = pad_packed_sequence(out, batch_first=True)
    return padded, lengths, state, packed


def unsorted_lengths(s, x):
    lengths = torch.tensor([2, 5, 3])
    out, state = s.r(pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False))
    padded, lengths = pad_packed_sequence(out, batch_first=True, total_length=6, padding_value=-1.0)
    return padded, lengths.tolist(), state


def time_first(s, x):
    out, state = s.r(pack_padded_sequence(x.transpose(0, 1), [5, 5, 1]))
    return pad_packed_sequence(out)[0], state


def of_a_list(s, x):
    packed = pack_sequence([x[0], x[1, :3]])
    return s.r(packed)[1], pad_sequence([x[0], x[1, :2]], batch_first=True), packed.batch_sizes.tolist()


@pytest.mark.parametrize("forward", [sorted_lengths, unsorted_lengths, time_first, of_a_list])
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_packed(forward, backend):
    check(lambda: Net(forward, r=nn.GRU(4, 6, batch_first=forward in (sorted_lengths, unsorted_lengths), bidirectional=True)), sequences, train=True,
          backend=backend) if backend == "eager" else check(lambda: Net(lambda s, x: forward(s, x)[0], r=lambda p: (p, None)), sequences, backend=backend)


def test_lengths_follow_the_shape():
    def f(x):
        packed = pack_padded_sequence(x, [x.shape[1]] * x.shape[0], batch_first=True)
        return pad_packed_sequence(packed, batch_first=True)[0] * 2
    check(lambda: f, lambda i: batch(i, 2, 3 + i % 2, 4), captures=2, calls=6)


CHECKPOINTED = {
    "one": lambda: Net(lambda s, x: checkpoint(s.l, x, use_reentrant=False).sum(1), l=nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4))),
    "nested": lambda: Net(lambda s, x: checkpoint(lambda y: checkpoint(s.l, y, use_reentrant=False) * s.scale, x, use_reentrant=False), l=nn.Linear(4, 4), scale=2),
    "sequential": lambda: Net(lambda s, x: checkpoint_sequential(s.l, 2, x, use_reentrant=False), l=nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4))),
    "dropout": lambda: Net(lambda s, x: checkpoint(s.l, x, use_reentrant=False), l=nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5))),
}


@pytest.mark.parametrize("name", CHECKPOINTED)
def test_checkpoint(name):
    check(CHECKPOINTED[name], sequences, train=True)


def test_checkpointed_code_reads_outside_state():
    net = CHECKPOINTED["nested"]()
    compiled = magpy.compile(net, backend="eager", fullgraph=True)
    for scale, captures in ((2, 1), (2, 1), (3, 2)):
        net.scale = scale
        assert torch.equal(compiled(sequences(0)), net.l(sequences(0)) * scale)
        assert magpy.explain(compiled).captures == captures


def test_lengths_that_are_data():
    """The lengths are an input: the same graph serves calls with the same lengths."""
    net = nn.GRU(4, 6, batch_first=True)

    def f(x, lengths):
        packed, _ = net(pack_padded_sequence(x, lengths.tolist(), batch_first=True))
        return pad_packed_sequence(packed, batch_first=True)[0]
    compiled = magpy.compile(f, backend="eager", fullgraph=True)
    for i, lengths in enumerate(([5, 3, 2], [5, 3, 2], [4, 4, 1], [5, 3, 2])):
        lengths = torch.tensor(lengths)
        assert torch.equal(compiled(sequences(i), lengths), f(sequences(i), lengths))
    assert magpy.explain(compiled).captures == 2


def hooked():
    layer = nn.Linear(4, 4)
    layer.register_forward_hook(lambda module, args, out: out * 2)
    layer.register_forward_pre_hook(lambda module, args: (args[0] + 1,))
    return layer


class Symmetric(nn.Module):
    def forward(self, w):
        return w.triu() + w.triu(1).mT


def parametrized():
    layer = nn.Linear(4, 4)
    nn.utils.parametrize.register_parametrization(layer, "weight", Symmetric())
    return layer


WRAPPED = {
    "DataParallel": lambda: nn.DataParallel(nn.Linear(4, 4)),
    "DataParallel inside": lambda: Net(lambda s, x: s.l(x) + 1, l=nn.DataParallel(nn.Linear(4, 4))),
    "weight_norm": lambda: nn.utils.parametrizations.weight_norm(nn.Linear(4, 4)),
    "spectral_norm": lambda: nn.utils.parametrizations.spectral_norm(nn.Linear(4, 4)),
    "orthogonal": lambda: nn.utils.parametrizations.orthogonal(nn.Linear(4, 4)),
    "parametrization": parametrized,
    "hooks": hooked,
    "functional_call": lambda: Net(lambda s, x: torch.func.functional_call(s.l, {"weight": s.l.weight * 2, "bias": s.l.bias}, (x,)), l=nn.Linear(4, 4)),
    "attention": lambda: Net(lambda s, x: s.m(x, x, x), m=nn.MultiheadAttention(4, 2, batch_first=True)),
    "transformer": lambda: Net(lambda s, x: s.t(x, x, tgt_mask=nn.Transformer.generate_square_subsequent_mask(5)), t=nn.Transformer(4, 2, 1, 1, 8, batch_first=True)),
    "parameters_to_vector": lambda: Net(lambda s, x: nn.utils.parameters_to_vector(s.l.parameters()) * x.sum(), l=nn.Linear(4, 4)),
}


@pytest.mark.parametrize("name", WRAPPED)
def test_wrapped_layers(name):
    check(WRAPPED[name], sequences, train=True)


@pytest.mark.filterwarnings("ignore:.*weight_norm")
@pytest.mark.parametrize("wrap", [nn.utils.weight_norm, nn.utils.spectral_norm, lambda m: nn.utils.prune.l1_unstructured(m, "weight", 0.5)])
def test_old_reparametrizations(wrap):
    check(lambda: wrap(nn.Linear(4, 4)), sequences, train=True)
    check(lambda: wrap(nn.Linear(4, 4)).eval(), sequences)


def test_lazy_layers_after_their_first_call():
    net = nn.Sequential(nn.LazyLinear(3), nn.ReLU())
    compiled = magpy.compile(net, backend="eager")
    for i in range(4):
        assert torch.equal(compiled(sequences(i)), net(sequences(i)))
    explained = magpy.explain(compiled)
    assert explained.captures == 1 and explained.hits == 2
    assert {stop.reason for stop in explained.stops} == {"tensor-subclass"}


@program(inputs=sequences)
def test_distributions(x):
    normal = torch.distributions.Normal(x, x.exp(), validate_args=False)
    return (normal.log_prob(x + 1), normal.rsample(), normal.entropy(), torch.distributions.Categorical(logits=x, validate_args=False).sample(),
            torch.distributions.Bernoulli(logits=x, validate_args=False).log_prob((x > 0).float()))


@program(inputs=lambda i: batch(i, 2, 64))
def test_spectra(x):
    window = torch.hann_window(16)
    spectrum = torch.stft(x, 16, window=window, return_complex=True)
    return spectrum.abs(), torch.istft(spectrum, 16, window=window), torch.fft.rfft(x).angle(), torch.complex(x, x), torch.view_as_real(torch.polar(x.abs(), x))


@program(inputs=sequences)
def test_profiler_marks(x):
    with torch.autograd.profiler.record_function("first"):
        y = x + 1
    with torch.profiler.record_function("second"):
        return y * 2


@program
def test_questions_about_torch(x):
    return (torch.jit.is_scripting(), torch.jit.is_tracing(), torch.is_tensor(x), torch.broadcast_shapes((1, 3), (2, 1)), torch.Size([1, 2]) + (3,), torch.Size((2, 3)).numel(),
            torch.iinfo(torch.int8).max, torch.finfo(x.dtype).min, torch.cuda.is_available(), torch.backends.cudnn.enabled, torch.backends.cudnn.is_available(),
            torch.get_default_dtype(), torch.is_grad_enabled(), x.dtype.is_floating_point, x.dtype.itemsize, isinstance(x, torch.FloatTensor), torch.__version__ >= "2",
            torch.get_default_device(), torch.backends.cuda.matmul.allow_tf32, torch.is_warn_always_enabled(), x + 1,
            torch.distributed.is_available() and torch.distributed.is_initialized(), torch.jit.annotate(int, 3), torch.backends.mps.is_available())


@program
def test_random_state_that_is_only_read(x):
    torch.get_rng_state()
    return x + torch.rand(4)


@pytest.mark.parametrize("f, reason", [
    (lambda x: (torch.set_rng_state(torch.get_rng_state()), x + 1)[1], "random"),
    (lambda x: (torch.manual_seed(0), x + torch.rand(4))[1], "random")])
def test_random_state_that_is_used(f, reason):
    compiled = magpy.compile(f, backend="eager")
    for i in range(2):
        torch.manual_seed(i)
        want = f(batch(i))
        torch.manual_seed(i)
        assert torch.equal(compiled(batch(i)), want)
    assert {stop.reason for stop in magpy.explain(compiled).stops} == {reason}


def test_a_divergence():
    """torch.distributions keeps the function for two types at the first call."""
    def f(x):
        normal, other = [torch.distributions.Laplace(x * k, x.exp(), validate_args=False) for k in (1, 2)]
        return torch.distributions.kl_divergence(normal, other)

    torch.distributions.kl._KL_MEMOIZE.clear()
    check(lambda: f)
    torch.distributions.kl._KL_MEMOIZE.clear()
    magpy.compile(f, backend="eager", fullgraph=True)(batch(0))
