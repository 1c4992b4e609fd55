"""Which real programs each system captures whole: MagPy, Dynamo and TorchScript over a checkout of ParityBench.

    build_scripts/magpy-python tests/bench/paritybench.py --checkout DIR [--sample N] [--slice I/N] [--system NAME,…]
        [--jobs J] [--out FILE.jsonl] [--file NAME] [--png FILE]
    build_scripts/magpy-python tests/bench/paritybench.py --report [--out FILE.jsonl] [--png FILE]

DIR is a checkout of jansel/pytorch-jit-paritybench. A *program* is one of its generated files, which holds the modules
of one GitHub project; a *test* is one module with its inputs. A run can be interrupted: the same command goes on.

Each test is run on two sets of random inputs, A and B, in ``eval()`` mode. First in eager, and there it

    runs            the module is made, and called with A, A again and B. Else it fails, crashes or is a timeout,
                    and is left out of everything below
    is static       the calls with A and with B issue the same ATen operators, with results of the same shapes.
                    Else it is dynamic
    is strictly     static, and no tensor datum reaches Python: no operator is ``_local_scalar_dense`` or
      static        ``nonzero``

A program is static, strictly static, or captured, if all its tests that run in eager are. Then under each system the
module is compiled, must make one complete graph, and is called with A (captured here), A again and B. The verdict is

    ok              every call gave what eager gives, against a fresh module that saw the same calls: result, arguments
                    afterwards, and in the end parameters, buffers and attributes. The later calls used the first
                    call's graph
    recaptured      the same, but a later call did not use that graph. Counts as captured
    no-graph        the results are right, but no graph was made although there was tensor work
    refused         the system said that it can't capture this
    error           an exception that is no such refusal, where eager has none
    wrong           a result or the state is not eager's
    crash           the process died
    timeout         it took longer than --seconds

*Captured* is ok or recaptured. A test whose results differ from run to run in eager can't be wrong. Capture time is
CPU time of ``compile`` and the first call together, as the geometric mean of its ratio to Dynamo's over the tests (their
number in brackets) that both captured; below 1 it is quicker than Dynamo. Wrong answers, errors, crashes and timeouts
are counted over all tests that run in eager, recaptures over the static ones.
"""
import argparse
import os
import signal
import sys

# Before numpy is imported: one thread for each process, and none that a fork would lose.
for library in ("OMP", "OPENBLAS", "MKL"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

from parity import chart, checkout, report, results  # noqa: E402
from parity.checkout import UsageError  # noqa: E402

SYSTEMS = ("magpy", "dynamo", "torchscript")
OUT = os.path.join(os.path.dirname(__file__), "..", "..", "build", "paritybench.jsonl")


def arguments():
    parser = argparse.ArgumentParser(description="Full-graph coverage of real programs: MagPy, Dynamo, TorchScript.",
                                     epilog="What the verdicts mean: see the head of this file.")
    add = parser.add_argument
    add("--checkout", metavar="DIR", help="a checkout of jansel/pytorch-jit-paritybench")
    add("--sample", type=int, metavar="N", help="run every k-th file, so that it is about N files")
    add("--slice", default="0/1", metavar="I/N", help="the I-th of N parts of the files (of the sample), from 0")
    add("--file", metavar="NAME", help="the files with NAME in their names; what they print is shown")
    add("--system", default=",".join(SYSTEMS), metavar="NAME,…", help="which systems (all)")
    add("--jobs", type=int, default=1, metavar="J", help="programs at a time (1)")
    add("--seconds", type=int, default=60, help="time limit of a test under a system (60)")
    add("--memory", type=float, default=8, help="memory limit of a test's process in GB, besides the libraries (8)")
    add("--out", default=os.path.normpath(OUT), metavar="FILE", help="the results file (build/paritybench.jsonl)")
    add("--png", metavar="FILE", help="draw the coverage as a bar chart")
    add("--report", action="store_true", help="run nothing, report what is in the results file")
    return parser.parse_args()


def run(options):
    """Runs what the results file does not have yet; returns (systems, rows)."""
    systems = options.system.split(",")
    unknown = sorted(set(systems) - set(SYSTEMS))
    if unknown:
        raise UsageError(f"no such system: {', '.join(unknown)}; there are {', '.join(SYSTEMS)}")
    if options.checkout is None:
        raise UsageError("--checkout DIR is needed, to run programs (--report needs none)")
    everything = checkout.programs(options.checkout)
    chosen = checkout.choose(everything, options.sample, checkout.parse_part(options.slice), options.file)
    matter = {key: getattr(options, key) for key in ("sample", "slice", "file", "seconds", "memory")}
    kept = results.Results(options.out, results.header(systems, matter, checkout.fingerprint(everything)))
    run_rest(options, systems, chosen, kept)
    return systems, kept.rows


def run_rest(options, systems, chosen, kept):
    from parity import server
    from parity.progress import Progress
    done = {row["file"] for row in kept.rows}
    todo = [path for path in chosen if os.path.basename(path) not in done]
    if not todo:
        return
    print(f"to run: {len(todo)} of {len(chosen)} programs; results: {options.out}", file=sys.stderr, flush=True)
    server.warm_up(systems, todo[0])
    signal.signal(signal.SIGTERM, signal.default_int_handler)       # not to leave children behind
    progress = Progress(systems, len(chosen), kept.rows)
    limits = server.Limits(options.seconds, int(options.memory * 1e9))
    try:
        for row in server.run(todo, systems, limits, options.jobs, options.file is None, progress.tick):
            kept.add(row)
            progress.add(row)
    finally:
        progress.end()


def show(options, systems, rows):
    summary = report.Summary(systems, rows)
    print(report.text(summary))
    if options.png:
        print("\n" + chart.draw(summary, options.png))


def main():
    options = arguments()
    try:
        if options.report:
            header, rows = results.read(options.out)
            show(options, header["systems"], rows)
        else:
            show(options, *run(options))
    except UsageError as error:
        sys.exit(f"paritybench: {error}")
    except KeyboardInterrupt:
        print("\nInterrupted; the same command goes on from here.", file=sys.stderr)
        sys.exit(130)


if __name__ == "__main__":
    main()
