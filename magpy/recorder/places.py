"""Where in the user's code something happened."""

import functools
import os
import sysconfig

import torch

_OWN = tuple(os.path.join(os.path.dirname(path), "") for path in (
    torch.__file__, os.path.dirname(os.path.abspath(__file__))))
_STDLIB = os.path.join(sysconfig.get_path("stdlib"), "")
_NOT_LIBRARY = (os.path.join(_STDLIB, "site-packages", ""), os.path.join(_STDLIB, "test", ""))


@functools.lru_cache(maxsize=4096)
def is_library(filename):
    """True for code of torch, of MagPy and of Python's standard library."""
    if filename.startswith("<frozen ") or filename.startswith(_OWN):
        return True
    return filename.startswith(_STDLIB) and not filename.startswith(_NOT_LIBRARY)


def is_installed(filename):
    """True for library code and that of other packages."""
    return is_library(filename) or f"{os.sep}site-packages{os.sep}" in filename


def is_own(filename):
    """True for code of MagPy."""
    return filename.startswith(_OWN[1])


def user_place(frame):
    """(file, line, function) of the innermost frame that is not library code;
    of the innermost frame at all when there is none. *frame* may be None."""
    first = frame
    while frame is not None and is_library(frame.f_code.co_filename):
        frame = frame.f_back
    frame = frame if frame is not None else first
    if frame is None:
        return "<unknown>", 0, "<unknown>"
    return frame.f_code.co_filename, frame.f_lineno or 0, frame.f_code.co_name
