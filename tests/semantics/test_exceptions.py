"""Exceptions and context managers: all of it happens inside the call and is gone when the call returns."""
import contextlib

import torch

import magpy
from support import compare
from support.expect import batch, built, check, program


class Odd(Exception):
    def __init__(self, code):
        super().__init__("odd", code)
        self.code = code


@program
def test_try_except(x):
    try:
        raise ValueError("v", 3)
    except (KeyError, ValueError) as e:
        return x * e.args[1], type(e).__name__, str(e)


@program
def test_except_order_and_else(x):
    try:
        y = x + 1
    except Exception:
        y = x
    else:
        y = y * 2
    finally:
        y = y - 1
    return y


@program
def test_finally_overrides_return(x):
    def inner():
        try:
            return x
        finally:
            return x * 2  # noqa: B012
    return inner()


@program
def test_finally_runs_on_exception(x):
    log = []

    def inner():
        try:
            raise Odd(7)
        finally:
            log.append("done")
    try:
        inner()
    except Odd as e:
        return x * e.code, log


@program
def test_finally_with_break_and_continue(x):
    log = []
    for i in range(4):
        try:
            if i == 1:
                continue
            if i == 3:
                break
            x = x + i
        finally:
            log.append(i)
    return x, log


@program
def test_raise_from(x):
    try:
        try:
            raise KeyError("k")
        except KeyError as e:
            raise ValueError("v") from e
    except ValueError as e:
        return x, type(e.__cause__).__name__, e.__context__ is e.__cause__, e.__suppress_context__


@program
def test_context_of_an_exception(x):
    try:
        try:
            raise KeyError("k")
        finally:
            raise ValueError("v")
    except ValueError as e:
        return x, repr(e.__context__)


@program
def test_reraise(x):
    def inner():
        try:
            {}["k"]
        except KeyError:
            raise
    try:
        inner()
    except LookupError as e:
        return x + 1, repr(e)


@program
def test_exception_name_is_deleted(x):
    e = 1
    try:
        raise Odd(1)
    except Odd as e:  # noqa: F841
        pass
    try:
        return x * e
    except NameError:
        return x


@program
def test_builtin_exceptions(x):
    seen = []
    for make in (lambda: 1 / 0, lambda: [][0], lambda: {}["k"], lambda: None.a, lambda: int("q"), lambda: next(iter([])),
                 lambda: undefined_name, lambda: (1).nope, lambda: "a" + 1):  # noqa: F821
        try:
            make()
        except Exception as e:
            seen.append(type(e).__name__)
    return x * len(seen), seen


@program
def test_torch_error_caught(x):
    try:
        return x @ torch.ones(7, 7)
    except RuntimeError:
        return x @ torch.ones(4, 4)


@program
def test_exception_group(x):
    try:
        raise ExceptionGroup("g", [ValueError(1), KeyError(2)])
    except* ValueError as g:
        n = len(g.exceptions)
    except* KeyError:
        n = 10
    return x, n


@program
def test_nested_handlers(x):
    def f(n):
        try:
            if n == 0:
                raise Odd(n)
            return f(n - 1) + 1
        except Odd:
            if n < 2:
                raise
            return x
    return f(4)


class Manager:
    def __init__(self, log, swallow=False):
        self.log, self.swallow = log, swallow

    def __enter__(self):
        self.log.append("enter")
        return self

    def __exit__(self, kind, value, tb):
        self.log.append(kind.__name__ if kind else None)
        return self.swallow


@program
def test_with(x):
    log = []
    with Manager(log) as m, Manager(log):
        x = x + len(m.log)
    with Manager(log, swallow=True):
        raise Odd(1)
    return x, log


@program
def test_with_return_inside(x):
    log = []

    def inner():
        with Manager(log):
            return x * 2
    return inner(), log


@program
def test_contextmanager(x):
    log = []

    @contextlib.contextmanager
    def scope(k):
        log.append("in")
        try:
            yield k * 2
        except Odd as e:
            log.append(e.code)
        finally:
            log.append("out")
    with scope(2.0) as k:
        x = x * k
    with scope(1.0):
        raise Odd(5)
    return x, log


@program
def test_contextlib_tools(x):
    with contextlib.nullcontext(3.0) as k, contextlib.suppress(KeyError):
        x = x * k
        {}["missing"]
    with contextlib.ExitStack() as stack:
        log = []
        stack.enter_context(Manager(log))
        stack.callback(log.append, "callback")
        x = x + 1
    return x, log


@built
def test_contextmanager_outside():
    import types
    state = types.SimpleNamespace(depth=0)

    @contextlib.contextmanager
    def deeper():
        state.depth += 1
        try:
            yield state.depth
        finally:
            state.depth -= 1

    def f(x):
        with deeper() as d, deeper():
            return x * d + state.depth
    return f


@program
def test_no_grad_inside(x):
    with torch.no_grad():
        y = x * 2
    return y, torch.is_grad_enabled()


def test_no_grad_inside_a_module_in_training():
    class M(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)

        def forward(self, x):
            with torch.no_grad():
                frozen = self.a(x)
            with torch.enable_grad():
                return self.b(x) + frozen, frozen
    check(M, train=True)


@program
def test_autocast_inside(x):
    with torch.autocast("cpu", torch.bfloat16):
        y = x @ x.T
        with torch.autocast("cpu", enabled=False):
            z = x @ x.T
    return y, z, y.dtype


def test_decorated_no_grad():
    @torch.no_grad()
    def inner(x, w):
        return x * w

    def build():
        w = torch.ones(4, requires_grad=True)
        return lambda x: (inner(x, w), x * w)
    check(build)


@program
def test_set_grad_enabled(x):
    with torch.set_grad_enabled(False):
        a = torch.is_grad_enabled()
    torch.set_grad_enabled(False)
    b = torch.is_grad_enabled()
    torch.set_grad_enabled(True)
    return x + 1, a, b


def test_init_of_an_outside_exception_is_a_write():
    def f(x, e):
        e.__init__()
        return x + 1
    compiled = magpy.compile(f, backend="eager")
    for i in range(3):
        error = ImportError("test", name="n")
        compare.equal(compiled(batch(i), error), batch(i) + 1)
        assert error.args == () and error.name is None
