"""ResNet-18 inference on the CPU: eager, Inductor, and Inductor with frozen weights, taken in turns.

    build_scripts/magpy-python tests/bench/freezing.py [--rounds 10] [--batch 1]

Within each round every way runs once, so that a busy machine slows all; the least time over the rounds counts. The last
line is what the guards of the frozen entry cost, which read all weights: it is part of the time above it.
Run by hand, on a quiet machine; the ratio is what to read.
"""
import argparse
import time

import torch
import torchvision

import magpy


def seconds(call):
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def guards_alone(compiled, model, x):
    """Asks an entry's guards, once."""
    [entry] = magpy.dispatch.compiled.table_of(compiled).entries
    return lambda: entry.guards.match(model, (x,), {})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--batch", type=int, default=1)
    options = parser.parse_args()
    model = torchvision.models.resnet18().eval()
    x = torch.randn(options.batch, 3, 224, 224)
    frozen = magpy.compile(model, options={"freezing": True}, fullgraph=True)
    ways = {"eager": model, "inductor": magpy.compile(model, fullgraph=True), "frozen": frozen}
    calls = {name: (lambda f=f: f(x)) for name, f in ways.items()}
    with torch.no_grad():
        expected = model(x)
        for f in ways.values():
            torch.testing.assert_close(f(x), expected, rtol=1e-3, atol=1e-3)
        calls["  guards of frozen"] = guards_alone(frozen, model, x)
        least = dict.fromkeys(calls, float("inf"))
        for _ in range(options.rounds):
            for name, call in calls.items():
                least[name] = min(least[name], seconds(call))
    print(f"{'ResNet-18, batch ' + str(options.batch):<20} {'ms':>8} {'eager / this':>13}")
    for name, best in least.items():
        print(f"{name:<20} {1e3 * best:8.2f} {least['eager'] / best:13.2f}")


if __name__ == "__main__":
    main()
