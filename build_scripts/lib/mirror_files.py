"""mirror_files.py SOURCE TARGET < names: makes TARGET hold the named files that SOURCE has, and no others.

Each name ends with NUL.

A file whose content is the same keeps its time stamp, so that a build in TARGET redoes only what changed. What that
build made, in TARGET/build, is left alone.
"""

import os
import sys
from pathlib import Path


def mirror(source: Path, target: Path, names: set[str]) -> None:
    for path in list(target.rglob("*")):
        name = str(path.relative_to(target))
        if path.is_file() and name not in names and not name.startswith("build/"):
            path.unlink()
    for name in names:
        if not (source / name).exists():
            continue
        content = (source / name).read_bytes()
        copy = target / name
        if not copy.is_file() or copy.read_bytes() != content:
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(content)


if __name__ == "__main__":
    mirror(Path(sys.argv[1]), Path(sys.argv[2]), {os.fsdecode(n) for n in sys.stdin.buffer.read().split(b"\0") if n})
