"""The exceptions that users may see. Everything else stays inside.

They live apart from the stages that raise them, so that a stage can raise one
without importing another stage.
"""

from magpy import reasons


class MagpyError(RuntimeError):
    """Base of MagPy's own errors."""


class CaptureError(MagpyError):
    """``fullgraph=True`` was asked for, and the call could not be captured whole.

    Attributes: ``reason`` (an id of `magpy.reasons.REASONS`), ``detail``,
    ``filename``, ``lineno``, ``function`` (the user's place), ``advice``.
    """

    def __init__(self, stop):
        self.reason = stop.reason
        self.detail = stop.detail
        self.filename = stop.filename
        self.lineno = stop.lineno
        self.function = stop.function
        self.advice = reasons.advice(stop.reason)
        super().__init__(describe_stop(stop))


class BackendError(MagpyError):
    """A backend raised while it compiled a graph; ``__cause__`` is what it raised."""

    def __init__(self, backend, message):
        self.backend = backend
        super().__init__(f"backend {backend!r} failed: {message}")


def describe_stop(stop):
    """One stop as text: place, reason id, what happened, what to do next."""
    place = f"{stop.filename}:{stop.lineno}" if stop.filename else "?"
    if stop.function:
        place = f"{place} in {stop.function}"
    detail = f": {stop.detail}" if stop.detail else ""
    return (f"{place}: [{stop.reason}] {reasons.sentence(stop.reason)}{detail}. "
            f"What to do: {reasons.advice(stop.reason)}.")
