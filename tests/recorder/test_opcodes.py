"""Every base opcode has its rule, or is harmless."""

import dis
import opcode

from magpy.recorder import recorder


def base_opcodes():
    pseudo = set(opcode._pseudo_ops) if hasattr(opcode, "_pseudo_ops") else set()
    specialized = set(opcode._specialized_opmap)
    return {name for name, op in opcode.opmap.items()
            if op < 256 and name not in specialized and name not in pseudo
            and not name.startswith("INSTRUMENTED_")}


def test_every_opcode_is_in_exactly_one_group():
    groups = [set(recorder.HARMLESS), set(recorder.RULES_OF_OPCODES)]
    for name in sorted(base_opcodes()):
        assert sum(name in group for group in groups) == 1, name


def test_no_group_names_an_opcode_that_does_not_exist():
    assert set(recorder.RULES_OF_OPCODES) <= set(dis.opmap)
