"""The program files of a checkout of ParityBench, and the choice among them."""
import glob
import hashlib
import os


class UsageError(Exception):
    """Something in the arguments that the user can put right; the message says what."""


def programs(checkout):
    """The paths of all program files, in a fixed order."""
    folder = os.path.join(os.path.abspath(checkout), "generated")
    paths = sorted(glob.glob(os.path.join(glob.escape(folder), "test_*.py")))
    if not paths:
        raise UsageError(f"no program files: {folder} has no test_*.py; --checkout names a checkout of "
                         "jansel/pytorch-jit-paritybench")
    return paths


def choose(paths, sample=None, part=(0, 1), name=None):
    """Those with *name* in their names; or every k-th, so that about *sample* are left, and of those one *part* of n."""
    if name is not None:
        chosen = [path for path in paths if name in os.path.basename(path)]
        if not chosen:
            raise UsageError(f"no program file has {name!r} in its name")
        return chosen
    step = max(1, round(len(paths) / sample)) if sample else 1
    index, parts = part
    return paths[::step][index::parts]


def parse_part(text):
    """"3/48" as (3, 48)."""
    index, _, parts = text.partition("/")
    if not (index.isdigit() and parts.isdigit() and int(index) < int(parts)):
        raise UsageError(f"--slice is I/N with 0 <= I < N, not {text!r}")
    return int(index), int(parts)


def fingerprint(paths):
    """Tells one state of the checkout from another: names and sizes of all program files."""
    named = [(os.path.basename(path), os.path.getsize(path)) for path in paths]
    return f"{len(paths)} files, {hashlib.sha256(repr(named).encode()).hexdigest()[:12]}"
