# Instructions that begin and resume frames, and values that leave them.

cdef int check_generator(Recorder r, const PyExecState_EventInfo *e) except -1:
    cdef PyObject *generator = PyExecState_FrameGenerator(e.frame)
    if generator == NULL:
        return 0
    if provenance.is_created(generator):
        r.generator_frames.add(<size_t>e.frame)
    elif <size_t>e.frame not in r.generator_frames:     # it may be one that is being destroyed
        r.stop("external-generator", (<object>generator).__qualname__)
    return 0


cdef int resume(Recorder r, const PyExecState_EventInfo *e) except -1:
    check_generator(r, e)
    if e.oparg & 3:
        return 0
    cdef PyObject *func = PyExecState_FrameFunction(e.frame)
    cdef PyObject *first
    if func != NULL:
        if <size_t>PyExecState_FrameCode(e.frame) in LEAF_CODE:
            r.leaf_frame = e.frame
            r.leaf_until_exit = True
            return 0
        first = PyExecState_FrameLocals(e.frame)[0]
        if first != NULL and PyExecState_FrameCode(e.frame).co_nlocalsplus \
                and r.find_at(<void *>func) is None and not provenance.is_created(func):
            found_by_slot(r, <object>func, <object>first)
        enter_function(r, <object>func)
        if ANNOTATED:
            enter_annotated(r, e, <object>func)
        enter_module(r, e)
    return 0
