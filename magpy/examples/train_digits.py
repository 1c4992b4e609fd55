"""Trains a small convolutional network on handwritten digits, compiled with MagPy.

    build_scripts/magpy-python magpy/examples/train_digits.py

The data are scikit-learn's bundled 8x8 digits (1,797 real scans), so nothing is downloaded. The only line that
differs from an ordinary PyTorch training script is ``compiled = magpy.compile(model)``: the first training step and
the first test pass are recorded and compiled, every later one is a hit. At the end a report says so in numbers.

Options: --epochs N (15), --batch N (64), --backend NAME (inductor), --seed N (0).
"""
import argparse
import copy
import statistics
import sys
import time

import torch
import torch.nn.functional as F
from torch import nn

import magpy

WANTED = 0.97


class DigitsCNN(nn.Module):
    """Two convolution blocks with batch norm, dropout, one linear layer."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
            nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2))
        self.dropout = nn.Dropout(0.25)
        self.head = nn.Linear(32 * 4 * 4, 10)

    def forward(self, x):
        x = self.features(x)
        return self.head(self.dropout(x.flatten(1)))


def digits():
    """Training and held-out images (N, 1, 8, 8) in 0..1, with their labels."""
    try:
        from sklearn.datasets import load_digits
    except ImportError:
        sys.exit("This example reads its digits from scikit-learn, which is not installed. To install it:\n"
                 f"    {sys.executable} -m pip install scikit-learn")
    data = load_digits()
    images = torch.tensor(data.images, dtype=torch.float32).unsqueeze(1) / 16
    labels = torch.tensor(data.target)
    order = torch.randperm(len(labels), generator=torch.Generator().manual_seed(1))
    train, held_out = order[:-360], order[-360:]
    return (images[train], labels[train]), (images[held_out], labels[held_out])


def batches(images, labels, size):
    """Shuffled batches, all of one size: a smaller last one would be another shape to compile."""
    order = torch.randperm(len(labels))
    for start in range(0, len(order) - size + 1, size):
        chosen = order[start:start + size]
        yield images[chosen], labels[chosen]


def train_step(model, optimizer, images, labels):
    optimizer.zero_grad(set_to_none=True)
    loss = F.cross_entropy(model(images), labels)
    loss.backward()
    optimizer.step()
    return loss.item()


def accuracy(model, images, labels):
    model.eval()
    with torch.no_grad():
        right = (model(images).argmax(1) == labels).float().mean().item()
    model.train()
    return right


def show_progress(text):
    """A line that overwrites itself, on a terminal only."""
    if sys.stdout.isatty():
        print(f"\r{text:<40}\r" if not text else f"\r{text}", end="", flush=True)


def train(model, data, held_out, options):
    """All epochs, a line each; gives the last held-out accuracy."""
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    print(f"{len(data[1])} training images, {len(held_out[1])} held out. The first epoch compiles and takes longer.")
    right = 0.0
    for epoch in range(1, options.epochs + 1):
        started, losses = time.perf_counter(), []
        for images, labels in batches(*data, options.batch):
            losses.append(train_step(model, optimizer, images, labels))
            show_progress(f"epoch {epoch:2d}/{options.epochs}: step {len(losses)}")
        right = accuracy(model, *held_out)
        bar = "#" * round(20 * epoch / options.epochs)
        show_progress("")
        print(f"epoch {epoch:2d}/{options.epochs} [{bar:<20}] loss {statistics.mean(losses):.4f}  "
              f"held-out accuracy {right:6.2%}  {time.perf_counter() - started:5.2f} s", flush=True)
    return right


def step_times(models, data, batch, rounds=60):
    """Seconds a training step for each model, taken in turns so that a busy machine slows both alike."""
    images, labels = data[0][:batch], data[1][:batch]
    optimizers = [torch.optim.Adam(m.parameters()) for m in models]
    times = [[] for _ in models]
    for turn in range(rounds + 5):
        for model, optimizer, taken in zip(models, optimizers, times):
            started = time.perf_counter()
            train_step(model, optimizer, images, labels)
            if turn >= 5:
                taken.append(time.perf_counter() - started)
    return [statistics.median(taken) for taken in times]


def report(compiled, model, data, right, options):
    told = magpy.explain(compiled)
    plain, fast = step_times([copy.deepcopy(model), compiled], data, options.batch)
    print(f"""
Report
  held-out accuracy    {right:.2%}
  captures             {told.captures}  (one to train, one to test)
  hits                 {told.hits}
  misses               {len(told.misses)}
  captures stopped     {told.breaks}
  time per step        eager {plain * 1e3:.2f} ms, compiled {fast * 1e3:.2f} ms: {plain / fast:.2f} times as fast""")


def main():
    parser = argparse.ArgumentParser(description="Train a small network on digits, compiled with MagPy.")
    parser.add_argument("--epochs", type=int, default=15)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--backend", default="inductor")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()

    torch.set_num_threads(1)    # so small a network gains nothing from more, and loses much on a busy machine
    torch.manual_seed(options.seed)
    data, held_out = digits()
    model = DigitsCNN()
    compiled = magpy.compile(model, backend=options.backend)
    right = train(compiled, data, held_out, options)
    report(compiled, model, data, right, options)
    if right < WANTED:
        sys.exit(f"The held-out accuracy is below {WANTED:.0%}.")


if __name__ == "__main__":
    main()
