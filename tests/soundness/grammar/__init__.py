"""The grammar: ``make_program(choose)`` writes one program."""
from soundness.grammar import classes, containers, corners, functions, modules, steps, values
from soundness.grammar.bodies import Body, with_globals
from soundness.grammar.builder import Builder
from soundness.program import Program

MAKERS = (*values.MAKERS, *containers.MAKERS, *classes.MAKERS, *functions.MAKERS, *modules.MAKERS)


def make_program(choose):
    b = Builder(choose)
    b.add("decoy_list = [1, 2, 3]", "@dataclass", "class Box:", "    x: object", "    o: object = None")
    for _ in range(1 + choose.below(5)):
        make_thing(b)
    signature = Signature(b)
    b.target_at = len(b.source)
    target(b, signature)
    another(b)
    lines, decoys = steps.make(b, signature)
    return Program("\n".join(b.source) + "\n", lines, frozenset(b.features), decoys)


def make_thing(b):
    if b.choose.chance(40):
        return b.choose.pick(containers.RARE)(b)
    if b.choose.chance(2):
        return corners.make(b)
    return b.choose.pick(MAKERS)(b)


class Signature:
    """The parameters of the target besides x, and what is given for them."""

    def __init__(self, b):
        self.b = b
        self.parameters = []        # (text, Thing or None, how it is given)
        for thing in b.choose.some(b.things, b.choose.below(3)):
            how = b.choose.pick(("positional", "keyword", "default"))
            self.parameters.append((b.name("a"), thing, how))
        order = {"positional": 0, "default": 1, "keyword": 2}
        self.parameters.sort(key=lambda p: order[p[2]])

    def head(self):
        texts = ["x"]
        starred = False
        for name, thing, how in self.parameters:
            if how == "keyword" and not starred:
                texts.append("*")
                starred = True
            texts.append(f"{name}={thing.path}" if how == "default" else name)
        return ", ".join(texts)

    def arguments(self):
        return [f"{name}={thing.path}" if how == "keyword" else thing.path for name, thing, how in self.parameters if how != "default"]

    def reach(self):
        return [(thing, name) for name, thing, _ in self.parameters]


def target(b, signature):
    """Defines ``target``: mostly a function, sometimes a method, a module or a callable object."""
    reach = [(t, t.path) for t in b.things] + signature.reach()
    body = Body(b, reach)
    lines = ["n = 2", *body.statements(2 + b.choose.below(5))]
    result = returned(b, body)
    lines = with_globals(b, lines)
    kind = b.choose.below(8)
    if kind < 5:
        b.add(f"def f({signature.head()}):", *[f"    {line}" for line in [*lines, result]], "target = f")
    elif kind == 5:
        b.feature("target: method")
        b.add("class Target:", "    base = 1", f"    def meth(self, {signature.head()}):", *[f"        {line}" for line in [*lines, result]],
              "target_owner = Target()", "target = target_owner.meth")
    elif kind == 6:
        b.feature("target: module")
        b.add("class Target(nn.Module):", f"    def forward(self, {signature.head()}):", *[f"        {line}" for line in [*lines, result]],
              "target = Target()")
    else:
        b.feature("target: object")
        b.add("class Target:", f"    def __call__(self, {signature.head()}):", *[f"        {line}" for line in [*lines, result]], "target = Target()")


def another(b):
    """A second compiled function, over the same outside state."""
    body = Body(b, [(t, t.path) for t in b.things], 1)
    lines = with_globals(b, ["n = 3", *body.statements(2)]) if b.choose.chance(3) else ["n = 3"]
    b.add("@compile", "def other(x):", *[f"    {line}" for line in lines], "    return x + n % 5",
          "def backward():", "    found = [v for v in (result if type(result) in (list, tuple, deque) else [result]) if isinstance(v, torch.Tensor) and v.requires_grad]",
          "    for v in found[:1]: v.float().sum().backward()")


def returned(b, body):
    e = body.number()
    outside = b.choose.pick([p for t, p in body.reach] or ["n"])
    return b.choose.pick(("return x", "return x, n", f"return [x, {{'n': n, 'e': {e}}}]", f"return x, {outside}", f"return {{'x': x, 'y': [x, x]}}",
                          f"return x, {e}", "return x, x * 2, None", f"return Box(x, {outside})", f"return deque([x, {e}])"))
