"""One program file and its tests.

A file ends with ``TESTCASES``: a list of (module class, function giving the class's arguments, function giving the
arguments of a call, ...). All randomness is seeded, so that the same seed makes the same module and the same inputs.
"""
import ast
import contextlib
import copy
import importlib
import os
import random
import sys
import types

import numpy
import torch

from . import standins

_BUILD, _CALL = 1, 2


def warm_up(path):
    """Import what the program file *path* imports: all files begin alike, so no child need do it again."""
    for name in _imported(path):
        with contextlib.suppress(Exception):
            importlib.import_module(name)


def _imported(path):
    with open(path) as file, contextlib.suppress(SyntaxError):
        return [alias.name for statement in ast.parse(file.read()).body if isinstance(statement, ast.Import)
                for alias in statement.names]
    return []


def load(path):
    """The program's tests; what the file raises passes through."""
    standins.install(path)
    name = os.path.basename(path).removesuffix(".py")
    module = sys.modules[name] = types.ModuleType(name)
    with open(path) as file:
        exec(compile(file.read(), path, "exec"), vars(module))
    return [Test(*case[:3]) for case in vars(module).get("TESTCASES", ())]


def seed(n):
    torch.default_generator.manual_seed(n)
    random.seed(n)
    numpy.random.seed(n)


class Test:
    """A module class with its arguments, and the inputs of calls."""

    def __init__(self, cls, init_arguments, call_arguments):
        self.cls = cls
        self.name = cls.__name__
        self.init_arguments = init_arguments
        self.call_arguments = call_arguments
        self.module = None

    def build(self):
        seed(_BUILD)
        args, kwargs = self.init_arguments()
        module = self.cls(*args, **kwargs)
        with contextlib.suppress(Exception):
            module.eval()
        return module

    def fresh(self):
        """The module as it was before any call. A copy, since uninitialised parameters differ from build to build."""
        if self.module is None:
            self.module = self.build()
        try:
            return copy.deepcopy(self.module)
        except Exception:
            return self.build()

    def inputs(self, n):
        """(args, kwargs), the same for the same *n*."""
        seed(n)
        args, kwargs = self.call_arguments()
        return list(args), dict(kwargs)


def call(f, inputs):
    args, kwargs = inputs
    seed(_CALL)
    return f(*args, **kwargs)
