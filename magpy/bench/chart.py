"""The results as a picture. matplotlib is asked for only here, and may be absent."""
from magpy.bench.measure import MAGPY, TORCH_COMPILE, UNSAFE

SYSTEMS = (TORCH_COMPILE, UNSAFE, MAGPY)


def draw(results, path):
    """Writes the PNG; returns a sentence about what became of it."""
    try:
        import matplotlib
    except ImportError:
        return f"No chart {path}: matplotlib is not installed (-m pip install matplotlib)."
    matplotlib.use("agg")
    from matplotlib import pyplot
    figure, (bars, curves) = pyplot.subplots(1, 2, figsize=(12, 4.5), layout="constrained")
    _draw_bars(bars, results["cases"])
    _draw_curves(curves, [row for row in results["cases"] if row["blocks"]])
    figure.suptitle("What a call costs besides its graph")
    figure.savefig(path, dpi=150)
    pyplot.close(figure)
    return f"Chart: {path}"


def _draw_bars(axes, rows):
    rows = [row for row in rows if TORCH_COMPILE in row["call_us"]]
    width = 0.8 / len(SYSTEMS)
    for i, system in enumerate(SYSTEMS):
        places = [n + (i - (len(SYSTEMS) - 1) / 2) * width for n in range(len(rows))]
        drawn = axes.bar(places, [row["call_us"][system] for row in rows], width * 0.9, label=system)
        if system != MAGPY:
            labels = [f"{row['call_us'][system] / row['call_us'][MAGPY]:.1f}x" for row in rows]
            axes.bar_label(drawn, labels, fontsize=7)
    axes.set_xticks(range(len(rows)), [row["name"] for row in rows], rotation=25, ha="right", fontsize=8)
    axes.set_yscale("log")
    axes.set_ylabel("a call, us")
    axes.legend(frameon=False, fontsize=8)


def _draw_curves(axes, rows):
    for system in SYSTEMS:
        points = [(row["blocks"], row["call_us"][system]) for row in rows if system in row["call_us"]]
        if points:
            axes.plot(*zip(*points), marker="o", label=system)
    if rows:
        axes.plot([row["blocks"] for row in rows], [row["arguments_us"] for row in rows], linestyle=":",
                  label="a plain call with the graph's arguments")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("blocks, four parameters each")
    axes.set_ylabel("a call, us")
    axes.legend(frameon=False, fontsize=8)
