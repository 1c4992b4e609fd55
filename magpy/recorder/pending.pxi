# What a handler said is about an instruction that has not run yet. If that raises, it was
# not so: a list.remove that found nothing changed nothing, and must not be redone at replay.

# Changes that are done whole, or raise and have changed nothing, and whose rules read beforehand what decides it.
cdef object WHOLE_CHANGES = frozenset((
    list.pop, list.remove, list.__setitem__, list.__delitem__,
    dict.__setitem__, dict.__delitem__, dict.pop, set.remove))


class Pending:
    """What the handler of *frame*'s current instruction left: the range of the effects that
    it noted, the references it marked as written, and its error if it failed."""

    __slots__ = ("frame", "first", "end", "marks", "fault")

    def __init__(self, frame, first, end, marks, fault):
        self.frame = frame
        self.first = first
        self.end = end
        self.marks = marks
        self.fault = fault


cdef leave_pending(Recorder r, size_t frame, Py_ssize_t first, fault):
    r.pending.append(Pending(frame, first, len(r.effects), r.marks, fault))
    r.marks = []


cdef settle(Recorder r, const PyExecState_EventInfo *e):
    """An event in a frame: the instruction that left something there is over."""
    r.paused += 1
    while r.pending and r.pending[-1].frame == <size_t>e.frame:
        left = r.pending.pop()
        if left.fault is not None:
            settle_fault(r, left.fault, e.event == PyExecState_RAISE)
        elif e.event == PyExecState_RAISE:
            take_back(r, left)
    r.paused -= 1


cdef settle_fault(Recorder r, fault, bint raised):
    """A rule failed. Where the instruction has raised too, it was called with what does not
    fit (no arguments, ten thousand nested lists); else it is a fault of the rule."""
    if raised:
        r.note_stop("unknown-callable", f"called in a way that raises ({type(fault).__name__}: {fault})")
    elif type(fault) is RecursionError:
        r.note_stop("object-read", "containers nested too deeply")
    else:
        r.note_fault(fault)


cdef take_back(Recorder r, left):
    """The instruction raised: what it was going to change is as it was."""
    noted = r.effects[left.first:left.end]
    if not noted:
        return
    if len(noted) > 1 or noted[0].func not in WHOLE_CHANGES:
        r.note_stop("object-write", "a write that raised an exception")
        return
    del r.effects[left.first:left.end]
    for node, mark in left.marks:
        del node.written_keys[mark]
