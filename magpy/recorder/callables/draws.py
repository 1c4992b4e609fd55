"""Random numbers drawn outside torch, from a generator that the call found.

The same numbers seldom come again, but they do where a program seeds before each call, or
draws small numbers. So the draw is made again at replay, first of all, and the recorded call
holds if it gives the same: see `magpy.fxgraph.outcome`.
"""

import random

import numpy

from magpy.fxgraph.outcome import Draw
from magpy.refgraph.graph import ABSENT, Effect
from magpy.recorder.callables.reads import plain

NUMPY_DRAWS = frozenset("""
    beta binomial bytes chisquare choice dirichlet exponential f gamma geometric gumbel hypergeometric
    integers laplace logistic lognormal logseries multinomial multivariate_normal negative_binomial
    noncentral_chisquare noncentral_f normal pareto permutation permuted poisson power rand randint
    randn random random_integers random_sample rayleigh standard_cauchy standard_exponential
    standard_gamma standard_normal standard_t triangular uniform vonmises wald weibull zipf
""".split())
MOST = 1000


def keeps_state(generator):
    """Can its state be read and put back without running the user's code?"""
    if isinstance(generator, random.Random):
        cls = type(generator)
        return cls.getstate is random.Random.getstate and cls.setstate is random.Random.setstate
    return type(generator) in (numpy.random.RandomState, numpy.random.Generator)


def drawn(r, func, args, kwargs):
    """Rule: *func*(*args) draws from the generator args[0], which is the call's no more than
    torch's own is."""
    name = getattr(func, "__name__", "random")
    if r.know(args[0]) is None:
        r.stop("random", f"{name} of a generator made during the call")
    if not r.allows_outcomes or not keeps_state(args[0]):
        r.stop("random", name)
    recording = r.recording
    if r.section is not None or len(recording.draws) >= MOST:
        r.stop("random", name)
    rest = [tuple(arg) if type(arg) is list else arg for arg in args[1:]]
    named = {key: tuple(arg) if type(arg) is list else arg for key, arg in kwargs.items()}
    if not all(map(plain, (*rest, *named.values()))):
        r.stop("random", f"{name} of objects")
    where = r.user_place()

    def then(result):
        if result is ABSENT:
            r.stop("random", f"{name} raised")
        recording.draws.append(Effect(Draw(func, name, result, where), (args[0], *rest), named, where))

    r.after_call(then)
