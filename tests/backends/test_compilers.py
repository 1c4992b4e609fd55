"""Recorded graphs through AOTAutograd and Inductor: results, gradients and changes in
place as in eager, on new inputs. aot_eager covers the kinds of programs (the same
tracing, quickly); Inductor itself compiles a few."""
import copy
import os
import subprocess
import sys
import textwrap

import pytest
import torch
import torch.nn.functional as F
from support.taping import flat, record

from magpy.backends import registry


def compare(backend, f, make, grad=True, exact=True, times=3):
    """*f* on make(0) is recorded and compiled; on make(1…) it must do as eager does."""
    with torch.set_grad_enabled(grad):
        args = make(0)
        taped = record(f, *args)
        built = taped.build()
        examples = taped.example(built)
        run = registry.get(backend)(built.gm, examples)
        position = {id(arg): i for i, arg in enumerate(args)}
        refs = [taped.tape.table.known(t) for t in flat(taped.result)]
        for k in range(1, times + 1):
            ours, eagers = make(k), make(k)
            outs = run(*[ours[position[id(e)]] if id(e) in position else e for e in examples])
            got = [outs[built.outputs.index(ref)] for ref in refs]
            want = flat(f(*eagers))
            for mine, theirs in zip(got, want, strict=True):
                assert mine.requires_grad == theirs.requires_grad
                assert mine.shape == theirs.shape and mine.dtype == theirs.dtype
                if exact:
                    torch.testing.assert_close(mine, theirs, rtol=1e-4, atol=1e-5)
            torch.testing.assert_close(ours, eagers, rtol=1e-4, atol=1e-5)
            if exact and grad:
                _compare_gradients(got, want, ours, eagers)


def _compare_gradients(got, want, ours, eagers):
    if not any(t.requires_grad for t in want):
        return
    for results in (got, want):
        sum(t.sum() for t in results if t.requires_grad).backward()
    for mine, theirs in zip(ours, eagers):
        if theirs.is_leaf and theirs.grad is not None:
            torch.testing.assert_close(mine.grad, theirs.grad, rtol=1e-4, atol=1e-5)


def tensors(n=1, grad=False):
    def make(seed):
        torch.manual_seed(seed)
        return [torch.randn(3, 4, requires_grad=grad) for _ in range(n)]
    return make


def in_place(x):
    x.add_(1)
    x[0] = 2
    x[:, 1] *= 3
    return x * 2


def changed_view(x):
    view = x.view(-1)
    view.mul_(2)
    return view


def inner_no_grad(x):
    with torch.no_grad():
        y = x * 2
    return y, x * 3


def running_mean(x, mean):
    with torch.no_grad():
        mean.mul_(0.9).add_(x.detach(), alpha=0.1)
    return x - mean


def buffer(x):
    made = torch.zeros(3, 4)
    made[1:] = x[:2]
    made.masked_fill_(x > 0, 0.0)
    return made.T.contiguous(), made


def mean_and_input(seed):
    torch.manual_seed(seed)
    return [torch.randn(3, 4, requires_grad=True), torch.randn(3, 4)]


def index_and_input(seed):
    torch.manual_seed(seed)
    return [torch.randn(3, 4), torch.tensor(seed % 3)]


PROGRAMS = {
    "in place": (in_place, tensors()), "changed view": (changed_view, tensors()),
    "inner no_grad": (inner_no_grad, tensors(grad=True)),
    "running mean": (running_mean, mean_and_input), "buffer": (buffer, tensors()),
    "scalar index": (lambda x, i: x[i] + 1, index_and_input),
    "inputs returned": (lambda x, y: (x, x.view(-1), y + 1), tensors(2)),
    "aliases returned": (lambda x: (lambda y: (y, y[0], y.view(-1)))(x * 2), tensors(grad=True)),
    "data": (lambda x: (x.data * 2, x.detach() + 1), tensors(grad=True)),
    "several": (lambda x: (*x.max(1), *x.chunk(2, 1)), tensors(grad=True)),
    "made": (lambda x: (x.new(2, 2).zero_() + 1, x.double(), torch.tensor([1.0, 2.0])), tensors()),
    "unused": (lambda x: (x.sum(), x + 1)[1], tensors(grad=True)),
}


@pytest.mark.parametrize("grad", [True, False])
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name, grad):
    compare("aot_eager", *PROGRAMS[name], grad=grad)


@pytest.mark.parametrize("module", [torch.nn.LSTM(4, 5), torch.nn.GRU(4, 5),
                                    torch.nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0)])
@pytest.mark.parametrize("grad", [True, False])
def test_modules(module, grad):
    compare("aot_eager", module, tensors(), grad=grad)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 4, 3)
        self.norm = torch.nn.BatchNorm2d(4)
        self.out = torch.nn.Linear(4, 2)

    def forward(self, x):
        return self.out(F.relu(self.norm(self.conv(x))).mean((2, 3)))


def test_inductor_trains_a_network():
    torch.manual_seed(0)
    ours = Net()
    eagers = copy.deepcopy(ours)
    make = lambda: torch.randn(4, 3, 8, 8)      # noqa: E731
    x = make()
    taped = record(ours, x)
    eagers(x)
    built = taped.build()
    examples = taped.example(built)
    run = registry.get("inductor")(built.gm, examples)
    optimizers = [torch.optim.SGD(m.parameters(), 0.1) for m in (ours, eagers)]
    for _ in range(3):
        y = make()
        got = run(*[y if e is x else e for e in examples])[0]
        want = eagers(y)
        torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-4)
        for loss, optimizer in zip((got, want), optimizers):
            optimizer.zero_grad()
            loss.square().sum().backward()
            optimizer.step()
    for (name, mine), theirs in zip(ours.state_dict().items(), eagers.state_dict().values()):
        torch.testing.assert_close(mine, theirs, rtol=1e-3, atol=1e-4, msg=name)


def test_inductor_drops_out_anew_each_time():
    x = torch.ones(1000, requires_grad=True)
    taped = record(lambda t: F.dropout(t, 0.5, True), x)
    built = taped.build()
    run = registry.get("inductor")(built.gm, [x])
    first, second = run(x)[0], run(x)[0]
    assert not torch.equal(first, second) and 350 < int((first == 0).sum()) < 650
    torch.manual_seed(7)
    again = run(x)[0]
    torch.manual_seed(7)
    assert torch.equal(again, run(x)[0])
    again.sum().backward()
    assert torch.equal(x.grad, again.detach())


def test_inductor_without_grad_in_inference_mode():
    with torch.inference_mode():
        compare("inductor", in_place, tensors())


@pytest.mark.slow
def test_disk_caches_serve_a_second_process(tmp_path):
    program = textwrap.dedent("""
        import torch
        from support.taping import record
        from magpy.backends import registry
        from torch._dynamo.utils import counters
        w = torch.nn.Parameter(torch.ones(4, 4))
        taped = record(lambda x, w: (x.add(1) @ w).relu(), torch.ones(2, 4), w)
        built = taped.build()
        out = registry.get()(built.gm, taped.example(built))(torch.ones(2, 4), w)[0]
        out.sum().backward()
        print(counters["aot_autograd"]["autograd_cache_hit"],
              counters["inductor"]["fxgraph_cache_hit"])
    """)
    tests = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    env = dict(os.environ, TORCHINDUCTOR_CACHE_DIR=str(tmp_path), PYTHONPATH=os.pathsep.join(
        [tests, os.path.dirname(tests), os.environ.get("PYTHONPATH", "")]))
    seen = [subprocess.run([sys.executable, "-c", program], env=env, capture_output=True,
                           text=True, check=True).stdout.split() for _ in range(2)]
    assert seen[0] == ["0", "0"] and seen[1][0] == "1" and int(seen[1][1]) >= 1


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_autocast_entered_by_a_rule(backend):
    """The recorder's rules enter autocast's setters, which the function mode never sees."""
    def call(func, *args):
        torch.overrides._get_current_function_mode().record_call(func, args)
        func(*args)

    def f(x):
        was = torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu")
        call(torch.set_autocast_enabled, "cpu", True)
        call(torch.set_autocast_dtype, "cpu", torch.bfloat16)
        call(torch.autocast_increment_nesting)
        y = x @ x.T
        call(torch.autocast_decrement_nesting)
        call(torch.clear_autocast_cache)
        call(torch.set_autocast_enabled, "cpu", was[0])
        call(torch.set_autocast_dtype, "cpu", was[1])
        return y, x @ x.T
    x = torch.randn(3, 4, requires_grad=True)
    taped = record(f, x)
    built = taped.build()
    run = registry.get(backend)(built.gm, taped.example(built))
    outs = run(x)
    assert [t.dtype for t in outs] == [torch.bfloat16, torch.float32]
    torch.testing.assert_close(outs[0], taped.result[0], rtol=2e-2, atol=2e-2)
    torch.testing.assert_close(outs[1], taped.result[1])
    assert not torch.is_autocast_enabled("cpu")
