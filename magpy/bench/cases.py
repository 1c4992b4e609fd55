"""The programs whose overhead is measured. They are small on purpose: their graphs are not run."""
import dataclasses
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

DEPTHS = (10, 50, 250, 1000, 2000)
TORCH_COMPILE_DEPTH = 250       # beyond it torch.compile's capture takes minutes


@dataclasses.dataclass(frozen=True)
class Case:
    """``make()`` is called anew for each system. ``blocks``: where it stands on the growth curves, if it does."""

    name: str
    make: Callable[[], Any]
    make_input: Callable[[], Any]
    blocks: int | None = None
    torch_compile: bool = True


class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(8, 8)

    def forward(self, x):
        return torch.relu(self.lin(x))


class Blocks(nn.Module):
    """Many small modules and parameters in a Python loop; four parameters a block."""

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


class Looks(nn.Module):
    """Asks something of each of *n* parameters, and computes with none of them."""

    def __init__(self, n):
        super().__init__()
        self.parts = nn.ParameterList(torch.zeros(2) for _ in range(n))

    def forward(self, x):
        wanted = 0
        for part in self.parts:
            wanted += part.dim()
        return x + wanted


def add_one(x):
    return x + 1


def encoder():
    layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
    return nn.TransformerEncoder(layer, 12, enable_nested_tensor=False)


def resnet18():
    from torchvision.models import resnet18 as make     # not all have torchvision: see `overhead.absent`
    return make(weights=None)


def small_input():
    return torch.randn(4, 8)


def blocks(n):
    return Case(f"{n} blocks", lambda: Blocks(n), small_input, n, n <= TORCH_COMPILE_DEPTH)


PROGRAMS = (
    Case("function x + 1", lambda: add_one, small_input),
    Case("MLP", MLP, small_input),
    Case("dict in, dict out", DictInDictOut, lambda: {"a": torch.randn(2, 8), "b": torch.randn(3, 8)}),
    Case("ResNet-18", resnet18, lambda: torch.randn(1, 3, 32, 32)),
    Case("12-layer encoder", encoder, lambda: torch.randn(1, 4, 16)),
)
