# Closure variables.

cdef Node cell_node(Recorder r, const PyExecState_EventInfo *e, int index):
    """The node of the closure cell in fast local *index*; None if it is internal. Outside
    cells became nodes when the function that has them was entered: a function made
    inside shares them, and how that one was reached says nothing about the cell."""
    cdef PyObject *cell = PyExecState_FrameLocals(e.frame)[index]
    if cell == NULL:
        return None
    cdef Node node = r.find_at(<void *>cell)
    if node is None and not provenance.is_created(cell):
        r.stop("unknown-object", "a closure variable of unknown origin")
    return node


cdef object cell_value(object cell):
    cdef PyObject *content = magpy_cell_content(<PyObject *>cell)
    return ABSENT if content == NULL else <object>content


cdef int load_deref(Recorder r, const PyExecState_EventInfo *e) except -1:
    cdef Node node = cell_node(r, e, e.oparg)
    if node is not None:
        value = cell_value(node.obj)
        if not take_increment(r, e, node, "cell", None, value, node.path, node.obj):
            r.edge(node, "cell", None, value, node.path)
    return 0


cdef int load_from_dict_or_deref(Recorder r, const PyExecState_EventInfo *e) except -1:
    names = top(e, 1)
    if not provenance.is_created(<PyObject *>names):
        r.stop("object-read", "a name in an outside namespace")
    cdef Node node = cell_node(r, e, e.oparg)
    if node is not None:
        r.edge(node, "cell", None, cell_value(node.obj), node.path)
    return 0


cdef int store_deref(Recorder r, const PyExecState_EventInfo *e) except -1:
    if completes_increment(r, e):
        return 0
    cdef Node node = cell_node(r, e, e.oparg)
    if node is not None:
        r.note_write(node)
        r.written_key(node, "cell", None)
        r.effect(set_cell, (node.obj, top(e, 1)))
    return 0


cdef int delete_deref(Recorder r, const PyExecState_EventInfo *e) except -1:
    if cell_node(r, e, e.oparg) is not None:
        r.stop("object-write", "del of a closure variable")
    return 0


def set_cell(cell, value):
    """The effect of STORE_DEREF."""
    cell.cell_contents = value
