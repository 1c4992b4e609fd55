"""``magpy-python -m magpy bench``: the command line."""
import argparse
import json
import sys

from magpy.bench import chart, overhead, report


def main(arguments, prog="magpy bench"):
    options = _parser(prog).parse_args(arguments)
    rounds = options.rounds or (5 if options.quick else 15)
    results = overhead.run(_say, rounds, options.quick, options.only)
    if not results["cases"]:
        sys.exit(f"{prog}: no such case: {' '.join(options.only)}")
    print(report.ratios(results) if options.ratios else report.text(results))
    if options.json:
        with open(options.json, "w") as file:
            json.dump(results, file, indent=1)
    if options.png:
        print(chart.draw(results, options.png))


def _parser(prog):
    parser = argparse.ArgumentParser(
        prog=prog, description="What a compiled call costs besides its graph: torch.compile and MagPy in turns. "
                               "\"unsafe\" is torch.compile with skip_guard_eval_unsafe.")
    add = parser.add_argument
    add("--quick", action="store_true", help="fewer rounds, and no models that are deeper than 250 blocks")
    add("--rounds", type=int, metavar="N", help="how often each system has its turn (15; 5 if quick)")
    add("--only", nargs="+", default=[], metavar="NAME", help="cases whose names contain one of these")
    add("--ratios", action="store_true", help="print the ratios alone")
    add("--json", metavar="FILE", help="write all numbers")
    add("--png", metavar="FILE", help="draw them (needs matplotlib)")
    return parser


def _say(text):
    print(text, file=sys.stderr, flush=True)
