# Unary, binary and comparison operators, truth and identity.

cdef tuple BINARY = ("add", "and", "floordiv", "lshift", "matmul", "mul", "mod", "or", "pow",
                     "rshift", "sub", "truediv", "xor")
cdef tuple IN_PLACE = (list, dict, set, deque)
cdef tuple COMPARE = ("__lt__", "__le__", "__eq__", "__ne__", "__gt__", "__ge__")
cdef dict SWAPPED = {"__lt__": "__gt__", "__le__": "__ge__", "__gt__": "__lt__", "__ge__": "__le__",
                     "__eq__": "__eq__", "__ne__": "__ne__"}


cdef int binary_op(Recorder r, const PyExecState_EventInfo *e) except -1:
    left = top(e, 2)
    right = top(e, 1)
    if type(left) in SCALARS and type(right) in SCALARS:
        return 0
    cdef str name = BINARY[e.oparg % 13]
    if e.oparg >= 13 and type(left) not in SCALARS:
        if apply_special(r, f"__i{name}__", (left, right)) \
                and is_a(left, IN_PLACE) and not magpy_is_heap_type(type(right)):
            return 0    # done there
    apply_special(r, f"__{name}__", (left, right))
    if type(right) is not type(left):
        apply_special(r, f"__r{name}__", (right, left))
    return 0


cdef int compare_op(Recorder r, const PyExecState_EventInfo *e) except -1:
    left = top(e, 2)
    right = top(e, 1)
    if type(left) in SCALARS and type(right) in SCALARS:
        return 0
    cdef str name = COMPARE[e.oparg >> 5]
    apply_special(r, name, (left, right))
    if type(right) is not type(left):
        apply_special(r, SWAPPED[name], (right, left))
    else:
        r.may_compare(right, SWAPPED[name])
    return 0


cdef int is_op(Recorder r, const PyExecState_EventInfo *e) except -1:
    if is_leaf(top(e, 1)) and <size_t>PyExecState_FrameCode(e.frame) in COPIES_VALUES:
        return 0
    r.compare_identity(top(e, 2), top(e, 1))
    return 0


cdef int unary_negative(Recorder r, const PyExecState_EventInfo *e) except -1:
    return unary(r, top(e, 1), "__neg__")


cdef int unary_invert(Recorder r, const PyExecState_EventInfo *e) except -1:
    return unary(r, top(e, 1), "__invert__")


cdef int unary(Recorder r, obj, str name) except -1:
    if type(obj) not in SCALARS:
        apply_special(r, name, (obj,))
    return 0


cdef int to_bool(Recorder r, const PyExecState_EventInfo *e) except -1:
    return truth_of(r, top(e, 1))


cdef int truth_of(Recorder r, obj) except -1:
    if type(obj) in SCALARS or type(obj) in IDENTITIES:
        return 0
    if PyDict_CheckExact(obj) or PyList_CheckExact(obj) or PyTuple_CheckExact(obj):
        read_truth(r, obj)
        return 0
    if not apply_special(r, "__bool__", (obj,)):
        apply_special(r, "__len__", (obj,))
    return 0
