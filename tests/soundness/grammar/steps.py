"""What is done with the target: calls, and changes of outside state between them."""
import re

INPUTS = ("T(1)", "T(2)", "T(1, dtype=torch.float64)", "T(3, 4, 3)", "T(4, grad=True)", "T(5, 3, 2).t()", "T(6, 3)",
          "T(7, 2, 3).expand(2, 3)", "T(8, 4, 3)[::2]", "nn.Parameter(T(9))")
CONTEXTS = ("torch.no_grad()", "torch.inference_mode()", "torch.autocast('cpu', dtype=torch.bfloat16)", "torch.enable_grad()")


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
        extra = self.extra if usual else self.signature.arguments()
        line = f"xx = {text}; result = run({', '.join(['xx', *extra])})"
        if not usual and self.choose.chance(3):
            line = f"with {self.choose.pick(CONTEXTS)}: {line}"
        self.lines.append(line)

    def change(self):
        things = [t for t in self.b.things if t.changes]
        if not things:
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
