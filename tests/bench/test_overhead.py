"""The benchmark of overhead on two tiny cases: what it prints and writes, not how long anything takes."""
import json
import subprocess
import sys

import pytest

from magpy import __main__ as package
from magpy.bench import chart, report
from magpy.bench.measure import MAGPY, TORCH_COMPILE, UNSAFE


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    path = tmp_path_factory.mktemp("bench") / "out.json"
    # in a process of its own: torch.compile leaves nn.Module.__init__ changed
    subprocess.run([sys.executable, "-m", "magpy", "bench", "--quick", "--rounds", "1", "--only", "MLP", "10 blocks",
                    "--json", str(path)], check=True)
    return json.loads(path.read_text())


def test_results(results):
    assert [row["name"] for row in results["cases"]] == ["MLP", "10 blocks"] and results["rounds"] == 1
    for row, parameters in zip(results["cases"], (2, 40)):
        assert row["parameters"] == parameters
        assert row["call_us"].keys() == {MAGPY, TORCH_COMPILE, UNSAFE} and min(row["call_us"].values()) > 0
        assert row["capture_ms"].keys() == {MAGPY, TORCH_COMPILE}
        guards = row["guards"]
        assert guards["tensors"] == parameters and guards["watched"] > parameters and guards["polled"] < 10


def test_report(results):
    lines = report.text(results).splitlines()
    rows = [line.split("|") for line in lines if line.startswith("|")]
    assert len(rows) == 2 * (2 + 2)
    assert [len(row) for row in rows] == [11] * 4 + [12] * 4
    assert [row[1].strip() for row in rows] == ["case", "-" * 9, "MLP", "10 blocks"] * 2
    assert len(report.ratios(results).splitlines()) == 4


def test_growth_and_extras_are_told():
    def row(blocks, us):
        return {"blocks": blocks, "parameters": 4 * blocks, "call_us": {MAGPY: us}, "arguments_us": 1.0,
                "name": f"{blocks} blocks", "capture_ms": {MAGPY: 1.0}, "guards": {"all": 5}, "entry_bytes": 2048}
    text = report.text({
        "torch": "2", "magpy": "0", "rounds": 1, "cases": [row(10, 2.0), row(2010, 34.0)],
        "parameter_pass": {"ns": 3.456, "guards": {"tensors": 7}},
        "many_entries": {"one_us": {MAGPY: 2.0}, "many_us": {MAGPY: 3.0}}})
    assert "From 10 to 2010 blocks a parameter adds 4.00 ns" in text
    assert "takes 3.46 ns for each (7 in it)" in text
    assert "magpy 3.00 us against 2.00 us, 1.5 times" in text


def test_chart(results, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    path = tmp_path / "c.png"
    assert "matplotlib is not installed" in chart.draw(results, str(path)) and not path.exists()


def test_command_line(capsys):
    run = subprocess.run([sys.executable, "-m", "magpy", "bench", "--only", "absent"], capture_output=True, text=True)
    assert run.returncode == 1 and "no such case: absent" in run.stderr
    with pytest.raises(SystemExit, match="bench"):
        package.main(["unknown"])
    package.main(["--help"])
    assert "bench" in capsys.readouterr().out
    out = subprocess.run([sys.executable, "-m", "magpy", "bench", "--help"], capture_output=True, text=True, check=True)
    assert "--quick" in out.stdout
