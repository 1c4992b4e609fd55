"""The coverage of each system as a bar chart. matplotlib is asked for only here, and may be absent."""

MEASURES = (("static programs", "programs"), ("strictly static programs", "strict_programs"), ("static tests", "tests"))


def draw(summary, path):
    """Writes the PNG; returns a sentence about what became of it."""
    try:
        import matplotlib
    except ImportError:
        return f"No chart {path}: matplotlib is not installed (-m pip install matplotlib)."
    matplotlib.use("agg")
    from matplotlib import pyplot
    figure, axes = pyplot.subplots(figsize=(7, 4), layout="constrained")
    width = 0.8 / len(MEASURES)
    for i, (label, attribute) in enumerate(MEASURES):
        shares = [getattr(score, attribute) for score in summary.scores.values()]
        places = [n + (i - (len(MEASURES) - 1) / 2) * width for n in range(len(shares))]
        bars = axes.bar(places, [share.percent for share in shares], width * 0.9, label=f"{label} ({shares[0].of})")
        axes.bar_label(bars, fmt="%.1f", fontsize=8)
    axes.set_xticks(range(len(summary.scores)), summary.scores)
    axes.set_ylim(0, 110)
    axes.set_ylabel("captured as one complete graph, %")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.08), ncols=len(MEASURES), frameon=False, fontsize=8)
    figure.savefig(path, dpi=150)
    pyplot.close(figure)
    return f"Chart: {path}"
