"""What a run consists of: the programs, the growth curves, the pass over parameters, many entries of one callable."""
import importlib.util
import time

import torch

import magpy
from magpy.bench import cases, measure
from magpy.bench.measure import MAGPY, TORCH_COMPILE

LOOKED_AT = 2000        # parameters in the measurement of the pass over them


def run(say, rounds, quick=False, only=()):
    """All results as plain data, for `report` and JSON. *say* is told what is under way."""
    torch.set_num_threads(1)
    started, rows, chosen = time.monotonic(), [], choice(quick, only)
    extras = () if only else (("parameter pass", parameter_pass), (f"{measure.ENTRIES} entries", many_entries))
    results = {"torch": torch.__version__, "magpy": magpy.__version__, "rounds": rounds, "cases": rows}
    with torch.no_grad():
        warm_up()
        for n, case in enumerate(chosen):
            said = f"{n + 1} of {len(chosen) + len(extras)}: {case.name}"
            if absent(case):
                say(f"{said}: left out, torchvision is not installed")
                continue
            say(said)
            rows.append(row(case, rounds, quick))
        for n, (name, extra) in enumerate(extras):
            say(f"{len(chosen) + n + 1} of {len(chosen) + len(extras)}: {name}")
            results[extra.__name__] = extra(rounds)
    say(f"done in {time.monotonic() - started:.0f} s")
    return results


def choice(quick, only):
    """The cases of a run; *only*: those with one of these words in their names."""
    depths = [n for n in cases.DEPTHS if not quick or n <= cases.TORCH_COMPILE_DEPTH]
    known = [*cases.PROGRAMS, *map(cases.blocks, depths)]
    return [case for case in known if not only or any(word.lower() in case.name.lower() for word in only)]


def absent(case):
    return case.make is cases.resnet18 and importlib.util.find_spec("torchvision") is None


def warm_up():
    """Lazy imports are not part of a capture."""
    for system in (TORCH_COMPILE, MAGPY):
        measure.compile_with(system, lambda x: x - 1)(torch.ones(2))


def row(case, rounds, quick):
    calls, captures, compiled = measure.calls_and_captures(case, rounds)
    return {
        "name": case.name,
        "blocks": case.blocks,
        "parameters": len(list(compiled.parameters())) if isinstance(compiled, torch.nn.Module) else 0,
        "arguments_us": calls.pop("arguments"),
        "call_us": calls,
        "capture_ms": captures,
        "guards": measure.guards(compiled),
        "entry_bytes": measure.entry_bytes(case, 0.2 if quick else 2),
    }


def parameter_pass(rounds):
    """Nanoseconds that a parameter adds to a call of a program that hardly uses it, besides being handed on."""
    contest, x, guards, sizes = measure.Contest(), torch.randn(2), {}, (LOOKED_AT // 10, LOOKED_AT)
    for n in sizes:
        backend = measure.FreeBackend()
        compiled = measure.compile_with(MAGPY, cases.Looks(n), backend)
        compiled(x)
        contest.add(("call", n), compiled, [x])
        contest.add(("arguments", n), measure.plain_call(backend.arguments), [x])
        compiled(x)
        guards[n] = measure.guards(compiled)
    best = contest.run(rounds)
    few, many = (best["call", n] - best["arguments", n] for n in sizes)
    return {"ns": (many - few) / (sizes[1] - sizes[0]) * 1e3, "guards": guards[LOOKED_AT]}


def many_entries(rounds):
    one, many = measure.many_entries(cases.add_one, rounds)
    return {"one_us": one, "many_us": many}
