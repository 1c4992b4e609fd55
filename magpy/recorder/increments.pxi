# Counter updates (`obj.n += 1`) as one operation: see increment.py.

from opcode import opmap
from magpy.recorder.increment import Update, find_increments

import weakref

cdef object increments_of = weakref.WeakKeyDictionary()     # code -> {offset of the load: Increment}


cdef object increment_at(Recorder r, const PyExecState_EventInfo *e, value):
    """The Increment that starts at this load, with its operand's value filled in, when
    *value* is a plain number and the operand is too. Else None."""
    if type(value) is not int and type(value) is not float:
        return None
    code = <object><PyObject *>PyExecState_FrameCode(e.frame)
    table = increments_of.get(code)
    if table is None:
        table = increments_of[code] = find_increments(code)
    found = table.get(e.offset)
    if found is None:
        return None
    cdef PyObject *local
    operand = found.const
    if found.local is not None:
        local = PyExecState_FrameLocals(e.frame)[<int>found.local]
        if local == NULL:
            return None
        operand = <object>local
    if type(operand) is not int and type(operand) is not float:
        return None
    return found, operand


cdef bint take_increment(Recorder r, const PyExecState_EventInfo *e, Node node, str op, key,
                         value, str text, obj) except -1:
    """Note the counter update that starts at this load, if one does."""
    if node is None or node.kind == "tensor":
        return False
    if node.owner is not None and op == "dict" and type(key) is str:
        node = node.owner
        op = "attr"
        obj = node.obj
    if node.changed is not None:
        r.stop_changed(node)
    mark = (node.index, op, key)
    again = node.written_keys is not None and (op, key) in node.written_keys
    if again and node.written_keys[(op, key)] is ABSENT or not again and mark in r.seen:
        return False
    match = increment_at(r, e, value)
    if match is None:
        return False
    found, operand = match
    if not again:
        r.seen[mark] = True
        r.edges.append(new_edge((op, key), node, ("type", type(value)), None, text))
    r.note_write(node)
    if not again:
        node.written_keys[(op, key)] = value
    r.effect(Update(op, key, found.operator), (obj, operand))
    r.increment_frame = e.frame
    r.increment_offset = found.store
    return True


cdef bint completes_increment(Recorder r, const PyExecState_EventInfo *e):
    """Is this store the second half of a counter update noted before?"""
    if r.increment_frame != e.frame or r.increment_offset != e.offset:
        return False
    r.increment_frame = NULL
    return True
