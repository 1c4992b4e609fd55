"""What is done with the target: calls, and changes of outside state between them."""
import re

INPUTS = ("T(1)", "T(2)", "T(1, dtype=torch.float64)", "T(3, 4, 3)", "T(4, grad=True)", "T(5, 3, 2).t()", "T(6, 3)",
          "T(7, 2, 3).expand(2, 3)", "T(8, 4, 3)[::2]", "nn.Parameter(T(9))")
CONTEXTS = ("default_dtype(torch.float64)", "torch.no_grad()", "torch.inference_mode()", "torch.autocast('cpu', dtype=torch.bfloat16)", "torch.enable_grad()")


# Changes that any program may notice.
ANYWHERE = (
    "len = lambda v: 4", "sum = lambda *v: 3", "patch(torch.Tensor, '__add__', lambda s, o: torch.sub(s, o))", "sorted = lambda v, **k: [2, 1]",
    "patch(F, 'gelu', torch.relu)", "patch(torch, 'relu', torch.tanh)", "isinstance = lambda *a: True", "range = lambda *a: [2]", "globals().pop('len', None)",
    "patch(nn.Module, '__call__', lambda self, *a: self.forward(*a))", "backward()", "backward()", "backward()", "n = 7", "x = 5", "target.__dict__['k'] = 3",
    "Box = SimpleNamespace", "Box.extra = 2", "Box.__init__ = lambda self, x, o=None: setattr(self, 'x', x)", "print = lambda *a, **k: None",
    "h = patch_module(nn.Linear, lambda m, i, o: o * 2)", "itertools = SimpleNamespace(islice=lambda v, *a: [1], chain=lambda *a: [2])", "float = int",
    "other(T(1))", "other(T(2))", "other(T(1))", "torch.manual_seed(5)", "warnings.simplefilter('ignore')", "functools = SimpleNamespace(reduce=lambda f, s, x=0: x)",
    "str = lambda v: 'abc'", "max = lambda *a, **k: 2", "map = lambda f, s: [1]", "hasattr = lambda *a: False", "T = P",
    "target.__class__ = type('Other', (type(target),), {'__call__': lambda self, x, *a, **k: x - 1})",
    "target_owner.__class__ = type('Other', (Target,), {'base': 7})")


class Steps:

    def __init__(self, b, signature):
        self.b = b
        self.choose = b.choose
        self.signature = signature
        self.lines = []
        self.decoys = set()
        self.inputs = self.choose.some(INPUTS[:1 + self.choose.below(len(INPUTS))], 2)
        self.extra = signature.arguments()

    def call(self, usual=True):
        text = self.inputs[0] if usual or self.choose.chance(2) else self.choose.pick(self.inputs)
        if not usual and self.choose.chance(4):
            text = self.choose.pick([t.path for t in self.b.things if t.path[0] == "t"] or [text])
        extra = self.extra if usual else self.signature.arguments()
        line = f"xx = {text}; result = run({', '.join(['xx', *extra])})"
        if not usual and self.choose.chance(5):
            line += "; backward()"
        if not usual and self.choose.chance(3):
            line = f"with {self.choose.pick(CONTEXTS)}: {line}"
        self.lines.append(line)

    def change(self):
        things = [t for t in self.b.things if t.changes]
        if not things or self.choose.chance(12):
            self.lines.append(self.choose.pick(ANYWHERE))
            return
        if self.lines and self.choose.chance(8):
            self.lines.append(self.choose.pick(self.lines))
            return
        used = [t for t in things if uses(self.b, t)]
        thing = self.choose.pick(used if used and not self.choose.chance(5) else things)
        text = self.choose.pick(thing.at(thing.path, "changes"))
        self.lines.append(f"with torch.no_grad(): {text}" if "add_(" in text else text)

    def decoy(self):
        texts = [text for t in self.b.things for text in t.at(t.path, "decoys")] + ["decoy_global = 1", "del decoy_list[:1]"]
        self.decoys.add(len(self.lines))
        self.lines.append(self.choose.pick(texts))


def make(b, signature):
    s = Steps(b, signature)
    s.call()
    s.call()
    for _ in range(1 + b.choose.below(4)):
        if b.choose.chance(6):
            s.decoy()
        else:
            for _ in range(1 + b.choose.below(2)):
                s.change()
        s.call()
        if b.choose.chance(2):
            s.call(usual=False)
        if b.choose.chance(3):
            s.call()
    whole = any("__dict__" in line or "vars(" in line for line in b.source)    # then nothing is unread
    return tuple(s.lines), frozenset(() if whole else s.decoys)


def uses(b, thing):
    """Does the target name this thing?"""
    return any(re.search(rf"\b{thing.path}\b", line) for line in b.source[b.target_at:])
