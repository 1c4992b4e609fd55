"""The comparison of CPython's own tests with and without the series: by test case, and never content with nothing."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "build_scripts/lib/compare_junit.py"


@pytest.fixture
def compare(tmp_path):
    def run(without: str, with_series: str) -> tuple[int, list[str]]:
        paths = [tmp_path / "without.xml", tmp_path / "with.xml"]
        for path, cases in zip(paths, (without, with_series)):
            path.write_text(f"<testsuites><testsuite>{cases}</testsuite></testsuites>")
        result = subprocess.run([sys.executable, SCRIPT, *paths], capture_output=True, text=True)
        return result.returncode, result.stdout.splitlines()

    return run


PASSED = '<testcase name="t.a"/>'
FAILED = '<testcase name="t.a"><failure>why</failure></testcase>'
SKIPPED = '<testcase name="t.b"><skipped>no tool</skipped></testcase>'


def test_equal_results(compare):
    code, lines = compare(FAILED + SKIPPED, FAILED + SKIPPED)
    assert code == 0
    assert lines[0] == "without the series: 1 failure, 1 skipped"
    assert lines[-1] == "0 test cases differ"


def test_a_difference_is_named(compare):
    code, lines = compare(PASSED + SKIPPED, FAILED)
    assert code == 1
    assert lines[2:] == ["  t.a: passed without, failure with", "  t.b: skipped without, not run with", "2 test cases differ"]


def test_no_test_is_no_success(compare):
    assert compare("", "") == (1, ["no test case ran"])
