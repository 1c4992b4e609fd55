"""What a search did: is it able to find anything? Counts of calls that were captured and hit, for each feature."""
import collections


class Rates:

    def __init__(self):
        self.programs = 0
        self.invalid = 0
        self.failed = 0
        self.calls = collections.Counter()          # outcome -> calls
        self.changed = 0
        self.features = collections.defaultdict(collections.Counter)
        self.stops = collections.Counter()

    def add(self, program, verdict):
        self.programs += 1
        if verdict.invalid:
            self.invalid += 1
            return
        self.failed += verdict.failure is not None
        outcomes = collections.Counter(o for o in verdict.outcomes if o)
        self.calls += outcomes
        self.changed += verdict.changed
        for feature in program.features:
            counts = self.features[feature]
            counts["programs"] += 1
            counts["captured"] += outcomes["capture"] > 0
            counts["hit"] += outcomes["hit"] > 0
            counts["recaptured"] += outcomes["capture"] > 1
        for stop in verdict.stops:
            self.stops[f"{stop.reason}: {stop.detail}"[:90]] += 1

    def merge(self, other):
        for name in ("programs", "invalid", "failed", "changed"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.calls += other.calls
        self.stops += other.stops
        for feature, counts in other.features.items():
            self.features[feature] += counts

    def share(self, outcome):
        return self.calls[outcome] / max(sum(self.calls.values()), 1)

    def line(self):
        shares = ", ".join(f"{name} {100 * self.share(name):.0f} %" for name in ("hit", "capture", "stop", "bypass"))
        return (f"{self.programs} programs ({self.invalid} invalid), {self.failed} failures; calls: {shares}; "
                f"{self.changed} calls gave another result than the call before")

    def table(self):
        lines = [self.line(), "", f"{'feature':<28}{'programs':>9}{'captured':>9}{'hit':>7}{'recaptured':>11}"]
        for feature, c in sorted(self.features.items()):
            shares = [f"{100 * c[name] / c['programs']:.0f} %" for name in ("captured", "hit", "recaptured")]
            lines.append(f"{feature:<28}{c['programs']:>9}{shares[0]:>9}{shares[1]:>7}{shares[2]:>11}")
        lines += ["", "the most frequent stops:"]
        lines += [f"{count:>7}  {text}" for text, count in self.stops.most_common(40)]
        return "\n".join(lines)
