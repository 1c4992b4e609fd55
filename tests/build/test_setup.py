"""A set-up from nothing to importing a compiled module; what survives an interruption; what is done again and what not."""

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest


def wait_for(condition, seconds=20):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never came to that"
        time.sleep(0.02)


def listing(folder: Path) -> dict[str, float]:
    return {str(path): path.stat().st_mtime for path in folder.rglob("*") if path.suffix != ".pyc" and path.is_file()}


class TestInterpreter:
    """The scripts up to the interpreter, which the fake makes quick."""

    @pytest.fixture
    def fetched(self, checkout):
        assert checkout.run("fetch_cpython.sh").returncode == 0
        return checkout

    def test_builds_once(self, fetched):
        for _ in range(2):
            result = fetched.run("build_cpython.sh")
            assert result.returncode == 0, result.stderr
        assert fetched.builds() == 1
        (prefix,) = fetched.complete("cpython")
        assert os.readlink(prefix / "bin/python3.13") == "magpy-python"

    def test_a_changed_patch_and_a_flavour_are_other_interpreters(self, fetched):
        fetched.run("build_cpython.sh")
        fetched.write("cpython_patch/new/Python/new.c", "newer\n")
        fetched.run("build_cpython.sh")
        fetched.environment["MAGPY_FLAVOUR"] = "debug"
        fetched.run("build_cpython.sh")
        assert len(fetched.complete("cpython")) == 3

    @pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
    def test_interrupted(self, fetched, how):
        """Nothing half built counts, nothing goes on, and the next set-up is not in its way."""
        fetched.environment["FAKE_MAKE_RUNS"] = "echo $$$$ >>$(FAKE_MAKE_COUNT).pid; exec sleep 3"
        build = fetched.start("build_cpython.sh")
        pid_file = Path(fetched.environment["FAKE_MAKE_COUNT"] + ".pid")
        wait_for(pid_file.exists)
        wait_for(lambda: pid_file.read_text().endswith("\n"))
        build.send_signal(how)
        build.wait(timeout=10)
        assert build.returncode == {signal.SIGKILL: -9}.get(how, 128 + how)
        assert fetched.complete("cpython") == []
        if how != signal.SIGKILL:
            wait_for(lambda: not Path(f"/proc/{pid_file.read_text().strip()}").exists(), seconds=2)
        fetched.environment["FAKE_MAKE_RUNS"] = "true"
        result = fetched.run("build_cpython.sh")
        assert result.returncode == 0, result.stderr
        assert len(fetched.complete("cpython")) == 1
        assert list((fetched.home / "tmp").glob("cpython*")) == []

    def test_two_at_once(self, fetched):
        fetched.environment["FAKE_MAKE_RUNS"] = "sleep 1"
        first = fetched.start("build_cpython.sh")
        wait_for(lambda: fetched.builds() == 1)
        second = fetched.run("build_cpython.sh")
        assert first.wait() == 0 and second.returncode == 0
        assert "another set-up is at work" in second.stderr
        assert fetched.builds() == 1

    def test_a_failed_build_shows_the_end_of_its_log(self, fetched):
        fetched.environment["FAKE_MAKE_RUNS"] = "echo the reason; exit 7"
        result = fetched.run("build_cpython.sh")
        assert result.returncode == 1
        assert "    the reason\n" in result.stderr
        assert f"Log: {fetched.home}/logs/" in result.stderr
        assert fetched.complete("cpython") == []

    def test_a_home_that_cannot_be_written(self, checkout):
        checkout.environment["MAGPY_HOME"] = "/proc/magpy"
        result = checkout.run("setup")
        assert result.returncode == 1
        assert "cannot write to /proc/magpy" in result.stderr


class TestLauncher:
    @pytest.fixture(autouse=True)
    def python(self, set_up):
        self.python = lambda *args, **kwargs: set_up.run("magpy-python", *args, **kwargs)

    def output(self, *args, **kwargs) -> str:
        result = self.python(*args, **kwargs)
        assert result.returncode == 0, result.stderr
        return result.stdout.strip()

    def test_command(self):
        assert self.output("-c", "import sys; print(sys.argv)", "-c", "a b", "") == "['-c', '-c', 'a b', '']"

    def test_module(self):
        assert "usage: python -m json.tool" in self.output("-m", "json.tool", "--help").replace("magpy-python", "python")

    def test_script(self, tmp_path):
        script = tmp_path / "a script.py"
        script.write_text("import sys; print(sys.argv)")
        assert self.output(str(script), "x") == f"['{script}', 'x']"

    def test_stdin_and_x(self):
        assert self.output("-X", "dev", "-", stdin="import sys; print(sys.flags.dev_mode)") == "True"

    def test_exit_status(self):
        assert self.python("-c", "import sys; sys.exit(37)").returncode == 37

    def test_signals(self, set_up):
        """The launcher is replaced by the interpreter: the signal reaches it, and its end is the launcher's end."""
        process = set_up.start("magpy-python", "-c", "import time; print('up', flush=True); time.sleep(30)")
        assert process.stdout.readline() == "up\n"
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=10) == -signal.SIGTERM

    def test_imports_the_checkout_with_its_compiled_modules(self, set_up):
        code = "import magpy; from magpy.deep import compiled; print(magpy.__file__, compiled.double(4))"
        # also where the current folder has the sources without the compiled modules
        for folder in (set_up.root, set_up.home):
            assert self.output("-c", code, cwd=folder) == f"{set_up.root}/magpy/__init__.py 8"

    def test_children_import_it_too(self):
        code = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import magpy.deep.compiled as m; print(m)'], {})"
        assert "magpy.deep.compiled" in self.output("-c", code.format("check=True"))
        assert "magpy.deep.compiled" in self.output("-c", code.format("env={}"))

    def test_a_missing_module_gives_the_usual_error(self):
        result = self.python("-c", "import magpy.nothing")
        assert "ModuleNotFoundError: No module named 'magpy.nothing'" in result.stderr

    def test_a_symbolic_link_to_it(self, set_up, tmp_path):
        link = tmp_path / "python"
        link.symlink_to(set_up.root / "build_scripts/magpy-python")
        result = subprocess.run([link, "-c", "import magpy"], env=set_up.environment, capture_output=True, text=True)
        assert result.returncode == 0, result.stderr

    def test_a_venv_made_with_it(self, tmp_path):
        self.output("-m", "venv", "--without-pip", str(tmp_path / "venv"))
        python = tmp_path / "venv/bin/python"
        prefix = subprocess.run([python, "-c", "import sys; print(sys.prefix)"], capture_output=True, text=True).stdout
        assert prefix.strip() == str(tmp_path / "venv")

    def test_costs_little(self, set_up):
        """Measured against an interpreter's own start, which slows down with the machine as the launcher does."""
        direct = next(set_up.home.glob("env-*/bin/magpy-python"))
        launcher = set_up.root / "build_scripts/magpy-python"

        def fastest(program):
            times = []
            for _ in range(12):
                start = time.perf_counter()
                subprocess.run([program, "-I", "-c", "pass"], env=set_up.environment, check=True)
                times.append(time.perf_counter() - start)
            return min(times)

        start = fastest(direct)
        assert fastest(launcher) - start < 2 * start


class TestPackage:
    def test_nothing_is_done_twice(self, set_up):
        before = listing(set_up.home)
        result = set_up.run("setup")
        assert (result.returncode, result.stderr) == (0, "")
        assert listing(set_up.home) == before

    def test_writes_nothing_into_the_checkout(self, set_up):
        files = {str(path.relative_to(set_up.root)) for path in set_up.root.rglob("*") if path.is_file()}
        assert not [name for name in files if name.endswith((".so", ".o", ".cpp")) or "build/" in name]

    def test_an_edited_python_file_needs_no_set_up(self, set_up):
        init = set_up.root / "magpy/__init__.py"
        text = init.read_text()
        init.write_text("where = 'edited'\n")
        try:
            result = set_up.run("magpy-python", "-c", "import magpy; print(magpy.where)")
        finally:
            init.write_text(text)
        assert (result.stdout, result.stderr) == ("edited\n", "")

    def test_a_second_checkout_reuses_everything(self, set_up, tmp_path):
        second = tmp_path / "second"
        shutil.copytree(set_up.root, second)
        result = subprocess.run(
            [second / "build_scripts/magpy-python", "-c", "import magpy.deep.compiled; print(magpy.__file__)"],
            env=set_up.environment, capture_output=True, text=True,
        )
        assert (result.stdout, result.stderr) == (f"{second}/magpy/__init__.py\n", "")

    def test_a_changed_module_is_compiled_alone(self, set_up):
        changed = set_up.write("magpy/changed.pyx", "value = 1\n")
        try:
            result = set_up.run("magpy-python", "-c", "from magpy.changed import value; print(value)")
            assert result.stdout == "1\n", result.stderr
            assert "[5/5] compiling magpy's modules" in result.stderr
            assert "CPython" not in result.stderr and "environment" not in result.stderr
            log = max((set_up.home / "logs").glob("*-package.log")).read_text()
            assert "changed.pyx" in log and "Cythonizing magpy/deep/compiled.pyx" not in log
        finally:
            changed.unlink()

    def test_a_module_that_does_not_compile(self, set_up):
        broken = set_up.write("magpy/broken.pyx", "def f(:\n")
        try:
            result = set_up.run("magpy-python", "-c", "print('ran')")
            assert result.returncode == 1
            assert "broken.pyx" in result.stderr and "magpy's modules do not compile" in result.stderr
            assert result.stdout == ""
        finally:
            broken.unlink()
        assert set_up.run("magpy-python", "-c", "import magpy.deep.compiled").returncode == 0

    def test_an_environment_left_half_changed_is_made_again(self, set_up):
        (env,) = set_up.complete("env")
        (env / "complete").unlink()
        (env / "half").touch()
        result = set_up.run("magpy-python", "-c", "import magpy.deep.compiled")
        assert result.returncode == 0, result.stderr
        assert "[4/5] making the environment" in result.stderr and "CPython" not in result.stderr
        assert not (env / "half").exists()
