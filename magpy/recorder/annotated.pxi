# Python functions that users annotated (magpy.annotate, magpy.allow_in_graph): their rules
# run when their frames start, so that it makes no difference who calls them, and how.

cdef int enter_annotated(Recorder r, const PyExecState_EventInfo *e, func) except -1:
    found = ANNOTATED.get(id(func))
    if found is None or found[0]() is not func:
        return 0
    know_by_identity(r, func)
    args, kwargs = arguments_of(e, func.__code__)
    done = found[1](r, func, args, kwargs)
    if done is not callables.users.RECORDED:
        r.leaf_frame = e.frame
        r.leaf_until_exit = True
        r.leaf_done = done
    return 0


cdef tuple arguments_of(const PyExecState_EventInfo *e, code):
    """(args, kwargs) that make the call again whose frame starts."""
    cdef int positional = code.co_argcount
    cdef int named = positional + code.co_kwonlyargcount
    args = [local_value(e, code, i) for i in range(positional)]
    kwargs = {code.co_varnames[i]: local_value(e, code, i) for i in range(positional, named)}
    if code.co_flags & CO_VARARGS:
        args += local_value(e, code, named)
        named += 1
    if code.co_flags & CO_VARKEYWORDS:
        kwargs.update(local_value(e, code, named))
    return tuple(args), kwargs

cdef int CO_VARARGS = inspect.CO_VARARGS
cdef int CO_VARKEYWORDS = inspect.CO_VARKEYWORDS


cdef object local_value(const PyExecState_EventInfo *e, code, int i):
    value = <object>PyExecState_FrameLocals(e.frame)[i]
    if PyCell_Check(value) and code.co_varnames[i] in code.co_cellvars:
        return cell_value(value)        # a function inside uses it, too
    return value


cdef int leave_annotated(Recorder r, const PyExecState_EventInfo *e) noexcept:
    """The frame of a function that was run unrecorded ends."""
    done, r.leaf_done = r.leaf_done, None
    r.paused += 1
    r.current_frame = e.frame
    try:
        if e.event == PyExecState_UNWIND:
            done(ABSENT)
        elif e.opcode == RETURN_CONST:
            done(<object>magpy_code_const(PyExecState_FrameCode(e.frame), e.oparg))
        else:
            done(top(e, 1))
    except StopCapture as stop:
        r.note_stop(stop.reason, stop.detail)
    except BaseException as error:
        r.note_fault(error)
    finally:
        r.paused -= 1
    return 0
