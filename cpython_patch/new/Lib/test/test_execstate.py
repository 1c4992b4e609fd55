"""Tests of the execution-state interface (Include/cpython/execstate.h).

Most tests record the events of a run and hand them to check_flow(), which
replays them against dis: every instruction must be a successor of the one
before in its frame, with the operand that dis shows and the stack depth that
dis computes.  A lost, doubled or misread event fails there, whatever the code.
"""

import asyncio
import contextlib
import dis
import functools
import gc
import opcode
import sys
import sysconfig
import textwrap
import threading
import unittest
import warnings
from test import support
from test.support import (
    import_helper, script_helper, threading_helper, warnings_helper)

_testexecstate = import_helper.import_module('_testexecstate')
Hook, NULL = _testexecstate.Hook, _testexecstate.NULL

OP = opcode.opmap
LEAVES_FRAME = {OP[name] for name in (
    'RETURN_VALUE', 'RETURN_CONST', 'RETURN_GENERATOR')}
ALWAYS_RAISES = {OP['RAISE_VARARGS'], OP['RERAISE']}
ALWAYS_JUMPS = {OP[name] for name in (
    'JUMP_FORWARD', 'JUMP_BACKWARD', 'JUMP_BACKWARD_NO_INTERRUPT')}


# --- recording and checking -------------------------------------------------

class Event:
    """One call of the hook."""

    def __init__(self, hook, event, code, offset, op, oparg, stack, exc):
        self.event = event
        self.code = code
        self.offset = offset
        self.op = op
        self.name = opcode.opname[op] if op >= 0 else event
        self.oparg = oparg
        self.depth = None if stack is None else len(stack)
        self.exc = None if exc is None else type(exc)
        self.address = hook.address

    @property
    def key(self):
        return self.code.co_name, self.offset, self.name, self.oparg, self.exc

    def __repr__(self):
        return '<%s+%s %s %s %s>' % self.key


@contextlib.contextmanager
def installed(callback=None):
    """A Hook while the block runs; it sees what the block calls from C."""
    hook = Hook(callback)
    hook.install()
    try:
        yield hook
    finally:
        _testexecstate.remove_hook()


def record(func, *args):
    """Call func from C under a hook; return its result and the events."""
    events = []
    hook = Hook(lambda *args: events.append(Event(hook, *args)))
    hook.install()
    try:
        result = _testexecstate.call(functools.partial(func, *args))
    finally:
        _testexecstate.remove_hook()
        malformed = hook.malformed
        hook = None
    if malformed:
        raise AssertionError(f'{malformed} malformed events')
    return result, events


def record_raising(exc_type, func, *args):
    """record() of a call that raises."""
    def call():
        try:
            func(*args)
        except exc_type:
            return
        raise AssertionError(f'{exc_type.__name__} not raised')
    _, events = record(call)
    return [e for e in events if e.code is not call.__code__]


def in_code(events, func):
    """The events of func's own code, without exceptions."""
    return [e for e in events
            if e.code is func.__code__ and e.event == 'INSTRUCTION']


def is_trampoline(code):
    """The interpreter's constant code object for an inlined __init__."""
    return code.co_filename == '__init__'


_code_cache = {}        # not functools.cache: hash(code) hashes the bytecode


def cached_by_code(func):
    def wrapper(code):
        key = func, id(code)
        if key not in _code_cache:
            _code_cache[key] = func(code), code
        return _code_cache[key][0]
    return wrapper


@cached_by_code
def _instructions(code):
    return {i.offset // 2: i for i in dis.get_instructions(code)}


@cached_by_code
def _exception_table(code):
    return [(e.start // 2, e.end // 2, e.target // 2, e.depth + e.lasti + 1)
            for e in dis._parse_exception_table(code)]


def successors(code, offset):
    """{offset: stack effect} for what may run after the instruction."""
    instr = _instructions(code)[offset]
    op = instr.opcode
    if op in LEAVES_FRAME or op in ALWAYS_RAISES:
        return {}
    arg = instr.arg if op in opcode.hasarg else None
    effect = functools.partial(dis.stack_effect, op, arg)
    result = {}
    if op not in ALWAYS_JUMPS:
        result[instr.end_offset // 2] = effect(jump=False)
    if instr.jump_target is not None:
        target = instr.jump_target // 2
        result[target] = effect(jump=True)
        if op == OP['FOR_ITER']:        # jumps behind END_FOR and POP_TOP
            result[target + 2] = -1
    return result


def check_flow(events):
    """Raise AssertionError unless the events are what the code objects say."""
    last = {}                           # frame address -> its last event

    def fail(event, why):
        index = events.index(event)
        raise AssertionError(
            f'{why}: {last.get(event.address)} -> {event}\n'
            + '\n'.join(map(repr, events[max(0, index - 20):index + 1])))

    for e in events:
        prev = last.get(e.address)
        if prev is not None and (prev.event == 'UNWIND'
                                 or prev.op in LEAVES_FRAME
                                 or prev.code is not e.code):
            prev = None
        if is_trampoline(e.code):
            continue                    # dis cannot read it
        if e.event == 'INSTRUCTION':
            check_instruction(e, prev, fail)
        elif e.event == 'RAISE':
            if prev is None:            # throw() into one that never ran
                if e.offset and _instructions(e.code)[e.offset].opname \
                        != 'RETURN_GENERATOR':
                    fail(e, 'raised out of nothing')
            elif prev.offset != e.offset or prev.event == 'RAISE':
                # LEAVES_FRAME instructions may raise: a hook that fails
                fail(e, 'raised elsewhere')
        elif prev is not None:
            if prev.event != 'RAISE':
                fail(e, 'unwound without raising')
            if handler(prev) is not None:
                fail(e, 'unwound past its handler')
        last[e.address] = e


def check_instruction(e, prev, fail):
    instr = _instructions(e.code).get(e.offset)
    if instr is None or e.op != instr.opcode:
        fail(e, f'dis says {instr}')
    if e.op in opcode.hasarg and e.oparg != instr.arg:
        fail(e, f'dis says oparg {instr.arg}')
    if prev is None:
        after_start = e.offset and _instructions(e.code)[e.offset - 1].opname
        if e.offset and after_start != 'RETURN_GENERATOR':
            fail(e, 'does not start at the start')
        return
    if prev.event == 'RAISE':
        if handler(prev) != (e.offset, e.depth):
            fail(e, f'handler is {handler(prev)}')
        return
    effects = successors(e.code, prev.offset)
    if e.offset in effects:
        if prev.depth + effects[e.offset] != e.depth:
            fail(e, f'depth {e.depth} after {prev.depth}')
    elif prev.name != 'YIELD_VALUE' or e.offset:    # an abandoned generator
        fail(e, 'not a successor')


def handler(raised):
    """(offset, stack depth) of the handler for a RAISE event, or None."""
    for start, end, target, depth in _exception_table(raised.code):
        if start <= raised.offset < end:
            return target, depth
    return None


def without_loop_ends(events):
    """The keys, without what runs only after a loop over an inlined generator."""
    result = []
    for e in events:
        if e.name == 'POP_TOP' and result and result[-1][2] == 'END_FOR':
            result.pop()
        else:
            result.append(e.key)
    return result


class CleanHookTestCase(unittest.TestCase):
    """No test starts or ends with a hook."""

    def setUp(self):
        self.assertIsNone(_testexecstate.get_hook())
        self.addCleanup(self.assert_clean)

    def assert_clean(self):
        _code_cache.clear()
        left = _testexecstate.get_hook()
        _testexecstate.remove_hook()
        self.assertIsNone(left)

    def assert_straight(self, func, *args, warm=0):
        """func's trace is its disassembly."""
        for _ in range(warm):
            func(*args)
        _, events = record(func, *args)
        self.assertEqual(
            [(e.offset, e.op, e.oparg) for e in in_code(events, func)],
            [(i.offset // 2, i.opcode, i.arg or 0)
             for i in dis.get_instructions(func)])
        check_flow(events)


# --- code to run: functions without arguments that return a value -----------

def loops():
    total, seen, text = 0, [], ''
    for i in range(6):
        if i == 1:
            continue
        if i == 5:
            break
        total += i
        seen.append(i)
        text += str(i)
    else:
        total = -1
    while total > 3:
        total -= 1
        if total == 4:
            break
    for a, (b, *c) in [(1, (2, 3)), (4, (5,))]:
        seen.extend((a, b, *c))
    return total, seen, text


def comprehensions():
    outer = 2
    return ([i * outer for i in range(4) if i], {i for i in 'aba'},
            {k: v for k, v in zip('ab', (1, 2))},
            sum(i + outer for i in range(3)),
            [[j for j in range(i)] for i in range(3)])


def calls():
    def f(a, b=2, *args, c, d=4, **kwargs):
        return a, b, args, c, d, kwargs
    fib = lambda n: n if n < 2 else fib(n - 1) + fib(n - 2)
    return (f(1, c=3), f(1, 2, 3, 4, c=5, e=6), f(*(1, 2), **{'c': 3}), fib(5),
            list(map(lambda x: x + 1, (1, 2))),
            sorted([3, 1, 2], key=lambda x: -x), functools.reduce(
                lambda a, b: a * b, (1, 2, 3)))


def classes():
    class Base:
        kind = 'base'

        def __init__(self, x):
            self.x = x

        @property
        def double(self):
            return self.x * 2

        def __add__(self, other):
            return type(self)(self.x + other.x)

        def __getitem__(self, i):
            return self.x + i

        def __getattr__(self, name):
            return name.upper()

        def __lt__(self, other):
            return self.x < other.x

        def __hash__(self):
            return hash(self.x)

        def __eq__(self, other):
            return self.x == other.x

        def __call__(self, y):
            return self.x, y

        def __iter__(self):
            yield self.x

        def __len__(self):
            return self.x

    class Derived(Base):
        def __init__(self, x):
            super().__init__(x)
            self.y = {n: __class__.__name__ for n in (x,)}

        def __getattribute__(self, name):
            return super().__getattribute__(name)

    result = []
    for cls in (Base, Derived) * 3:
        a, b = cls(1), cls(2)
        result += [(a + b).x, a[5], a.double, a.missing, a < b, a(3), [*a],
                   len(b), {a: 1}[cls(1)], bool(a), a.kind, max(a, b).x]
        del a.x
    return result


def exceptions():
    log = []

    def thrower(n):
        if n:
            return thrower(n - 1)
        raise KeyError('deep')

    def in_finally():
        for i in (1, 2):
            try:
                if i == 2:
                    return 'returned'
                continue
            finally:
                log.append('finally')

    try:
        try:
            thrower(3)
        except ValueError:
            log.append('wrong')
        finally:
            log.append('inner')
    except KeyError as exc:
        log.append(str(exc))
    try:
        try:
            [].missing
        except AttributeError:
            raise
    except AttributeError:
        log.append('re-raised')
    try:
        try:
            1 / 0
        except ZeroDivisionError as exc:
            raise ValueError from exc
    except ValueError as exc:
        log.append(type(exc.__cause__).__name__)
    try:
        raise ExceptionGroup('g', [ValueError(1), TypeError(2), KeyError(3)])
    except* ValueError:
        log.append('*value')
    except* (TypeError, KeyError):
        log.append('*other')
    with contextlib.suppress(LookupError):
        {}['x']
    try:
        assert log == 1, 'no'
    except AssertionError:
        log.append('assert')
    log.append(in_finally())
    for _ in range(3):
        try:
            int('x')
        except ValueError:
            continue
    try:
        undefined_name
    except NameError:
        del log[0]
    return log


def generators():
    log = []

    def inner():
        try:
            got = yield 'first'
            log.append(got)
            yield 'second'
        except KeyError:
            yield 'handled'
        finally:
            log.append('closed')
        return 'result'

    def outer():
        log.append((yield from inner()))
        yield 'end'

    gen = outer()
    log += [next(gen), gen.send('sent'), gen.throw(KeyError), next(gen)]
    gen.close()
    gen = outer()
    next(gen)
    gen.close()
    for exc in KeyError, ValueError, GeneratorExit:
        gen = inner()
        if exc is KeyError:
            next(gen)
        try:
            gen.throw(exc)
        except (ValueError, GeneratorExit):
            log.append('thrown')
    del gen
    for x in outer():
        log.append(x)
    log += [*outer(), *zip(outer(), inner())]
    abandoned = inner()
    next(abandoned)
    del abandoned
    return log


def coroutines():
    log = []

    class Manager:
        async def __aenter__(self):
            return await sleeper(1)

        async def __aexit__(self, *exc):
            log.append(exc[0])
            return exc[0] is KeyError

    class Once:
        def __await__(self):
            yield

    async def sleeper(n):
        for _ in range(n):
            await Once()
        return n

    async def agen(n):
        try:
            for i in range(n):
                await sleeper(1)
                log.append((yield i))
        except KeyError:
            yield 'handled'

    async def main():
        async with Manager() as got:
            log.append(got)
        async with Manager():
            raise KeyError
        try:
            async for i in agen(3):
                if i == 2:
                    raise ValueError
        except ValueError:
            log.append('value')
        log.extend([i async for i in agen(3)])
        log.append({i: await sleeper(i) for i in range(2)})
        gen = agen(2)
        log.append(await gen.asend(None))
        log.append(await gen.athrow(KeyError))
        await gen.aclose()
        gen = agen(2)
        log.append(await anext(gen))
        await gen.aclose()
        try:
            await failing()
        except OSError:
            log.append('os')
        return log

    async def failing():
        await sleeper(1)
        raise OSError

    coro = main()
    while True:
        try:
            coro.send(None)
        except StopIteration as exc:
            return exc.value


def dynamic():
    names = {}
    exec('x = 1\nclass C:\n    y: int = x\n    z = [x for _ in range(2)]\n'
         'def f(a: int) -> int: global g; g = a; return a\nf(3)', names)
    exec('import math as m; from math import pi; v = m.floor(pi)', names)

    def generic[T](x: T) -> T:
        type Alias[U] = dict[U, T]
        return Alias.__value__

    def match(x):
        match x:
            case [1, y, *_]:
                return y
            case {'k': v, **rest}:
                return v, rest
            case str() | None:
                return 'str'
            case complex(real=r):
                return r
            case _ if x:
                return 'true'
        return None

    def rebinding():
        nonlocal counter
        counter += 1
        return (z := counter) and 0 < z < 9 and f'{z!r:>3}'

    counter = 0
    return (names['g'], names['C'].z, names['v'], eval('counter + 1'),
            generic(1) is not None, rebinding(), [*map(match, (
                [1, 2, 3], {'k': 1, 'l': 2}, 'a', None, 2j, 5, 0))])


def extended_args():
    """Operands over 255 and 65535: names, constants, jumps, locals."""
    return _extended_args(list(range(3)))


def _make_extended_args():
    source = ['def f(xs):', ' for x in xs:']
    source += [f'  v{i} = {i + 1000}' for i in range(300)]
    source += ['  if x == 1: continue']
    source += ['  g = ' + '+'.join(f'v{i}' for i in range(300))]
    source += [' return x, v299, g, ' + ', '.join(
        f'v{i}' for i in range(290, 300))]
    namespace = {}
    exec('\n'.join(source), namespace)
    return namespace['f']


_extended_args = _make_extended_args()

PROGRAMS = (loops, comprehensions, calls, classes, exceptions, generators,
            coroutines, dynamic, extended_args)


# --- tests ------------------------------------------------------------------

class TraceTests(CleanHookTestCase):
    """Every instruction, once, as dis shows it."""

    def test_straight_line(self):
        def f(a, b):
            c = a + b
            d = [c, a, b]
            d.append(len(d))
            e = d[0] * 2
            text = 'x'
            text += 'y'
            return (c, d, e, text, {'k': c}, sys.maxsize, a < b, -a, not b)
        self.assert_straight(f, 1, 2)

    def test_straight_line_specialised(self):
        class Point:
            def __init__(self, x):
                self.x = x

            def method(self):
                return self.x

        def f(a, b, p):
            c = a + b
            d = [c]
            d.append(c)                 # CALL_LIST_APPEND does its POP_TOP
            d.append(d[0])
            d[0] = c * 2
            text = 'x'
            text += 'y'                 # ..._INPLACE_ADD_UNICODE: STORE_FAST
            text += text
            x, y = (a, b)
            p.x = x
            return (p.method(), p.x, len(d), a < b, sys.maxsize, {'k': c}['k'],
                    text, c in d, isinstance(p, Point), super, str(a), type(p))
        self.assert_straight(f, 1, 2, Point(1), warm=100)
        # a few other types: de-specialise under the hook
        for a, b in ((1.5, 2.5), (2 ** 70, 1), (1, 2)):
            self.assert_straight(f, a, b, Point(1))

    def test_specialise_under_hook(self):
        def f(a, b):
            return a.real + b
        for _ in range(100):
            self.assert_straight(f, 1, 2)
        for _ in range(100):
            self.assert_straight(f, 1.5, 2)

    def test_fused_instructions_in_a_loop(self):
        def f(n):
            text, items = '', []
            for i in range(n):
                text += 'x'
                items.append(text)
            return text, items
        for warm in 0, 100, 0:
            for _ in range(warm):
                f(2)
            result, events = record(f, 300)
            check_flow(events)
            self.assertEqual(result, ('x' * 300,
                                      ['x' * i for i in range(1, 301)]))
            names = [e.name for e in in_code(events, f)]
            self.assertEqual(names.count('STORE_FAST'), 2 * 300)  # i, text
            self.assertEqual(names.count('POP_TOP'), 300)

    def test_extended_arg(self):
        events = record(extended_args)[1]
        seen = {}
        for prefix, extended in zip(events, events[1:]):
            if prefix.name == 'EXTENDED_ARG':
                self.assertEqual(extended.offset, prefix.offset + 1)
                self.assertEqual(extended.oparg >> 8, prefix.oparg)
                self.assertNotEqual(extended.op, OP['EXTENDED_ARG'])
                seen[extended.name] = extended.oparg
        self.assertLessEqual({'LOAD_CONST', 'STORE_FAST', 'FOR_ITER',
                              'JUMP_BACKWARD'}, seen.keys())
        self.assertGreater(min(seen.values()), 255)

    def test_extended_arg_of_three_bytes(self):
        namespace = {}
        exec('def f(x):\n while x:\n  x -= 1\n' + '  x = x + 1 - 1\n' * 15000,
             namespace)
        f = namespace['f']
        result, events = record(f, 2)
        check_flow(events)
        jump = [e for e in events if e.name == 'JUMP_BACKWARD']
        self.assertEqual(len(jump), 1)
        self.assertGreater(jump[0].oparg, 65535)
        at = events.index(jump[0])
        self.assertEqual([e.oparg for e in events[at - 2:at]],
                         [jump[0].oparg >> 16, jump[0].oparg >> 8])

    def test_programs(self):
        for func in PROGRAMS:
            with self.subTest(program=func.__name__):
                expected = func()
                for warm in 0, 60, 0:
                    for _ in range(warm):
                        func()
                    result, events = record(func)
                    check_flow(events)
                    self.assertEqual(result, expected)

    def test_same_trace_when_specialised(self):
        # Programs whose Python-to-Python calls inline to the same trace.
        for func in loops, comprehensions, exceptions, generators, extended_args:
            with self.subTest(program=func.__name__):
                namespace = {**func.__globals__}
                cold = type(func)(func.__code__.replace(), namespace)
                first = without_loop_ends(record(cold)[1])
                for _ in range(60):
                    cold()
                self.assertEqual(without_loop_ends(record(cold)[1]), first)

    def test_library_code(self):
        import json
        import re
        import string
        data = {'a': [1, 2.5, None, True, 'text'], 'b': {'c': '\u20ac'}}

        def run():
            re.purge()
            return (json.loads(json.dumps(data, indent=1)) == data,
                    re.sub(r'(?P<x>a+)b', r'\g<x>', 'aabab'),
                    textwrap.fill('some words to wrap ' * 5, 20),
                    string.Template('$a-$b').substitute(a=1, b=2))
        expected = run()
        result, events = record(run)
        check_flow(events)
        self.assertEqual(result, expected)
        self.assertGreater(len(events), 1000)

    def test_asyncio(self):
        async def worker(queue, out):
            while (item := await queue.get()) is not None:
                out.append(item)
                await asyncio.sleep(0)

        async def main():
            queue, out = asyncio.Queue(), []
            async with asyncio.TaskGroup() as group:
                group.create_task(worker(queue, out))
                for i in range(3):
                    await queue.put(i)
                await queue.put(None)
            return out

        def run():
            with asyncio.Runner() as runner:
                return runner.run(main())
        self.addCleanup(asyncio.set_event_loop_policy, None)
        result, events = record(run)
        check_flow(events)
        self.assertEqual(result, [0, 1, 2])

    def test_calls_from_c(self):
        class C:
            def __add__(self, other):
                return 'add'

            def __getattr__(self, name):
                return name

            @property
            def prop(self):
                return 'prop'

            def __repr__(self):
                return 'repr'

            def __del__(self):
                deleted.append(1)

        def key(x):
            return -x

        def f():
            c = C()
            return (c + 1, c.nothing, c.prop, repr(c), sorted([1, 2], key=key),
                    list(map(key, [1])), functools.partial(key, 4)())
        deleted = []
        result, events = record(f)
        check_flow(events)
        self.assertEqual(result, ('add', 'nothing', 'prop', 'repr', [2, 1],
                                  [-1], -4))
        started = [e.code.co_name for e in events if e.name == 'RESUME']
        self.assertEqual(started, ['f', '__add__', '__getattr__', 'prop',
                                   '__repr__', *['key'] * 4, '__del__'])
        self.assertEqual(deleted, [1])

    def test_inlined_init_trampoline(self):
        class C:
            def __init__(self, x):
                self.x = x

        def f():
            return C(1)
        for _ in range(100):
            f()
        infos = []
        hook = Hook(lambda *args: infos.append(
            (args[1], hook.frame(), hook.frame(1))))
        hook.install()
        _testexecstate.call(f)
        _testexecstate.remove_hook()
        hook = None
        inits = [(info, back) for code, info, back in infos
                 if code is C.__init__.__code__]
        self.assertTrue(inits)
        for info, trampoline in inits:
            self.assertIs(info['function'], C.__init__)
            self.assertTrue(is_trampoline(trampoline['code']))
            self.assertEqual(trampoline['function'], None)
            self.assertEqual(trampoline['globals'], None)
            self.assertEqual(trampoline['builtins'], None)
            self.assertEqual(trampoline['names'], None)
        trampolines = [info for code, info, _ in infos if is_trampoline(code)]
        self.assertEqual(len(trampolines), 2)   # EXIT_INIT_CHECK, RETURN_VALUE
        for info in trampolines:
            self.assertIsNone(info['function'])
            self.assertEqual(info['locals'], [])

    def test_class_body(self):
        def f():
            class C:
                x = 1

                def g(self):
                    return __class__
            return C
        _, events = record(f)
        check_flow(events)
        body = [e.name for e in events if e.code.co_name == 'C']
        # __module__, __qualname__, __firstlineno__, x, g,
        # __classcell__, __static_attributes__
        self.assertEqual(body.count('STORE_NAME'), 7)

    def test_exec_and_eval(self):
        names = {}
        _, events = record(exec, 'x = 1\ny = x + 1', names)
        check_flow(events)
        self.assertEqual(names['y'], 2)
        def run_names():                # regrtest has an audit hook
            return [e.name for e in events if e.code.co_filename == '<string>']
        self.assertEqual(run_names(), [
            'RESUME', 'LOAD_CONST', 'STORE_NAME', 'LOAD_NAME', 'LOAD_CONST',
            'BINARY_OP', 'STORE_NAME', 'RETURN_CONST'])
        result, events = record(eval, 'x + y', names)
        self.assertEqual(result, 3)
        self.assertEqual(run_names(), [
            'RESUME', 'LOAD_NAME', 'LOAD_NAME', 'BINARY_OP', 'RETURN_VALUE'])

    def test_generator_closed_without_running(self):
        # CPython does not run a frame that has no handler for GeneratorExit.
        def gen():
            yield 1
        g = gen()
        next(g)
        _, events = record(g.close)
        self.assertEqual(events, [])
        _, events = record(gen().close)
        self.assertEqual(events, [])

    def test_generator_resumed_under_hook(self):
        def gen():
            got = yield 1
            yield got
        g = gen()
        next(g)
        result, events = record(g.send, 5)
        self.assertEqual(result, 5)
        self.assertEqual([e.name for e in events], [
            'RESUME', 'STORE_FAST', 'LOAD_FAST', 'YIELD_VALUE'])

    def test_operands(self):
        seen = []

        def callback(event, code, offset, op, oparg, stack, exc):
            if code is f.__code__ and op in (OP['BINARY_OP'], OP['CALL']):
                seen.append((opcode.opname[op], stack))

        def f(a, b):
            return a + len(b)
        for _ in range(2):
            with installed(callback):
                _testexecstate.call(functools.partial(f, 1, 'ab'))
            self.assertEqual(seen, [('CALL', [1, len, NULL, 'ab']),
                                    ('BINARY_OP', [1, 2])])
            seen.clear()
            for _ in range(100):
                f(1, 'ab')


class ExceptionTests(CleanHookTestCase):

    def names(self, events):
        return [(e.event, e.code.co_name, e.offset) for e in events
                if e.event != 'INSTRUCTION']

    def offset(self, func, name, n=0):
        return [i.offset // 2 for i in dis.get_instructions(func)
                if i.opname == name][n]

    def test_propagate(self):
        def inner():
            raise KeyError

        def outer():
            inner()
        events = record_raising(KeyError, outer)
        check_flow(events)
        raised = self.offset(inner, 'RAISE_VARARGS')
        called = self.offset(outer, 'CALL')
        self.assertEqual(self.names(events), [
            ('RAISE', 'inner', raised), ('UNWIND', 'inner', raised),
            ('RAISE', 'outer', called), ('UNWIND', 'outer', called)])
        self.assertEqual({e.exc for e in events} - {None}, {KeyError})

    def test_propagate_through_c(self):
        def inner(x):
            return 1 / x

        def outer():
            return list(map(inner, [0]))
        events = record_raising(ZeroDivisionError, outer)
        check_flow(events)
        self.assertEqual([n[:2] for n in self.names(events)], [
            ('RAISE', 'inner'), ('UNWIND', 'inner'),
            ('RAISE', 'outer'), ('UNWIND', 'outer')])

    def test_handled(self):
        def f():
            try:
                raise KeyError
            except KeyError:
                return 1
        _, events = record(f)
        check_flow(events)
        self.assertEqual(self.names(events),
                         [('RAISE', 'f', self.offset(f, 'RAISE_VARARGS'))])

    def test_instruction_with_caches(self):
        def f(x):
            return x.missing
        for warm in 0, 100:
            for _ in range(warm):
                f(type('T', (), {'missing': 1})())
            events = record_raising(AttributeError, f, 1)
            check_flow(events)
            at = self.offset(f, 'LOAD_ATTR')
            self.assertEqual(self.names(events),
                             [('RAISE', 'f', at), ('UNWIND', 'f', at)])

    def test_finally_reraises(self):
        def f():
            try:
                raise KeyError
            finally:
                x = 1
        events = record_raising(KeyError, f)
        check_flow(events)
        self.assertEqual(self.names(events), [
            ('RAISE', 'f', self.offset(f, 'RAISE_VARARGS')),
            ('RAISE', 'f', self.offset(f, 'RERAISE')),
            ('RAISE', 'f', self.offset(f, 'RERAISE', 1)),
            # where the traceback points: what RERAISE 1 restores
            ('UNWIND', 'f', self.offset(f, 'RERAISE'))])

    def test_bare_raise(self):
        def f():
            try:
                raise KeyError
            except KeyError:
                raise
        events = record_raising(KeyError, f)
        check_flow(events)
        self.assertEqual(self.names(events)[:2], [
            ('RAISE', 'f', self.offset(f, 'RAISE_VARARGS')),
            ('RAISE', 'f', self.offset(f, 'RAISE_VARARGS', 1))])

    def test_throw(self):
        def gen():
            yield 1
            yield 2
        g = gen()
        events = record_raising(KeyError, g.throw, KeyError)
        check_flow(events)
        self.assertEqual(self.names(events)[0],
                         ('RAISE', 'gen', self.offset(gen, 'RETURN_GENERATOR')))
        g = gen()
        next(g), next(g)
        events = record_raising(KeyError, g.throw, KeyError)
        self.assertEqual(self.names(events)[0],
                         ('RAISE', 'gen', self.offset(gen, 'YIELD_VALUE', 1)))
        self.assertEqual(events[-1].event, 'UNWIND')

    def test_stop_iteration_in_generator(self):
        def gen():
            raise StopIteration
            yield
        events = record_raising(RuntimeError, lambda: next(gen()))
        check_flow(events)
        in_gen = [e for e in events if e.code is gen.__code__
                  and e.event != 'INSTRUCTION']
        self.assertEqual([(e.event, e.exc) for e in in_gen], [
            ('RAISE', StopIteration), ('RAISE', RuntimeError),
            ('UNWIND', RuntimeError)])

    def test_init_fails_in_trampoline(self):
        class C:
            def __init__(self, ok):
                if not ok:
                    raise KeyError

        def f(ok):
            return C(ok)
        for _ in range(100):
            f(True)
        events = record_raising(KeyError, f, False)
        check_flow(events)
        self.assertEqual([n[:2] for n in self.names(events)], [
            ('RAISE', '__init__'), ('UNWIND', '__init__'),
            ('RAISE', '__init__'), ('UNWIND', '__init__'),   # the trampoline
            ('RAISE', 'f'), ('UNWIND', 'f')])

    def test_exception_is_set_aside(self):
        seen = []

        def callback(event, code, offset, op, oparg, stack, exc):
            if exc is not None:
                seen.append((event, exc, sys.exception()))
                try:
                    raise TypeError
                except TypeError:
                    pass
        def f():
            raise error
        error = KeyError('mine')
        Hook(callback).install()
        try:
            _testexecstate.call(f)
        except KeyError as exc:
            _testexecstate.remove_hook()
            self.assertIs(exc, error)
        self.assertEqual(seen, [('RAISE', error, None),
                                ('UNWIND', error, None)])


class HookFailsTests(CleanHookTestCase):
    """A hook that returns -1."""

    def run_failing(self, event, n, exception, func):
        hook = Hook()
        hook.fail_on(event, n, exception)
        hook.install()
        try:
            return _testexecstate.call(func)
        finally:
            _testexecstate.remove_hook()
            self.assertEqual(hook.malformed, 0)

    def test_propagates(self):
        def f():
            return 1
        n = len(_instructions(f.__code__))
        for i in range(1, n + 1):
            error = ValueError(i)
            try:
                self.run_failing(_testexecstate.INSTRUCTION, i, error, f)
            except ValueError as exc:
                self.assertIs(exc, error)
            tb = error.__traceback__
            while tb.tb_next:
                tb = tb.tb_next
            self.assertIs(tb.tb_frame.f_code, f.__code__)
            self.assertEqual(tb.tb_lasti, (i - 1) * 2)
        self.assertEqual(self.run_failing(
            _testexecstate.INSTRUCTION, n + 1, ValueError(), f), 1)

    def test_handled_by_the_frame(self):
        def f():
            try:
                a = 1
                return [a]
            except ValueError as exc:
                return exc
        plain = record(f)[1]
        in_try = [i + 1 for i, e in enumerate(plain)
                  if e.name in ('LOAD_CONST', 'STORE_FAST', 'LOAD_FAST',
                                'BUILD_LIST')]
        self.assertEqual(len(in_try), 4)
        for n in in_try:
            error = ValueError(n)
            self.assertIs(self.run_failing(
                _testexecstate.INSTRUCTION, n, error, f), error)

    def test_everywhere(self):
        # Fail at each instruction of the programs in turn: no crash, no event
        # that breaks a promise.
        class Stop(BaseException):
            pass

        def isolated(*args):
            # Failing in the clean-up of a handler leaves sys.exception() set;
            # it does not get out of a generator.
            with contextlib.suppress(Stop):
                yield self.run_failing(*args)
        for func in PROGRAMS:
            if func is extended_args:
                continue
            with (self.subTest(program=func.__name__),
                  support.catch_unraisable_exception(),
                  warnings_helper.check_no_resource_warning(self),
                  warnings.catch_warnings(action='ignore')):
                total = len(record(func)[1])
                for n in range(1, total, max(1, total // 150)):
                    list(isolated(_testexecstate.INSTRUCTION, n, Stop(), func))
        self.assertIsNone(sys.exception())

    def test_replace_in_raise(self):
        def inner():
            raise KeyError

        def f():
            try:
                inner()
            except KeyError:
                return 'key'
            except ValueError as exc:
                return exc
        error = ValueError()
        # 1: in inner; 2: in f, when it comes back
        for n in 1, 2:
            self.assertIs(self.run_failing(_testexecstate.RAISE, n, error, f),
                          error)
            self.assertEqual(self.functions(error),
                             ['f', 'inner'] if n == 1 else ['f'])
            error.__traceback__ = None

    def test_replace_in_reraise(self):
        def f():
            try:
                try:
                    raise KeyError
                finally:
                    x = 1
            except ValueError as exc:
                return exc
        error = ValueError()
        self.assertIs(self.run_failing(_testexecstate.RAISE, 2, error, f),
                      error)
        self.assertEqual(self.functions(error), ['f'])

    def test_replace_in_unwind(self):
        def inner():
            raise KeyError

        def f():
            try:
                inner()
            except ValueError as exc:
                return exc
        error = ValueError()
        self.assertIs(self.run_failing(_testexecstate.UNWIND, 1, error, f),
                      error)
        self.assertEqual(self.functions(error), ['f', 'inner'])

    def functions(self, error):
        names, tb = [], error.__traceback__
        while tb:
            names.append(tb.tb_frame.f_code.co_name)
            tb = tb.tb_next
        return names

    def test_without_exception(self):
        # -1 without an exception leaves the one in flight.
        def f():
            raise KeyError('mine')
        for event in _testexecstate.RAISE, _testexecstate.UNWIND:
            with self.assertRaisesRegex(KeyError, 'mine'):
                self.run_failing(event, 1, None, f)

    def test_python_callback_raises(self):
        def callback(event, code, offset, op, *rest):
            if code is f.__code__ and op == OP['BINARY_OP']:
                raise LookupError('from the hook')

        def f(a):
            try:
                return a + 1
            except LookupError as exc:
                return str(exc)
        for _ in range(3):
            with installed(callback):
                self.assertEqual(
                    _testexecstate.call(lambda: f(1)), 'from the hook')
            for _ in range(100):
                f(1)

    def test_in_generator(self):
        def gen():
            try:
                yield 1
            except ValueError:
                yield 'handled'
        for n in range(1, 8):
            g = gen()
            with contextlib.suppress(ValueError):
                self.run_failing(_testexecstate.INSTRUCTION, n, ValueError(),
                                 lambda: list(g))
            g.close()


class ReplaceTests(CleanHookTestCase):

    def replacing(self, func, op, replacements):
        def callback(event, code, offset, opcode, oparg, stack, exc):
            if code is func.__code__ and opcode == OP[op]:
                return replacements
        return installed(callback)

    def test_operands(self):
        def f(a, b):
            return a - b
        for _ in range(3):              # generic, then specialised for int
            with self.replacing(f, 'BINARY_OP', {-1: 10, -2: 100}):
                self.assertEqual(_testexecstate.call(lambda: f(1, 2)), 90)
            # another type than the specialised instruction expects
            with self.replacing(f, 'BINARY_OP', {-2: 1.5}):
                self.assertEqual(_testexecstate.call(lambda: f(1, 2)), -0.5)
            for _ in range(100):
                f(1, 2)

    def test_return_value(self):
        def f():
            return [1]
        with self.replacing(f, 'RETURN_VALUE', {-1: 'mine'}):
            self.assertEqual(_testexecstate.call(f), 'mine')

    def test_callable_and_argument(self):
        def g(x):
            return 'g', x

        def h(x):
            return 'h', x

        def f():
            return g(1)
        for _ in range(3):
            with self.replacing(f, 'CALL', {-1: 2, -3: h}):
                self.assertEqual(_testexecstate.call(f), ('h', 2))
            for _ in range(100):
                f()
        with self.replacing(f, 'CALL', {-3: len, -1: 'four'}):
            self.assertEqual(_testexecstate.call(f), 4)

    def test_null_entry(self):
        def f():
            return len('abc')           # len, NULL, 'abc'
        with self.replacing(f, 'CALL', {-2: 'self'}):
            with self.assertRaises(TypeError):
                _testexecstate.call(f)

    def test_iterator(self):
        def f(xs):
            out = []
            for x in xs:
                out.append(x)
            return out
        for _ in range(3):
            with self.replacing(f, 'GET_ITER', {-1: 'ab'}):
                self.assertEqual(_testexecstate.call(lambda: f([1])),
                                 ['a', 'b'])
            for _ in range(100):
                f([1])

    def test_references(self):
        class Token:
            pass

        def f(a):
            return [a]
        old, new = Token(), Token()
        with self.replacing(f, 'BUILD_LIST', {-1: new}):
            result = _testexecstate.call(lambda: f(old))
        self.assertIs(result[0], new)
        del result
        self.assertEqual(sys.getrefcount(old), 2)
        self.assertEqual(sys.getrefcount(new), 2)

    def test_bad_replacement(self):
        def f(a):
            return [a]
        for replacement, error in (({-5: 1}, IndexError), ({0: 1}, IndexError),
                                   (1, TypeError), ({'x': 1}, TypeError)):
            with self.subTest(replacement=replacement):
                with (self.replacing(f, 'BUILD_LIST', replacement),
                      self.assertRaises(error)):
                    _testexecstate.call(lambda: f(1))

    def test_fresh_objects(self):
        def f():
            return 5 if flag else 0
        flag = True
        fresh = _testexecstate.fresh_long(5)
        with self.replacing(f, 'RETURN_VALUE', {-1: fresh}):
            self.assertIn(_testexecstate.call(f), (5,))


class InstallTests(CleanHookTestCase):

    def test_no_hook(self):
        self.assertIsNone(_testexecstate.get_hook())
        _testexecstate.remove_hook()
        self.assertIsNone(_testexecstate.get_hook())

    def test_get_hook(self):
        with installed() as hook:
            self.assertIs(_testexecstate.get_hook(), hook)
            with installed() as other:
                self.assertIs(_testexecstate.get_hook(), other)

    def test_counts(self):
        def f():
            try:
                g()
            except KeyError:
                pass

        def g():
            raise KeyError
        _, events = record(f)
        events = [e for e in events if e.code in (f.__code__, g.__code__)]
        hook = Hook()
        hook.install()
        _testexecstate.call(f)
        _testexecstate.remove_hook()
        self.assertEqual(hook.malformed, 0)
        self.assertEqual(hook.counts, {
            name: sum(e.event == name for e in events)
            for name in ('INSTRUCTION', 'RAISE', 'UNWIND')})

    def test_takes_effect_at_next_call_from_c(self):
        def inlined():
            return 1

        def f():
            hook.install()
            inlined()                   # same loop: not seen
            before = hook.counts['INSTRUCTION']
            _testexecstate.call(inlined)
            after = hook.counts['INSTRUCTION']
            _testexecstate.remove_hook()
            return before, after
        hook = Hook()
        for _ in range(3):
            hook = Hook()
            before, after = f()
            self.assertEqual(before, 0)
            self.assertEqual(after, 2)
            for _ in range(100):
                inlined()

    def test_removed_while_frames_run(self):
        seen = []

        def callback(event, code, *rest):
            seen.append(code.co_name)

        def f():
            a = [1]
            _testexecstate.remove_hook()
            g()
            _testexecstate.call(g)
            return a

        def g():
            return 1
        Hook(callback).install()
        self.assertEqual(_testexecstate.call(f), [1])
        self.assertEqual(set(seen), {'f'})
        self.assertIsNone(_testexecstate.get_hook())

    def test_removed_by_the_callback(self):
        # The hook object dies right after: nobody else holds it.
        def callback(event, code, offset, op, *rest):
            seen.append(event)
            if event == when:
                _testexecstate.remove_hook()

        def f():
            try:
                g()
            except KeyError:
                return 1

        def g():
            raise KeyError
        for when in 'INSTRUCTION', 'RAISE', 'UNWIND':
            seen = []
            Hook(callback).install()
            self.assertEqual(_testexecstate.call(f), 1)
            self.assertEqual(seen.count(when), 1)
            self.assertEqual(seen[-1], when)
            self.assertIsNone(_testexecstate.get_hook())

    def test_replaced_by_the_callback(self):
        first, second = [], []

        def callback(event, code, offset, *rest):
            first.append(offset)
            Hook(second_callback).install()

        def second_callback(event, code, offset, *rest):
            if code is f.__code__:      # and the rest of callback
                second.append(offset)

        def f():
            return [1, 2]
        Hook(callback).install()
        _testexecstate.call(f)
        _testexecstate.remove_hook()
        self.assertEqual(first, [0])
        self.assertEqual(second, [e.offset for e in record(f)[1][1:]])

    def test_reinstalled_in_a_monitored_frame(self):
        seen = []

        def f():
            _testexecstate.remove_hook()
            a = 1
            hook.install()
            b = 2
            return a + b
        hook = Hook(lambda *args: seen.append(args[2]))
        hook.install()
        _testexecstate.call(f)
        _testexecstate.remove_hook()
        every = [i.offset // 2 for i in dis.get_instructions(f)]
        self.assertEqual(seen[-1], every[-1])
        self.assertLess(len(seen), len(every))
        self.assertLess(set(seen), set(every))

    def test_installed_in_a_running_generator(self):
        def gen():
            yield 1
            hook.install()
            yield 2
            yield 3
            _testexecstate.remove_hook()
            yield 4
        seen = []
        hook = Hook(lambda *args: seen.append(args[1].co_name))
        self.assertEqual(_testexecstate.call(lambda: list(gen())), [1, 2, 3, 4])
        self.assertLessEqual(set(seen), {'gen', '<lambda>'})

    def test_callback_frames_are_not_reported(self):
        def helper():
            return _testexecstate.call(lambda: 1)

        def callback(event, code, *rest):
            seen.append(code.co_name)
            self.assertEqual(helper(), 1)

        def f():
            return 1
        seen = []
        Hook(callback).install()
        _testexecstate.call(f)
        _testexecstate.remove_hook()
        self.assertEqual(set(seen), {'f'})

    def test_line_number_seen_by_the_hook(self):
        def callback(event, code, offset, *rest):
            if code is f.__code__:
                frame = sys._getframe(1)
                self.assertIs(frame.f_code, code)
                self.assertEqual(frame.f_lasti, offset * 2)
                seen.append(frame.f_lineno - code.co_firstlineno)

        def f():
            a = 1
            b = 2
            return b
        seen = []
        with installed(callback):
            _testexecstate.call(f)
        self.assertEqual(sorted(set(seen)), [0, 1, 2, 3])
        self.assertEqual(seen, sorted(seen))

    def test_f_locals_seen_by_the_hook(self):
        def callback(event, code, offset, op, *rest):
            if code is f.__code__ and op == OP['RETURN_VALUE']:
                frame = sys._getframe(1)
                seen.append(dict(frame.f_locals))
                frame.f_locals['a'] = 7

        def f(x):
            a = 1
            return lambda: (a, x)
        seen = []
        with installed(callback):
            closure = _testexecstate.call(lambda: f(5))
        self.assertEqual(seen, [{'a': 1, 'x': 5}])
        self.assertEqual(closure(), (7, 5))

    def test_recursion_error(self):
        def f(n):
            return f(n + 1)

        def g():
            try:
                f(0)
            except RecursionError:
                return 'caught'
        with support.infinite_recursion(150):
            result, events = record(g)
        self.assertEqual(result, 'caught')
        check_flow(events)
        depth = sum(e.name == 'RESUME' and e.code is f.__code__ for e in events)
        unwound = [e for e in events if e.event == 'UNWIND']
        # the frame that could not start is unwound too
        self.assertEqual(len(unwound), depth + 1)

    def test_deep_recursion_through_c(self):
        code = """if 1:
            import _testexecstate, sys
            def f(n):
                return n and 1 + max(map(f, [n - 1]))
            class C:
                def __getattr__(self, name):
                    return getattr(self, name + 'x')
            hook = _testexecstate.Hook()
            hook.install()
            print(_testexecstate.call(lambda: f(100)))
            sys.setrecursionlimit(100_000)
            for func in lambda: f(10 ** 6), lambda: C().y:
                try:
                    _testexecstate.call(func)
                except RecursionError:
                    print('caught')
            _testexecstate.remove_hook()
            assert not hook.malformed
        """
        rc, out, err = script_helper.assert_python_ok('-c', code)
        self.assertEqual(out.split(), [b'100', b'caught', b'caught'])

    def test_left_at_exit(self):
        # Code that runs while the interpreter is taken down is reported.
        code = """if 1:
            import _testexecstate, atexit
            class C:
                def __del__(self):
                    print('del', hook.counts['INSTRUCTION'] > before)
            keep, hook = C(), _testexecstate.Hook()
            hook.install()
            before = hook.counts['INSTRUCTION']
            atexit.register(lambda: print('exit'))
        """
        rc, out, err = script_helper.assert_python_ok('-c', code)
        self.assertEqual(out.split(), [b'exit', b'del', b'True'])
        code = """if 1:
            import _testexecstate
            seen = []
            _testexecstate.Hook(lambda *args: seen.append(args)).install()
        """
        script_helper.assert_python_ok('-c', code)

    def test_garbage_collection(self):
        # A Hook in a cycle is collected, but not while it is installed.
        class Callback:
            def __call__(self, *args):
                gc.collect()
        callback = Callback()
        callback.hook = Hook(callback)
        callback.hook.install()
        del callback
        gc.collect()
        self.assertEqual(_testexecstate.call(lambda: 1), 1)
        _testexecstate.remove_hook()
        gc.collect()


@threading_helper.requires_working_threading()
class ThreadTests(CleanHookTestCase):

    def test_new_thread_has_none(self):
        seen = []

        def run():
            seen.append(_testexecstate.get_hook())
            _testexecstate.call(lambda: 1)
        codes = set()
        with installed(lambda event, code, *rest: codes.add(code)):
            thread = threading.Thread(target=run)
            thread.start()
            thread.join()
        self.assertEqual(seen, [None])
        self.assertNotIn(run.__code__, codes)

    def test_two_threads(self):
        def work(n):
            return sum(i for i in range(n))

        def run(n):
            seen = []
            with installed(lambda event, code, *rest: seen.append(n)):
                barrier.wait()
                for _ in range(20):
                    _testexecstate.call(lambda: work(n))
            results[n] = seen
        barrier = threading.Barrier(4)
        results = {}
        threads = [threading.Thread(target=run, args=(n,)) for n in range(4)]
        with threading_helper.start_threads(threads):
            pass
        self.assertEqual(sorted(results), [0, 1, 2, 3])
        for n, seen in results.items():
            self.assertEqual(set(seen), {n})
        counts = {n: len(seen) for n, seen in results.items()}
        self.assertEqual(counts[3] - counts[2], counts[2] - counts[1])

    def test_code_shared_with_unhooked_threads(self):
        # Other threads specialise the code that the monitored one runs.
        def work():
            text, items = '', []
            for i in range(50):
                text += 'x'
                items.append(i)
            return text, items

        def run():
            while not stop:
                work()
        stop = False
        expected = work()
        thread = threading.Thread(target=run)
        thread.start()
        try:
            for _ in range(5):
                result, events = record(work)
                check_flow(events)
                self.assertEqual(result, expected)
        finally:
            stop = True
            thread.join()

    def test_subinterpreter(self):
        code = 'import _testexecstate as t; assert t.get_hook() is None'
        with installed():
            self.assertEqual(support.run_in_subinterp(code), 0)


class ToolTests(CleanHookTestCase):
    """Together with tracing, profiling, sys.monitoring and PEP 523."""

    tool_events = 0

    @contextlib.contextmanager
    def tracing(self, opcodes=False):
        def trace(frame, event, arg):
            frame.f_trace_opcodes = opcodes
            self.tool_events += 1
            return trace
        old = sys.gettrace()
        sys.settrace(trace)
        try:
            yield
        finally:
            sys.settrace(old)

    @contextlib.contextmanager
    def profiling(self):
        def profile(frame, event, arg):
            self.tool_events += 1
        old = sys.getprofile()
        sys.setprofile(profile)
        try:
            yield
        finally:
            sys.setprofile(old)

    @contextlib.contextmanager
    def monitoring(self, *names):
        monitoring, tool = sys.monitoring, 3
        monitoring.use_tool_id(tool, 'test_execstate')
        mask = 0
        try:
            for name in names:
                event = getattr(monitoring.events, name)
                mask |= event
                monitoring.register_callback(tool, event, self.count)
            monitoring.set_events(tool, mask)
            yield
        finally:
            monitoring.set_events(tool, 0)
            for name in names:
                monitoring.register_callback(
                    tool, getattr(monitoring.events, name), None)
            monitoring.free_tool_id(tool)

    def count(self, *args):
        self.tool_events += 1

    EVENTS = ('PY_START', 'PY_RESUME', 'PY_RETURN', 'PY_YIELD', 'CALL',
              'C_RETURN', 'C_RAISE', 'LINE', 'INSTRUCTION', 'JUMP', 'BRANCH',
              'RAISE', 'EXCEPTION_HANDLED', 'PY_UNWIND', 'PY_THROW', 'RERAISE',
              'STOP_ITERATION')

    def tools(self):
        yield 'settrace', self.tracing
        yield 'settrace, opcodes', functools.partial(self.tracing, True)
        yield 'setprofile', self.profiling
        yield 'LINE', functools.partial(self.monitoring, 'LINE')
        yield 'INSTRUCTION', functools.partial(self.monitoring, 'INSTRUCTION')
        yield 'BRANCH', functools.partial(self.monitoring, 'BRANCH', 'JUMP')
        yield 'all', functools.partial(self.monitoring, *(
            name for name in self.EVENTS if not name.startswith('C_R')))

    def test_programs(self):
        for func in PROGRAMS:
            expected = func()
            for name, tool in self.tools():
                with self.subTest(program=func.__name__, tool=name):
                    self.tool_events = 0
                    with tool():
                        func()
                        alone = self.tool_events
                        self.tool_events = 0
                        result, events = record(func)
                    check_flow([e for e in events
                                if e.code.co_filename == __file__
                                and e.code.co_name not in (
                                    'trace', 'profile', 'count')])
                    self.assertEqual(result, expected)
                    self.assertGreater(alone, 0)
                    self.assertGreater(self.tool_events, 0)
            # and without the tool again
            result, events = record(func)
            check_flow(events)

    def test_same_events_for_hook_and_tool(self):
        # The tool neither hides events from the hook nor loses its own.
        def f(n):
            total = 0
            for i in range(n):
                if i % 2:
                    total += abs(i)
            try:
                {}[total]
            except KeyError:
                return total
        plain = [e.key for e in record(f, 5)[1]]
        for name, tool in self.tools():
            with self.subTest(tool=name):
                self.tool_events = 0
                with tool():
                    f(5)
                    alone = self.tool_events
                    with installed():
                        base = self.tool_events
                        _testexecstate.call(functools.partial(f, 5))
                        both = self.tool_events - base
                    seen = [e.key for e in record(f, 5)[1]
                            if e.code is f.__code__]
                self.assertEqual(seen, plain)
                # f's own events, and a few for the call and its surroundings
                self.assertAlmostEqual(both, alone, delta=40)
                self.assertGreaterEqual(both, alone - 5)

    def test_trace_counts_are_exact(self):
        def f():
            a = 1
            return g(a)

        def g(x):
            return x + 1

        def run():
            events = []

            def trace(frame, event, arg):
                if frame.f_code in (f.__code__, g.__code__):
                    frame.f_trace_opcodes = True
                    events.append((frame.f_code.co_name, event,
                                   frame.f_lasti, frame.f_lineno))
                return trace
            sys.settrace(trace)
            try:
                _testexecstate.call(f)
            finally:
                sys.settrace(None)
            return events
        old = sys.gettrace()
        self.addCleanup(sys.settrace, old)
        expected = run()
        with installed():
            self.assertEqual(run(), expected)
        with installed(lambda *args: None):
            self.assertEqual(run(), expected)

    def test_code_instrumented_while_it_runs(self):
        # RESUME runs twice when it finds new instrumentation.
        def f():
            return g()

        def g():
            return 1
        plain = [e.key for e in record(f)[1]]
        for _ in range(3):
            with self.monitoring('LINE'):
                self.assertEqual([e.key for e in record(f)[1]
                                  if e.code.co_name in 'fg'], plain)
            self.assertEqual([e.key for e in record(f)[1]], plain)

    def test_instrumented_by_the_running_code(self):
        def f():
            with self.monitoring('LINE', 'INSTRUCTION'):
                a = 1
                b = [a]
            return b
        for _ in range(3):
            result, events = record(f)
            self.assertEqual(result, [1])
            check_flow(events)

    def test_jump_by_trace_function(self):
        def f():
            out = []
            out.append(1)
            out.append(2)
            return out

        def trace(frame, event, arg):
            if (frame.f_code is f.__code__ and event == 'line'
                    and frame.f_lineno == f.__code__.co_firstlineno + 2):
                frame.f_lineno += 1
            return trace
        old = sys.gettrace()
        self.addCleanup(sys.settrace, old)
        with installed() as hook:
            sys.settrace(trace)
            try:
                result = _testexecstate.call(f)
            finally:
                sys.settrace(None)
        self.assertEqual(result, [2])
        self.assertEqual(hook.malformed, 0)

    def test_frame_evaluator(self):
        # PEP 523: the monitored loop goes first, and nothing is missed.
        testinternalcapi = import_helper.import_module('_testinternalcapi')
        for func in PROGRAMS:
            with self.subTest(program=func.__name__):
                expected = func()
                evaluated = []
                testinternalcapi.set_eval_frame_record(evaluated)
                try:
                    result, events = record(func)
                finally:
                    testinternalcapi.set_eval_frame_default()
                check_flow(events)
                self.assertEqual(result, expected)
                self.assertNotIn(func.__name__, evaluated)
                result, events = record(func)
                check_flow(events)


class AccessorTests(CleanHookTestCase):

    def frames(self, func, op, depth=0):
        """Descriptions of the frames that report op in func's code."""
        infos = []

        def callback(event, code, offset, opcode, *rest):
            if code is func.__code__ and opcode == OP[op]:
                infos.append(hook.frame(depth))
        with installed(callback) as hook:
            _testexecstate.call(func)
        hook = None
        return infos

    def test_event_names(self):
        names = ['INSTRUCTION', 'RAISE', 'UNWIND']
        for i, name in enumerate(names):
            self.assertEqual(_testexecstate.event_name(i), name)
            self.assertEqual(getattr(_testexecstate, name), i)
        for i in -1, len(names), 2 ** 20:
            self.assertIsNone(_testexecstate.event_name(i))

    def test_function(self):
        def f():
            x = 1
            del x
            y = 2
            return [y, lambda: y, unused]
        unused = None
        info, = self.frames(f, 'BUILD_LIST')
        self.assertIs(info['code'], f.__code__)
        self.assertIs(info['function'], f)
        self.assertIs(info['globals'], globals())
        self.assertIs(info['builtins'], __builtins__ if isinstance(
            __builtins__, dict) else vars(__builtins__))
        self.assertIsNone(info['names'])
        self.assertIsNone(info['generator'])
        x, y, free = info['locals']     # x, cell y, free unused
        self.assertEqual(x, NULL)
        self.assertEqual(y.cell_contents, 2)
        self.assertIs(free, f.__closure__[0])

    def test_class_body_names(self):
        def f():
            class C:
                x = 1
                y = [x]
        infos = []

        def callback(event, code, offset, op, *rest):
            if code.co_name == 'C' and op == OP['BUILD_LIST']:
                infos.append(hook.frame())
        with installed(callback) as hook:
            _testexecstate.call(f)
        hook = None
        info, = infos
        self.assertEqual(info['names']['x'], 1)
        self.assertEqual(info['function'].__name__, 'C')

    def test_exec_names(self):
        infos = []

        def callback(event, code, *rest):
            if code.co_filename == '<string>':
                infos.append(hook.frame())
        with installed(callback) as hook:
            exec('x = 1', global_names := {'g': 1}, local_names := {})
        hook = None
        self.assertTrue(infos)
        for info in infos:
            self.assertIs(info['globals'], global_names)
            self.assertIs(info['names'], local_names)

    def test_generator(self):
        def gen():
            yield [1]

        async def coro():
            return [1]

        async def agen():
            yield [1]

        def callback(event, code, *rest):
            if code.co_name in ('gen', 'coro', 'agen'):
                infos.append(hook.frame()['generator'])
        for func in gen, coro, agen:
            g = func()
            infos = []
            step = g.asend(None) if func is agen else g
            with installed(callback) as hook:
                with contextlib.suppress(StopIteration):
                    _testexecstate.call(functools.partial(step.send, None))
            hook = None
            self.assertGreater(len(infos), 3)
            for generator in infos:
                self.assertIs(generator, g)

    def test_back(self):
        def outer():
            return list(map(inner, [1]))

        def inner(x):
            return [x]
        infos = []

        def callback(event, code, offset, op, *rest):
            if code is inner.__code__ and op == OP['BUILD_LIST']:
                depth = 0
                while (info := hook.frame(depth)) is not None:
                    infos.append(info['code'])
                    depth += 1
        with installed(callback) as hook:
            _testexecstate.call(outer)
        hook = None
        expected, frame = [], sys._getframe()
        while frame:
            expected.append(frame.f_code)
            frame = frame.f_back
        self.assertEqual(infos[:2], [inner.__code__, outer.__code__])
        self.assertEqual(infos[2:], expected)

    def test_current_frame(self):
        def f():
            return _testexecstate.current_frame()
        for func in f, functools.partial(_testexecstate.call, f):
            info = func()
            self.assertIs(info['code'], f.__code__)
            self.assertIs(info['function'], f)
        back = (lambda: _testexecstate.current_frame(1))()
        self.assertIs(back['code'], sys._getframe().f_code)
        self.assertIsNone(_testexecstate.current_frame(10_000))

    def test_current_frame_in_callback(self):
        # The callback's own frame, called by the one that is reported.
        codes = []

        def callback(event, code, *rest):
            codes.append((code, _testexecstate.current_frame()['code'],
                          _testexecstate.current_frame(1)['code']))

        def f():
            return 1
        with installed(callback):
            _testexecstate.call(f)
        self.assertTrue(codes)
        for code, current, back in codes:
            self.assertIs(current, callback.__code__)
            self.assertIs(back, code)

    def test_frame_outside_of_callback(self):
        with self.assertRaisesRegex(RuntimeError, 'not in the'):
            Hook().frame()


class ObjectTests(CleanHookTestCase):

    def test_instance_attr(self):
        get = _testexecstate.get_instance_attr

        class C:
            cls = 1

            @property
            def prop(self):
                raise AssertionError

            def __getattr__(self, name):
                raise AssertionError
        c = C()
        c.x = 1
        c.__dict__                      # a dict over the inline values
        plain = C()
        plain.x = 1
        several = C()
        for i in range(50):             # too many for inline values
            setattr(several, f'a{i}', i)
        several.x = 1
        for obj in c, plain, several:
            self.assertEqual(get(obj, 'x'), 1)
            for name in 'missing', 'cls', 'prop', '__class__', '__dict__':
                self.assertEqual(get(obj, name), NULL)
        del plain.x
        self.assertEqual(get(plain, 'x'), NULL)
        c.__dict__ = {'y': 2}
        self.assertEqual(get(c, 'x'), NULL)
        self.assertEqual(get(c, 'y'), 2)

    def test_instance_attr_makes_no_dict(self):
        get = _testexecstate.get_instance_attr

        def f():
            pass
        size = sys.getsizeof(f)
        self.assertEqual(get(f, 'x'), NULL)
        f.x = 1
        self.assertEqual(get(f, 'x'), 1)

    def test_instance_attr_kinds(self):
        get = _testexecstate.get_instance_attr

        class Slots:
            __slots__ = ('x',)
        s = Slots()
        s.x = 1
        self.assertEqual(get(s, 'x'), NULL)     # a descriptor of the type

        class Sub(list):
            pass
        sub = Sub()
        sub.x = 1
        self.assertEqual(get(sub, 'x'), 1)

        class Int(int):
            pass
        n = Int(2 ** 100)               # dict after variable-sized items
        self.assertEqual(get(n, 'x'), NULL)
        n.x = 1
        self.assertEqual(get(n, 'x'), 1)
        self.assertIs(get(sys, 'path'), sys.path)
        self.assertIs(get(Slots, 'x'), Slots.__dict__['x'])
        for obj in 1, 'x', None, [], len, int:
            self.assertEqual(get(obj, 'x'), NULL)
        for name in 1, b'x', type('S', (str,), {})('x'):
            with self.assertRaisesRegex(TypeError, 'expected a str'):
                get(sub, name)

    def test_instance_attr_error(self):
        class Key:
            def __hash__(self):
                return hash('x')

            def __eq__(self, other):
                raise ZeroDivisionError

        class C:
            pass
        c = C()
        c.__dict__ = {Key(): 1}
        with self.assertRaises(ZeroDivisionError):
            _testexecstate.get_instance_attr(c, 'x')

    def test_fresh_long(self):
        for value in (0, 1, -1, 5, 256, -5, 2 ** 30 - 1, 2 ** 30, 2 ** 60,
                      -2 ** 60, 2 ** 1000, -2 ** 1000 + 1):
            fresh = _testexecstate.fresh_long(value)
            self.assertIs(type(fresh), int)
            self.assertEqual(fresh, value)
            self.assertEqual(hash(fresh), hash(value))
            self.assertEqual(str(fresh), str(value))
            self.assertEqual(bool(fresh), bool(value))
            self.assertEqual((fresh + 1, -fresh, fresh * 3, fresh >> 1),
                             (value + 1, -value, value * 3, value >> 1))
            self.assertIsNot(fresh, value)
            self.assertIsNot(fresh, _testexecstate.fresh_long(value))
            self.assertEqual(sys.getrefcount(fresh), 2)
        for value in True, 1.0, '1', type('I', (int,), {})(1):
            with self.assertRaisesRegex(TypeError, 'expected an int, got'):
                _testexecstate.fresh_long(value)

    def test_fresh_float(self):
        for value in 0.0, -0.0, 1.5, float('inf'), float('nan'):
            fresh = _testexecstate.fresh_float(value)
            self.assertIs(type(fresh), float)
            self.assertEqual(fresh.hex(), value.hex())
            self.assertIsNot(fresh, value)
        for value in 1, '1', type('F', (float,), {})(1):
            with self.assertRaisesRegex(TypeError, 'expected a float, got'):
                _testexecstate.fresh_float(value)


class InterpreterTests(unittest.TestCase):

    def test_magpy_info(self):
        info = sys.magpy_info
        self.assertEqual(info, ('magpy', info.patch_level))
        self.assertEqual(info.name, 'magpy')
        self.assertIs(type(info.patch_level), int)
        self.assertGreaterEqual(info.patch_level, 1)
        self.assertTrue(repr(info).startswith("sys.magpy_info(name='magpy'"))

    def test_abi_is_cpython_s(self):
        self.assertEqual(sys.implementation.cache_tag, 'cpython-313')
        self.assertIn('cpython-313', sysconfig.get_config_var('EXT_SUFFIX'))


if __name__ == '__main__':
    unittest.main()
