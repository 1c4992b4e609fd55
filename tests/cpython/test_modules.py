"""CPython's own tests, with their code compiled: each has the outcome that it has on the plain interpreter.

They come with the interpreter (lib/python3.13/test), and were written to find what an implementation of Python gets
wrong. Each test method is run twice, so that the second run can be a hit. What is compiled is the whole method, and in
another round each of its statements (child.py, statements.py).
"""
import pytest

from support import cpython_tests

pytestmark = pytest.mark.long

QUICK = """test_class test_contextlib test_iter test_list test_operator test_patma test_property test_raise test_set
    test_super""".split()
SLOW = """test_collections test_dataclasses test_descr test_dict test_enum test_exceptions test_functools test_generators test_itertools test_math
    test_range test_sort test_tuple test_weakref""".split()

VALUE = "asks whether two equal strings or tuples are one object: a hit gives the value, not the very object"
KEYS = "a key that equals a name by code of its own is put among the names of a module, a class or an object"
HELD = "wants an object to die that is guarded by identity (a key, a function of C): its entry holds it"
LEN = "puts a function that refuses lists in the place of builtins.len(), which MagPy's own Python calls, too"

# Tests that cannot have the same outcome, and why.
KNOWN = {
    "methods": {
        "test.test_descr.ClassPropertiesAndMethods.test_vicious_descriptor_nonsense": KEYS,
        "test.test_descr.MiscTests.test_type_lookup_mro_reference": KEYS,
    },
    "statements": {
        "test.test_class.ClassTests.testSetattrWrapperNameIntern": VALUE,
        "test.test_descr.ClassPropertiesAndMethods.test_vicious_descriptor_nonsense": KEYS,
        "test.test_descr.MiscTests.test_type_lookup_mro_reference": KEYS,
        "test.test_dict.DictTest.test_container_iterator": HELD,
        "test.test_dict.DictTest.test_splittable_popitem":
            "compares sys.getsizeof() of instance dicts: one made again at a hit shares no keys with its class",
        "test.test_dict.DictTest.test_str_nonstr": VALUE,
        "test.test_functools.TestLRUC.test_lru_reentrancy_with_len": LEN,
        "test.test_functools.TestLRUPy.test_lru_reentrancy_with_len": LEN,
        "test.test_functools.TestUpdateWrapper.test_selective_update": VALUE,
        "test.test_functools.TestWraps.test_selective_update": VALUE,
        "test.test_iter.TestCase.test_reduce_mutating_builtins_iter": KEYS,
        "test.test_operator.COperatorTestCase.test_is": VALUE,
        "test.test_operator.COperatorTestCase.test_is_not": VALUE,
        "test.test_operator.PyOperatorTestCase.test_is": VALUE,
        "test.test_operator.PyOperatorTestCase.test_is_not": VALUE,
        "test.test_set.TestCopyingNested.test_copy": VALUE,
        "test.test_set.TestCopyingTuple.test_copy": VALUE,
        "test.test_set.TestFrozenSet.test_copy": VALUE,
        "test.test_weakref.ReferencesTestCase.test_cfunction": HELD,
    },
}


def every_module():
    for module in QUICK + SLOW:
        yield pytest.param(module, marks=[pytest.mark.slow] if module in SLOW else [], id=module)


@pytest.mark.parametrize("how", KNOWN)
@pytest.mark.parametrize("module", list(every_module()))
def test_module(module, how):
    stock = cpython_tests.run(module, f"stock-{how}")
    ours = cpython_tests.run(module, how)
    assert sum(record.captures for record in ours.values()), "nothing was captured"
    assert sum(record.hits for record in ours.values()), "nothing was a hit"
    failures = cpython_tests.differences(stock, ours, KNOWN[how]) + cpython_tests.internal_errors(ours, KNOWN[how])
    assert not failures, "\n\n".join(failures)
