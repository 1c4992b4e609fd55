# cython: language_level=3
# distutils: language = c++
"""RefGraph edges to guard instructions.

An edge already says what to load and how to check it; what is missing are slots. A
node gets one when something later needs its object: an edge that starts there, a
check that compares with it, or the mock code. Constants need none: reads that start
at one name the object itself.
"""

from magpy.refgraph.nodes cimport Edge, Node

from magpy.guards.instr import Const, Instr


class Lowered:
    """``instrs`` with ``nslots`` slots, of which ``want`` are for the mock code."""

    __slots__ = ("instrs", "nslots", "want")

    def __init__(self, instrs, nslots, want):
        self.instrs = instrs
        self.nslots = nslots
        self.want = want


def lower(list edges, state, wanted):
    """The guard instructions of *edges*, after the one for torch's global *state*;
    *wanted* are nodes whose objects the caller needs, in order."""
    cdef _Lowering lowering = _Lowering(_needed(edges, wanted))
    cdef Edge edge
    if state is not None:
        lowering.instrs.append(Instr("state", -1, None, "state", state, -1, "torch's global state"))
    for edge in edges:
        lowering.add(edge)
    want = [lowering.slot(node) for node in wanted]
    return Lowered(lowering.instrs, lowering.nslots, want)


cdef set _needed(list edges, wanted):
    """Indices of the nodes whose objects are used after they were loaded."""
    cdef Edge edge
    cdef Node node
    cdef set needed = {node.index for node in wanted}
    for edge in edges:
        if edge.parent is not None and not edge.parent.const:
            needed.add(edge.parent.index)
        check, expected = edge.check
        if check in ("same", "distinct"):
            needed.add((<Node?>expected).index)
        if edge.load[0] == "slots":
            needed.update([node.index for node in edge.load[1]])
    return needed


cdef class _Lowering:
    cdef set needed
    cdef list instrs
    cdef Py_ssize_t nslots
    cdef dict slots

    def __init__(self, set needed):
        self.needed = needed
        self.instrs = []
        self.nslots = 0
        self.slots = {}         # node index -> slot

    cdef add(self, Edge edge):
        cdef Node child = edge.child
        load, key = edge.load
        check, expected = edge.check
        if check in ("same", "distinct"):
            expected = self.slot(expected)
        if load == "slots":
            key = tuple([self.slot(node) for node in key])
        source = self.source(load, edge.parent)
        target = -1
        if child is not None and child.index in self.needed and child.index not in self.slots:
            target = self.slots[child.index] = self.new_slot()
        self.instrs.append(tuple.__new__(Instr, (load, source, key, check, expected, target, edge.text, edge.place)))

    cdef source(self, load, Node parent):
        if parent is None:
            return -1
        if load == "slot" or not parent.const:
            return self.slot(parent)
        return Const(parent.obj)

    cdef slot(self, Node node):
        """The slot of a node; a constant is put into one when it is first asked for."""
        found = self.slots.get(node.index)
        if found is None:
            if not node.const:
                raise AssertionError(f"{node.path} is used before any guard loads it")
            found = self.slots[node.index] = self.new_slot()
            self.instrs.append(Instr("const", -1, node.obj, "none", None, found, node.path))
        return found

    cdef Py_ssize_t new_slot(self) except -1:
        self.nslots += 1
        return self.nslots - 1
