"""The series: it applies exactly or not at all, and it survives the way to git commits and back."""

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def tree(checkout, tmp_path: Path) -> Path:
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "upstream.c").write_text(checkout.UPSTREAM)
    return tree


def git(tree: Path, *args: str) -> None:
    subprocess.run(["git", "-C", str(tree), *args], check=True, capture_output=True)


@pytest.fixture
def committed(checkout, tree) -> Path:
    """The tree as a git work tree with the series as commits."""
    git(tree, "init", "-q")
    for name in ("user.name", "user.email"):
        git(tree, "config", name, "t@example")
    git(tree, "add", "--all")
    git(tree, "commit", "-m", "base")
    git(tree, "tag", "base")
    result = checkout.run("apply_series.sh", str(tree), "--commits")
    assert result.returncode == 0, result.stderr
    return tree


def contents(checkout) -> dict[str, str]:
    folder = checkout.root / "cpython_patch"
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


def test_applies(checkout, tree):
    result = checkout.run("apply_series.sh", str(tree))
    assert result.returncode == 0, result.stderr
    assert (tree / "upstream.c").read_text() == checkout.UPSTREAM.replace("line 10", "line ten")
    assert (tree / "Python/new.c").read_text() == "new\n"
    assert sorted(path.name for path in tree.iterdir()) == ["Python", "upstream.c"]


def test_fuzz_is_refused(checkout, tree):
    """The outermost line of the context differs: patch would take it with fuzz 1."""
    (tree / "upstream.c").write_text(checkout.UPSTREAM.replace("line 7\n", "line seven\n"))
    result = checkout.run("apply_series.sh", str(tree))
    assert result.returncode == 1
    assert "0001-line-ten.patch does not apply" in result.stderr
    assert "cpython_patch/README.md" in result.stderr


def test_a_patch_that_the_series_does_not_name_is_refused(checkout, tree):
    checkout.write("cpython_patch/patches/0002-forgotten.patch", checkout.PATCH)
    result = checkout.run("apply_series.sh", str(tree))
    assert result.returncode == 1
    assert "> 0002-forgotten.patch" in result.stderr
    assert (tree / "upstream.c").read_text() == checkout.UPSTREAM


def test_a_new_file_must_not_replace_upstreams(checkout, tree):
    checkout.write("cpython_patch/new/upstream.c", "ours\n")
    result = checkout.run("apply_series.sh", str(tree))
    assert result.returncode == 1
    assert "cpython_patch/new/upstream.c: upstream has a file of that name" in result.stderr


def test_export_is_the_inverse(checkout, committed):
    before = contents(checkout)
    result = checkout.run("export_series.sh", str(committed), "base")
    assert result.returncode == 0, result.stderr
    assert contents(checkout) == before


def test_an_edited_commit_becomes_an_edited_patch(checkout, committed):
    (committed / "upstream.c").write_text(checkout.UPSTREAM.replace("line 10", "line TEN"))
    (committed / "Python/new.c").write_text("newer\n")
    git(committed, "commit", "--all", "--amend", "--no-edit")
    assert checkout.run("export_series.sh", str(committed), "base").returncode == 0
    after = contents(checkout)
    assert after["patches/0001-line-ten.patch"] == checkout.PATCH.replace("+line ten\n", "+line TEN\n")
    assert after["new/Python/new.c"] == "newer\n"


def test_a_commit_that_names_no_patch_is_refused(checkout, committed):
    before = contents(checkout)
    (committed / "upstream.c").write_text("")
    git(committed, "commit", "--all", "-m", "hasty")
    result = checkout.run("export_series.sh", str(committed), "base")
    assert result.returncode == 1
    assert "hasty has no trailer 'Patch-file: NAME.patch'" in result.stderr
    assert contents(checkout) == before


def rows() -> list[list[str]]:
    """The table of the real README, a row a patch."""
    lines = (ROOT / "cpython_patch/README.md").read_text().splitlines()
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines if line.startswith("| `0")]


def test_the_readme_lists_the_series():
    assert [row[0].strip("`") for row in rows()] == (ROOT / "cpython_patch/series").read_text().split()


def test_the_readme_lists_the_upstream_files():
    for name, files, *_ in rows():
        patch = (ROOT / "cpython_patch/patches" / name.strip("`")).read_text()
        changed = [line.removeprefix("+++ b/") for line in patch.splitlines() if line.startswith("+++ b/")]
        assert [file.strip(" `") for file in files.split(",")] == changed
