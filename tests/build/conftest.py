"""Fakes for the set-up's tests: a tiny "CPython" tarball, a checkout that pins it, tools on PATH that fail on purpose.

The fake builds in a moment, and its "interpreter" hands everything to the one that runs the tests, so the scripts,
the launcher, venv, pip and the compiler are the real ones.
"""

import hashlib
import io
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

CONFIGURE = r"""#!/bin/sh
for arg; do case $arg in --prefix=*) prefix=${arg#--prefix=} ;; esac; done
cat >Makefile <<END
all:
	echo built >>"\$(FAKE_MAKE_COUNT)"
	\$(FAKE_MAKE_RUNS)
install:
	mkdir -p \$(DESTDIR)$prefix/bin \$(DESTDIR)$prefix/include
	cp Python.h \$(DESTDIR)$prefix/include
	cp python \$(DESTDIR)$prefix/bin/python3.13
END
"""

PYTHON = f"""#!/bin/sh
{sys.executable} "$@" || exit
if [ "$1 $2 $3" = "-P -m venv" ]; then
    echo {sysconfig.get_path("purelib")} >"$4/lib/python3.13/site-packages/project.pth"
fi
"""

UPSTREAM = "".join(f"line {n}\n" for n in range(1, 21))

PATCH = """Change line ten

Test: none
Drop-when: never
--- a/upstream.c
+++ b/upstream.c
@@ -7,7 +7,7 @@ line 6
 line 7
 line 8
 line 9
-line 10
+line ten
 line 11
 line 12
 line 13
"""


def tarball(path: Path) -> str:
    """Writes the fake tarball and returns its SHA-256."""
    files = {"configure": CONFIGURE, "python": PYTHON, "Python.h": "", "upstream.c": UPSTREAM}
    with tarfile.open(path, "w:xz") as tar:
        for name, text in files.items():
            info = tarfile.TarInfo(f"Python-3.13.5/{name}")
            info.size, info.mode = len(text.encode()), 0o755
            tar.addfile(info, io.BytesIO(text.encode()))
    return hashlib.sha256(path.read_bytes()).hexdigest()


class Checkout:
    """A copy of the build scripts beside a tiny package and patch series, with a home of its own."""

    UPSTREAM, PATCH = UPSTREAM, PATCH

    def __init__(self, where: Path):
        self.root = where / "check out"  # a blank, to see that all is quoted
        self.home = where / "home"
        self.tools = where / "tools"
        self.tarball = where / "fake.tar.xz"
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("MAGPY_", "PYTHON"))},
            "MAGPY_HOME": str(self.home),
            "MAGPY_CPYTHON_TARBALL": str(self.tarball),
            "FAKE_MAKE_COUNT": str(where / "builds"),
            "FAKE_MAKE_RUNS": "true",
        }
        self.tools.mkdir()
        self._write_files(tarball(self.tarball))

    def _write_files(self, sha256: str) -> None:
        shutil.copytree(ROOT / "build_scripts", self.root / "build_scripts", ignore=shutil.ignore_patterns("*.pyc"))
        shutil.copy(ROOT / "setup.py", self.root)
        pins = self.root / "build_scripts/lib/pins.sh"
        pins.write_text(pins.read_text() + f"\nCPYTHON_SHA256={sha256}\n")
        self.write("build_scripts/requirements.txt", "setuptools\n")
        self.write("build_scripts/requirements-test.txt", "pytest\n")
        self.write("pyproject.toml", '[project]\nname = "magpy"\nversion = "0"\n')
        self.write("cpython_patch/series", "0001-line-ten.patch\n")
        self.write("cpython_patch/patches/0001-line-ten.patch", PATCH)
        self.write("cpython_patch/new/Python/new.c", "new\n")
        self.write("magpy/__init__.py", "where = 'checkout'\n")
        self.write("magpy/deep/__init__.py", "")
        self.write("magpy/deep/compiled.pyx", "def double(int x):\n    return 2 * x\n")

    def write(self, name: str, text: str) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def fake_tool(self, name: str, script: str) -> None:
        """Puts a shell script of that name first on PATH."""
        path = self.tools / name
        path.unlink(missing_ok=True)
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        if self.environment["PATH"] != str(self.tools):
            self.environment["PATH"] = f"{self.tools}:{os.environ['PATH']}"

    def hide_tools(self, *names: str) -> None:
        """Makes PATH one folder that has everything that it had but these."""
        for folder in os.environ["PATH"].split(":"):
            for tool in Path(folder).glob("*"):
                link = self.tools / tool.name
                if tool.name not in names and not os.path.lexists(link):
                    link.symlink_to(tool)
        self.environment["PATH"] = str(self.tools)

    def start(self, script: str, *args: str, **kwargs) -> subprocess.Popen:
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        command = [str(self.root / "build_scripts" / script), *args]
        return subprocess.Popen(command, env=self.environment, start_new_session=True, **{**pipes, **kwargs})

    def run(self, script: str, *args: str, stdin: str = "", **kwargs) -> subprocess.CompletedProcess:
        command = [str(self.root / "build_scripts" / script), *args]
        kwargs = {"env": self.environment, "input": stdin, "timeout": 120, **kwargs}
        return subprocess.run(command, capture_output=True, text=True, **kwargs)

    def builds(self) -> int:
        """How often the fake CPython was compiled."""
        count = Path(self.environment["FAKE_MAKE_COUNT"])
        return len(count.read_text().splitlines()) if count.exists() else 0

    def complete(self, kind: str) -> list[Path]:
        return [path.parent for path in self.home.glob(f"{kind}-*/complete")]


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path)


@pytest.fixture(scope="module")
def set_up(tmp_path_factory) -> Checkout:
    """A checkout whose set-up is done, for tests that leave it as it is or put it back."""
    checkout = Checkout(tmp_path_factory.mktemp("set_up"))
    result = checkout.run("setup", timeout=300)
    assert result.returncode == 0, result.stderr
    return checkout
