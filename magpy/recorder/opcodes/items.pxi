# Items, membership, and keys that are hashed.

cdef int binary_subscr(Recorder r, const PyExecState_EventInfo *e) except -1:
    container = top(e, 2)
    index = top(e, 1)
    if counts_item(r, e, container, index):
        return 0
    if PyType_Check(container):     # list[int]
        if not apply_special(r, "__getitem__", (container, index)):
            look_up_type(r, container, "__class_getitem__")
        return 0
    apply_special(r, "__getitem__", (container, index))
    return 0


cdef bint counts_item(Recorder r, const PyExecState_EventInfo *e, container, index) except -1:
    """`d[key] += 1` on a plain dict."""
    if not PyDict_CheckExact(container) or not is_leaf(index):
        return False
    cdef Node node = r.find(container)
    if node is None:
        return False
    value = dict_get(container, index, ABSENT)
    return take_increment(r, e, node, "dict", index, value, item_path(node, index), container)


cdef int binary_slice(Recorder r, const PyExecState_EventInfo *e) except -1:
    apply_special(r, "__getitem__", (top(e, 3), slice(top(e, 2), top(e, 1))))
    return 0


cdef int store_subscr(Recorder r, const PyExecState_EventInfo *e) except -1:
    if completes_increment(r, e):
        return 0
    apply_special(r, "__setitem__", (top(e, 2), top(e, 1), top(e, 3)))
    return 0


cdef int store_slice(Recorder r, const PyExecState_EventInfo *e) except -1:
    apply_special(r, "__setitem__", (top(e, 3), slice(top(e, 2), top(e, 1)), top(e, 4)))
    return 0


cdef int delete_subscr(Recorder r, const PyExecState_EventInfo *e) except -1:
    apply_special(r, "__delitem__", (top(e, 2), top(e, 1)))
    return 0


cdef int contains_op(Recorder r, const PyExecState_EventInfo *e) except -1:
    item = top(e, 2)
    container = top(e, 1)
    if type(container) in SCALARS:
        return 0
    if not apply_special(r, "__contains__", (container, item)):
        iterate(r, container)
    return 0


cdef int hash_two(Recorder r, const PyExecState_EventInfo *e) except -1:
    """MAP_ADD: key below the value on top."""
    hashes(r, top(e, 2))
    return 0


cdef int hash_one(Recorder r, const PyExecState_EventInfo *e) except -1:
    hashes(r, top(e, 1))
    return 0


cdef int build_map(Recorder r, const PyExecState_EventInfo *e) except -1:
    for i in range(e.oparg):
        hashes(r, top(e, 2 * e.oparg - 2 * i))
    return 0


cdef int build_set(Recorder r, const PyExecState_EventInfo *e) except -1:
    for i in range(e.oparg):
        hashes(r, top(e, i + 1))
    return 0


cdef hashes(Recorder r, key):
    """*key* goes into a dict or set of the recording's own."""
    if is_leaf(key) or is_identity_leaf(key):
        return
    if type(key).__hash__ is object.__hash__ or is_a(key, torch.Tensor):
        r.observe_identity(key)
    elif PyTuple_CheckExact(key):
        read_deep(r, key, 0)
        for item in key:
            hashes(r, item)
    else:
        r.know(key)
        apply_special(r, "__hash__", (key,))
