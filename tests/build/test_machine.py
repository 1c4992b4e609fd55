"""What a set-up needs of the machine: named by Debian's package when missing, installed only when asked."""

import os

import pytest

COMPILERS = ("gcc", "cc", "clang", "g++", "c++", "clang++")


def test_missing_compilers_are_named(checkout):
    checkout.hide_tools(*COMPILERS)
    result = checkout.run("check_machine.sh")
    assert result.returncode == 1
    assert "this machine lacks: a C compiler, a C++ compiler\n" in result.stderr
    assert "apt-get install gcc g++\n" in result.stderr
    assert "build_scripts/setup --install-deps" in result.stderr


def test_setup_stops_at_what_is_missing(checkout):
    checkout.hide_tools("make")
    result = checkout.run("setup")
    assert result.returncode == 1
    assert "this machine lacks: make\n" in result.stderr


def test_missing_headers_are_named(checkout):
    checkout.fake_tool("gcc", 'case "$(cat)" in *"<zlib.h"* | *"<ffi.h"*) exit 1 ;; esac')
    result = checkout.run("check_machine.sh", "interpreter")
    assert result.returncode == 1
    assert "this machine lacks: zlib.h, ffi.h\n" in result.stderr
    assert "apt-get install zlib1g-dev libffi-dev\n" in result.stderr


def test_headers_matter_only_to_the_interpreter(checkout):
    checkout.fake_tool("gcc", "exit 1")
    assert checkout.run("check_machine.sh").returncode == 0


def test_an_old_compiler_is_refused(checkout):
    checkout.fake_tool("g++", 'case "$*" in *--version*) echo "g++ (Debian) 9.3.0" ;; *c++20*) exit 1 ;; esac')
    result = checkout.run("check_machine.sh")
    assert result.returncode == 1
    assert "too old for torch's headers: g++ (Debian) 9.3.0" in result.stderr
    assert "GCC 11" in result.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="--install-deps wants root")
def test_install_deps_installs_what_is_missing(checkout):
    log = checkout.tools / "apt-calls"
    checkout.hide_tools("make")
    checkout.fake_tool(
        "apt-get", f'echo "$*" >>{log}; case "$*" in install*) ln -s /bin/true "{checkout.tools}/make" ;; esac'
    )
    result = checkout.run("check_machine.sh", "--install-deps", "interpreter")
    assert result.returncode == 0, result.stderr
    assert log.read_text() == "update\ninstall -y --no-install-recommends make\n"


def test_a_full_disk_is_seen_up_front(checkout):
    checkout.fake_tool("df", "echo head; echo /dev/x 9 9 1024000 1% /")
    result = checkout.run("setup")
    assert result.returncode == 1
    assert "the set-up needs 9000 MB" in result.stderr and "has 1000 MB left" in result.stderr
    assert "set MAGPY_HOME to a folder on a larger disk" in result.stderr
    assert checkout.builds() == 0


def test_a_disk_that_fills_up_is_named(checkout):
    checkout.run("fetch_cpython.sh")
    checkout.environment["FAKE_MAKE_RUNS"] = "echo 'cc1: fatal error: No space left on device'; exit 1"
    result = checkout.run("build_cpython.sh")
    assert result.returncode == 1
    assert f"the disk that holds {checkout.home}" in result.stderr and "is full" in result.stderr
    assert checkout.complete("cpython") == []


def test_an_unknown_flavour(checkout):
    checkout.environment["MAGPY_FLAVOUR"] = "fast"
    result = checkout.run("setup")
    assert result.returncode == 1
    assert "must be release, pgo, debug or asan" in result.stderr


def test_a_home_with_a_blank(checkout):
    checkout.environment["MAGPY_HOME"] += "/a b"
    result = checkout.run("setup")
    assert result.returncode == 1
    assert "contains white space" in result.stderr
