# Attribute access: the lookup it really is (Objects/object.c, _PyObject_GenericGetAttrWithDict,
# and Objects/typeobject.c, _Py_type_getattro), as edges: type and MRO, data descriptor,
# instance dict, class attribute, __getattr__. Python code that runs inside is recorded by itself.

cdef object object_setattr = object.__setattr__
cdef object object_delattr = object.__delattr__
cdef object type_setattr = type.__setattr__
cdef object module_setattr = torch.nn.Module.__setattr__
cdef object GETSET = types.GetSetDescriptorType
cdef object MEMBER = types.MemberDescriptorType
cdef object FUNCTION = types.FunctionType
cdef object METHOD = types.MethodType
cdef object MODULE = types.ModuleType
cdef object PARAMETER_LIKE = (torch.Tensor, torch.nn.Module)
cdef tuple MODULE_TABLES = ("_parameters", "_modules", "_buffers")

from magpy.recorder.callables.registry import BUFFER_TYPES, FIELD_TYPES

# Types whose C attributes are plain fields of the object: reading one runs no code
# and depends on nothing else, so a guard can read it again.
SAFE_FIELDS = {types.FunctionType, types.MethodType, types.CellType, type, slice, range,
               types.BuiltinFunctionType, property, staticmethod, classmethod,
               types.MemberDescriptorType, types.GetSetDescriptorType, types.MethodDescriptorType,
               types.WrapperDescriptorType, types.CodeType, int, float, complex}


cdef object TENSOR = torch.Tensor
cdef object OWN_NAMES = type.__dict__["__dict__"].__get__
cdef object ASKS_ITS_FUNCTION = (property, staticmethod, classmethod)


cdef object look_up_type(Recorder r, cls, str name):
    cdef PyObject *found = _PyType_Lookup(<PyTypeObject *><PyObject *>cls, <PyObject *>name)
    cdef object value = ABSENT if found == NULL else <object>found
    if provenance.is_created(<PyObject *>cls):
        look_up_in_bases(r, cls, name)
    elif not magpy_is_immutable_type(cls):
        if magpy_is_subtype(type(value), TENSOR):
            r.stop("object-read", f"{cls.__qualname__}.{name}: a tensor in a class")
        if not magpy_hashes_by_identity(cls):
            r.stop("object-read", f"a class that {type(cls).__qualname__} hashes")
        if (-1, "type_lookup", (cls, name)) in r.seen:      # most were: no text need be made
            r.read_after = len(r.effects)
        else:
            r.edge(None, "type_lookup", (cls, name), value, f"{cls.__qualname__}.{name}")
            note_binding(r, value)
    return value


cdef note_binding(Recorder r, value):
    """What a value found in a class is to those who ask for it by name (a descriptor, and one of data, or
    just a value) is up to its own class, which may learn it later."""
    cdef type kind = type(value)
    if value is not ABSENT and not magpy_is_immutable_type(kind) and not provenance.is_created(<PyObject *>kind):
        for name in ("__get__", "__set__", "__delete__"):
            look_up_type(r, kind, name)


cdef look_up_in_bases(Recorder r, cls, str name):
    """The lookup on a class that the call made: its outside bases are read in turn."""
    for base in cls.__mro__ or ():      # a metaclass's mro() looks around before there is one
        value = base.__dict__.get(name, ABSENT)
        if not magpy_is_immutable_type(base) and not provenance.is_created(<PyObject *>base):
            r.edge(None, "type_own", (base, name), value, f"{base.__qualname__}.{name}")
            note_binding(r, value)
        if value is not ABSENT:
            return


cdef dict PARTS = {name: property.__dict__[name] for name in ("fget", "fset", "fdel")}
cdef object STATIC_FUNC = staticmethod.__dict__["__func__"]
cdef object CLASS_FUNC = classmethod.__dict__["__func__"]


cdef object know_part(Recorder r, descriptor, str name):
    """What a property, staticmethod or classmethod has inside. Which descriptor it is does not
    fix that: its __init__ can be called again."""
    field = PARTS[name] if name in PARTS else STATIC_FUNC if is_a(descriptor, staticmethod) else CLASS_FUNC
    part = field.__get__(descriptor)
    if not provenance.is_created(<PyObject *>descriptor):
        node = r.const_node(descriptor)
        mark = (node.index, "member", field)
        if mark not in r.seen:
            r.seen[mark] = True
            r.edges.append(new_edge(("member", field), node, ("is", part), None, f"{node.path}.{name}"))
    know_constant(r, part)
    return part


cdef know_callable_of(Recorder r, descriptor):
    """The function inside a staticmethod or a classmethod."""
    if is_a(descriptor, (staticmethod, classmethod)):
        know_part(r, descriptor, "__func__")


cdef know_constant(Recorder r, obj):
    """*obj* can be reached only as an immutable part of something guarded by identity."""
    if obj is None or is_leaf(obj) or is_identity_leaf(obj) or r.is_internal(obj):
        return
    if r.find(obj) is None:
        r.new_node(obj, kind_of(obj), path_of_constant(obj), True)


cdef read_attribute(Recorder r, obj, str name):
    cdef type cls = type(obj)
    if PyType_Check(obj):
        read_class_attribute(r, obj, name)
        return
    if PyModule_Check(obj):
        read_module_attribute(r, obj, name)
        return
    if cls in SCALARS:
        return
    if cls is super:
        read_super_attribute(r, obj.__thisclass__, obj.__self__, obj.__self_class__, name)
        return
    cdef Node node = r.find(obj)
    if node is None:
        if is_identity_leaf(obj) and not provenance.is_created(<PyObject *>obj):
            node = r.const_node(obj)
        else:
            node = r.know(obj)
    getter = look_up_type(r, cls, "__getattribute__")
    if not magpy_is_generic(getter):
        if PyFunction_Check(getter):
            return
        if getter not in GENERIC_GETTERS:
            r.stop("object-read", f"attribute {name!r} of {cls.__name__}: its lookup has no rule")
        if cls is METHOD:
            read_method_attribute(r, obj, name)
            return
    descriptor = look_up_type(r, cls, name)
    if descriptor is not ABSENT and magpy_has_descr_set(descriptor):
        read_data_descriptor(r, obj, node, descriptor, name)
        return
    if magpy_has_instance_dict(cls):
        value = own_attribute(obj, name)
        if value is ABSENT and fill_attribute(obj, cls, name):
            value = own_attribute(obj, name)
            provenance.disown(<PyObject *>value)
        if node is not None:
            r.edge(node, "attr", name, value, node.path + "." + name)
        if value is not ABSENT:
            return
    if descriptor is not ABSENT:
        read_class_value(r, descriptor, obj)
        return
    ask_getattr(r, obj, name)


cdef bint fill_attribute(obj, cls, str name):
    """Where ``__getattr__`` keeps what it finds in the instance, it has done so before."""
    cdef PyObject *found = _PyType_Lookup(<PyTypeObject *><PyObject *>cls, <PyObject *>GETATTR)
    if found == NULL or not PyFunction_Check(<object>found):
        return False
    fill = FILLS.get(id((<object>found).__code__))
    return fill is not None and fill(obj, name)

cdef str GETATTR = "__getattr__"


cdef ask_getattr(Recorder r, obj, str name):
    """The last resort of a lookup. It may be C code: ``__getattr__ = dict.__getitem__``."""
    method = look_up_type(r, type(obj), "__getattr__")
    if method is not ABSENT and not PyFunction_Check(method):
        apply_special(r, "__getattr__", (obj, name))

cdef object GENERIC_GETTERS = frozenset((types.FunctionType.__getattribute__,
                                         types.MethodType.__getattribute__,
                                         types.BuiltinFunctionType.__getattribute__))


cdef read_method_attribute(Recorder r, method, str name):
    """A bound method hands unknown names on to its function; its own two are fixed."""
    cdef Node node
    if name in ("__self__", "__func__"):
        node = r.find(method)
        if node is not None:
            r.edge(node, "member", types.MethodType.__dict__[name], getattr(method, name),
                   node.path + "." + name)
        return
    node = r.find(method)
    if node is not None:
        if node.const:
            know_constant(r, method.__func__)
        else:
            r.edge(node, "member", FUNC_FIELD, method.__func__, node.path + ".__func__")
    read_attribute(r, method.__func__, name)


cdef object own_attribute(obj, str name):
    cdef PyObject *found = NULL
    if not PyExecState_GetInstanceAttr(<PyObject *>obj, <PyObject *>name, &found):
        return ABSENT
    value = <object>found
    Py_DECREF(value)
    return value


cdef read_data_descriptor(Recorder r, obj, node, descriptor, str name):
    cdef type kind = type(descriptor)
    if kind is GETSET or kind is MEMBER:
        read_field(r, obj, node, descriptor, name)
    elif is_a(descriptor, property):
        getter = know_part(r, descriptor, "fget")
        if getter is not None and not PyFunction_Check(getter):
            dispatch_call(r, getter, (obj,), None)
    else:
        read_by_descriptor(r, descriptor, obj)


cdef read_by_descriptor(Recorder r, descriptor, obj):
    """Any other descriptor: Python code, or C code that has a rule."""
    if type(descriptor).__name__ == "cython_function_or_method":     # it binds as functions do
        return
    getter = look_up_type(r, type(descriptor), "__get__")
    if getter is ABSENT or PyFunction_Check(getter):
        return
    rule = rule_of(getter)
    if rule is None:
        r.stop("object-read", f"a descriptor of type {type(descriptor).__name__}")
    rule(r, getter, (descriptor, obj, type(obj)), {})


cdef read_field(Recorder r, obj, node, descriptor, str name):
    """A field that C code reads: a slot, a function's __code__, a tensor's shape."""
    if name == "__dict__":
        read_instance_dict(r, obj)
        return
    if name == "__class__" or name == "__weakref__" or node is None:
        return
    if is_a(obj, torch.Tensor) and issubclass(torch.Tensor, descriptor.__objclass__):
        return      # the tape sees it
    if type(obj) in BUFFER_TYPES:
        read_buffer(r, obj)         # all that there is to know of it
        return
    owner = descriptor.__objclass__
    if owner in ASKS_ITS_FUNCTION and name in ("__name__", "__isabstractmethod__"):
        r.stop("object-read", f"attribute {name!r} of {type(obj).__name__}, which asks its function")
    if type(descriptor) is MEMBER and magpy_is_heap_type(owner) or owner in SAFE_FIELDS or owner in FIELD_TYPES:
        read_member(r, node, descriptor, field_value(obj, descriptor), node.path + "." + name)
        return
    r.stop("object-read", f"attribute {name!r} of {type(obj).__name__}")


cdef read_member(Recorder r, node, descriptor, value, str text):
    """An edge to a field. Some fields make their value when they are read (a function's
    __annotations__): that is not a write, and what it holds is read by edges of its own."""
    mark = (node.index, "member", descriptor)
    if mark not in r.seen and r.is_internal(value) and not is_leaf(value):
        r.seen[mark] = True
        r.add_node(("member", descriptor), node, value, text)
    else:
        r.edge(node, "member", descriptor, value, text)


cdef object field_value(obj, descriptor):
    try:
        return descriptor.__get__(obj, type(obj))
    except AttributeError:
        return ABSENT


cdef read_class_value(Recorder r, value, obj=None):
    """A value found in a class that is not a data descriptor: bind it to *obj*."""
    cdef type kind = type(value)
    if kind is FUNCTION or kind in IDENTITIES:
        know_callable_of(r, value)
    elif magpy_has_descr_get(value):
        read_by_descriptor(r, value, obj)


cdef read_class_attribute(Recorder r, cls, str name):
    cdef type meta = type(cls)
    getter = look_up_type(r, meta, "__getattribute__")
    if PyFunction_Check(getter):
        return
    if r.is_internal(cls):
        value = look_up_type(r, cls, name)      # it may be an outside base that has it
        if value is not ABSENT:
            read_class_value(r, value)
        value = look_up_type(r, meta, name)
        if is_a(value, property):
            read_data_descriptor(r, cls, None, value, name)
        elif value is not ABSENT:
            read_class_value(r, value)
        else:
            ask_getattr(r, cls, name)
        return
    in_meta = look_up_type(r, meta, name)
    if in_meta is not ABSENT and magpy_has_descr_set(in_meta):
        if type(in_meta) is GETSET or type(in_meta) is MEMBER:
            if name == "__dict__":
                class_namespace(r, cls)
            elif name == "__doc__" and magpy_has_descr_get(OWN_NAMES(cls).get(name)):
                r.stop("object-read", f"{cls.__qualname__}.__doc__, which is computed")
            elif not magpy_is_immutable_type(cls) and name != "__class__":
                node = r.const_node(cls)
                r.edge(node, "member", in_meta, field_value(cls, in_meta),
                       f"{cls.__qualname__}.{name}")
            elif name != "__class__":
                know_constant(r, field_value(cls, in_meta))
        else:
            read_data_descriptor(r, cls, None, in_meta, name)
        return
    value = look_up_type(r, cls, name)
    if value is not ABSENT:
        read_class_value(r, value)
    elif in_meta is not ABSENT:
        read_class_value(r, in_meta)
    else:
        ask_getattr(r, cls, name)


cdef class_namespace(Recorder r, cls):
    """cls.__dict__ shows the one dict that the class has: a constant, as the class is."""
    names = gc.get_referents(cls.__dict__)[0]
    if r.find(names) is None:
        r.new_node(names, "dict", f"{cls.__qualname__}.__dict__", True)
        r.keep.append(names)


cdef Node namespace(Recorder r, dict names):
    """The node of a module's globals. It lives as long as the code that uses it."""
    cdef Node node = r.find(names)
    if node is None:
        node = r.new_node(names, "dict", str(names.get("__name__", "globals")), True)
        r.keep.append(names)
    return node


cdef read_module_attribute(Recorder r, module, str name):
    cdef type cls = type(module)
    names = dict_of_module(module)       # module.__dict__ may be code of the user's
    if cls is not MODULE:
        getter = look_up_type(r, cls, "__getattribute__")
        if PyFunction_Check(getter):
            return
        descriptor = look_up_type(r, cls, name)
        if descriptor is not ABSENT and magpy_has_descr_set(descriptor):
            read_data_descriptor(r, module, None, descriptor, name)
            return
    if name == "__dict__":
        namespace(r, names)
        return
    if name == "__class__":
        return
    value = names.get(name, ABSENT)
    cdef Node node = namespace(r, names)
    r.const_node(module)
    r.edge(node, "dict", name, value, f"{node.path}.{name}")
    if value is ABSENT:
        if cls is not MODULE:
            if descriptor is not ABSENT:
                read_class_value(r, descriptor)
                return
            ask_getattr(r, module, name)
        value = names.get("__getattr__", ABSENT)
        r.edge(node, "dict", "__getattr__", value, f"{node.path}.__getattr__")
        if value is not ABSENT and not PyFunction_Check(value):
            dispatch_call(r, value, (name,), None)


cdef read_mro(Recorder r, cls):
    if magpy_is_immutable_type(cls) or provenance.is_created(<PyObject *>cls):
        return
    if not magpy_hashes_by_identity(cls):
        r.stop("object-read", f"a class that {type(cls).__qualname__} hashes")
    cdef object mark = (-1, "type_mro", cls)
    if mark in r.seen:
        return
    r.seen[mark] = True
    r.edges.append(new_edge(("type_mro", cls), None, ("is", cls.__mro__), None,
                        f"{cls.__qualname__}.__mro__"))


cdef read_super_attribute(Recorder r, cls, self_object, start, str name):
    """super(cls, self).name: the MRO of *start*, from behind *cls* on."""
    cdef tuple mro = start.__mro__ or ()
    read_mro(r, start)
    position = mro.index(cls) + 1 if cls in mro else len(mro)
    for base in mro[position:]:
        value = base.__dict__.get(name, ABSENT)
        if not magpy_is_immutable_type(base) and not provenance.is_created(<PyObject *>base):
            r.edge(None, "type_own", (base, name), value, f"{base.__qualname__}.{name}")
            note_binding(r, value)
        if value is not ABSENT:
            if magpy_has_descr_set(value):
                read_data_descriptor(r, self_object, r.find(self_object), value, name)
            else:
                read_class_value(r, value, self_object)
            return


cdef Node read_instance_dict(Recorder r, obj):
    cdef Node node = r.know(obj)
    if PyModule_Check(obj):
        return namespace(r, dict_of_module(obj))
    if node is None:
        return None
    names = PyObject_GenericGetDict(obj, NULL)      # obj.__dict__ may be code of the user's
    known = r.find(names)
    if known is None:
        known = r.new_node(names, "dict", node.path + ".__dict__", False)
        known.owner = node
        r.edges.append(new_edge(("instance_dict", None), node, ("type", type(names)), known, known.path))
    return known


# ---- writes -------------------------------------------------------------------

cdef write_attribute(Recorder r, obj, str name, value):
    """obj.name = value, or `del obj.name` when *value* is ABSENT."""
    cdef Node node
    cdef type cls = type(obj)
    cdef str method = "__delattr__" if value is ABSENT else "__setattr__"
    setter = look_up_type(r, cls, method)
    if PyFunction_Check(setter):
        if setter is module_setattr and value is not ABSENT:
            write_module_attribute(r, obj, name, value)
        return
    if PyType_Check(obj) or PyModule_Check(obj):
        descriptor = look_up_type(r, cls, name)
        if descriptor is not ABSENT and magpy_has_descr_set(descriptor) and type(descriptor) not in (GETSET, MEMBER):
            write_data_descriptor(r, obj, None, descriptor, name, value)
            return
    if PyType_Check(obj):
        if not r.is_internal(obj):
            write_on(r, r.const_node(obj), obj, type_setattr, name, value)
        return
    if PyModule_Check(obj):
        node = namespace(r, dict_of_module(obj))
        if value is ABSENT:
            read_what_goes(r, node, obj, name, ABSENT)
        r.note_write(node)
        r.written_key(node, "dict", name)
        r.const_node(obj)
        if value is ABSENT:
            r.effect(delattr, (obj, name))
        else:
            r.effect(setattr, (obj, name, value))
        return
    if not magpy_is_generic(setter) and rule_of(setter) is not None:    # __setattr__ = dict.__setitem__
        apply_special(r, method, (obj, name) if value is ABSENT else (obj, name, value))
        return
    descriptor = look_up_type(r, cls, name)
    node = r.know(obj)
    if descriptor is not ABSENT and magpy_has_descr_set(descriptor):
        write_data_descriptor(r, obj, node, descriptor, name, value)
        return
    if node is None:
        return
    if node.kind == "tensor" and descriptor is not ABSENT:      # the graph would use it
        r.stop("object-write", f"attribute {name!r} of a tensor")
    if not magpy_is_generic(setter):
        r.stop("object-write", f"attribute {name!r} of {cls.__name__}")
    write_on(r, node, obj, object_setattr, name, value)


cdef read_what_goes(Recorder r, Node node, obj, str name, slot):
    """Before `del obj.name`: whether it is there decides what happens. *slot* is its member descriptor, or ABSENT."""
    if PyType_Check(obj):
        if not magpy_hashes_by_identity(obj):
            r.stop("object-write", f"a class that {type(obj).__qualname__} hashes")
        if node.written_keys is None or ("attr", name) not in node.written_keys:
            r.edge(None, "type_own", (obj, name), OWN_NAMES(obj).get(name, ABSENT), f"{node.path}.{name}")
    elif PyModule_Check(obj):
        r.existence(node, "dict", name, dict_of_module(obj).get(name, ABSENT), f"{node.path}.{name}")
    elif slot is not ABSENT:
        r.existence(node, "member", slot, field_value(obj, slot), f"{node.path}.{name}")
    else:
        r.existence(node, "attr", name, own_attribute(obj, name), f"{node.path}.{name}")


cdef write_on(Recorder r, node, obj, setter, str name, value, slot=ABSENT):
    if value is ABSENT:
        read_what_goes(r, node, obj, name, slot)
        setter = type.__delattr__ if setter is type_setattr else object_delattr
        r.effect(setter, (obj, name))
    else:
        r.effect(setter, (obj, name, value))
    r.note_write(node)
    r.written_key(node, "attr", name)


cdef write_data_descriptor(Recorder r, obj, node, descriptor, str name, value):
    cdef type kind = type(descriptor)
    if is_a(descriptor, property):
        setter = know_part(r, descriptor, "fdel" if value is ABSENT else "fset")
        if setter is not None and not PyFunction_Check(setter):
            dispatch_call(r, setter, (obj,) if value is ABSENT else (obj, value), None)
    elif kind is MEMBER and magpy_is_heap_type(descriptor.__objclass__):
        if node is not None:
            write_on(r, node, obj, object_setattr, name, value, descriptor)
            r.written_key(node, "member", descriptor)
    elif kind is GETSET or kind is MEMBER:
        if node is not None and node.kind == "tensor" or is_a(obj, torch.Tensor):
            return      # the tape sees it
        if node is not None:
            r.stop("object-write", f"attribute {name!r} of {type(obj).__name__}")
    else:
        look_up_type(r, kind, "__delete__" if value is ABSENT else "__set__")


cdef write_module_attribute(Recorder r, module, str name, value):
    """A plain value set on an nn.Module. torch's __setattr__ then only looks that no
    parameter, buffer or submodule has the name, and writes the instance dict; that
    is noted at once. Parameters, buffers and submodules take the recorded way."""
    if is_a(value, PARAMETER_LIKE):
        return
    cdef Node node = r.know(module)
    if node is None:
        return
    descriptor = look_up_type(r, type(module), name)
    if descriptor is not ABSENT and magpy_has_descr_set(descriptor):
        return
    for table in MODULE_TABLES:
        entries = own_attribute(module, table)
        if entries is ABSENT:
            return
        r.edge(node, "attr", table, entries, node.path + "." + table)
        if name in entries:
            return
        read_key(r, entries, name)
    write_on(r, node, module, object_setattr, name, value)
    r.leaf()
