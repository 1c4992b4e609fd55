# Asynchronous code, as far as it runs within the call: a coroutine that the recording made
# and that is driven by `send`. An event loop looks at clocks and sockets, which stops the
# capture there.

cdef int get_awaitable(Recorder r, const PyExecState_EventInfo *e) except -1:
    obj = top(e, 1)
    if type(obj) is types.CoroutineType or type(obj) is types.GeneratorType:
        if r.know(obj) is not None:
            r.stop("async", obj.__qualname__)
    else:
        apply_special(r, "__await__", (obj,))
    return 0


cdef int get_aiter(Recorder r, const PyExecState_EventInfo *e) except -1:
    apply_special(r, "__aiter__", (top(e, 1),))
    return 0


cdef int get_anext(Recorder r, const PyExecState_EventInfo *e) except -1:
    apply_special(r, "__anext__", (top(e, 1),))
    return 0


cdef int before_async_with(Recorder r, const PyExecState_EventInfo *e) except -1:
    manager = top(e, 1)
    read_class_value(r, look_up_type(r, type(manager), "__aexit__"))
    apply_special(r, "__aenter__", (manager,))
    return 0
