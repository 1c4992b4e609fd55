"""Building small guard programs by hand."""

import pytest

from magpy.guards.instr import Const, Instr
from magpy.guards.program import GuardProgram


class Make:
    """``make.arg(check, expected)``: a program of one check on the only argument."""

    Const = Const

    def program(self, *instrs, nargs=1, kwnames=(), nslots=8, want=()):
        return GuardProgram([Instr(*instr, f"#{i}") for i, instr in enumerate(instrs)],
                            nargs, kwnames, nslots, want)

    def arg(self, check, expected=None):
        return self.program(("arg", -1, 0, check, expected, -1))

    def load(self, op, key, check="none", expected=None, want=True):
        """Loads (op, key) from the only argument; gives it back."""
        return self.program(("arg", -1, 0, "none", None, 0), (op, 0, key, check, expected, 1),
                            want=(1,) if want else ())


@pytest.fixture
def make():
    return Make()
