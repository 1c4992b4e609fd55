"""What is said on standard error while programs run: a line that renews itself, or one now and then in a log."""
import sys
import time

from .report import Summary

_LOG_SECONDS = 30


class Progress:
    def __init__(self, systems, total, rows):
        self.total = total
        self.done = self.before = len(rows)
        self.summary = Summary(systems, rows)
        self.started = self.said = time.monotonic()
        self.terminal = sys.stderr.isatty()

    def add(self, row):
        self.done += 1
        self.summary.add(row)

    def tick(self):
        """Called often."""
        now = time.monotonic()
        if now - self.said < (1 if self.terminal else _LOG_SECONDS):
            return
        self.said = now
        self.say("" if self.terminal else "\n")

    def say(self, end):
        print(("\r\x1b[K" if self.terminal else "") + self.line(), end=end, file=sys.stderr, flush=True)

    def line(self):
        scores = "  ".join(f"{name} {score.tests.count}/{score.tests.of}{_bad(score)}"
                           for name, score in self.summary.scores.items())
        return f"{self.done} of {self.total} programs, {self.left()} left; static tests captured: {scores}"

    def left(self):
        elapsed, done = time.monotonic() - self.started, self.done - self.before
        return _duration(elapsed / done * (self.total - self.done)) if done else "?"

    def end(self):
        if self.terminal:
            self.say("\n")


def _bad(score):
    counts = [(score.verdicts[verdict], verdict) for verdict in ("wrong", "crash", "timeout")]
    bad = ", ".join(f"{n} {verdict}" for n, verdict in counts if n)
    return f" ({bad})" if bad else ""


def _duration(seconds):
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min {seconds:02} s"
