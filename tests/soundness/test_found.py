"""Programs that the search found, or that were found while it was written: each once failed."""
import textwrap

from soundness import oracle
from soundness.program import Program


def same(source, *steps, outcomes=None):
    """Nobody can tell the compiled program from the eager one."""
    verdict = oracle.check(Program(textwrap.dedent(source), steps))
    assert not verdict.invalid
    assert verdict.failure is None, f"step {verdict.step}: {verdict.failure}"
    if outcomes is not None:
        assert verdict.outcomes == outcomes


def test_attribute_name_that_hashes_in_its_own_way():
    same("""
        class Name(str): pass
        o, name = SimpleNamespace(ab=2), Name("ab")
        def target(x):
            return x + getattr(o, name, 4)
    """, "result = run(T(1))", "Name.__hash__ = lambda s: 1", "result = run(T(1))", outcomes=["capture", "", "stop"])


FINALIZED = """
    log = []
    class Owner:
        def __init__(self, v): self.v = v
        def __del__(self, log=log): log.append(self.v)
    kept = [Owner(1)]
    held = SimpleNamespace(owner=Owner(2))
"""


def test_finalizer_of_an_object_dropped_in_the_call():
    """Whatever the recorder holds must not put it off."""
    same(FINALIZED + """
    def target(x):
        kept.append(3)
        kept.pop(0)
        return x, len(log)
    """, "result = run(T(1))", "kept = [Owner(4)]", "result = run(T(1))")


def test_finalizer_of_an_object_read_and_then_dropped():
    same(FINALIZED + """
    def target(x):
        v = held.owner.v
        held.owner = None
        return x + v, len(log)
    """, "result = run(T(1))", "held.owner = Owner(5)", "result = run(T(1))")


def test_finalizer_of_an_object_dropped_unread():
    """Replay drops it again by itself."""
    same(FINALIZED + """
    def target(x):
        held.owner = None
        return x, len(log)
    """, "result = run(T(1))", "held.owner = Owner(5)", "result = run(T(1))")


def test_finalizer_of_an_object_made_in_the_call():
    same(FINALIZED + """
    def target(x):
        kept[0] = [Owner(6)]
        kept[0] = 1
        return x + Owner(7).v, len(log)
    """, "result = run(T(1))", "result = run(T(1))")


def test_finalizer_added_later():
    same("""
        log = []
        class Temporary: v = 2
        def target(x):
            return x + Temporary().v
    """, "result = run(T(1))", "Temporary.__del__ = lambda self: log.append(1)", "result = run(T(1))",
         outcomes=["capture", "", "stop"])


def test_weak_reference_to_an_object_dropped_in_the_call():
    same("""
        class Target: v = 2
        kept = [Target()]
        ref = weakref.ref(kept[0])
        def target(x):
            v = kept[0].v
            kept.clear()
            return x + v, ref() is None
    """, "result = run(T(1))", "kept.append(Target()); ref = weakref.ref(kept[0])", "result = run(T(1))")


def test_c_method_with_a_defining_class():
    """A bound method of its own type, builtin_method: its rule looked for a rule for ever."""
    same("""
        import re
        match = re.compile("a+").match
        def target(x):
            return x + len(match("aab").group())
    """, "result = run(T(1))", "match = re.compile('a').match", "result = run(T(1))")
