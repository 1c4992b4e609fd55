"""Calling: how arguments bind, defaults, star arguments, recursion, nesting, partial, decorators."""
import functools

import torch

import magpy
from support import compare
from support.expect import batch, built, program


@program
def test_positional_and_keyword(x):
    def inner(a, b, *, c):
        return a * b + c
    return inner(x, 2.0, c=1.0) + inner(b=3.0, a=x, c=0.5)


@program
def test_positional_only(x):
    def inner(a, /, b):
        return a - b
    return inner(x, b=2.0)


@program
def test_defaults(x):
    def inner(a, b=2.0, *, c=3.0):
        return a * b + c
    return inner(x), inner(x, 1.0), inner(x, c=0.0)


@program
def test_varargs(x):
    def inner(*args, **kwargs):
        return sum(args), len(args), list(kwargs), sum(kwargs.values())
    return inner(x, x * 2, p=x, q=1.0)


@program
def test_star_call(x):
    def inner(a, b, c=0.0, **rest):
        return a * b + c + len(rest)
    parts = (x, 2.0)
    return inner(*parts, **{"c": 1.0, "d": 2}), inner(*[x], b=3.0), inner(x, *(1.0,), **{})


@program
def test_star_call_several(x):
    def inner(*a, **k):
        return a[0] + a[1] * a[2], sorted(k)
    return inner(*(x,), *[2.0, x], **{"p": 1}, **{"q": 2})


@program(inputs=lambda i: ((batch(i), batch(i + 9)), {"scale": 2.0, "bias": batch(i + 20)}))
def test_star_signature(*args, **kwargs):
    return args[0] * kwargs["scale"] + args[1] + kwargs["bias"]


@program
def test_wrong_arguments_are_caught(x):
    def inner(a):
        return a
    try:
        inner()
    except TypeError as e:
        return x + len(str(e)) * 0, type(e).__name__
    return x


@program
def test_recursion(x):
    def power(t, n):
        return t if n == 0 else power(t * 2, n - 1) + n
    return power(x, 5)


@program
def test_mutual_recursion(x):
    def even(t, n):
        return t if n == 0 else odd(t + 1, n - 1)

    def odd(t, n):
        return t if n == 0 else even(t * 2, n - 1)
    return even(x, 7)


@program
def test_recursion_over_a_structure(x):
    def walk(node):
        if isinstance(node, dict):
            return {k: walk(v) for k, v in node.items()}
        if isinstance(node, (list, tuple)):
            return type(node)(walk(v) for v in node)
        return node * 2
    return walk({"a": [x, (x + 1, x)], "b": {"c": x}})


@program
def test_lambda(x):
    return (lambda a, k=2: a * k)(x) + (lambda *a: a[-1])(1, x)


@program
def test_lambda_in_a_dict(x):
    acts = {"relu": lambda t: torch.relu(t), "neg": lambda t: -t}
    return [f(x) for f in acts.values()]


@program
def test_partial(x):
    f = functools.partial(torch.clamp, min=-0.5)
    g = functools.partial(f, max=0.5)
    h = functools.partial(lambda a, b, c: a * b + c, x)
    return f(x), g(x), h(2.0, c=1.0)


@built
def test_partial_from_outside():
    f = functools.partial(lambda a, b, c=1.0: a * b + c, 2.0, c=3.0)
    return lambda x: f(x)


@built
def test_partial_as_the_program():
    return functools.partial(lambda k, x: x * k, 3.0)


@built
def test_bound_method_as_the_program():
    class Owner:
        def __init__(self):
            self.k = 2.0

        def act(self, x):
            return x * self.k
    return Owner().act


@built
def test_callable_object_as_the_program():
    class Owner:
        k = 2.0

        def __call__(self, x):
            return x * self.k
    return Owner()


@program
def test_decorator_inside(x):
    def twice(f):
        @functools.wraps(f)
        def wrapper(*args, **kwargs):
            return f(f(*args, **kwargs))
        return wrapper

    @twice
    def inc(t):
        return t + 1
    return inc(x), inc.__name__


@built
def test_decorator_outside():
    def logged(f):
        @functools.wraps(f)
        def wrapper(*args, **kwargs):
            wrapper.calls += 1
            return f(*args, **kwargs)
        wrapper.calls = 0
        return wrapper

    @logged
    def inner(x):
        return x * 3
    return lambda x: inner(x)


@program
def test_function_attributes(x):
    def inner(t):
        return t * inner.k
    inner.k = 4.0
    return inner(x)


@program
def test_function_passed_on(x):
    def apply(f, *args):
        return f(*args)
    return apply(torch.add, x, 1), apply(lambda t: t - 1, x)


@program
def test_returns_a_function_result_chain(x):
    def make(k):
        def inner(t):
            return t * k
        return inner
    return make(2.0)(make(3.0)(x))


@program
def test_many_arguments(x):
    def inner(a, b, c, d, e, f, g, h, i=9, *j, k=11, **m):
        return a * (b + c + d + e + f + g + h + i + sum(j) + k + sum(m.values()))
    return inner(x, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, k=1, z=2)


@program
def test_deep_call_chain(x):
    f = lambda t: t + 1  # noqa: E731
    for _ in range(40):
        f = (lambda g: lambda t: g(t) * 1.01)(f)
    return f(x)


@program
def test_local_deleted(x):
    y = x + 1
    z = y * 2
    del y
    try:
        return z + y
    except UnboundLocalError:
        return z


@program
def test_conditional_expression_and_chained_comparison(x):
    n = x.shape[0]
    return x * (2 if 0 < n <= 10 else 3) if not n > 100 else x


@program
def test_short_circuit(x):
    none, n = None, x.dim()
    return (none or x) * (n and 2) + (0 or 1) + (n > 5 or 3)


@program
def test_type_annotations_and_docstring(x: torch.Tensor) -> torch.Tensor:
    """A program with a docstring."""
    y: torch.Tensor = x + 1
    return y


@program
def test_assert_that_holds(x):
    assert x.dim() == 2, f"bad {x.dim()}"
    return x * 2


@program
def test_while_break_continue_else(x):
    n = 0
    while n < 10:
        n += 1
        if n % 2:
            continue
        if n > 6:
            break
        x = x + n
    else:
        x = x * 100
    for i in range(3):
        x = x * 2
    else:
        x = x + 1
    return x, n


@program
def test_async_free_return_none(x):
    x + 1


def test_a_cached_function_that_raises_runs_as_often_as_in_eager():
    calls = []

    @functools.lru_cache
    def picky(n):
        calls.append(n)
        if n > 1:
            raise ValueError(n)
        return n + 1

    def f(x, n):
        try:
            return x * picky(n)
        except ValueError:
            return x

    results = []
    for g in (magpy.compile(f, backend="eager"), f):
        picky.cache_clear()
        del calls[:]
        results.append(([g(batch(i), n) for i, n in enumerate([1, 1, 2, 2, 1])], list(calls)))
    compare.equal(results[0], results[1], "five calls")
