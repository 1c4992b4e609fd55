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


cdef object DICT_ITER = dict.__iter__
cdef object DICT_GETITEM = dict.__getitem__
cdef object DICT_KEYS = (dict.keys, OrderedDict.keys)


cdef bint read_mapping(Recorder r, obj, bint by_keys=False) except -1:
    """C code takes the entries of a mapping (dict_merge() of Objects/dictobject.c): directly those of a dict that
    iterates as dict does, unless *by_keys*, and else by obj.keys() and obj[key]. True when what comes is what the dict
    holds, so that no code of the user's runs."""
    if type(obj) is types.MappingProxyType and r.is_internal(obj):
        obj = behind_proxy(obj)
    if PyDict_Check(obj):
        read_content(r, obj)
        if type(obj) is dict or not by_keys and look_up_type(r, type(obj), "__iter__") is DICT_ITER:
            return True
    elif r.know(obj) is not None and not magpy_is_heap_type(type(obj)):
        r.stop("object-read", f"entries of {type(obj).__name__}")
    read_attribute(r, obj, "keys")
    getter = look_up_type(r, type(obj), "__getitem__")
    if not PyDict_Check(obj):
        return False
    look_up_type(r, type(obj), "__missing__")
    return getter is DICT_GETITEM and own_attribute(obj, "keys") is ABSENT and (
        look_up_type(r, type(obj), "keys") in DICT_KEYS)
