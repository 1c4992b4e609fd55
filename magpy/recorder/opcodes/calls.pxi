# The three call instructions, and intrinsics.

cdef tuple stack_items(const PyExecState_EventInfo *e, int first, int count):
    return tuple([<object>e.stack_pointer[-first + i] for i in range(count)])


cdef int call_at(Recorder r, const PyExecState_EventInfo *e, int count, tuple names) except -1:
    """CALL and CALL_KW: callable, self or NULL, then the arguments (and their names)."""
    cdef int depth = count + (1 if names is not None else 0)
    func = <object>e.stack_pointer[-depth - 2]
    cdef PyObject *self_or_null = e.stack_pointer[-depth - 1]
    if type(func) is FUNCTION:
        code = id(func.__code__)
        if func not in RULES and code not in LEAF_CODE and code not in PREPARE:
            enter_function(r, func)
            return 0        # the rest its frame will tell
    cdef tuple args = stack_items(e, depth, count)
    kwargs = None
    if names is not None:
        kwargs = dict(zip(names, args[count - len(names):]))
        args = args[:count - len(names)]
    if self_or_null != NULL:
        args = (<object>self_or_null,) + args
    dispatch_call(r, func, args, kwargs)
    return 0


cdef int call(Recorder r, const PyExecState_EventInfo *e) except -1:
    return call_at(r, e, e.oparg, None)


cdef int call_kw(Recorder r, const PyExecState_EventInfo *e) except -1:
    return call_at(r, e, e.oparg, top(e, 1))


cdef int call_function_ex(Recorder r, const PyExecState_EventInfo *e) except -1:
    cdef int extra = e.oparg & 1
    func = top(e, 3 + extra)
    positional = top(e, 1 + extra)
    kwargs = None
    if extra:
        kwargs = top(e, 1)
        read_mapping(r, kwargs)
    iterate(r, positional)
    if not (PyTuple_Check(positional) or PyList_Check(positional)):
        if is_python_callee(r, func):
            return 0        # its frame will show the arguments
        r.stop("unknown-callable", f"a {type(func).__qualname__} called with *{type(positional).__name__}")
    dispatch_call(r, func, tuple(positional), dict(kwargs) if kwargs is not None else None)
    return 0


cdef int call_intrinsic_1(Recorder r, const PyExecState_EventInfo *e) except -1:
    cdef str name = _dis._intrinsic_1_descs[e.oparg]
    if name == "INTRINSIC_UNARY_POSITIVE":
        return unary(r, top(e, 1), "__pos__")
    if name == "INTRINSIC_IMPORT_STAR" or name == "INTRINSIC_PRINT":
        r.stop("unsupported-opcode", name)
    return 0


cdef int call_intrinsic_2(Recorder r, const PyExecState_EventInfo *e) except -1:
    return 0
