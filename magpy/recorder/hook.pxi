# The callback of the evaluation loop.

from cpython.exc cimport PyErr_SetObject

cdef extern from "Python.h":
    ctypedef struct PyThreadState:
        int tracing
    PyThreadState *PyThreadState_GetUnchecked()


cdef int on_event(void *data, const PyExecState_EventInfo *e) noexcept:
    # Most instructions are the tape's own, or those of a function that is run and not recorded.
    if (<Recorder>data).paused:
        if not (<Recorder>data).handling or e.opcode != RESUME or e.oparg & 3:
            return 0
    elif (<Recorder>data).leaf_frame != NULL and e.frame != <_PyInterpreterFrame *>(<Recorder>data).leaf_frame:
        return 0
    return on_own_event(<Recorder>data, e)


cdef int on_own_event(Recorder r, const PyExecState_EventInfo *e) noexcept:
    cdef Handler handler
    cdef object interrupt = None
    cdef Py_ssize_t edges
    # CPython raises `tracing` while it runs an audit hook or a trace function: code that
    # watches the program and is no part of it.
    if r.paused or PyThreadState_GetUnchecked().tracing:
        if r.paused and not PyThreadState_GetUnchecked().tracing:
            check_rules_code(r, e)
        return 0
    if r.leaf_frame != NULL:
        if r.leaf_until_exit:
            if e.event == PyExecState_UNWIND or (
                    e.event == PyExecState_INSTRUCTION and leaves_frame(e.opcode)):
                r.leaf_frame = NULL
            if r.leaf_frame != NULL or r.leaf_done is None:
                return 0
            leave_annotated(r, e)
            if not r.hooked:
                r.let_go()
                return 0
        r.leaf_frame = NULL
    if r.pending and r.pending[-1].frame == <size_t>e.frame:
        settle(r, e)
        if r.stop_reason is not None:
            r.let_go()
            return 0
    if r.watches:
        end_watches(r, <size_t>e.frame)
    if r.after:
        finish_calls(r, e)
        if not r.hooked:
            r.let_go()
            return 0
    if e.event != PyExecState_INSTRUCTION:
        if e.event == PyExecState_RAISE and PyExecState_FrameGenerator(e.frame) != NULL:
            handler = check_generator
        else:
            return 0
    else:
        r.events += 1
        handler = HANDLERS[e.opcode]
        if handler == NULL or passed_over(r, e):
            return 0
    cdef Py_ssize_t noted = len(r.effects)
    if r.marks:
        r.marks = []
    r.paused += 1
    r.handling = True
    r.current_frame = e.frame
    edges = len(r.edges)
    try:
        note_user_frame(r, e)
        handler(r, e)
        if len(r.edges) > edges:
            note_places(r, e, edges)
        if len(r.effects) != noted:
            leave_pending(r, <size_t>e.frame, noted, None)
    except StopCapture as stop:
        stop.__traceback__ = None
        r.note_stop(stop.reason, stop.detail)
    except Exception as error:
        leave_pending(r, <size_t>e.frame, noted, error)
    except BaseException as error:
        r.note_fault(error)
        interrupt = error           # Ctrl-C while a rule ran is the user's, not ours
    finally:
        r.handling = False
        r.paused -= 1
    if r.stop_reason is not None:
        r.let_go()
    if interrupt is not None:
        PyErr_SetObject(type(interrupt), interrupt)
        return -1
    return 0


cdef int finish_calls(Recorder r, const PyExecState_EventInfo *e) noexcept:
    """An event in a frame whose last instruction was a call that somebody waits for."""
    cdef list waiting = []
    r.paused += 1
    try:
        while r.after and r.after[-1][0] == <size_t>e.frame:
            waiting.append(r.after.pop())
        for _, then, wants_result in reversed(waiting):
            if not wants_result:
                then()
            else:
                then(top(e, 1) if e.event == PyExecState_INSTRUCTION else ABSENT)
    except StopCapture as stop:
        stop.__traceback__ = None
        r.note_stop(stop.reason, stop.detail)
    except BaseException as error:
        r.note_fault(error)
    finally:
        r.paused -= 1
    return 0


cdef check_rules_code(Recorder r, const PyExecState_EventInfo *e):
    """A Python frame starts while a handler runs. Code of the user's must not: it would run
    once more than the program says."""
    code = <object><PyObject *>PyExecState_FrameCode(e.frame)
    if code.co_filename in installed_files:
        return
    r.handling = False
    rule = sys._getframe().f_back.f_code
    if places.is_installed(code.co_filename):
        installed_files.add(code.co_filename)
    elif not runs_generated_code(e, rule.co_filename):
        r.note_stop("internal-error", f"a rule ran {code.co_qualname}, below {rule.co_qualname}")
    r.handling = True

cdef set installed_files = set()        # where code of rules and of libraries is


cdef bint runs_generated_code(const PyExecState_EventInfo *e, str caller):
    """Code that a library made from text says nothing of whose it is: that of dataclasses and
    namedtuples of libraries is told by who calls it, that of our own by its module."""
    module = dict_get(<object>PyExecState_FrameGlobals(e.frame), "__name__")
    return places.is_installed(caller) and not places.is_own(caller) or str(module).startswith("namedtuple_")


cdef bint leaves_frame(int opcode) noexcept:
    return (opcode == RETURN_VALUE or opcode == RETURN_CONST or opcode == YIELD_VALUE
            or opcode == RETURN_GENERATOR)


cdef end_watches(Recorder r, size_t frame):
    """An event in *frame*: the instruction that set its watches is over."""
    while r.watches and r.watches[-1].frame == frame:
        r.watches.pop()
