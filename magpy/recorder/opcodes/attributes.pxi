# Attribute instructions: which lookup, and the counter pattern.

cdef int load_attr(Recorder r, const PyExecState_EventInfo *e) except -1:
    obj = top(e, 1)
    cdef str name = name_at(e, e.oparg >> 1)
    if not e.oparg & 1 and counts_attribute(r, e, obj, name):
        return 0
    read_attribute(r, obj, name)
    return 0


cdef bint counts_attribute(Recorder r, const PyExecState_EventInfo *e, obj, str name) except -1:
    """`obj.n += 1` on a plain instance attribute."""
    cdef Node node = r.find(obj)
    if node is None or node.kind == "tensor" or PyType_Check(obj) or PyModule_Check(obj):
        return False
    cdef type cls = type(obj)
    if not magpy_has_instance_dict(cls):
        return False
    value = own_attribute(obj, name)
    if increment_at(r, e, value) is None:
        return False
    setter = look_up_type(r, cls, "__setattr__")
    if not magpy_is_generic(look_up_type(r, cls, "__getattribute__")):
        return False
    if setter is not module_setattr and not magpy_is_generic(setter):
        return False
    descriptor = look_up_type(r, cls, name)
    if descriptor is not ABSENT and magpy_has_descr_set(descriptor):
        return False
    if setter is module_setattr:
        for table in MODULE_TABLES:
            entries = own_attribute(obj, table)
            if entries is ABSENT or name in entries:
                return False
            r.edge(node, "attr", table, entries, node.path + "." + table)
            read_key(r, entries, name)
    return take_increment(r, e, node, "attr", name, value, node.path + "." + name, obj)


cdef int store_attr(Recorder r, const PyExecState_EventInfo *e) except -1:
    if completes_increment(r, e):
        r.leaf()
        return 0
    write_attribute(r, top(e, 1), name_at(e, e.oparg), top(e, 2))
    return 0


cdef int delete_attr(Recorder r, const PyExecState_EventInfo *e) except -1:
    write_attribute(r, top(e, 1), name_at(e, e.oparg), ABSENT)
    return 0


cdef int load_super_attr(Recorder r, const PyExecState_EventInfo *e) except -1:
    global_super = top(e, 3)
    cls = top(e, 2)
    obj = top(e, 1)
    cdef str name = name_at(e, e.oparg >> 2)
    if global_super is not super:
        dispatch_call(r, global_super, (cls, obj) if e.oparg & 2 else (), None)
        return 0
    if not PyType_Check(cls):
        return 0
    start = obj if PyType_Check(obj) and magpy_is_subtype(obj, cls) else type(obj)
    if not magpy_is_subtype(start, cls):
        r.stop("object-read", f"super of a {start.__qualname__} that says it is a {cls.__qualname__}")
    read_super_attribute(r, cls, obj, start, name)
    return 0
