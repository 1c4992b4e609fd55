"""Cuts a failing program down: steps and statements go as long as the failure stays."""
import ast
import dataclasses

from soundness.program import blocks


def reduce(program, fails, budget=600):
    """The smallest program found for which ``fails(program)`` is true; ``budget`` is the number of trials."""
    trials = Trials(fails, budget)
    while not trials.spent:
        smaller = fewer_steps(program, trials)
        smaller = fewer_lines(smaller, trials)
        if smaller == program:
            break
        program = smaller
    return program


class Trials:

    def __init__(self, fails, budget):
        self.fails = fails
        self.budget = budget

    @property
    def spent(self):
        return self.budget <= 0

    def __call__(self, program):
        if self.spent:
            return False
        self.budget -= 1
        return self.fails(program)


def fewer_steps(program, trials):
    size = max(len(program.steps) // 2, 1)
    while size:
        i = len(program.steps) - size
        while i >= 0:
            smaller = drop_steps(program, i, i + size)
            if trials(smaller):
                program = smaller
            i -= size
        size //= 2
    return program


def drop_steps(program, start, end):
    kept = [i for i in range(len(program.steps)) if not start <= i < end]
    decoys = frozenset(new for new, old in enumerate(kept) if old in program.decoys)
    return dataclasses.replace(program, steps=tuple(program.steps[i] for i in kept), decoys=decoys)


def fewer_lines(program, trials):
    """Without single statements, the big ones (whole definitions) first."""
    done = False
    while not done and not trials.spent:
        done = True
        for start, end in blocks(program.source):
            lines = program.source.split("\n")
            for smaller in (lines[:start] + lines[end:], unwrapped(lines, start, end)):
                if smaller is None or not compiles(smaller):
                    continue
                candidate = dataclasses.replace(program, source="\n".join(smaller))
                if trials(candidate):
                    program, done = candidate, False
                    break
            if not done:
                break
    return program


def unwrapped(lines, start, end):
    """The body of an if, for, with or try in place of the whole."""
    words = lines[start].split()
    if end == start + 1 or not words or words[0].rstrip(":") not in ("if", "for", "with", "try", "else"):
        return None
    return lines[:start] + [line[4:] for line in lines[start + 1:end]] + lines[end:]


def compiles(lines):
    try:
        ast.parse("\n".join(lines))
    except SyntaxError:
        return False
    return True
