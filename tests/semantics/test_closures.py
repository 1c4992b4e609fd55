"""Cells: captured variables, nonlocal writes, shared cells, late binding; globals written."""
from support import fresh
from support.expect import built, program


@program
def test_closure_inside(x):
    k = 2.0

    def inner():
        return x * k
    k = 3.0
    return inner()


@program
def test_nonlocal_inside(x):
    n = 0

    def bump():
        nonlocal n
        n += 1
        return n
    return x * bump() + bump() * 10 + n


@program
def test_two_functions_share_a_cell(x):
    total = x

    def add(v):
        nonlocal total
        total = total + v

    def get():
        return total
    add(1.0)
    add(x)
    return get()


@program
def test_late_binding_in_a_loop(x):
    late = [lambda: x * i for i in range(3)]
    early = [lambda i=i: x * i for i in range(3)]
    return [f() for f in late], [f() for f in early]


@program
def test_three_levels(x):
    a = 1.0

    def one():
        b = 2.0

        def two():
            c = 3.0
            return x * a + b * c
        return two()
    return one()


@built
def test_closure_from_outside():
    k, w = 2.0, [1.0, 2.0]

    def f(x):
        return x * k + w[1]
    return f


@built
def test_nested_closure_from_outside():
    def make(k):
        def inner(x):
            return x * k
        return inner
    double, triple = make(2.0), make(3.0)
    return lambda x: double(x) + triple(x)


def test_nonlocal_counter_outside():
    """Counting calls in a cell is an effect; the count itself is not read."""
    from support.expect import check
    cells = []

    def build():
        n = 0

        def f(x):
            nonlocal n
            n += 1
            return x * 2
        cells.append(lambda: n)
        f.get = lambda: n
        return f
    check(build, state=lambda f: f.get())


@built(captures=None)
def test_nonlocal_counter_that_is_used():
    """The value goes into the result, so it is a different program each time: right, not fast."""
    n = 0

    def f(x):
        nonlocal n
        n += 1
        return x * n
    return f


@built
def test_nonlocal_tensor_kept():
    last = None

    def f(x):
        nonlocal last
        last = x * 2
        return last + 1
    f.get = lambda: last
    return f


def test_global_written():
    from support.expect import check

    def build():
        return fresh.module("""
            last = None
            def f(x):
                global last
                last = x * 2
                return last + 1
        """).f
    check(build, state=lambda f: f.__globals__["last"])


def test_global_counter():
    from support.expect import check

    def build():
        return fresh.module("""
            calls = 0
            def f(x):
                global calls
                calls += 1
                return x + 1
        """).f
    check(build, state=lambda f: f.__globals__["calls"])


def test_global_made_and_deleted():
    from support.expect import check

    def build():
        return fresh.module("""
            def f(x):
                global scratch
                scratch = 3.0
                y = x * scratch
                del scratch
                return y
        """).f
    check(build, state=lambda f: "scratch" in f.__globals__)


@program
def test_class_cell(x):
    class Base:
        def act(self, t):
            return t + 1

    class Derived(Base):
        def act(self, t):
            return super().act(t) * 2
    return Derived().act(x)


@program
def test_cell_deleted(x):
    k = 2.0

    def inner():
        try:
            return x * k
        except NameError:
            return x
    first = inner()
    del k
    return first, inner()
