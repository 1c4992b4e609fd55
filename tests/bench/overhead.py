"""What a compiled call costs besides its graph, torch.compile and MagPy taken in turns.

    build_scripts/magpy-python tests/bench/overhead.py [--rounds 15] [--only NAME …]

The backend's graph is made free: it returns the outputs of its first run. So what is timed is the guards, the dispatch
and the rebuilding of the outputs. The two systems alternate within each round, so that a busy machine slows both; the
least time over the rounds counts. ``capture`` is the first call (eager run, capture and this backend), once each.
Run by hand, on a quiet machine; the ratio is what to read.
"""
import argparse
import time

import torch
from torch import nn

import magpy


class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(8, 8)

    def forward(self, x):
        return torch.relu(self.lin(x))


class Blocks(nn.Module):
    """Many small modules and parameters in a Python loop."""

    def __init__(self, n):
        super().__init__()
        self.blocks = nn.ModuleList(nn.Sequential(nn.Linear(8, 8), nn.LayerNorm(8)) for _ in range(n))
        self.scale = 0.5

    def forward(self, x):
        for block in self.blocks:
            x = x + self.scale * block(x)
        return x


class DictInDictOut(nn.Module):
    """Containers in, containers out, some settings read on the way."""

    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(8, 8)
        self.settings = {"sizes": [1, 2], "names": ("a", "b")}

    def forward(self, batch):
        out = {name: self.lin(x) for name, x in batch.items()}
        return {"loss": sum(t.sum() for t in out.values()), "out": out, "n": len(self.settings["sizes"])}


def function(x):
    return x + 1


def encoder():
    layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
    return nn.TransformerEncoder(layer, 12, enable_nested_tensor=False)


def resnet18():
    from torchvision.models import resnet18 as make
    return make(weights=None)


CASES = {
    "function x + 1": (lambda: function, lambda: torch.randn(4, 8)),
    "MLP": (MLP, lambda: torch.randn(4, 8)),
    "dict in, dict out": (DictInDictOut, lambda: {"a": torch.randn(2, 8), "b": torch.randn(3, 8)}),
    "ResNet-18": (resnet18, lambda: torch.randn(1, 3, 32, 32)),
    "12-layer encoder": (encoder, lambda: torch.randn(1, 4, 16)),
    "250 blocks": (lambda: Blocks(250), lambda: torch.randn(4, 8)),
}


def free_backend(gm, example_inputs):
    """A graph that costs nothing from its second run on."""
    kept = []

    def run(*args):
        if not kept:
            kept.append(gm(*args))
        return kept[0]
    return run


def first_call(compiled, x):
    started = time.perf_counter()
    compiled(x)
    return (time.perf_counter() - started) * 1e3


def loop(compiled, x, calls):
    started = time.perf_counter()
    for _ in range(calls):
        compiled(x)
    return (time.perf_counter() - started) / calls * 1e6


def measure(make, make_input, rounds, calls=100):
    """(torch.compile's, MagPy's) least microseconds a call and milliseconds of capture."""
    torch._dynamo.reset()
    systems, captures, x = [], [], make_input()
    for compile in (torch.compile, magpy.compile):
        f = make()
        f = f.eval() if isinstance(f, nn.Module) else f
        f(x)
        systems.append(compile(f, backend=free_backend, fullgraph=True))
        captures.append(first_call(systems[-1], x))
        loop(systems[-1], x, 20)
    best = [float("inf")] * 2
    for n in range(rounds):
        for i in ((0, 1), (1, 0))[n % 2]:
            best[i] = min(best[i], loop(systems[i], x, calls))
    assert magpy.explain(systems[1]).captures == 1
    return best, captures


def main():
    parser = argparse.ArgumentParser(description="Overhead of a compiled call: torch.compile and MagPy.")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--only", nargs="*", default=[], help="cases whose names contain one of these")
    options = parser.parse_args()
    torch.set_num_threads(1)
    for compile in (torch.compile, magpy.compile):    # lazy imports are not part of a capture
        compile(lambda x: x - 1, backend=free_backend)(torch.ones(2))
    print(f"{'case':<20}{'torch.compile us':>18}{'magpy us':>12}{'ratio':>8}    {'capture ms':>12}{'magpy':>10}{'ratio':>8}")
    for name, (make, make_input) in CASES.items():
        if options.only and not any(word in name for word in options.only):
            continue
        with torch.no_grad():
            (a, b), (c, d) = measure(make, make_input, options.rounds)
        print(f"{name:<20}{a:>18.2f}{b:>12.2f}{a / b:>8.2f}    {c:>12.1f}{d:>10.1f}{c / d:>8.2f}", flush=True)
    print("ratio: torch.compile's time over MagPy's; above 1 MagPy is faster.")


if __name__ == "__main__":
    main()
