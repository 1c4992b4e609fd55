"""The long search: many programs from consecutive seeds, failures cut down and printed.

    build_scripts/magpy-python tests/soundness/search.py --programs 100000 --seed 1

Programs run in a child process, a few thousand in each, so that a crash of the interpreter is caught and told with
its program. ``--seed`` is the number of the first program; a search goes on with ``--seed`` of the last line printed,
and shards are ranges of seeds.
"""
import argparse
import dataclasses
import faulthandler
import gc
import os
import pickle
import re
import signal
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
os.environ.setdefault("OMP_NUM_THREADS", "1")

from soundness import oracle  # noqa: E402
from soundness.choose import RandomChoices  # noqa: E402
from soundness.grammar import make_program  # noqa: E402
from soundness.reduce import reduce  # noqa: E402
from soundness.report import Rates  # noqa: E402

from magpy import pipeline  # noqa: E402,F401  (loaded once, before the children are forked)

SECONDS = 10            # for one program
DECOYS_IN = 3           # one in so many programs also runs without its decoy steps


@dataclasses.dataclass
class Failure:
    seed: int
    program: object
    text: str
    step: int

    def kind(self):
        """Failures of one kind are told once."""
        at, _, what = self.text.partition(": ")
        return re.sub(r"0x\w+|[\d.]+|'[a-z]\d+'", "#", re.split(r"[\[.]", at)[-1] + ": " + what)[:90]


class TooLong(BaseException):
    """Not the program's: no ``except Exception`` of it or of the oracle takes it."""


def check(program, compare_decoys):
    """oracle.check, or None when it took SECONDS: a list may be doubled again and again, and a program that has lost
    one of its statements go on for ever."""
    def stop(*_):
        raise TooLong
    signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        return oracle.check(program, compare_decoys=compare_decoys)
    except TooLong:
        return None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def fails(program):
    verdict = check(program, bool(program.decoys))
    return verdict is not None and bool(verdict.failure)


def run_seeds(first, last, send):
    """Runs the programs and sends (seed,) before each, then Failures, then the Rates."""
    rates = Rates()
    for seed in range(first, last):
        send(("begin", seed))
        program = make_program(RandomChoices(seed))
        try:
            verdict = check(program, seed % DECOYS_IN == 0)
        except Exception as error:
            send(("failure", Failure(seed, program, f"harness: {type(error).__name__}: {error}", -1)))
            continue
        if verdict is None:
            continue
        rates.add(program, verdict)
        if verdict.failure:
            send(("failure", Failure(seed, program, verdict.failure, verdict.step)))
        if seed % 50 == 0:
            gc.collect()
    send(("rates", rates))


def in_child(work):
    """Runs ``work(send)`` in a forked child. Yields what it sends; ends with ("died", status) if it did not end well."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        with os.fdopen(writing, "wb") as out:
            def send(message):
                pickle.dump(message, out)
                out.flush()
            try:
                work(send)
                os._exit(0)
            except BaseException:
                sys.excepthook(*sys.exc_info())
                os._exit(3)
    os.close(writing)
    with os.fdopen(reading, "rb") as source:
        while True:
            try:
                yield pickle.load(source)
            except EOFError:
                break
    _, status = os.waitpid(child, 0)
    if status:
        yield "died", status


def crashes(program):
    return any(kind == "died" for kind, _ in in_child(lambda send: fails(program)))


def smaller(failure, trials):
    """The failing program cut down. A crash is looked for in a child for each trial, else one child does it all."""
    if failure.text.startswith("crash"):
        return reduce(failure.program, crashes, trials)
    found = [content for kind, content in in_child(lambda send: send(("program", reduce(failure.program, fails, trials))))
             if kind == "program"]
    return found[0] if found else failure.program


def search(args):
    rates, seen, failures = Rates(), {}, 0
    seed, started = args.seed, time.time()
    end = args.seed + args.programs
    while seed < end and (not args.minutes or time.time() - started < 60 * args.minutes):
        last = min(seed + args.batch, end)
        at = seed
        found = []
        for kind, content in in_child(lambda send: run_seeds(seed, last, send)):
            if kind == "begin":
                at = content
            elif kind == "failure":
                found.append(content)
            elif kind == "rates":
                rates.merge(content)
            else:
                found.append(Failure(at, make_program(RandomChoices(at)), f"crash: status {content}", -1))
                last = at + 1
        for failure in found:
            failures += 1
            seen[failure.kind()] = seen.get(failure.kind(), 0) + 1
            if seen[failure.kind()] <= args.repeat:
                tell(failure, args)
        seed = last
        print(f"[{time.time() - started:.0f} s, next --seed {seed}] {rates.line()}, {failures} found", flush=True)
    print(rates.table())
    for kind, count in sorted(seen.items(), key=lambda item: -item[1]):
        print(f"{count:>6} x {kind}")
    return 1 if failures else 0


def tell(failure, args):
    program = failure.program
    print(f"\nfound at seed {failure.seed}: {failure.text}", flush=True)
    if args.reduce and not failure.text.startswith("harness"):
        program = smaller(failure, args.reduce)
    verdict = None
    if not failure.text.startswith(("crash", "harness")):
        verdict = oracle.check(program, compare_decoys=bool(program.decoys))
    print(f"\n===== seed {failure.seed}: {failure.text}\n{program}", flush=True)
    if verdict is not None:
        print(f"# fails at step {verdict.step}: {verdict.failure}\n# {verdict.outcomes}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=0, help="stop after so long")
    parser.add_argument("--batch", type=int, default=1000, help="programs in one child process")
    parser.add_argument("--reduce", type=int, default=400, help="trials to make a failing program smaller; 0: none")
    parser.add_argument("--repeat", type=int, default=2, help="failures of one kind that are printed")
    faulthandler.enable()
    sys.unraisablehook = lambda unraisable: None    # finalizers of programs that have ended
    sys.exit(search(parser.parse_args()))


if __name__ == "__main__":
    main()
