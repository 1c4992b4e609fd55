"""Here guards are asked both ways at each call: what is watched, and all of them. Where the two disagree the process ends."""
import os

import pytest

from magpy.guards import program


@pytest.fixture(autouse=True)
def guards_verified():
    program.verify(True)
    yield
    program.verify(os.environ.get("MAGPY_VERIFY_GUARDS", "0") not in ("", "0"))
