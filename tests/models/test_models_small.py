"""Networks that a user writes on the first day: forward, gradients, train and eval, on eager and on Inductor."""
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from support.expect import batch, check


class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 16), nn.Linear(16, 16), nn.Linear(16, 3)])

    def forward(self, x):
        for layer in self.layers[:-1]:
            x = F.relu(layer(x))
        return self.layers[-1](x)


class DigitsCNN(nn.Module):
    def __init__(self, dropout=0.25):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(8, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2))
        self.dropout = nn.Dropout(dropout)
        self.head = nn.Linear(16 * 2 * 2, 10)

    def forward(self, x):
        x = self.features(x)
        return self.head(self.dropout(x.flatten(1)))


def images(i):
    return batch(i, 4, 1, 8, 8)


@pytest.mark.parametrize("backend", ["eager", "inductor"])
@pytest.mark.parametrize("train", [True, False])
def test_mlp(train, backend):
    check(lambda: MLP().train(train), train=train, backend=backend)


@pytest.mark.parametrize("train", [True, False])
def test_digits_cnn(train):
    """On the eager backend the dropout masks are eager's too: the same operators draw from the same stream."""
    check(lambda: DigitsCNN().train(train), images, train=train)


@pytest.mark.slow
@pytest.mark.parametrize("train", [True, False])
def test_digits_cnn_inductor(train):
    check(lambda: DigitsCNN(dropout=0.0).train(train), images, train=train, backend="inductor")


def test_digits_cnn_inductor_dropout_is_drawn_anew():
    """Inductor's dropout has its own stream, so masks are compared with each other, not with eager's."""
    import magpy
    m = nn.Dropout(0.5)
    compiled = magpy.compile(m, backend="inductor", fullgraph=True)
    x = torch.ones(64, 64)
    torch.manual_seed(0)
    compiled(x)
    a, b = compiled(x), compiled(x)
    assert not torch.equal(a, b)
    for out in (a, b):
        assert set(out.unique().tolist()) == {0.0, 2.0}
        assert 0.4 < (out == 0).float().mean().item() < 0.6


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_training_loop_with_an_optimizer(backend):
    """Loss and parameters follow eager's over a whole small training run."""
    import magpy
    losses = []
    for compiled in (False, True):
        torch.manual_seed(0)
        m = MLP()
        opt = torch.optim.Adam(m.parameters(), lr=0.01)
        f = magpy.compile(m, backend=backend, fullgraph=True) if compiled else m
        run = []
        for i in range(10):
            opt.zero_grad()
            loss = F.cross_entropy(f(batch(i, 8, 4)), torch.arange(8) % 3)
            loss.backward()
            opt.step()
            run.append(loss.item())
        losses.append(run)
        if compiled:
            e = magpy.explain(f)
            assert (e.captures, e.hits) == (1, 9)
    assert losses[0] == pytest.approx(losses[1], rel=1e-4)


def test_loss_inside_the_compiled_function():
    def build():
        m = MLP()

        def step(x, target):
            return F.cross_entropy(m(x), target), m.layers[0].weight.norm()
        return step

    check(build, lambda i: (batch(i, 8, 4), torch.arange(8) % 3))


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
@pytest.mark.parametrize("train", [True, False])
def test_recurrent(kind, train):
    class Tagger(nn.Module):
        def __init__(self):
            super().__init__()
            self.emb = nn.Embedding(20, 8)
            self.rnn = kind(8, 6, num_layers=2, batch_first=True, bidirectional=True)
            self.out = nn.Linear(12, 5)

        def forward(self, tokens, state=None):
            y, state = self.rnn(self.emb(tokens), state)
            return self.out(y), state

    def tokens(i):
        return torch.randint(0, 20, (2, 7), generator=torch.Generator().manual_seed(i))

    check(lambda: Tagger().train(train), tokens, train=train)


def test_recurrent_with_the_state_passed_on():
    class Step(nn.Module):
        def __init__(self):
            super().__init__()
            self.cell = nn.GRUCell(4, 6)

        def forward(self, xs, h):
            out = []
            for x in xs.unbind(0):
                h = self.cell(x, h)
                out.append(h)
            return torch.stack(out), h

    check(Step, lambda i: (batch(i, 5, 2, 4), batch(i + 50, 2, 6)), train=True)


def encoder(train):
    layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.1 if train else 0.0, batch_first=True)
    return nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).train(train)


@pytest.mark.parametrize("train", [True, False])
def test_transformer_encoder(train):
    check(lambda: encoder(train), lambda i: batch(i, 2, 5, 16), train=train)


def test_transformer_encoder_under_no_grad():
    """The fused fast path of nn.TransformerEncoderLayer."""
    check(lambda: encoder(False), lambda i: batch(i, 2, 5, 16), context=torch.no_grad)


def test_transformer_encoder_with_masks():
    causal = nn.Transformer.generate_square_subsequent_mask(5)

    def inputs(i):
        padding = torch.zeros(2, 5, dtype=torch.bool)
        padding[1, 3:] = True
        return (batch(i, 2, 5, 16),), {"mask": causal.clone(), "src_key_padding_mask": padding, "is_causal": False}

    check(lambda: encoder(True), inputs, train=True)


@pytest.mark.slow
def test_transformer_encoder_inductor():
    check(lambda: encoder(False), lambda i: batch(i, 2, 5, 16), backend="inductor", context=torch.no_grad)


def test_transformer_encoder_decoder():
    def build():
        return nn.Transformer(16, 2, 1, 1, 32, dropout=0.0, batch_first=True)
    check(build, lambda i: (batch(i, 2, 5, 16), batch(i + 9, 2, 3, 16)), train=True)


@pytest.mark.parametrize("build", [
    lambda: nn.Sequential(nn.Conv1d(2, 4, 3), nn.GroupNorm(2, 4), nn.GELU()),
    lambda: nn.Sequential(nn.Conv1d(2, 4, 3), nn.InstanceNorm1d(4, affine=True), nn.SiLU()),
    lambda: nn.Sequential(nn.ConvTranspose1d(2, 4, 3, stride=2), nn.LeakyReLU(0.1), nn.AdaptiveAvgPool1d(3)),
    lambda: nn.Sequential(nn.Flatten(), nn.Linear(16, 3), nn.Softmax(-1)),
    lambda: nn.Sequential(nn.Upsample(scale_factor=2), nn.AvgPool1d(2), nn.LayerNorm(8), nn.Tanh()),
    lambda: nn.Sequential(nn.utils.parametrizations.weight_norm(nn.Conv1d(2, 4, 3)), nn.ELU()),
], ids=["groupnorm", "instancenorm", "transposed", "softmax", "upsample", "weight_norm"])
def test_layers(build):
    check(build, lambda i: batch(i, 2, 2, 8), train=True)


def test_multihead_attention():
    class Attend(nn.Module):
        def __init__(self):
            super().__init__()
            self.mha = nn.MultiheadAttention(8, 2, batch_first=True)

        def forward(self, x):
            out, weights = self.mha(x, x, x)
            return {"out": out, "weights": weights}

    check(Attend, lambda i: batch(i, 2, 5, 8), train=True)


def test_checkpoint_of_a_compiled_model(tmp_path):
    """state_dict of the compiled module has the original's keys, and loads back into a running one."""
    import copy

    import magpy
    m = MLP()
    plain = copy.deepcopy(m)
    compiled = magpy.compile(m, backend="eager", fullgraph=True)
    compiled(batch(0))
    assert list(compiled.state_dict()) == list(plain.state_dict())
    torch.save(compiled.state_dict(), tmp_path / "w.pt")
    with torch.no_grad():
        for p in m.parameters():
            p.zero_()
    assert not compiled(batch(1)).any()
    compiled.load_state_dict(torch.load(tmp_path / "w.pt"))
    assert torch.equal(compiled(batch(1)), plain(batch(1)))
