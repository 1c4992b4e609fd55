# with, raise, except, format, import, class and match statements.

cdef int before_with(Recorder r, const PyExecState_EventInfo *e) except -1:
    manager = top(e, 1)
    exit = look_up_type(r, type(manager), "__exit__")
    read_class_value(r, exit)
    apply_special(r, "__enter__", (manager,))
    return 0


cdef int with_except_start(Recorder r, const PyExecState_EventInfo *e) except -1:
    error = top(e, 1)
    dispatch_call(r, top(e, 4), (type(error), error, error.__traceback__), None)
    return 0


cdef int raise_(Recorder r, const PyExecState_EventInfo *e) except -1:
    """raise exception from cause: classes are called, and what is raised takes on a
    traceback, a context and the cause."""
    for i in range(e.oparg):
        given = top(e, i + 1)
        if PyType_Check(given):
            if issubclass(given, BaseException):
                dispatch_call(r, given, (), None)
        elif i == e.oparg - 1:
            raises(r, given)
    return 0


cdef raises(Recorder r, error):
    if is_a(error, BaseException) and r.know(error) is not None:
        r.stop("object-write", f"an outside {type(error).__qualname__} is raised")


cdef int check_exception(Recorder r, const PyExecState_EventInfo *e) except -1:
    """except classes: by the MRO of the exception's class, without asking a metaclass."""
    read_deep(r, top(e, 1), 0)
    read_error_class(r, top(e, 2))
    return 0


cdef read_error_class(Recorder r, error):
    read_mro(r, type(error))
    if is_a(error, BaseExceptionGroup):
        for each in error.exceptions:
            read_error_class(r, each)


cdef int format_simple(Recorder r, const PyExecState_EventInfo *e) except -1:
    obj = top(e, 1)
    if type(obj) not in SCALARS:
        apply_special(r, "__format__", (obj, ""))
    return 0


cdef int format_with_spec(Recorder r, const PyExecState_EventInfo *e) except -1:
    obj = top(e, 2)
    if type(obj) not in SCALARS:
        apply_special(r, "__format__", (obj, top(e, 1)))
    return 0


cdef int convert_value(Recorder r, const PyExecState_EventInfo *e) except -1:
    obj = top(e, 1)
    if type(obj) not in SCALARS:
        apply_special(r, "__str__" if e.oparg == 1 else "__repr__", (obj,))
    return 0


cdef int import_name(Recorder r, const PyExecState_EventInfo *e) except -1:
    """A module that was imported before is a read of sys.modules."""
    read_builtin(r, e, "__import__")
    name = name_at(e, e.oparg)
    level = top(e, 2)
    if level:
        names = <object>PyExecState_FrameGlobals(e.frame)
        package = names.get("__package__")
        r.edge(namespace(r, names), "dict", "__package__", package, "__package__")
        if not package:
            return 0
        parts = package.rsplit(".", level - 1)[0]
        name = f"{parts}.{name}" if name else parts
    cdef Node node = namespace(r, sys.modules)
    for known in {name, name.partition(".")[0]}:
        module = sys.modules.get(known)
        if module is None:
            r.stop("import-in-forward", known)
        r.edge(node, "dict", known, module, f"sys.modules[{known!r}]")
    r.leaf()
    return 0


cdef int import_from(Recorder r, const PyExecState_EventInfo *e) except -1:
    module = top(e, 1)
    cdef str name = name_at(e, e.oparg)
    read_attribute(r, module, name)
    if PyModule_Check(module) and name not in dict_of_module(module):      # it looks there, too
        full = f"{module.__name__}.{name}"
        r.edge(namespace(r, sys.modules), "dict", full, sys.modules.get(full, ABSENT),
               f"sys.modules[{full!r}]")
    return 0


cdef int load_build_class(Recorder r, const PyExecState_EventInfo *e) except -1:
    read_builtin(r, e, "__build_class__")
    return 0


cdef int get_len(Recorder r, const PyExecState_EventInfo *e) except -1:
    apply_special(r, "__len__", (top(e, 1),))
    return 0


cdef object OBJECT_CLASS = object.__dict__["__class__"]


cdef int match_class(Recorder r, const PyExecState_EventInfo *e) except -1:
    subject = top(e, 3)
    cls = top(e, 2)
    names = top(e, 1)
    if e.oparg:
        read_attribute(r, cls, "__match_args__")
        names = tuple(getattr(cls, "__match_args__", ()))[:e.oparg] + names
    dispatch_call(r, isinstance, (subject, cls), None)
    for name in names if may_be(subject, cls) else ():
        if type(name) is str:
            read_attribute(r, subject, name)
    return 0


cdef bint may_be(obj, cls):
    """Can is_a(obj, cls) be true? It is not asked: it may run code of the user's."""
    cdef type kind = type(obj)
    cdef PyObject *own = _PyType_Lookup(<PyTypeObject *><PyObject *>kind, <PyObject *>"__class__")
    return (not PyType_Check(cls) or type(cls) is not type or magpy_is_subtype(kind, cls)
            or own != <PyObject *>OBJECT_CLASS or kind.__getattribute__ is not object.__getattribute__)


cdef int match_keys(Recorder r, const PyExecState_EventInfo *e) except -1:
    for key in top(e, 1):
        dispatch_call(r, getattr(top(e, 2), "get"), (key,), None)
    return 0
