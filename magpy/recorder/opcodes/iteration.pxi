# Iterators, unpacking and merging.

cdef iterate(Recorder r, obj):
    """iter(obj), for whoever then takes the items in C."""
    if PyList_CheckExact(obj) or PyTuple_CheckExact(obj) or PyDict_CheckExact(obj):
        read_content(r, obj)
        return
    if type(obj) in SCALARS:
        return
    if not apply_special(r, "__iter__", (obj,)):
        apply_special(r, "__getitem__", (obj, 0))
        apply_special(r, "__len__", (obj,))


cdef int get_iter(Recorder r, const PyExecState_EventInfo *e) except -1:
    iterate(r, top(e, 1))
    return 0


cdef int advance(Recorder r, const PyExecState_EventInfo *e) except -1:
    advance_iterator(r, top(e, 1))
    return 0


# C iterators that call back or pull from others when they are advanced.
cdef object ACTIVE_ITERATORS = frozenset((map, filter, zip, enumerate, reversed,
                                          type(iter(int, 0))))


cdef advance_iterator(Recorder r, iterator):
    if not provenance.is_created(<PyObject *>iterator):
        advance_external(r, iterator)
    elif magpy_is_heap_type(type(iterator)) or type(iterator) in ACTIVE_ITERATORS:
        apply_special(r, "__next__", (iterator,))


cdef int show_value(Recorder r, const PyExecState_EventInfo *e) except -1:
    """A frame gives a value to its caller: is C code going to look at it?"""
    if not r.watches:
        return 0
    cdef PyObject *generator = PyExecState_FrameGenerator(e.frame)
    cdef PyObject *function = PyExecState_FrameFunction(e.frame)
    if generator != NULL and e.opcode != YIELD_VALUE:
        return 0        # what a generator returns goes into StopIteration
    for watch in list(r.watches):
        if <PyObject *>watch.source == function or (
                generator != NULL and <PyObject *>watch.source == generator):
            if e.opcode == RETURN_CONST:
                value = <object>magpy_code_const(PyExecState_FrameCode(e.frame), e.oparg)
            else:
                value = top(e, 1)
            r.current_frame = <void *><size_t>watch.frame   # what it sets lasts as long as the watch
            try:
                watch.on_item(value)
            finally:
                r.current_frame = e.frame
    return 0


cdef advance_external(Recorder r, iterator):
    if magpy_is_heap_type(type(iterator)) and PyFunction_Check(
            look_up_type(r, type(iterator), "__next__")):
        r.know(iterator)
        return
    r.stop("external-iterator", type(iterator).__name__)


cdef int send(Recorder r, const PyExecState_EventInfo *e) except -1:
    advance_iterator(r, top(e, 2))
    return 0


cdef int unpack(Recorder r, const PyExecState_EventInfo *e) except -1:
    iterate(r, top(e, 1))
    return 0


cdef int list_extend(Recorder r, const PyExecState_EventInfo *e) except -1:
    iterate(r, top(e, 1))
    return 0


cdef int set_update(Recorder r, const PyExecState_EventInfo *e) except -1:
    iterate(r, top(e, 1))
    return 0


cdef int dict_update(Recorder r, const PyExecState_EventInfo *e) except -1:
    read_mapping(r, top(e, 1))
    return 0


cdef read_mapping(Recorder r, obj):
    """dict.update(obj): a dict's entries, or keys() and items."""
    if type(obj) is types.MappingProxyType and r.is_internal(obj):
        obj = behind_proxy(obj)
    if PyDict_Check(obj):
        read_content(r, obj)
        if look_up_type(r, type(obj), "__iter__") not in (dict.__iter__, OrderedDict.__iter__):
            read_attribute(r, obj, "keys")
            look_up_type(r, type(obj), "__getitem__")
    elif r.know(obj) is not None and not magpy_is_heap_type(type(obj)):
        r.stop("object-read", f"entries of {type(obj).__name__}")
    else:
        read_attribute(r, obj, "keys")
        look_up_type(r, type(obj), "__getitem__")
