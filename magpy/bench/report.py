"""The results as tables (Markdown, that is also readable as it is)."""
from magpy.bench.measure import ENTRIES, MAGPY, TORCH_COMPILE, UNSAFE

GUARDS = ("all", "polled", "tensors", "versions", "watched")


def text(results):
    """The whole report."""
    parts = [
        f"torch {results['torch']}, magpy {results['magpy']}; least of {results['rounds']} rounds in turns. "
        "A ratio is the other system's time over magpy's:\nabove 1 magpy is faster.",
        table(("case", "call us", "torch.compile us", "ratio", "unsafe us", "ratio", "capture ms", "torch.compile ms",
               "ratio"), map(_times, results["cases"])),
        table(("case", "parameters", "arguments us", "call less arguments us", "guards", *GUARDS[1:], "KiB an entry"),
              map(_contents, results["cases"])),
    ]
    growth = _growth(results["cases"])
    return "\n\n".join([*parts, *growth, *_extras(results)])


def ratios(results):
    """The ratios alone, as a table: times say nothing without the machine."""
    return table(("case", "call", "call, unsafe", "capture"),
                 [(row["name"], _ratio(row["call_us"], TORCH_COMPILE), _ratio(row["call_us"], UNSAFE),
                   _ratio(row["capture_ms"], TORCH_COMPILE)) for row in results["cases"]])


def table(heads, rows):
    rows = [tuple(heads), *rows]
    widths = [max(3, *map(len, column)) for column in zip(*rows)]
    lines = [[cell.rjust(width) if i else cell.ljust(width) for i, (cell, width) in enumerate(zip(row, widths))]
             for row in rows]
    rule = ["-" * (width - bool(i)) + ":" * bool(i) for i, width in enumerate(widths)]
    return "\n".join(f"| {' | '.join(line)} |" for line in (lines[0], rule, *lines[1:]))


def _times(row):
    calls, captures = row["call_us"], row["capture_ms"]
    return (row["name"], f"{calls[MAGPY]:.2f}", _number(calls, TORCH_COMPILE), _ratio(calls, TORCH_COMPILE),
            _number(calls, UNSAFE), _ratio(calls, UNSAFE), f"{captures[MAGPY]:.1f}", _number(captures, TORCH_COMPILE),
            _ratio(captures, TORCH_COMPILE))


def _contents(row):
    memory = row["entry_bytes"]
    return (row["name"], str(row["parameters"]), f"{row['arguments_us']:.2f}", f"{own(row):.2f}",
            *[str(row["guards"].get(kind, "-")) for kind in GUARDS], "-" if memory is None else f"{memory / 1024:.0f}")


def own(row):
    """Microseconds of MagPy's call without those of handing over the graph's arguments."""
    return row["call_us"][MAGPY] - row["arguments_us"]


def _number(times, system):
    return f"{times[system]:.2f}" if system in times else "-"


def _ratio(times, system):
    return f"{times[system] / times[MAGPY]:.1f}" if system in times else "-"


def _growth(rows):
    """A sentence on the growth curve, if there are two points."""
    curve = [row for row in rows if row["blocks"]]
    if len(curve) < 2:
        return []
    first, last = curve[0], curve[-1]
    each = (own(last) - own(first)) / (last["parameters"] - first["parameters"]) * 1e3
    return [f"From {first['blocks']} to {last['blocks']} blocks a parameter adds {each:.2f} ns to a call of magpy, "
            "besides being handed to the graph."]


def _extras(results):
    if "parameter_pass" in results:
        found = results["parameter_pass"]
        inside = found["guards"].get("tensors", 0)
        yield f"The pass over parameters takes {found['ns']:.2f} ns for each ({inside} in it)."
    if "many_entries" in results:
        one, many = results["many_entries"]["one_us"], results["many_entries"]["many_us"]
        yield f"{ENTRIES} entries of one callable against one: " + "; ".join(
            f"{system} {many[system]:.2f} us against {one[system]:.2f} us, {many[system] / one[system]:.1f} times"
            for system in one) + "."
