"""Statements of a function body: what is read is picked from the things in reach."""


class Body:
    """One function's body. ``reach`` is a list of (Thing, path)."""

    def __init__(self, b, reach, depth=0):
        self.b = b
        self.choose = b.choose
        self.reach = reach
        self.depth = depth
        self.scale = 0

    def expression(self, kind):
        options = [(t, p) for t, p in self.reach if getattr(t, kind)]
        if not options:
            return None
        thing, path = self.choose.pick(options)
        return self.choose.pick(thing.at(path, kind))

    def number(self, depth=0):
        if self.choose.chance(8) or depth > 1:
            return self.b.number()
        if self.choose.chance(5):
            left, right = self.number(depth + 1), self.number(depth + 1)
            op = self.choose.pick(("+", "*", "-", "<", "==", "and", "or", ">="))
            return f"({left} {op} {right})"
        return self.expression("nums") or self.b.number()

    def factor(self):
        """A number small enough to compute with, and a weight of its own."""
        self.scale += 1
        return f"({self.number()}) % 7 * {1 + self.scale / 8}"

    def statements(self, count):
        lines = []
        for _ in range(count):
            lines += self.statement()
        return lines or ["pass"]

    def statement(self):
        return self.choose.pick(SIMPLE if self.depth > 1 else STATEMENTS)(self)

    def nested(self, most=2):
        self.depth += 1
        lines = self.statements(1 + self.choose.below(most))
        self.depth -= 1
        return ["    " + line for line in lines]

    # ---- simple ------------------------------------------------------------------------

    def add_number(self):
        return [f"x = x + {self.factor()}"]

    def take_number(self):
        return [f"n = {self.number()}"]

    def add_n(self):
        return ["x = x + n % 5"]

    def add_tensor(self):
        e = self.expression("tens")
        return [f"x = x + {e}"] if e else self.add_number()

    def mul_tensor(self):
        e = self.expression("tens")
        return [f"x = {self.choose.pick(('x * 0.5 -', 'torch.maximum(x, x * 2) +', 'x.sin() +'))} {e}"] if e else self.add_number()

    def torch_op(self):
        return [self.choose.pick(("x = torch.relu(x) - 0.5", "x = x.clone()", "x = F.gelu(x)", "x = x + x.mean()",
                                  "x = torch.where(x > 0, x, x * 2)", "x = x + torch.rand(3)", "x = F.dropout(x, 0.5)",
                                  "x = x.flip(-1)", "x = x + torch.ones_like(x)", "x.add_(1)", "x = x.detach()",
                                  "x = x + torch.arange(3)", "x = x + (1 if torch.is_grad_enabled() else 2)"))]

    def write(self):
        e = self.expression("writes")
        return e.split("\n") if e else self.add_number()

    def call(self):
        if not self.b.functions:
            return self.add_number()
        name = self.choose.pick(self.b.functions)
        return [self.choose.pick((f"x = {name}(x)", f"x = x + {name}(x, n)", f"x = {name}(x, k=n)", f"x = {name}(*[x])",
                                  f"x = {name}(**{{'x': x}})"))]

    def print_(self):
        self.b.feature("print")
        return [self.choose.pick((f"print('p', n)", f"warnings.warn('w')", "print(f'{n!r:>4}', end=';')"))]

    # ---- compound ----------------------------------------------------------------------

    def if_(self):
        lines = [f"if {self.number()}:", *self.nested()]
        if self.choose.chance(2):
            lines += ["else:", *self.nested()]
        return lines

    def for_(self):
        seq = self.expression("seqs") or "[1, 2]"
        name = self.b.name("i")
        lines = [f"for {name} in itertools.islice({seq}, 6):" if self.choose.chance(4) else f"for {name} in {seq}:",
                 f"    x = x + {name} % 7 * 0.5"]
        if self.choose.chance(3):
            lines += self.nested(1)
        if self.choose.chance(5):
            lines += [f"    if {name} == 2:", "        break", "else:", "    x = x + 0.75"]
        return lines

    def comprehension(self):
        seq = self.expression("seqs") or "range(3)"
        return [self.choose.pick((f"x = x + sum([x * (v % 3) for v in {seq}])",
                                  f"n = len({{v: 1 for v in {seq}}})", f"x = sum((x + v % 5 for v in {seq}), x)",
                                  f"n = sum(v % 5 for v in {seq} if v != 2)", f"a, *_ = [*{seq}, 1, 2]; x = x + a % 5"))]

    def try_(self):
        self.b.feature("try")
        raising = self.choose.pick(("raise ValueError('v')", "{}['k']", "[][2]", "n / 0", f"n = {self.number()}", "int('q')",
                                    "x.nothing", f"assert {self.number()}, 'no'"))
        catch = self.choose.pick(("except Exception as e:", "except (ValueError, KeyError, LookupError) as e:",
                                  "except Exception as e:"))
        lines = ["try:", *self.nested(), f"    {raising}", catch, "    n = len(type(e).__name__)"]
        if self.choose.chance(3):
            lines += ["finally:", *self.nested(1)]
        return lines

    def with_(self):
        manager = self.choose.pick(("torch.no_grad()", "torch.enable_grad()", "contextlib.nullcontext(n) as n",
                                    "torch.autocast('cpu', dtype=torch.bfloat16)", "contextlib.suppress(ValueError)",
                                    "torch.set_grad_enabled(bool(n))"))
        self.b.feature("with")
        return [f"with {manager}:", *self.nested()]

    def match(self):
        self.b.feature("match")
        subject = self.choose.pick([t.path for t, _ in self.reach if t.path[0] in "ludqgsz"] or ["n"])
        return [f"match {subject}:",
                *self.choose.pick((["    case [a, *b]:", "        n = len(b)"], ["    case {'a': a, **rest}:", "        n = len(rest)"],
                                   ["    case int(a) | float(a):", "        n = a % 7"], ["    case 1 | 2:", "        n = 3"])),
                "    case str():", "        n = 4", "    case _:", "        n = 5", "x = x + n"]

    def alias(self):
        """A local name for an outside object, read and written through."""
        if not self.reach:
            return self.add_number()
        thing, path = self.choose.pick(self.reach)
        name = self.b.name("h")
        self.reach = [*self.reach, (thing, name)] if not thing.is_value else self.reach
        return [f"{name} = {path}"]

    def walrus(self):
        return [f"if (n := {self.number()}):", "    x = x + n % 3"]

    def closure(self):
        name, v = self.b.name("inner"), self.b.name("c")
        self.b.feature("closure made inside")
        self.depth += 1
        inner = Body(self.b, list(self.reach), 2)
        body = ["    " + line for line in inner.statements(1 + self.choose.below(2))]
        self.depth -= 1
        lines = [f"{v} = {self.number()}", f"def {name}(x, n=n, *, k={self.number()}):"]
        if self.choose.chance(2):
            lines += [f"    nonlocal {v}", f"    {v} = k"]
        lines += [*body, f"    return x + ({v}) % 5 + k % 3", f"x = {name}(x)"]
        if self.choose.chance(3):
            lines.append(f"x = {name}(x, k=2)")
        return lines

    def generator(self):
        name = self.b.name("walk")
        self.b.feature("generator made inside")
        return [f"def {name}(v, x=x):", f"    yield {self.number()}", *self.nested(1), "    yield v % 5",
                self.choose.pick((f"n = next({name}(n)) ", f"x = x + sum({name}(n)) % 5", f"for n in {name}(n): x = x + 0.25",
                                  f"a, b = {name}(n); x = x + a % 3 - b", f"n = [*{name}(1)][-1]"))]

    def class_(self):
        name = self.b.name("Inner")
        self.b.feature("class in the target")
        return [f"class {name}:", f"    k = {self.number()}", f"    def __init__(self, v={self.number()}): self.v = v",
                "    def go(self, x, n=1):", *["    " + line for line in self.nested(1)], "        return x + self.k % 5 + self.v % 3",
                self.choose.pick((f"x = {name}().go(x)", f"x = {name}(n).go(x, n)", f"n = {name}(2).v", f"x = sum(({name}(v).go(x) for v in [1, n]), x)",
                                  f"h = {name}(); h.v = n; x = h.go(x)"))]

    def while_(self):
        name = self.b.name("j")
        return [f"{name} = 0", f"while {name} < 3:", f"    {name} += 1", *self.nested(1),
                *self.choose.pick(([], [f"    if {self.number()}: break"], [f"    if {name} == 2: continue", "    x = x + 0.5"]))]

    def early(self):
        return [f"if {self.number()} == {self.b.number()}:", *self.nested(1), "    return x, n"] if self.depth == 0 else self.add_number()

    def lambda_(self):
        return [self.choose.pick((f"x = (lambda v, k={self.number()}: v + k % 3)(x)", f"n = max([1, n], key=lambda v: {self.number()})",
                                  f"n = sum(map(lambda v: v % 5, {self.expression('seqs') or '[1, n]'}))",
                                  f"x = functools.reduce(lambda a, v: a + v % 5, {self.expression('seqs') or '[1, n]'}, x)",
                                  f"fs = [lambda v=i: v + {self.number()} for i in range(2)]; n = fs[1]() % 9"))]

    def nested_comprehension(self):
        a, b = (self.expression("seqs") or "range(2)" for _ in "ab")
        return [self.choose.pick((f"n = sum([v * w % 3 for v in {a} for w in {b}])", f"n = len([[v + w for w in {b}] for v in {a}])",
                                  f"n = len([v for v in {a} if v in [*{b}]])", f"n = len({{k: v for k, v in zip({a}, {b})}})"))]

    def local_container(self):
        name = self.b.name("w")
        seq = self.expression("seqs") or "[1, 2]"
        return [f"{name} = [x, n, *{seq}]", *self.choose.pick(
            ([f"{name}.append(x * 2)", f"x = x + {name}[-1]"], [f"x = x + {name}.pop(0)"], [f"n = len({name})"],
             [f"{name}[0] = x + 1", f"x = {name}[0]"]))]


SIMPLE = (Body.add_number, Body.add_number, Body.add_n, Body.take_number, Body.add_tensor, Body.mul_tensor, Body.torch_op, Body.write,
          Body.call, Body.print_, Body.write)
STATEMENTS = SIMPLE + (Body.if_, Body.for_, Body.comprehension, Body.try_, Body.with_, Body.match, Body.alias, Body.walrus, Body.closure,
                       Body.local_container, Body.generator, Body.class_, Body.while_, Body.early, Body.lambda_, Body.nested_comprehension)


def assigned(lines):
    """The plain names that these statements assign to."""
    found = set()
    for line in lines:
        for head in line.strip().split(": ")[-1:]:
            target, sep, _ = head.partition(" = ")
            if not sep:
                target, sep, _ = head.partition(" += ")
            if sep:
                found.update(word.strip() for word in target.split(","))
    return found


def with_globals(b, lines):
    """The statements of a function, and before them which of the names they assign are outside ones."""
    outside = sorted(assigned(lines) & {thing.path for thing in b.things})
    return [f"global {', '.join(outside)}", *lines] if outside else lines
