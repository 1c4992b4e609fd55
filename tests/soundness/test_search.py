"""Random programs, compiled and eager: nobody can tell the two apart. The long search is search.py."""
import hypothesis
import hypothesis.strategies as st
import pytest

from soundness import oracle
from soundness.choose import DrawnChoices
from soundness.grammar import make_program
from soundness.report import Rates

PROGRAMS = 400


@pytest.mark.long
def test_random_programs():
    rates = Rates()

    @hypothesis.settings(max_examples=PROGRAMS, derandomize=True, database=None, deadline=None,
                         suppress_health_check=list(hypothesis.HealthCheck))
    @hypothesis.given(st.data())
    def search(data):
        program = make_program(DrawnChoices(data, st.integers))
        verdict = oracle.check(program, compare_decoys=True, faults=False)
        rates.add(program, verdict)
        assert verdict.failure is None, f"step {verdict.step}: {verdict.failure}\n\n{program}"

    search()
    assert rates.share("hit") > 0.3 and rates.share("capture") > 0.2, rates.table()
    assert rates.share("stop") < 0.3 and rates.invalid < rates.programs / 20, rates.table()
    assert rates.changed > rates.programs / 2, rates.table()
