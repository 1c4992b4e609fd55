# Calls: a Python function is recorded by running it; a C function needs a rule
# (magpy/recorder/callables), found by the function object itself.

from magpy.recorder.callables.registry import (
    ANNOTATED, COPIES_VALUES, FILLS, IDENTITY_BASES, IDENTITY_TYPES, LEAF_CODE, PREPARE, RULES, TORCH_OPERATORS)
from magpy.recorder.callables.hooks import check_cells, node_rule
from magpy.recorder.callables.reads import truth_of_answer

cdef object CODE_FIELD = types.FunctionType.__dict__["__code__"]
cdef object DEFAULTS_FIELD = types.FunctionType.__dict__["__defaults__"]
cdef object KWDEFAULTS_FIELD = types.FunctionType.__dict__["__kwdefaults__"]
cdef object GLOBALS_FIELD = types.FunctionType.__dict__["__globals__"]
cdef object SELF_FIELD = types.MethodType.__dict__["__self__"]
cdef object FUNC_FIELD = types.MethodType.__dict__["__func__"]
cdef object BUILTIN_SELF_FIELD = types.BuiltinFunctionType.__dict__["__self__"]
cdef object BUILTIN_NAME_FIELD = types.BuiltinFunctionType.__dict__["__name__"]
cdef object METHOD_WRAPPER = types.MethodWrapperType
cdef object DESCRIPTORS = frozenset((types.MethodDescriptorType, types.WrapperDescriptorType,
                                     types.ClassMethodDescriptorType))


cdef object rule_of(func):
    """The rule of something that was found where a user may have put anything: only what C code hashes is looked up."""
    if magpy_hashes_by_identity(func) or PyCFunction_Check(func):
        return RULES.get(func)
    return None


cdef dispatch_call(Recorder r, func, tuple args, kwargs):
    """*func*(*args, **kwargs) is about to be called: apply its rule."""
    cdef type cls = type(func)
    if cls is FUNCTION:
        call_function(r, func, args, kwargs)
    elif cls is METHOD:
        call_method(r, func, args, kwargs)
    elif PyCFunction_Check(func):
        call_builtin(r, func, args, kwargs)
    elif cls in DESCRIPTORS:
        apply_rule(r, func, args, kwargs)
    elif cls is METHOD_WRAPPER:
        owner = func.__self__
        r.know(owner)
        apply_rule(r, func.__objclass__.__dict__[func.__name__], (owner,) + args, kwargs)
    elif PyType_Check(func):
        call_class(r, func, args, kwargs)
    else:
        call_instance(r, func, args, kwargs)


cdef call_function(Recorder r, func, tuple args, kwargs):
    """A Python function. Most have no rule; those that have are leaves and such. Its
    code and defaults are read here, and not when its frame starts: a call whose
    arguments do not fit starts none."""
    rule = RULES.get(func)
    if rule is not None:
        know_by_identity(r, func)
        rule(r, func, args, kwargs or {})
        return
    code = id(func.__code__)
    if code in PREPARE:
        PREPARE[code](func)
    enter_function(r, func)
    if code in LEAF_CODE:
        r.leaf()


cdef know_by_identity(Recorder r, func):
    """Whether *func* has a rule depends on which function it is, not on its code alone."""
    cdef Node node = r.know(func)
    if node is not None and not node.const:
        check_edge(r, node, "is", func)


cdef call_method(Recorder r, method, tuple args, kwargs):
    cdef Node node = r.know(method)
    owner = method.__self__
    func = method.__func__
    if node is not None and not node.const:
        r.edge(node, "member", SELF_FIELD, owner, node.path + ".__self__")
        r.edge(node, "member", FUNC_FIELD, func, node.path + ".__func__")
    elif node is not None:
        know_constant(r, owner)
        know_constant(r, func)
    dispatch_call(r, func, (owner,) + args, kwargs)


cdef bint is_python_callee(Recorder r, func) except -1:
    """Is *func* Python code all the way? Then its arguments need not be known before."""
    cdef type cls = type(func)
    if cls is FUNCTION:
        if func in RULES:
            return False
        call_function(r, func, (), None)
        return True
    if cls is METHOD:
        return r.is_internal(func) and is_python_callee(r, func.__func__)
    if PyType_Check(func) or not magpy_is_heap_type(cls):
        return False
    r.know(func)
    caller = look_up_type(r, cls, "__call__")
    return PyFunction_Check(caller) and is_python_callee(r, caller)


cdef call_builtin(Recorder r, func, tuple args, kwargs):
    rule = RULES.get(func)
    if rule is not None:
        rule(r, func, args, kwargs or {})
        return
    if func in TORCH_OPERATORS:
        torch_operator(r, func, args, kwargs)
        return
    owner = func.__self__
    name = func.__name__
    if PyType_Check(owner):
        call_class_builtin(r, func, owner, name, args, kwargs)
        return
    if is_bound(func):
        node = r.know(func)
        if node is not None:
            r.edge(node, "member", BUILTIN_NAME_FIELD, name, node.path + ".__name__")
            r.edge(node, "member", BUILTIN_SELF_FIELD, owner, node.path + ".__self__")
        r.know(owner)
        apply_rule(r, unbound(r, func, owner, name), (owner,) + args, kwargs)
        return
    unknown_callable(r, func)


cdef call_class_builtin(Recorder r, func, owner, str name, tuple args, kwargs):
    """A classmethod or __new__ of a C type (dict.fromkeys), or a method of its
    metaclass (type.__instancecheck__), bound to a type."""
    found = unbound(r, func, owner, name)
    if found is not func:
        apply_rule(r, found, (owner,) + args, kwargs)
        return
    for base in owner.__mro__ or ():
        found = base.__dict__.get(name)
        if found is not None:
            rule = rule_of(found)
            if rule is None and name == "__new__":
                rule = rule_of(base.__new__)
            if rule is not None:
                rule(r, func, args if name == "__new__" else (owner,) + args, kwargs or {})
                return
            break
    unknown_callable(r, func)


cdef unbound(Recorder r, func, owner, str name):
    """The method descriptor that a bound C method was made from. Not simply the first
    of its name in the MRO: that may be an override which called super()."""
    for base in type(owner).__mro__ or ():
        found = base.__dict__.get(name)
        if found is not None and magpy_is_method_of(func, found):
            return found
    return func


cdef apply_rule(Recorder r, func, tuple args, kwargs):
    if type(func) is INSTANCE_METHOD:       # how pybind11 stores methods; it has no hash
        func = func.__func__
    rule = RULES.get(func)
    if rule is not None:
        rule(r, func, args, kwargs or {})
    elif func in TORCH_OPERATORS:
        torch_operator(r, func, args, kwargs)
    elif func is TYPE_CALL:
        make_instance(r, args[0], args[1:], kwargs)     # super().__call__ of a metaclass
    else:
        rule = node_rule(func, args)
        if rule is None:
            unknown_callable(r, func)
        rule(r, func, args, kwargs or {})


cdef unknown_callable(Recorder r, func):
    module = getattr(func, "__module__", None) or getattr(
        getattr(func, "__objclass__", None), "__module__", None)
    name = getattr(func, "__qualname__", None) or getattr(func, "__name__", type(func).__qualname__)
    r.stop("unknown-callable", f"{module}.{name}" if module else str(name))


cdef torch_operator(Recorder r, func, tuple args, kwargs):
    """An operation that the tape sees. Its outside tensors must be known, and its
    outside lists are read."""
    for arg in args:
        read_operand(r, arg)
    if kwargs:
        for arg in kwargs.values():
            read_operand(r, arg)


cdef read_operand(Recorder r, arg):
    """An argument of a torch operator, which may ask an object of the program's own class
    for any of its methods."""
    read_deep(r, arg, 0)
    if magpy_is_heap_type(type(arg)) and not isinstance(arg, OPERANDS) and not is_identity_leaf(arg) \
            and type(arg).__module__ not in ("torch", "torch._C"):
        r.stop("graph-argument", f"an object of type {type(arg).__qualname__}")

cdef tuple OPERANDS = (torch.Tensor, list, tuple, dict, torch.Generator)


cdef call_class(Recorder r, cls, tuple args, kwargs):
    """type.__call__: metaclass, then __new__, then __init__."""
    rule = rule_of(cls)
    if rule is not None:
        rule(r, cls, args, kwargs or {})
        return
    caller = look_up_type(r, type(cls), "__call__")
    if PyFunction_Check(caller):
        return
    if caller is not TYPE_CALL:
        unknown_callable(r, caller)
    make_instance(r, cls, args, kwargs)


cdef make_instance(Recorder r, cls, tuple args, kwargs):
    """What type.__call__ does: __new__, then __init__."""
    if look_up_type(r, cls, FINALIZER) is not ABSENT:
        r.stop("finalizer", cls.__qualname__)
    maker = look_up_type(r, cls, "__new__")
    setup = look_up_type(r, cls, "__init__")
    if is_a(maker, staticmethod):
        maker = know_part(r, maker, "__func__")
    python_setup = PyFunction_Check(setup)
    if python_setup:
        enter_function(r, setup)
    if PyFunction_Check(maker):
        enter_function(r, maker)
    if not PyFunction_Check(maker):
        call_maker(r, cls, maker, args, kwargs)
    if not python_setup and not PyFunction_Check(maker):
        rule = rule_of(setup)
        if rule is None:
            unknown_callable(r, setup)
        rule(r, setup, (None,) + args, kwargs or {})

cdef object INSTANCE_METHOD = type(torch._C.ScriptFunction.__dict__["__call__"])
cdef object TYPE_CALL = type.__call__
cdef object OBJECT_NEW = object.__new__
cdef object OBJECT_HASH = object.__hash__


cdef call_maker(Recorder r, cls, maker, tuple args, kwargs):
    """__new__ of a C type."""
    if maker is OBJECT_NEW:
        return
    rule = rule_of(maker)
    if rule is None:
        unknown_callable(r, maker)
    rule(r, maker, (cls,) + args, kwargs or {})


cdef call_instance(Recorder r, obj, tuple args, kwargs):
    """An object whose type has __call__."""
    cdef type cls = type(obj)
    rule = RULES.get(obj) if cls.__hash__ is OBJECT_HASH else None
    if rule is not None:        # a function of Cython's, for one
        if not is_identity_leaf(obj):
            know_by_identity(r, obj)
        rule(r, obj, args, kwargs or {})
        return
    if magpy_is_cython_function(obj):
        unknown_callable(r, obj)
    rule = RULES.get(cls.__call__) if not magpy_is_heap_type(cls) else None
    if rule is not None:
        rule(r, cls.__call__, (obj,) + args, kwargs or {})
        return
    if cls is torch._ops.OpOverloadPacket or issubclass(cls, torch._ops.OpOverload):
        torch_operator(r, obj, args, kwargs)
        r.leaf()
        return
    r.know(obj)
    caller = look_up_type(r, cls, "__call__")
    if caller is ABSENT:
        return          # a TypeError is to come
    if PyFunction_Check(caller):
        call_function(r, caller, (obj,) + args, kwargs)
    else:
        apply_rule(r, caller, (obj,) + args, kwargs)


cdef bint apply_special(Recorder r, str name, tuple args) except -1:
    """An operator whose receiver is args[0]: which method does its type have?"""
    cdef type cls = type(args[0])
    method = look_up_type(r, cls, name)
    if method is ABSENT or method is None:
        return False
    if PyFunction_Check(method):
        r.know(args[0])
        watch_answer(r, method, name)
        call_function(r, method, args, None)
    elif type(method) in DESCRIPTORS:
        apply_rule(r, method, args, None)
    else:
        read_class_value(r, method)
        if is_a(method, (staticmethod, classmethod)):
            dispatch_call(r, know_part(r, method, "__func__"), args[1:], None)
        elif type(method) is METHOD or not magpy_has_descr_get(method):
            dispatch_call(r, method, args[1:], None)        # it does not bind
    return True


cdef frozenset ANSWERS = frozenset(("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__contains__"))


cdef int watch_answer(Recorder r, method, str name) except -1:
    """C code that compares asks for the truth of what a method of the user's answers. (Where it only hands
    the answer on, asking costs two more lookups.)"""
    if name not in ANSWERS:
        return 0
    for watch in r.watches:         # a sort compares often
        if watch.source is method and watch.frame == <size_t>r.current_frame and is_answer(watch.on_item):
            return 0
    r.watch_values(method, functools.partial(truth_of_answer, r))
    return 0


cdef bint is_answer(on_item):
    return type(on_item) is functools.partial and on_item.func is truth_of_answer


cdef bint found_by_slot(Recorder r, func, first) except -1:
    """C code reaches a special method through the type of its first argument. Where no
    rule told of it, the frame that starts does: its lookup is an edge from then on."""
    name = func.__name__
    if name == FINALIZER:
        r.stop("finalizer", type(first).__qualname__)
    if not (name.startswith("__") and name.endswith("__")):
        return False
    for cls in (type(first), first) if PyType_Check(first) else (type(first),):
        value = look_up_type(r, cls, name)
        if value is not ABSENT:
            read_class_value(r, value)
        if r.find(func) is not None:
            return True
    return False


cdef enter_function(Recorder r, func):
    """A frame of *func* starts: its code and defaults are reads of the function."""
    if magpy_has_attributes(func) and "_magpy_disable" in func.__dict__:
        reason = func._magpy_disable_reason
        r.stop("disabled", f"{func.__qualname__}, since {reason}" if reason else func.__qualname__)
    cdef Node node = r.find(func)
    if node is None:
        if provenance.is_created(<PyObject *>func):
            return
        r.stop("unknown-function", func.__qualname__)
    if node.done is not None:
        return
    node.done = "function"
    r.edge(node, "member", CODE_FIELD, func.__code__, node.path + ".__code__")
    for field, name in ((DEFAULTS_FIELD, "__defaults__"), (KWDEFAULTS_FIELD, "__kwdefaults__")):
        value = field.__get__(func)
        r.edge(node, "member", field, value, f"{node.path}.{name}")
        if value is not None:
            read_content(r, value)
    read_closure(r, func, node)
    if not node.const:
        names = func.__globals__
        namespace(r, names)
        r.edge(node, "member", GLOBALS_FIELD, names, node.path + ".__globals__")


cdef read_closure(Recorder r, func, node):
    """The cells of a function: fixed when it is guarded by identity, else found through
    it. Their content is read when an instruction reads it."""
    for i, cell in enumerate(func.__closure__ or ()):
        path = f"{node.path}.{func.__code__.co_freevars[i]}"
        if not node.const:
            r.edge(node, "closure", i, cell, path)
        elif r.find(cell) is None:
            r.new_node(cell, "cell", path, True)
