"""Generators, comprehensions and the iteration protocol."""
import itertools

import torch

from support.expect import batch, built, program


@program
def test_generator(x):
    def gen(n):
        for i in range(n):
            yield x * i
    return list(gen(3)), sum(gen(2)), [t + 1 for t in gen(2)]


@program
def test_generator_expression(x):
    return sum(x * i for i in range(4)), max(i * 2 for i in range(3)), tuple(t for t in x)


@program
def test_generator_send_and_return(x):
    def gen():
        total = x
        while True:
            got = yield total
            if got is None:
                return total
            total = total + got
    g = gen()
    next(g)
    g.send(1.0)
    g.send(x)
    try:
        g.send(None)
    except StopIteration as e:
        return e.value


@program
def test_yield_from(x):
    def inner():
        yield x
        yield x + 1
        return 5.0

    def outer():
        k = yield from inner()
        yield x * k
        yield from [x, x]
    return list(outer())


@program
def test_generator_throw_and_close(x):
    log = []

    def gen():
        try:
            yield x
        except ValueError:
            log.append("thrown")
            yield x * 2
        finally:
            log.append("closed")
    g = gen()
    next(g)
    y = g.throw(ValueError("v"))
    g.close()
    return y, log


@program
def test_generator_left_unfinished(x):
    def gen():
        n = 0
        while True:
            yield x + n
            n += 1
    g = gen()
    return next(g), next(g)


@program
def test_generator_recursive(x):
    def flatten(v):
        for e in v:
            if isinstance(e, list):
                yield from flatten(e)
            else:
                yield e
    return sum(flatten([x, [x * 2, [x * 3]], 1.0]))


@program
def test_comprehensions(x):
    a = [x * i for i in range(3) if i != 1]
    b = {i: x + i for i in range(2)}
    c = {i % 2 for i in range(5)}
    d = [[x * i + j for j in range(2)] for i in range(2)]
    e = [i + j for i in range(2) for j in range(i + 1)]
    return a, b, sorted(c), d, e


@program
def test_comprehension_scope(x):
    i = 10
    k = [i * j for j in range(3)]
    return x * i, k, [(lambda: x * j)() for j in range(2)]


@program
def test_iterator_class(x):
    class Count:
        def __init__(self, n):
            self.n = n

        def __iter__(self):
            return self

        def __next__(self):
            if self.n == 0:
                raise StopIteration
            self.n -= 1
            return x * self.n
    return list(Count(3)), [t for t in Count(2)]


@program
def test_iter_and_next(x):
    it = iter([x, x + 1, x + 2])
    first = next(it)
    rest = list(it)
    return first, rest, next(it, None), next(iter(()), 5)


@program
def test_iter_with_sentinel(x):
    n = [0]

    def step():
        n[0] += 1
        return n[0]
    return [x * v for v in iter(step, 4)]


@program
def test_enumerate_zip_reversed(x):
    out = []
    for i, (a, b) in enumerate(zip([x, x + 1], (2.0, 3.0), strict=True), start=5):
        out.append(a * b + i)
    return out, list(reversed(out)), list(reversed(range(3)))


@program
def test_map_and_filter(x):
    return list(map(lambda a, b: a * b, [x, x], [1.0, 2.0])), list(filter(None, [0, 1, 2])), list(filter(lambda v: v > 1, [1, 2]))


@program
def test_any_all_sum_min_max(x):
    ns = [3, 1, 2]
    return x * sum(ns), any(n > 2 for n in ns), all(n > 2 for n in ns), min(ns), max(ns, key=lambda n: -n), max([], default=4), sum([x, x], x)


@program
def test_sorted_with_key(x):
    parts = [(2, x), (1, x * 2), (3, x * 3)]
    return [t for _, t in sorted(parts, key=lambda p: p[0], reverse=True)], sorted({"b": 1, "a": 2})


@program
def test_itertools(x):
    return (
        [x * a for a in itertools.chain([1, 2], [3])], list(itertools.chain.from_iterable([[1], [2]])),
        list(itertools.product([1, 2], repeat=2)), list(itertools.combinations(range(3), 2)), list(itertools.permutations([1, 2])),
        list(itertools.islice(itertools.count(3), 2)), list(itertools.accumulate([1, 2, 3])), list(itertools.repeat(x, 2)),
        list(itertools.zip_longest([1], [2, 3])), list(itertools.pairwise([1, 2, 3])), list(itertools.takewhile(lambda n: n < 2, [1, 2, 1])))


@program
def test_itertools_groupby_and_starmap(x):
    groups = {k: list(g) for k, g in itertools.groupby([1, 1, 2], key=lambda n: n % 2)}
    return groups, list(itertools.starmap(lambda a, b: x * a + b, [(1, 2), (3, 4)])), list(itertools.dropwhile(lambda n: n < 2, [1, 2, 1]))


@program
def test_iterating_a_tensor(x):
    out = x.new_zeros(4)
    for row in x:
        out = out + row
    return out, [r.sum() for r in x.unbind(0)], len(x)


@built
def test_iterating_outside_containers():
    d, items = {"a": 1.0, "b": 2.0}, [3.0, 4.0]

    def f(x):
        for k, (a, b) in zip(d, zip(d.values(), items)):
            x = x * a + b + len(k)
        for v in reversed(items):
            x = x - v
        return x, [v for v in map(lambda v: v * 2, items)]
    return f


@program
def test_list_grows_while_iterated(x):
    work = [4]
    out = []
    for n in work:
        if n > 1:
            work.append(n // 2)
        out.append(x * n)
    return out


@program(inputs=lambda i: ([batch(i), batch(i + 5)],))
def test_list_argument(xs):
    return torch.stack(xs).sum(0), [t * 2 for t in xs]
