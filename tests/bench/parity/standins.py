"""What program files import and what is not there.

Each file imports ``_paritybench_helpers`` from the checkout, which would pull in the whole bench and change torch's
settings; the few names that files use are made here instead. And each file imports a dozen third-party modules, used
or not: those that are absent become mocks, but only for the program, so that no library takes a mock for the real one.
"""
import importlib.abc
import importlib.machinery
import re
import sys
import types
import unittest
from unittest.mock import MagicMock

import torch


def install(path):
    """For the program file *path*, from here on in this process."""
    sys.modules["_paritybench_helpers"] = _helpers()
    sys.meta_path.append(_Absent(path))


# Asked for by parts of torch that programs import: torch.utils.tensorboard and torch.testing.
_ASKED_FOR_BY_TORCH = ("tensorboard", "google", "expecttest")
_NEVER = sys.stdlib_module_names | {"torch"}


class _Absent(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Comes last among the finders, so what it is asked for does not exist."""

    def __init__(self, path):
        self.path = path

    def find_spec(self, name, path=None, target=None):
        root = name.partition(".")[0]
        if root in _ASKED_FOR_BY_TORCH or (root not in _NEVER and _importer(sys._getframe(1)) == self.path):
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        module = MagicMock(name=spec.name)
        module.__name__, module.__path__, module.__version__ = spec.name, [], "99"
        return module

    def exec_module(self, module):
        """A mock has everything already."""


def _importer(frame):
    """The file in which the import statement is."""
    while frame is not None and frame.f_code.co_filename.startswith("<frozen importlib"):
        frame = frame.f_back
    return frame and frame.f_code.co_filename


class DummyBlock(torch.nn.ReLU):
    """A layer where the program expects some layer class of its own."""

    expansion = 1


class MockConfig(dict):
    """Settings that are read as items or as attributes."""

    __getattr__ = dict.__getitem__


def mock_layer(in_features=None, out_features=None, *args, **kwargs):
    if in_features and out_features:
        return torch.nn.Linear(in_features, out_features, **kwargs)
    return DummyBlock()


def patch_functional():
    """Each of torch.functional and torch.nn.functional also gets the other's functions: programs call both ``F``."""
    modules = torch.functional, torch.nn.functional
    public = [{name: value for name, value in vars(module).items() if re.match("[a-z]", name)} for module in modules]
    for module, own, others in zip(modules, public, reversed(public)):
        for name in others.keys() - own.keys():
            setattr(module, name, others[name])


def _helpers():
    module = types.ModuleType("_paritybench_helpers")
    module._mock_config = MockConfig
    module._mock_layer = mock_layer
    module._paritybench_base = unittest.TestCase
    module._fails_compile = lambda: lambda test: test
    module.DummyBlock = DummyBlock
    module.patch_functional = patch_functional
    return module
