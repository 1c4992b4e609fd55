"""Where the choices that make a program come from: random numbers, or hypothesis, which can shrink them."""
import random


class Choices:
    """The first of several options is the simplest: hypothesis shrinks towards it."""

    def below(self, n):
        raise NotImplementedError

    def pick(self, options):
        return options[self.below(len(options))]

    def chance(self, one_in):
        """True once in ``one_in`` times."""
        return self.below(one_in) == one_in - 1

    def some(self, options, most):
        """Up to ``most`` of ``options``, each at most once, in an order of its own."""
        rest, found = list(options), []
        while rest and len(found) < most:
            found.append(rest.pop(self.below(len(rest))))
        return found


class RandomChoices(Choices):

    def __init__(self, seed):
        self.random = random.Random(seed)

    def below(self, n):
        return int(self.random.random() * n)


class DrawnChoices(Choices):
    """Choices that hypothesis makes."""

    def __init__(self, data, integers):
        self.data = data
        self.integers = integers

    def below(self, n):
        return self.data.draw(self.integers(0, n - 1)) if n > 1 else 0
