"""The test command: how many processes run the tests, and which tests each of them begins with."""

import pytest

from support.order import for_workers

GIB = 1 << 30


@pytest.fixture
def command(checkout):
    """command(…): what the interpreter runs, on a machine of that many cores and so much memory."""
    script, group = checkout.root / "build_scripts/test", checkout.tools / "cgroup"
    script.write_text(script.read_text().replace("/sys/fs/cgroup/", f"{group}/"))
    group.mkdir()
    (checkout.root / "build_scripts/setup").write_text("#!/bin/sh\n")
    (checkout.root / "build_scripts/magpy-python").write_text('#!/bin/sh\nprintf "%s\\\\n" "$@"\n')
    checkout.write("cpython_patch/new/Lib/test/test_hook.py", "")
    checkout.write("tests/test_one.py", "")
    checkout.environment.pop("PYTEST_ADDOPTS", None)

    def run(*args, cores=4, memory=16 * GIB, allowed="max"):
        (group / "memory.max").write_text(f"{allowed}\n")
        checkout.fake_tool("nproc", f"echo {cores}")
        checkout.fake_tool("getconf", f"case $1 in _PHYS_PAGES) echo {memory // 4096} ;; PAGE_SIZE) echo 4096 ;; esac")
        result = checkout.run("test", *args, cwd=checkout.root)
        assert result.returncode == 0, result.stderr
        lines = result.stdout.splitlines()
        return lines[:3], lines[lines.index("pytest") + 1:]

    return run


def test_interpreter_and_package_are_tested(command):
    interpreter, package = command("-k", "some")
    assert interpreter == ["-m", "test", "test_hook"]
    assert package == ["tests", "-n", "4", "--dist", "worksteal", "-k", "some"]


@pytest.mark.parametrize("cores, memory, workers", [
    (2, 24 * GIB, 2), (16, 8 * GIB, 2), (16, 7.6 * GIB, 2), (16, 7 * GIB, 1), (1, 64 * GIB, 1), (4, GIB, 1)])
def test_as_many_processes_as_cores_and_memory_allow(command, cores, memory, workers):
    side_by_side = [] if workers == 1 else ["-n", str(workers), "--dist", "worksteal"]
    assert command(cores=cores, memory=int(memory))[1] == ["tests", *side_by_side]


def test_as_many_processes_as_a_container_may_have(command):
    assert command(allowed=8 * GIB)[1] == ["tests", "-n", "2", "--dist", "worksteal"]
    assert command(allowed=99 * GIB)[1] == ["tests", "-n", "4", "--dist", "worksteal"]


@pytest.mark.parametrize("args", [["-n0"], ["-n", "3"], ["--numprocesses=3"], ["-x", "--pdb"], ["-s"], ["-p", "no:xdist"]])
def test_arguments_that_settle_it(command, args):
    assert command(*args)[1] == ["tests", *args]


def test_pytest_addopts_may_settle_it(command, checkout):
    checkout.environment["PYTEST_ADDOPTS"] = "-q -n 3"
    assert command("-x")[1] == ["tests", "-x"]


def test_a_path_is_all_that_runs(command):
    interpreter, package = command("-x", "tests/test_one.py::test_it")
    assert interpreter == ["-m", "pytest", "-x"] and package == ["-x", "tests/test_one.py::test_it"]


def weight(name):
    return {"L": 2, "l": 1}.get(name[0], 0)


def test_each_worker_begins_with_its_share_of_the_long_tests():
    items = ["a", "l1", "b", "L1", "c", "l2", "d", "L2"]
    assert for_workers(items, 2, weight) == ["L1", "l1", "a", "b", "L2", "l2", "c", "d"]


@pytest.mark.parametrize("items", [[], ["a"], ["l1"], ["l1", "l2", "l3"], ["a", "l1", "l2", "l3", "b"], ["a", "b", "L1", "c"]])
def test_no_test_is_lost(items):
    for workers in (2, 3, 7):
        assert sorted(for_workers(items, workers, weight)) == sorted(items)
