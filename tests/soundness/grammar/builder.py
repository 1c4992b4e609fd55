"""What the parts of the grammar share: the program being built, and the things in it.

A *thing* is an object outside the target with everything a program can do to it, as texts in which ``@`` stands for a
path to it: expressions that read it, statements that write it, changes to make between calls. Since they hold for any
path, a thing can be put anywhere: into a list, an attribute, a closure, an argument; and into two places, which makes
an alias.
"""
import dataclasses


@dataclasses.dataclass
class Thing:
    path: str
    nums: list = dataclasses.field(default_factory=list)        # expressions: a number
    tens: list = dataclasses.field(default_factory=list)        # a tensor that broadcasts with (2, 3)
    seqs: list = dataclasses.field(default_factory=list)        # an iterable of numbers
    writes: list = dataclasses.field(default_factory=list)      # statements inside the target; n is a number, x a tensor
    changes: list = dataclasses.field(default_factory=list)     # statements between calls
    decoys: list = dataclasses.field(default_factory=list)      # changes of what no expression reads
    is_value: bool = False                                      # a plain value: a copy of it is as good

    def at(self, path, kind):
        return [text.replace("@", path) for text in getattr(self, kind)]

    def below(self, step, choose, most=4):
        """What this thing offers to one that holds it at ``@`` + step."""
        inner = f"@{step}"
        return {kind: choose.some(self.at(inner, kind), most) for kind in KINDS}

    def adopt(self, offered, changes=True):
        """Take over what a held thing offers."""
        for kind in KINDS:
            if kind != "changes" or changes:
                getattr(self, kind).extend(offered[kind])


KINDS = ("nums", "tens", "seqs", "writes", "changes", "decoys")


class Builder:
    """A program under construction."""

    def __init__(self, choose):
        self.choose = choose
        self.source = []
        self.target_at = 0      # the line of the target's definition
        self.things = []        # reachable as globals
        self.functions = []     # names of x -> x functions
        self.features = set()
        self.count = 0

    def name(self, base):
        self.count += 1
        return f"{base}{self.count}"

    def add(self, *lines):
        self.source.extend(lines)

    def feature(self, *names):
        self.features.update(names)

    def thing(self, path, **fields):
        made = Thing(path, **fields)
        self.things.append(made)
        return made

    # ---- values --------------------------------------------------------------------

    def number(self):
        return self.choose.pick(NUMBERS) if not self.choose.chance(6) else self.choose.pick(STRANGE)

    def other_number(self):
        return self.choose.pick(("9", "4.5", "8", "1.0", "True", "1", "-0.0", "0.0", "0", "-7"))

    def key(self):
        return self.choose.pick(KEYS)

    def tensor(self):
        seed = self.choose.below(40)
        return self.choose.pick((f"T({seed})", f"T({seed}, 3)", f"T({seed}, 2, 1)", f"T({seed}, 2, 3)",
                                 f"T({seed}, dtype=torch.float64)", f"T({seed}, grad=True)", f"P({seed}, 3)"))


NUMBERS = ("2", "3.0", "1.5", "1", "5", "0.25", "2.0", "-3")
STRANGE = ("True", "False", "0", "-0.0", "0.0", "1.0", "300", "float('nan')", "10**30", "2**70", "float('inf')", "-1")
KEYS = ("'a'", "'b'", "1", "(1, 'a')", "2.0", "'c d'", "None")
