"""What the buffer protocol shows of an object of C, as guards compare it: numpy's arrays and
scalars, whose content no other guard can look into."""

from typing import NamedTuple

# Comparing costs a look at every byte on each call.
LARGEST = 1 << 16


class Snapshot(NamedTuple):
    """The memory behind an object at one moment; ``bytes`` are in C order."""

    type: type
    format: str
    shape: tuple
    strides: tuple
    readonly: bool
    bytes: bytes

    def __repr__(self):
        return f"<{self.type.__name__} {self.format}{list(self.shape)} #{hash(self.bytes) & 0xffff:04x}>"


def snapshot(obj):
    """The Snapshot of *obj*; TypeError or ValueError for what has no plain buffer."""
    with memoryview(obj) as view:
        if "O" in view.format:
            raise TypeError("a buffer that holds objects")
        return Snapshot(type(obj), view.format, view.shape, view.strides, view.readonly, view.tobytes())


def same_buffer(value, expected):
    """Does *value* show what *expected* was made from?"""
    if type(value) is not expected.type:
        return False
    try:
        return snapshot(value) == expected
    except (TypeError, ValueError, BufferError):
        return False
