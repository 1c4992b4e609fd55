"""The file of verdicts: a header line, then a line for each program. An interrupted run goes on from what is there."""
import fcntl
import hashlib
import json
import os
import platform

from .checkout import UsageError


def header(systems, arguments, checkout):
    """All that verdicts depend on: *arguments* is a dict of those that matter."""
    import torch

    import magpy
    return {"paritybench": 1, "python": platform.python_version(), "torch": torch.__version__,
            "magpy": f"{magpy.__version__}, sources {_sources(os.path.dirname(magpy.__file__))}",
            "checkout": checkout, "systems": list(systems), **arguments}


def _sources(package):
    """Tells one state of MagPy's sources from another."""
    digest = hashlib.sha256()
    for folder, folders, files in os.walk(package):
        folders.sort()
        for name in sorted(files):
            if name.endswith((".py", ".pyx", ".pxi", ".pxd", ".h", ".cpp")):
                with open(os.path.join(folder, name), "rb") as file:
                    digest.update(name.encode() + file.read())
    return digest.hexdigest()[:12]


class Results:
    """Open for adding rows. ``rows`` are those that earlier runs left."""

    def __init__(self, path, header):
        os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
        self.file = open(path, "a+")
        try:
            fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise UsageError(f"another run is writing {path}") from None
        found, self.rows, length = _read(path)
        if found is None:
            self.file.truncate(0)
            self._write(header)
        else:
            _same(path, found, header)
            self.file.truncate(length)

    def add(self, row):
        self.rows.append(row)
        self._write(row)

    def _write(self, value):
        self.file.write(json.dumps(value) + "\n")
        self.file.flush()


def read(path):
    """(header, rows) of a results file."""
    if not os.path.exists(path):
        raise UsageError(f"there is no results file {path}")
    found, rows, _ = _read(path)
    if found is None:
        raise UsageError(f"{path} is empty")
    return found, rows


def _read(path):
    """(header or None, rows, bytes of whole lines): a run that was killed can leave half a line at the end."""
    with open(path, "rb") as file:
        whole = file.read()
    length = whole.rfind(b"\n") + 1
    try:
        lines = [json.loads(line) for line in whole[:length].splitlines()]
    except ValueError:
        lines = [None]
    if lines and not (isinstance(lines[0], dict) and "paritybench" in lines[0]):
        raise UsageError(f"{path} is not a results file of paritybench.py")
    return (lines[0], lines[1:], length) if lines else (None, [], 0)


def _same(path, found, header):
    changed = [f"{key}: there {found.get(key)}, now {header.get(key)}" for key in {**found, **header}
               if found.get(key) != header.get(key)]
    if changed:
        raise UsageError(f"{path} has results of another kind, which do not mix with these ({'; '.join(changed)}): "
                         "give another --out, or delete it")
