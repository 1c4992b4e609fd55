"""Memory that is shared: views, in-place writes and what they do to inputs, results and outside tensors."""
import pytest
import torch
from torch import nn

import magpy
from support import compare
from support.expect import batch, built, check, program


@program
def test_results_that_are_views_of_an_input(x):
    return x[0], x.view(-1), x.t(), x, x.detach(), x.unsqueeze(0)[0]


@program
def test_results_that_are_views_of_one_another(x):
    y = x * 2
    return y, y[0], y.view(-1), [y.t()], y.clone()


@program
def test_write_through_a_view(x):
    y = x * 1
    y[0].add_(1)
    y.view(-1)[3:5] = 7.0
    y.t()[1] *= 2
    return y


@program
def test_write_to_an_input_through_a_view(x):
    v = x[1:]
    v.mul_(3)
    x.view(-1)[0] = 5
    return v, x.sum()


@program
def test_read_between_two_writes(x):
    y = x.clone()
    a = y.sum()
    y.add_(1)
    b = y.sum()
    y.zero_()
    return a, b, y


@program
def test_write_before_and_after_an_operator_that_returns_its_input(x):
    y = x.contiguous()
    y += 1
    z = x * 2
    y += 1
    return y is x, z, x + 0


@program
def test_swap_of_two_tensors(x):
    a, b = x + 1, x + 2
    a, b = b, a
    a[0], b[0] = b[0].clone(), a[0].clone()
    return a, b


@program(inputs=lambda i: (batch(i), batch(i + 9)))
def test_copy_between_inputs(a, b):
    a.copy_(b)
    b.add_(1)
    return a, b, a - b


@program
def test_out_argument(x):
    out = torch.empty(3, 4)
    torch.mul(x, 2, out=out)
    torch.add(out, 1, out=out)
    return out


@program
def test_in_place_then_used_twice(x):
    y = torch.relu(x)
    z = y.add_(1)
    return y, z, y is z


@program
def test_input_given_back_in_containers(x):
    return {"x": x, "again": [x, (x,)], "view": x[:]}


@program(inputs=lambda i: (lambda base: (base[:2], base[1:]))(batch(i)))
def test_overlapping_inputs(a, b):
    a.add_(10)
    return b * 2, a, b


@program(inputs=lambda i: (lambda t: (t, t))(batch(i)))
def test_one_tensor_as_two_arguments(a, b):
    a.add_(1)
    return a is b, b * 2


@built
def test_outside_view_of_an_outside_tensor():
    base = torch.zeros(6)
    view = base[2:]

    def f(x):
        base[3] += 1
        return x[0] * view, view.sum()
    return f


def test_outside_tensors_written_through_each_other():
    def build():
        base = torch.zeros(4)
        views = [base[:2], base[2:]]

        def f(x):
            views[0].add_(x[0, :2])
            base.mul_(2)
            views[1].copy_(views[0])
            return base + 0
        f.base = base
        return f
    check(build, state=lambda f: f.base)


def test_result_kept_and_written_by_the_caller():
    """A caller may do with a result what it likes: the next call must not see it."""
    def f(x):
        return torch.ones(4) * 2, x + 1, torch.zeros(2), [torch.tensor([1.0, 2.0])]
    compiled = magpy.compile(f, backend="eager", fullgraph=True)
    for i in range(4):
        got, want = compiled(batch(i)), f(batch(i))
        compare.equal(got, want)
        for t in compare.tensors(got):
            t.fill_(99)


def test_containers_kept_and_changed_by_the_caller():
    def f(x):
        return {"list": [1, 2, [3]], "x": x + 1, "tuple": ([4],)}
    compiled = magpy.compile(f, backend="eager", fullgraph=True)
    for i in range(4):
        got = compiled(batch(i))
        compare.equal(got, f(batch(i)))
        got["list"][2].append(9)
        got["tuple"][0].clear()
        got["new"] = 1


def test_outside_list_given_back_is_the_very_list():
    v = [1.0]
    compiled = magpy.compile(lambda x: (v, x + v[0]), backend="eager", fullgraph=True)
    for i in range(3):
        assert compiled(batch(i))[0] is v


def test_constant_tensor_made_inside_is_fresh():
    class M(nn.Module):
        def forward(self, x):
            mask = torch.tensor([1.0, 0.0, 1.0, 0.0])
            mask += 1
            return x * mask, mask
    check(M)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_gradient_through_views_and_writes(backend):
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.ones(4))

        def forward(self, x):
            y = x * self.w
            y[0] = y[1] * 2
            y[:, 1].mul_(3)
            return y, y[2]
    check(M, train=True, backend=backend)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_parameter_and_buffer_as_results(backend):
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.ones(4))
            self.register_buffer("b", torch.zeros(4))

        def forward(self, x):
            self.b.add_(1)
            return self.w, self.b, self.b[:2], (self.w * x).sum()
    check(M, train=True, backend=backend)
