"""A program: source text that defines ``target``, and the steps that are done with it afterwards.

Both are plain Python. A step that calls the target does so by the name ``run``, which is the target as it is, or
compiled; what it gives is assigned to ``result``. So a failing program can be read, cut down line by line, and pasted
into a test.
"""
import dataclasses


@dataclasses.dataclass(frozen=True)
class Program:
    source: str
    steps: tuple            # texts of statements
    features: frozenset = frozenset()
    decoys: frozenset = frozenset()     # steps (their numbers) that change only what the program does not read

    def __str__(self):
        return self.source.rstrip() + "\n\n# steps\n" + "\n".join(self.steps) + "\n"

    def without_decoys(self):
        steps = tuple("pass" if i in self.decoys else step for i, step in enumerate(self.steps))
        return dataclasses.replace(self, steps=steps, decoys=frozenset())


def blocks(text):
    """The statements of ``text`` as (first, last) lines, outer ones before those inside them."""
    lines = text.split("\n")
    found = []
    for i, line in enumerate(lines):
        if not line.strip():
            continue
        depth = indent(line)
        end = i + 1
        while end < len(lines) and (not lines[end].strip() or indent(lines[end]) > depth):
            end += 1
        found.append((i, end))
    return sorted(found, key=lambda b: b[0] - b[1])


def indent(line):
    return len(line) - len(line.lstrip())
