"""Printing is an effect: every hit prints again, in order, with what has gone before."""
import pytest

import magpy
from support.expect import assert_counts, batch


def hello(x):
    print("shape", tuple(x.shape))
    y = x + 1
    print(y.dim(), end="!\n", sep="-")
    return y


def loop(x):
    for i in range(3):
        print(i, end=" ", flush=True)
    return x * 2


@pytest.mark.parametrize("f", [hello, loop], ids=lambda f: f.__name__)
def test_print_is_repeated(f, capsys):
    compiled = magpy.compile(f, backend="eager", fullgraph=True)
    f(batch(0))
    want = capsys.readouterr()
    assert want.out or want.err
    for i in range(4):
        compiled(batch(i))
        got = capsys.readouterr()
        assert (got.out, got.err) == (want.out, want.err)
    assert_counts(compiled, 1, 3)


def test_print_goes_to_the_stdout_of_the_day(capsys):
    """sys.stdout may be another object at each call."""
    import contextlib
    import io
    compiled = magpy.compile(hello, backend="eager")
    for i in range(3):
        buffer = io.StringIO()
        with contextlib.redirect_stdout(buffer):
            compiled(batch(i))
        assert buffer.getvalue() == "shape (3, 4)\n2!\n"
