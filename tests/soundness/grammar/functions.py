"""Functions outside the target: plain, with defaults, closures, decorated, partial, cached, generators."""
from soundness.grammar.bodies import Body, with_globals


def body_of(b, count=2, reach=None):
    body = Body(b, [(t, t.path) for t in b.things] if reach is None else reach, depth=1)
    lines = with_globals(b, body.statements(1 + b.choose.below(count)))
    return ["    " + line for line in lines]


def plain(b):
    name = b.name("fn")
    default = b.number()
    b.add(f"def {name}(x, n={default}, *rest, k={b.number()}, **more):", *body_of(b), "    return x + n % 5 + k % 3")
    b.functions.append(name)
    b.feature("function")
    other = b.name("other")
    b.add(f"def {other}(x, n=1, *rest, k=2, **more):", "    return x - 2 * n % 3")
    return b.thing(name, nums=["@.__defaults__[0]"], tens=["@(x)", "@(x.detach(), 2)"],
                   changes=[f"@.__defaults__ = ({b.number()},)", f"@.__kwdefaults__ = {{'k': {b.number()}}}", f"@ = {other}",
                            f"@.__code__ = {other}.__code__", f"@.__kwdefaults__['k'] = {b.other_number()}"],
                   decoys=["@.decoy = 1"])


def lambda_(b):
    name = b.name("lam")
    reach = Body(b, [(t, t.path) for t in b.things], 2)
    b.add(f"{name} = lambda x, n={b.number()}, k=1: x + {reach.factor()} + n % 3")
    b.functions.append(name)
    b.feature("lambda")
    return b.thing(name, tens=["@(x)"], changes=[f"@ = lambda x, n=2, k=1: x * 2 + {b.number()} % 7",
                                               f"@.__defaults__ = ({b.number()}, 2)"])


def closure(b):
    maker, name = b.name("make"), b.name("clo")
    b.add(f"def {maker}(c):", "    def get():", "        return c", "    def put(v):", "        nonlocal c", "        c = v",
          "    def step(x, n=1, k=1):", "        nonlocal c",
          *[f"    {line}" for line in body_of(b, 1)], *b.choose.pick(([], ["        c += 1"], ["        c = n"])),
          "        return x + c % 7", "    return step, get, put",
          f"{name}, {name}_get, {name}_put = {maker}({b.number()})")
    b.functions.append(name)
    b.feature("closure")
    return b.thing(name, nums=[f"{name}_get()"], tens=["@(x)"], writes=[f"{name}_put(n)"],
                   changes=[f"{name}_put({b.number()})", f"@.__closure__[0].cell_contents = {b.number()}",
                            f"@, {name}_get, {name}_put = {maker}({b.number()})"])


def partial(b):
    name = b.name("part")
    inner = b.choose.pick(b.functions) if b.functions else plain(b).path
    b.add(f"{name} = partial({inner}, k={b.number()})")
    b.feature("partial")
    return b.thing(name, tens=["@(x)", "@(x, 2)"], nums=["@.keywords['k']"],
                   changes=[f"@.keywords['k'] = {b.number()}", f"@ = partial({inner}, k={b.number()})"])


def decorated(b):
    name, deco = b.name("dec"), b.name("deco")
    b.add(f"def {deco}(scale):", "    def wrap(fn):", "        @functools.wraps(fn)", "        def inner(*args, **kwargs):",
          "            inner.calls += 1" if b.choose.chance(3) else "            pass",
          "            return fn(*args, **kwargs) + scale % 7", "        inner.calls = 0", "        return inner", "    return wrap",
          f"@{deco}({b.number()})", f"def {name}(x, n=2, k=1):", *body_of(b, 1), "    return x + n % 3")
    b.functions.append(name)
    b.feature("decorator")
    return b.thing(name, nums=["@.calls"], tens=["@(x)"],
                   changes=[f"@ = @.__wrapped__ if hasattr(@, '__wrapped__') else @", f"@ = {deco}(3)(@)", "@.calls = 5",
                            f"@.__closure__[-1].cell_contents = {b.number()}"])


def generator(b):
    name = b.name("gen")
    seq = Body(b, [(t, t.path) for t in b.things], 2).expression("seqs") or "[1, 2]"
    b.add(f"def {name}(n, x=2.0):", f"    for v in {seq}:", "        yield v", "    try:", "        yield n", "    finally:",
          *[f"        {line}" for line in Body(b, [(t, t.path) for t in b.things], 2).write()])
    b.feature("generator")
    return b.thing(name, seqs=["@(1)", "(v for v in @(2))", "[*@(n)]", "itertools.islice(@(1), 2)"],
                   nums=["next(@(2), 1)", "sum(@(1))", "max(@(1), default=1)", "len(list(@(n)))", "(2 if 1 in @(3) else 3)"])


def cached(b):
    name = b.name("cached")
    b.add("@functools.lru_cache(None)", f"def {name}(v):", "    return v * 2")
    b.feature("lru_cache")
    return b.thing(name, nums=["@(3)", "@(n)"], changes=["@.cache_clear()"])


def recursive(b):
    name = b.name("rec")
    b.add(f"def {name}(x, n=2, k=1):", *body_of(b, 1), "    n = int(bool(n)) if k else 0", f"    return {name}(x * 0.5, n, k=0) if n else x")
    b.functions.append(name)
    b.feature("recursion")
    return b.thing(name, tens=["@(x)"], changes=["@.__defaults__ = (0, 1)"])


def manager(b):
    name = b.name("cm")
    things = [(t, t.path) for t in b.things]
    w = Body(b, things, 2)
    b.add("@contextmanager", f"def {name}(x, n):", *[f"    {line}" for line in with_globals(b, w.write())], "    try:", "        yield n", "    finally:",
          *[f"        {line}" for line in w.add_number()])
    b.feature("contextmanager")
    return b.thing(name, writes=[f"with @(x, n) as m: x = x + m % 3"])


MAKERS = (plain, lambda_, closure, partial, decorated, generator, cached, recursive, manager)
