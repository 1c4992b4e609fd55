"""What is not captured, and that it is *right* all the same.

Each program here gives eager's results on every call, and with ``fullgraph=True`` raises ``CaptureError`` that names
the user's file and line, the reason's id and what to do. A program leaves this file when MagPy learns to capture it.
"""
import random
import sys
import time

import pytest
import torch

import magpy
from support import compare
from support.expect import arguments, batch

THIS_FILE = __file__


def formats_a_tensor(x):
    return f"{x.sum():.3f}", x + 1  # stop: tensor-data


def repr_of_a_tensor(x):
    return repr(x.sum()), x + 1  # stop: tensor-data


def print_a_tensor(x):
    print("sum", x.sum())  # stop: effect tensor-data
    return x + 1


def reads_a_file(x):
    with open(THIS_FILE) as f:  # stop: effect unknown-callable
        return x * len(f.readline())


def backward_inside(x):
    w = torch.ones(4, requires_grad=True)
    (x * w).sum().backward()  # stop: autograd-in-graph
    return w.grad


def autograd_grad(x):
    w = torch.ones(4, requires_grad=True)
    return torch.autograd.grad((x * w).sum(), w)[0]  # stop: autograd-in-graph unknown-callable


def manual_seed(x):
    torch.manual_seed(5)  # stop: random unknown-callable global-state-changed
    return x + torch.rand(4)


def default_dtype(x):
    torch.set_default_dtype(torch.float64)  # stop: global-state-changed
    y = torch.ones(2)
    torch.set_default_dtype(torch.float32)
    return x + 1, y


def unannotated(x):
    return x * (sys.getallocatedblocks() > 0)  # stop: unknown-callable


def instance_of_a_class_made_inside(x):
    class Local(list):
        pass
    return Local([x + 1])


PROGRAMS = [
    formats_a_tensor, repr_of_a_tensor, print_a_tensor, reads_a_file, backward_inside, autograd_grad, manual_seed, default_dtype, unannotated]


def signed(i):
    """Inputs whose sums alternate in sign, so that both branches are taken."""
    return batch(i // 2).abs() * (1 if i % 2 else -1)


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_right_on_every_call(f, capsys):
    compiled = magpy.compile(f, backend="eager")
    results = []
    for g in (compiled, f):
        torch.manual_seed(0)
        random.seed(0)
        results.append([(g(signed(i)), capsys.readouterr().out) for i in range(6)])
        results[-1].append((random.random(), torch.rand(1)))
    compare.equal(results[0], results[1])


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_fullgraph_names_place_and_reason(f):
    compiled = magpy.compile(f, backend="eager", fullgraph=True)
    with pytest.raises(magpy.CaptureError) as info:
        compiled(signed(1))
    line, reasons = _marked_line(f)
    e = info.value
    assert e.reason in reasons, str(e)
    assert (e.filename, e.lineno, e.function) == (THIS_FILE, line, f.__name__), str(e)
    assert f"{THIS_FILE}:{line}" in str(e) and e.reason in str(e) and e.advice in str(e)


def _marked_line(f):
    code = f.__code__
    lines = open(THIS_FILE).read().splitlines()
    for n in range(code.co_firstlineno, code.co_firstlineno + 12):
        if "# stop: " in lines[n - 1]:
            return n, lines[n - 1].split("# stop: ")[1].split()
    raise AssertionError(f"no marked line in {f.__name__}")


def test_instance_of_a_class_made_inside():
    """Its class is another one at each call, so it can't be rebuilt; there is no single line at fault."""
    compiled = magpy.compile(instance_of_a_class_made_inside, backend="eager")
    for i in range(3):
        compare.equal(compiled(batch(i)), instance_of_a_class_made_inside(batch(i)))
    assert {stop.reason for stop in magpy.explain(compiled).stops} == {"output-kind"}


def test_the_clock():
    """The clock can't be compared with eager: it must move on, and stop a full capture."""
    def f(x):
        return x + 1, time.perf_counter(), time.time()
    compiled = magpy.compile(f, backend="eager")
    seen = [compiled(batch(i))[1:] for i in range(4)]
    assert len({a for a, _ in seen}) == 4 and seen == sorted(seen)
    with pytest.raises(magpy.CaptureError, match=r"\[(time|unknown-callable)\]"):
        magpy.compile(f, backend="eager", fullgraph=True)(batch(0))


def test_a_stop_deep_inside_names_the_innermost_user_line():
    def inner(t):
        return repr(t)

    def f(x):
        return x, inner(x)
    with pytest.raises(magpy.CaptureError) as info:
        magpy.compile(f, backend="eager", fullgraph=True)(batch(0))
    assert info.value.function.endswith("inner") and info.value.lineno == inner.__code__.co_firstlineno + 1


def test_outside_iterator_and_generator():
    """Handed in at any position, advanced by the call: eager's results, whatever is captured."""
    def f(x, it):
        return x * next(it), x * next(it)
    for make in (lambda: iter([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), lambda: (v * 2.0 for v in range(6))):
        compiled = magpy.compile(f, backend="eager")
        ours, theirs = make(), make()
        for i in range(3):
            compare.equal(compiled(batch(i), ours), f(batch(i), theirs))


def test_generator_returned():
    def f(x):
        return (x * i for i in range(3))
    compiled = magpy.compile(f, backend="eager")
    for i in range(4):
        compare.equal(list(compiled(batch(i))), list(f(batch(i))))


def test_coroutine():
    async def f(x):
        return x + 1
    compiled = magpy.compile(f, backend="eager")
    for i in range(3):
        with pytest.raises(StopIteration) as info:
            compiled(batch(i)).send(None)
        assert torch.equal(info.value.value, batch(i) + 1)


def test_tensor_subclass():
    class Sub(torch.Tensor):
        pass

    def f(x):
        return x * 2
    compiled = magpy.compile(f, backend="eager")
    for i in range(3):
        compare.equal(compiled(batch(i).as_subclass(Sub)), f(batch(i).as_subclass(Sub)))


def test_user_modes_see_every_operation():
    """Under a user's TorchFunctionMode a hit would hide operations from it: such calls run as they are."""
    from torch.overrides import TorchFunctionMode

    class Log(TorchFunctionMode):
        def __init__(self):
            super().__init__()
            self.seen = []

        def __torch_function__(self, func, types, args=(), kwargs=None):
            self.seen.append(func.__name__)
            return func(*args, **(kwargs or {}))

    def f(x):
        return torch.relu(x) + 1
    compiled = magpy.compile(f, backend="eager")
    compiled(batch(0)), compiled(batch(1))
    logs = []
    for g in (compiled, f):
        with Log() as log:
            g(batch(2))
        logs.append(log.seen)
    assert logs[0] == logs[1]


def test_entry_limit():
    """A program that is new on every call stays right, and stops being captured at the limit."""
    def f(x, n):
        return x * n
    compiled = magpy.compile(f, backend="eager")
    for n in range(80):
        compare.equal(compiled(batch(0), n * 1.5), f(batch(0), n * 1.5))
    assert magpy.explain(compiled).captures < 80
