"""Tensor programs: factories, indexing, in-place writes, views, lists of tensors, shapes as numbers, random numbers."""
import math

import torch
import torch.nn.functional as F

import magpy
from support.expect import assert_counts, batch, built, check, program


@program
def test_arithmetic(x):
    return x + 1, 1 - x, x * x, x / 2, 2 / (x.abs() + 1), x ** 2, 2 ** x, -x, x % 2, x // 2, x @ x.T, abs(x), x > 0, (x > 0) & (x < 1), ~(x > 0)


@program
def test_methods_and_functions(x):
    return x.relu().sum(), torch.sigmoid(x), x.mean(dim=1, keepdim=True), F.softmax(x, -1), torch.clamp(x, -1, 1), x.norm(), x.std(0), torch.where(x > 0, x, 0.0)


@program
def test_factories(x):
    n = x.shape[0]
    return (torch.zeros(n, 2), torch.ones_like(x), torch.arange(n), torch.linspace(0, 1, 3), torch.full((2,), 3.5), torch.eye(n), torch.tensor([1, 2]),
            torch.tensor(2.5), x.new_zeros(2), x.new_tensor([1.0]), torch.empty(2).fill_(1), torch.as_tensor([1, 2]), torch.zeros(2, dtype=torch.long, device=x.device))


@program
def test_indexing(x):
    i = torch.tensor([0, 2])
    return x[0], x[:, 1], x[..., None], x[i], x[i, i], x[1:, ::2], x[None, 0], x[-1], x.gather(1, i[None]), x.index_select(0, i), x[[0, 1]], x[(0, 1)]


@program
def test_setitem(x):
    y = x.clone()
    y[0] = 0
    y[:, 1] = 5.0
    y[1:, 2:] += 1
    y[y > 2] = -1
    z = torch.zeros(3, 4)
    z[0, 0] = x[0, 0]
    return y, z


@program
def test_in_place(x):
    y = x + 0
    y.add_(1).mul_(2)
    y.relu_()
    y[0].zero_()
    torch.add(x, 1, out=y[:3])
    y += x
    return y


@program
def test_views(x):
    v = x.view(2, 6)
    t = x.t()
    r = x.reshape(-1)
    w = v[0]
    return v, t, r, w, x.unsqueeze(0).squeeze(0), x.expand(2, 3, 4), x.permute(1, 0), x.flatten(), x.T, x.unflatten(1, (2, 2)), x.movedim(0, 1)


@program
def test_views_and_writes(x):
    y = x.clone()
    v = y.view(-1)
    v[0] = 100.0
    w = y[1]
    w.mul_(0)
    return y, v, w, y.sum()


def test_views_of_an_input_returned():
    check(lambda: lambda x: (x[0], x.t(), x.view(-1)))


def test_writes_to_an_input():
    def f(x, y):
        x.copy_(y)
        y[0] = 1
        x.t().add_(1)
        return x
    check(lambda: f, lambda i: (batch(i, 4, 4), batch(i + 9, 4, 4)))


@program
def test_lists_of_tensors(x):
    parts = list(x.split(1)) + [x[:1]]
    a, b = x.chunk(2, dim=1)
    return torch.cat(parts), torch.stack([a, b]), torch.cat([a, b], dim=1), torch.vstack(parts), [p.sum() for p in torch.unbind(x)], torch.hstack((a, b))


@program
def test_einsum(x):
    return torch.einsum("ij,kj->ik", x, x), torch.einsum("ij->j", x), torch.matmul(x, x.mT), torch.tensordot(x, x, dims=([1], [1])), torch.outer(x[0], x[1])


@program
def test_shapes_are_numbers(x):
    b, c = x.shape
    n = x.numel() // b + x.dim() + x.size(1) + len(x) + x.ndim + x.stride(0)
    return x * n * math.prod(x.shape), x.view(b, c // 2, -1).shape, x.size(), tuple(x.shape)[::-1], x.shape[-1:], x.shape == (3, 4), x.size(-1) / 2


@program
def test_metadata(x):
    return (x.dtype, x.device, x.is_floating_point(), x.requires_grad, x.is_contiguous(), x.layout, x.element_size(), x.is_cuda, x.dtype == torch.float32,
            x.device.type == "cpu", torch.is_tensor(x), x.shape.numel(), torch.finfo(x.dtype).eps, x + 1, torch.promote_types(x.dtype, torch.float64))


@program
def test_casts(x):
    return x.double(), x.to(torch.float16), x.long(), x.bool(), x.to(x.device), x.type_as(x.double()), x.float(), x.half().float(), x.to("cpu"), x.int()


@program
def test_operators_that_return_their_input(x):
    y = F.dropout(x, 0.5, False)
    z = x.contiguous().to(torch.float32).float()
    return y is x, z is x, y + z, x.reshape(x.shape) is x


@program
def test_reductions(x):
    return x.sum(), x.sum(0), x.max(), x.argmax(1), x.cumsum(0), x.var(), x.prod(1), x.any(), x.all(), torch.logsumexp(x, 1), x.amax((0, 1)), x.median()


@program
def test_random(x):
    """With the eager backend the same operators draw from the same stream as eager."""
    return torch.rand(2), torch.randn_like(x), torch.bernoulli(x.sigmoid()), torch.randint(0, 5, (3,)), F.dropout(x, 0.5), torch.randperm(4), x.clone().normal_()


@program
def test_nn_functional(x):
    w = torch.ones(2, 4)
    return (F.linear(x, w), F.layer_norm(x, (4,)), F.gelu(x), F.one_hot(torch.tensor([0, 2]), 3), F.pad(x, (1, 1)), F.cross_entropy(x, torch.tensor([0, 1, 2])),
            F.mse_loss(x, x + 1), F.normalize(x), F.cosine_similarity(x, x + 1), F.embedding(torch.tensor([1]), w), F.softplus(x), F.log_softmax(x, 1))


@program(inputs=lambda i: batch(i, 2, 3, 8, 8))
def test_images(x):
    return (F.avg_pool2d(x, 2), F.max_pool2d(x, 2, stride=1), F.interpolate(x, scale_factor=2.0), F.interpolate(x, size=(4, 4), mode="bilinear"), F.adaptive_avg_pool2d(x, 1),
            F.unfold(x, 2), F.pixel_shuffle(x[:, :1].expand(-1, 4, -1, -1), 2), F.conv2d(x, torch.ones(1, 3, 2, 2), padding=1), x.flip(-1), torch.roll(x, 1, 2))


@program(inputs=lambda i: (batch(i, 2, 2, 5, 4), batch(i + 9, 2, 2, 5, 4)))
def test_attention(q, k):
    mask = torch.ones(5, 5).tril().bool()
    scores = (q @ k.transpose(-2, -1)) / math.sqrt(q.size(-1))
    own = scores.masked_fill(~mask, float("-inf")).softmax(-1) @ k
    return own, F.scaled_dot_product_attention(q, k, k, attn_mask=mask), F.scaled_dot_product_attention(q, k, k, is_causal=True)


@program
def test_fft_and_linalg(x):
    return torch.fft.rfft(x), torch.linalg.norm(x), torch.linalg.svd(x, full_matrices=False)[1], torch.view_as_real(torch.complex(x, x)), torch.cdist(x, x)


@program
def test_scatter_and_friends(x):
    i = torch.tensor([[0, 1, 2, 0]])
    return (torch.zeros(3, 4).scatter(0, i, x[:1]), x.scatter_add(0, i, torch.ones(1, 4)), x.masked_fill(x > 0, 0.0), x.topk(2), x.sort(1).indices, x.index_add(0, torch.tensor([0]), x[:1]),
            x.tril(), x.diagonal(), torch.meshgrid(x[0], x[1], indexing="ij"), x.repeat(2, 1), x.repeat_interleave(2, 0))


@built
def test_outside_tensor():
    w = torch.arange(4.0)
    return lambda x: x * w


@built
def test_outside_tensor_requires_grad():
    w = torch.arange(4.0, requires_grad=True)
    return lambda x: x * w


def test_outside_tensor_written():
    def build():
        w = torch.zeros(4)

        def f(x):
            w.add_(x.sum(0))
            w[0] = 1
            return w * 2
        f.w = w
        return f
    check(build, state=lambda f: f.w)


def test_buffer_written():
    class Running(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("mean", torch.zeros(4))
            self.register_buffer("steps", torch.zeros((), dtype=torch.long))

        def forward(self, x):
            with torch.no_grad():
                self.mean.mul_(0.9).add_(x.mean(0), alpha=0.1)
                self.steps += 1
            return x - self.mean
    check(Running)


def test_buffer_replaced_inside():
    class Replaces(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("mean", torch.zeros(4))

        def forward(self, x):
            self.mean = self.mean * 0.9 + x.mean(0) * 0.1
            return x - self.mean
    check(Replaces)


def test_input_gradient():
    def inputs(i):
        return (batch(i).requires_grad_(), batch(i + 9).requires_grad_())
    check(lambda: lambda a, b: (a * b, torch.tanh(a).sum()), inputs, train=True)


def test_detach():
    check(lambda: lambda a: (a.detach() * a, a.detach()), lambda i: batch(i).requires_grad_())


def test_parameter_of_a_module_used_from_outside():
    def build():
        m = torch.nn.Linear(4, 4)
        return lambda x: x @ m.weight.T + m.bias + sum(p.sum() for p in m.parameters())
    check(build)


def test_unused_input_and_result():
    check(lambda: lambda a, b: a + 1, lambda i: (batch(i), batch(i + 9)))


def test_no_tensor_operation():
    check(lambda: lambda x, n: (x, n + 1), lambda i: (batch(i), 2))


@program
def test_unused_operations(x):
    x.exp()
    y = x * 2
    torch.zeros(3).add_(1)
    return y


@program
def test_marks_for_a_profiler(x):
    with torch.autograd.profiler.record_function("part"), torch.profiler.record_function("inner"):
        y = x * 2
    return y + 1


@program
def test_python_types_as_dtypes(x):
    return x.to(float), torch.zeros(2, dtype=int), torch.ones_like(x, dtype=bool), torch.zeros(1, dtype=complex), x.to(dtype=int)


def test_a_range_into_a_tensor_of_the_call():
    def f(x):
        positions = x.new()
        torch.arange(1, x.shape[0] + 1, out=positions)
        total = torch.empty(4)
        torch.add(x[0], x[1], out=total)
        return positions.unsqueeze(1) * x, total

    for backend in ("eager", "aot_eager"):
        check(lambda: f, backend=backend)


def test_a_range_into_an_outside_tensor():
    same = torch.zeros(3)
    check(lambda: lambda x: (torch.arange(3, out=same), same * 2))
    other = torch.zeros(0)
    compiled = magpy.compile(lambda x: (torch.arange(3, out=other), x * other)[1], backend="eager")
    compiled(torch.ones(3))
    assert other.tolist() == [0, 1, 2] and magpy.explain(compiled).stops[-1].reason == "leaf-mutation"
    compiled(torch.ones(3))
    assert_counts(compiled, 1, 0)
