"""Edges become instructions: who gets a slot, and where reads start."""

import pytest

from magpy.emit.lower import lower
from magpy.guards.instr import Const
from magpy.refgraph.nodes import Edge, Node


def node(i, const=False):
    return Node(i, ["object", i], "object", f"n{i}", const)


def rows(lowered):
    return [(x.load, x.src, x.key, x.check, x.expected, x.dst) for x in lowered.instrs]


def test_slots_only_for_what_is_used_later():
    a, b = node(0), node(1)
    edges = [Edge(("arg", 0), None, ("type", list), a, "arg[0]"),
             Edge(("arg", 1), None, ("type", list), b, "arg[1]"),
             Edge(("list", 0), a, ("leaf", 3), None, "arg[0][0]")]
    low = lower(edges, None, [])
    assert rows(low) == [("arg", -1, 0, "type", list, 0), ("arg", -1, 1, "type", list, -1),
                         ("list", 0, 0, "leaf", 3, -1)]
    assert (low.nslots, low.want) == (1, [])


def test_wanted_nodes_keep_their_order():
    a, b = node(0), node(1)
    edges = [Edge(("arg", 0), None, ("type", list), a, ""), Edge(("arg", 1), None, ("type", list), b, "")]
    low = lower(edges, None, [b, a])
    assert low.want == [1, 0] and low.nslots == 2


def test_constants_are_read_from_directly_and_get_a_slot_only_to_be_compared():
    c, a = node(0, const=True), node(1)
    edges = [Edge(("attr", "x"), c, ("type", list), a, "c.x"),
             Edge(("slot", None), a, ("distinct", c), None, "c.x")]
    low = lower(edges, None, [])
    load, src, *_ = rows(low)[0]
    assert load == "attr" and isinstance(src, Const) and src.obj is c.obj
    assert rows(low)[1:] == [("const", -1, c.obj, "none", None, 1), ("slot", 0, None, "distinct", 1, -1)]


def test_same_and_alias():
    a, b = node(0), node(1)
    edges = [Edge(("arg", 0), None, ("tensor", "meta"), a, ""), Edge(("arg", 1), None, ("same", a), None, ""),
             Edge(("arg", 2), None, ("tensor", "meta"), b, ""), Edge(("slots", (a, b)), None, ("alias", (0, 1)), None, "")]
    low = lower(edges, None, [])
    assert rows(low)[1] == ("arg", -1, 1, "same", 0, -1)
    assert rows(low)[3] == ("slots", -1, (0, 1), "alias", (0, 1), -1)


def test_state_comes_first():
    low = lower([], "state", [])
    assert rows(low) == [("state", -1, None, "state", "state", -1)]


def test_a_node_that_no_guard_loads_is_our_mistake():
    a = node(0)
    with pytest.raises(AssertionError, match="n0"):
        lower([Edge(("list", 0), a, ("leaf", 1), None, "")], None, [])
