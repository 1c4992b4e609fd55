"""compare_junit.py WITHOUT.xml WITH.xml: the test cases whose result differs; exit status 1 if there are any."""

import sys
import xml.etree.ElementTree as ElementTree
from collections import Counter


def results(path: str) -> dict[str, str]:
    """Each case's result: passed, or the tag that JUnit has for it (failure, error, skipped)."""
    found = {}
    for case in ElementTree.parse(path).iter("testcase"):
        kinds = [child.tag for child in case if child.tag in ("failure", "error", "skipped")]
        name = ".".join(filter(None, (case.get("classname"), case.get("name"))))
        found[name] = kinds[0] if kinds else "passed"
    return found


def main(without_path: str, with_path: str) -> int:
    without, with_series = results(without_path), results(with_path)
    if not without or not with_series:
        print("no test case ran")
        return 1
    for label, cases in (("without the series", without), ("with the series", with_series)):
        counts = ", ".join(f"{count} {kind}" for kind, count in sorted(Counter(cases.values()).items()))
        print(f"{label}: {counts}")
    differing = [
        (name, without.get(name, "not run"), with_series.get(name, "not run"))
        for name in sorted(without.keys() | with_series.keys())
        if without.get(name) != with_series.get(name)
    ]
    for name, before, after in differing:
        print(f"  {name}: {before} without, {after} with")
    print(f"{len(differing)} test cases differ")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
