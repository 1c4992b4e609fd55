"""Imports `magpy` from a checkout, with its compiled modules from the folder they were built into.

build_scripts/make_env.sh installs this file into the environment's site-packages, with a .pth file that imports it at
every start. Why not an entry on sys.path: the current folder and the script's folder come first there, so that
`magpy-python -m pytest` in the checkout would import the checkout's sources without their compiled modules. Why not a
build in place: the checkout may be read-only, and interpreters of several flavours share it.

Which checkout: the one whose launcher started this process, or a parent of it; with a cleaned environment, or when
the environment's own bin/magpy-python was started, the one that was set up last.
"""

import os
import sys
from importlib.machinery import PathFinder


def _locations():
    """The folders that stand for sys.path: where compiled modules are, and the checkout."""
    try:
        return os.environ["MAGPY_EXTENSIONS"], os.environ["MAGPY_SOURCE"]
    except KeyError:
        pass
    try:
        with open(os.path.join(sys.prefix, "newest")) as f:
            return tuple(f.read().splitlines())
    except OSError:
        return ()


class CheckoutFinder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name != "magpy" and not name.startswith("magpy."):
            return None
        folders = [os.path.join(where, *name.split(".")[:-1]) for where in _locations()]
        spec = PathFinder.find_spec(name, folders, target)
        if spec is None or spec.loader is None:
            return None  # as if this finder were not here: the usual error, or a magpy that pip installed
        if spec.submodule_search_locations is not None:
            spec.submodule_search_locations = [os.path.join(where, *name.split(".")) for where in _locations()]
        return spec


sys.meta_path.insert(0, CheckoutFinder)
