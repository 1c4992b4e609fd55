"""What an end-to-end test asserts, together: equal to eager, captured whole, later calls are hits.

A fallback to eager gives the right answer too, so equality alone proves nothing; and counters alone do not say that
the answer is right. ``check`` runs a program and its eager twin side by side, call by call, and reads the counters
after every call. ``program`` and ``built`` turn a plain function into such a test.
"""
import functools

import torch

import magpy
from support import compare


def counts(compiled):
    """(captures, hits) of a compiled callable so far."""
    e = magpy.explain(compiled)
    return e.captures, e.hits


def assert_counts(compiled, captures, hits, when=""):
    e = magpy.explain(compiled)
    told = f"{when}: {e.captures} captures and {e.hits} hits; stops: {e.stops}; misses: {e.misses}"
    assert e.captures == captures, f"expected {captures} captures. {told}"
    assert e.hits == hits, f"expected {hits} hits. {told}"


def arguments(value):
    """A test's inputs as (args, kwargs): a tuple alone means no keyword arguments."""
    if isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], tuple) and isinstance(value[1], dict):
        return value
    return (value if isinstance(value, tuple) else (value,)), {}


def batch(i, *shape):
    """The i-th of a series of inputs: the same each time it is asked for, different for each i."""
    return torch.randn(*(shape or (3, 4)), dtype=torch.float32, generator=torch.Generator().manual_seed(1000 + i))


def check(build, inputs=batch, *, calls=4, backend="eager", captures=1, train=False, state=None, tolerance=None,
          fullgraph=True, context=None):
    """Runs ``build()`` compiled and plain for ``calls`` rounds of ``inputs(i)``, and compares everything.

    Compared after each call: result, arguments (in case they were changed), a module's buffers, ``state(f)``; with
    ``train`` also the gradients, after which an SGD step changes the parameters in place. ``captures`` is the number
    of captures expected in all (every other call a hit), or None where only equality is asked for.
    """
    plain, ours = _twins(build)
    compiled = magpy.compile(ours, backend=backend, fullgraph=fullgraph)
    tolerance = tolerance or (compare.EXACT if backend == "eager" else compare.COMPILED)
    for i in range(calls):
        comparison = compare.Comparison(tolerance, strides=backend == "eager")
        if isinstance(plain, torch.nn.Module):
            comparison.pair_deep(ours, plain)
        results = []
        for f in (compiled, plain):
            args, kwargs = arguments(inputs(i))
            torch.manual_seed(i)
            results.append((_call(f, args, kwargs, context), args, kwargs))
        (got, args, kwargs), (want, plain_args, plain_kwargs) = results
        comparison.pair_deep([args, kwargs], [plain_args, plain_kwargs])
        comparison.equal(got, want, f"call {i}: result")
        compare.equal([args, kwargs], [plain_args, plain_kwargs], f"call {i}: arguments", tolerance, backend == "eager")
        if backend == "eager":
            memory = [compare.shared_memory([v, a, k, list(f.parameters()) + list(f.buffers()) if isinstance(f, torch.nn.Module) else []])
                      for v, a, k, f in ((got, args, kwargs, ours), (want, plain_args, plain_kwargs, plain))]
            assert memory[0] == memory[1], f"call {i}: tensors share memory as {memory[0]}, in eager as {memory[1]}"
        if state is not None:
            compare.equal(state(ours), state(plain), f"call {i}: state", tolerance)
        if train:
            gradient = compare.COMPILED_GRADIENT if tolerance is compare.COMPILED else tolerance
            _train(got, want, args, plain_args, ours, plain, i, gradient)
        if isinstance(plain, torch.nn.Module):
            compare.equal(dict(ours.named_buffers()), dict(plain.named_buffers()), f"call {i}: buffers", tolerance)
        if captures is not None:
            done = min(i + 1, captures)
            assert_counts(compiled, done, i + 1 - done, f"after call {i}")
    return compiled


def _twins(build):
    twins = []
    for _ in range(2):
        torch.manual_seed(0)
        twins.append(build())
    return twins


def _call(f, args, kwargs, context):
    if context is None:
        return f(*args, **kwargs)
    with context():
        return f(*args, **kwargs)


def _train(got, want, args, plain_args, ours, plain, i, tolerance):
    """Backward through both results, compare every gradient, then let the parameters move."""
    for value in (got, want):
        # Weighted, so that a softmax or a norm does not make the gradient vanish.
        parts = [t for t in compare.tensors(value) if t.requires_grad]
        assert parts, "nothing to differentiate in the result"
        sum((t * torch.linspace(0.5, 1.5, t.numel(), dtype=t.dtype).view(t.shape)).sum() for t in parts).backward()
    for a, b in zip(compare.tensors(args), compare.tensors(plain_args)):
        compare.equal(a.grad, b.grad, f"call {i}: gradient of an input", tolerance, False)
    if not isinstance(plain, torch.nn.Module):
        return
    for (name, a), (_, b) in zip(ours.named_parameters(), plain.named_parameters()):
        compare.equal(a.grad, b.grad, f"call {i}: gradient of {name}", tolerance, False)
    with torch.no_grad():
        # Both get eager's gradient, so that tiny differences do not pile up over the calls.
        for a, b in zip(ours.parameters(), plain.parameters()):
            if b.grad is not None:
                a.sub_(b.grad, alpha=0.01)
                b.sub_(b.grad, alpha=0.01)
            a.grad = b.grad = None


def program(f=None, **options):
    """Decorator: the function is the program under test; it becomes a test that takes no arguments."""
    if f is None:
        return functools.partial(program, **options)

    def test():
        check(lambda: f, **options)
    return named(test, f)


def built(f=None, **options):
    """Decorator: the function builds the program under test (called once for ours, once for eager)."""
    if f is None:
        return functools.partial(built, **options)

    def test():
        check(f, **options)
    return named(test, f)


def named(test, f):
    test.__name__, test.__doc__, test.__module__ = f.__name__, f.__doc__, f.__module__
    return test
