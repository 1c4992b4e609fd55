# Global, builtin and class-body names.

cdef int load_global(Recorder r, const PyExecState_EventInfo *e) except -1:
    read_global(r, e, name_at(e, e.oparg >> 1), True)
    return 0


cdef read_global(Recorder r, const PyExecState_EventInfo *e, str name, bint may_count):
    names = <object>PyExecState_FrameGlobals(e.frame)
    cdef object value = dict_get(names, name, ABSENT)
    cdef Node node = r.find(names)
    if node is None and not provenance.is_created(<PyObject *>names):
        node = namespace(r, names)
    if node is not None:
        if may_count and take_increment(r, e, node, "dict", name, value,
                                        f"{node.path}.{name}", names):
            return
        r.edge(node, "dict", name, value, f"{node.path}.{name}")
    if value is ABSENT:
        read_builtin(r, e, name)


cdef read_builtin(Recorder r, const PyExecState_EventInfo *e, str name):
    names = <object>PyExecState_FrameBuiltins(e.frame)
    if not PyDict_Check(names):
        r.stop("object-read", "builtins that are not a dict")
    r.edge(namespace(r, names), "dict", name, dict_get(names, name, ABSENT), f"builtins.{name}")


cdef int load_name(Recorder r, const PyExecState_EventInfo *e) except -1:
    cdef str name = name_at(e, e.oparg)
    cdef PyObject *names = PyExecState_FrameNames(e.frame)
    if names != NULL and names != PyExecState_FrameGlobals(e.frame):
        if not provenance.is_created(names):
            r.stop("object-read", f"name {name!r} in an outside namespace")
        if name in <object>names:
            return 0
    read_global(r, e, name, False)
    return 0


cdef int load_from_dict_or_globals(Recorder r, const PyExecState_EventInfo *e) except -1:
    cdef str name = name_at(e, e.oparg)
    if name not in top(e, 1):
        read_global(r, e, name, False)
    return 0


cdef int store_global(Recorder r, const PyExecState_EventInfo *e) except -1:
    if completes_increment(r, e):
        return 0
    write_global(r, e, dict.__setitem__, (name_at(e, e.oparg), top(e, 1)))
    return 0


cdef int delete_global(Recorder r, const PyExecState_EventInfo *e) except -1:
    names = <object>PyExecState_FrameGlobals(e.frame)
    name = name_at(e, e.oparg)
    if not provenance.is_created(<PyObject *>names):    # whether it is there decides what happens
        r.edge(namespace(r, names), "dict", name, dict_get(names, name, ABSENT), name)
    write_global(r, e, dict.__delitem__, (name_at(e, e.oparg),))
    return 0


cdef write_global(Recorder r, const PyExecState_EventInfo *e, func, tuple rest):
    names = <object>PyExecState_FrameGlobals(e.frame)
    if provenance.is_created(<PyObject *>names):
        return
    cdef Node node = namespace(r, names)
    r.note_write(node)
    r.written_key(node, "dict", rest[0])
    r.effect(func, (names,) + rest)


cdef int store_name(Recorder r, const PyExecState_EventInfo *e) except -1:
    cdef PyObject *names = PyExecState_FrameNames(e.frame)
    if names == NULL or not provenance.is_created(names):
        r.stop("object-write", "a name in an outside namespace")
    return 0
