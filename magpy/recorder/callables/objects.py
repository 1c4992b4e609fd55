"""Rules of object and type: the default methods of everything, and making instances.

The generic attribute methods do here what the recorder does for the instructions, minus
the question who overrides them: whoever calls ``object.__setattr__`` by name has decided
that already.
"""

import types

from magpy.refgraph.graph import ABSENT
from magpy.recorder.callables.reads import (
    calls, compare, fixed, internal, is_tensor, items_of, iterates, known, nothing, operate,
    same_or_equal, stops, text, value)
from magpy.recorder.callables.registry import RULES, add, is_a, rule, slots

DATA_DESCRIPTORS = (types.GetSetDescriptorType, types.MemberDescriptorType)


# ---- object's defaults ------------------------------------------------------------------

@rule(*slots(object, "__eq__ __ne__"), kind="reads")
def identity_compared(r, func, args, kwargs):
    r.compare_identity(*args)
    if func.__name__ == "__ne__" and type(args[0]).__eq__ is not object.__eq__:
        r.special("__eq__", args)


@rule(*slots(object, "__hash__"), kind="reads")
def identity_hashed(r, func, args, kwargs):
    r.observe_identity(args[0])


@rule(object.__new__, kind="allocates")
def bare_object(r, func, args, kwargs):
    if args and is_a(args[0], type) and r.type_lookup(args[0], "__del__") is not ABSENT:
        r.stop("finalizer", args[0].__qualname__)


add(nothing, "pure", *slots(type(None), "__eq__ __ne__ __lt__ __le__ __gt__ __ge__ __hash__ __bool__ __repr__"))
add(nothing, "pure", *slots(object, "__lt__ __le__ __gt__ __ge__ __init__"),
    *[object.__dict__[name] for name in ("__init_subclass__", "__subclasshook__")])
add(stops("object-read"), "random", *slots(object, "__repr__ __sizeof__ __dir__"))


@rule(*slots(object, "__str__"), kind="calls")
def object_str(r, func, args, kwargs):
    r.special("__repr__", args)


@rule(*slots(object, "__format__"), kind="calls")
def object_format(r, func, args, kwargs):
    r.special("__str__", args[:1])


# ---- generic attribute access --------------------------------------------------------------

@rule(*slots(object, "__getattribute__"), kind="reads")
def generic_getattr(r, func, args, kwargs):
    obj, name = args
    cls = type(obj)
    if cls.__getattribute__ is func or is_a(obj, (type, types.ModuleType)):
        r.read_attr(obj, name)
        return
    descriptor = r.type_lookup(cls, name)
    if is_data_descriptor(descriptor):
        if is_a(descriptor, property):
            if is_a(r.know_part(descriptor, "fget"), types.FunctionType):
                return
        elif name == "__class__":
            return
        elif name == "__dict__":
            r.read_instance_dict(obj)
            return
        r.stop("object-read", f"attribute {name!r} of {cls.__qualname__}")
    node = r.know(obj)
    if node is not None and cls.__dictoffset__:
        r.edge(node, "attr", name, r.own_attribute(obj, name), f"{node.path}.{name}")


def is_data_descriptor(found):
    return found is not ABSENT and (hasattr(type(found), "__set__") or hasattr(type(found), "__delete__"))


@rule(*slots(object, "__setattr__"), kind="mutates")
def generic_setattr(r, func, args, kwargs):
    obj, name, new = args
    change_attribute(r, obj, name, func, args, new)


@rule(*slots(object, "__delattr__"), kind="mutates")
def generic_delattr(r, func, args, kwargs):
    change_attribute(r, args[0], args[1], func, args, ABSENT)


def change_attribute(r, obj, name, func, args, new):
    cls = type(obj)
    if is_a(obj, type):
        return              # a TypeError is to come
    if type(obj).__setattr__ is func or is_a(obj, types.ModuleType):
        r.write_attr(obj, name, new) if new is not ABSENT else r.delete_attr(obj, name)
        return
    descriptor = r.type_lookup(cls, name)
    slot = is_a(descriptor, types.MemberDescriptorType)
    if is_data_descriptor(descriptor) and not slot:
        if is_a(descriptor, property):
            if is_a(r.know_part(descriptor, "fdel" if new is ABSENT else "fset"), types.FunctionType):
                return
        if is_tensor(obj) or r.know(obj) is not None:
            r.stop("object-write", f"attribute {name!r} of {cls.__qualname__}")
        return
    node = r.know(obj)
    if node is None:
        return
    if node.kind == "tensor":
        r.stop("object-write", f"attribute {name!r} of a tensor")
    if new is ABSENT:
        r.read_what_goes(node, obj, name, descriptor if slot else ABSENT)
    r.note_write(node)
    r.effect(func, args)
    r.written_key(node, "member" if slot else "attr", descriptor if slot else name)


# ---- type ---------------------------------------------------------------------------------

@rule(type, kind="reads")
def type_of(r, func, args, kwargs):
    if len(args) == 1 and not kwargs:
        r.know(args[0])
    else:
        class_made(r, func, (type, *args), kwargs)


def subclass_hook(r, base):
    """``__init_subclass__`` of a base, which C code calls for a new class."""
    hook = r.type_lookup(base, "__init_subclass__")
    if is_a(hook, (classmethod, staticmethod)):
        r.know_part(hook, "__func__")
    elif hook in RULES:
        RULES[hook](r, hook, (base,), {})


@rule(type.__new__, kind="allocates")
def class_made(r, func, args, kwargs):
    """type.__new__(meta, name, bases, namespace)"""
    if len(args) < 4:
        return
    meta, name, bases, namespace = args
    for base in bases:
        r.know(base)
        if is_a(base, type):
            subclass_hook(r, base)
    if is_a(namespace, dict):
        internal(r, namespace)
        for item in namespace.values():
            setter = r.type_lookup(type(item), "__set_name__")
            if setter is not ABSENT and not is_a(setter, types.FunctionType) \
                    and type(item) is not property:
                r.stop("unknown-callable", f"{type(item).__qualname__}.__set_name__")


add(nothing, "pure", *slots(type, "__init__ __or__ __ror__"), type.__dict__["__prepare__"])
add(nothing, "pure", property.__dict__["__set_name__"])
add(stops("object-read"), "state", *slots(type, "mro __subclasses__ __dir__ __sizeof__"))


@rule(*slots(type, "__getattribute__"), kind="reads")
def type_getattr(r, func, args, kwargs):
    cls, name = args
    if type(cls).__getattribute__ is not func:
        r.stop("object-read", f"attribute {name!r} of {cls.__qualname__}")
    r.read_attr(cls, name)


@rule(*slots(type, "__setattr__"), kind="mutates")
def type_setattr(r, func, args, kwargs):
    if r.is_internal(args[0]):
        return
    if type(args[0]).__setattr__ is not func:
        r.stop("object-write", f"attribute {args[1]!r} of {args[0].__qualname__}")
    r.write_attr(*args)


@rule(*slots(type, "__delattr__"), kind="mutates")
def type_delattr(r, func, args, kwargs):
    if r.is_internal(args[0]):
        return
    if type(args[0]).__delattr__ is not func:
        r.stop("object-write", f"attribute {args[1]!r} of {args[0].__qualname__}")
    r.delete_attr(*args)


@rule(*slots(type, "__repr__"), kind="reads")
def type_repr(r, func, args, kwargs):
    r.read_attr(args[0], "__module__")
    r.read_attr(args[0], "__qualname__")


# ---- isinstance and issubclass ------------------------------------------------------------------

@rule(isinstance, kind="reads")
def is_instance(r, func, args, kwargs):
    obj, cls = args
    r.know(obj)
    instance_of(r, obj, cls, "__instancecheck__")


@rule(issubclass, kind="reads")
def is_subclass(r, func, args, kwargs):
    obj, cls = args
    if is_a(obj, type):
        r.read_mro(obj)
    instance_of(r, obj, cls, "__subclasscheck__")


def instance_of(r, obj, cls, method):
    if method == "__instancecheck__" and type(obj) is cls:
        return
    if is_a(cls, tuple):
        r.read_content(cls)
        for each in cls:
            instance_of(r, obj, each, method)
    elif type(cls) is types.UnionType:
        for each in cls.__args__:
            instance_of(r, obj, each, method)
    elif type(cls) is type:
        plain_check(r, None, (cls, obj), None)
    else:
        r.special(method, (cls, obj))


@rule(*slots(type, "__instancecheck__"), kind="reads")
def plain_check(r, func, args, kwargs):
    """By the object's type, else by what it says its class is."""
    cls, obj = args
    r.read_mro(type(obj))
    if cls not in type(obj).__mro__ and not fixed(obj) and not is_tensor(obj):
        r.type_lookup(type(obj), "__getattribute__")
        found = r.type_lookup(type(obj), "__class__")
        if is_a(found, property) and is_a(r.know_part(found, "fget"), types.FunctionType):
            return
        if found is not object.__dict__["__class__"]:
            r.stop("object-read", f"__class__ of {type(obj).__qualname__}")


@rule(*slots(type, "__subclasscheck__"), kind="reads")
def plain_subclass_check(r, func, args, kwargs):
    if is_a(args[1], type):
        r.read_mro(args[1])


@rule(types.UnionType.__instancecheck__, types.UnionType.__subclasscheck__,
      kind="reads")
def union_check(r, func, args, kwargs):
    """Reached only by name; is_a() looks into a union itself."""
    r.stop("unknown-callable", func.__qualname__)


# ---- functions, methods, descriptors as objects ----------------------------------------------

@rule(super, kind="allocates")
def super_made(r, func, args, kwargs):
    for arg in args:
        r.know(arg)


add(known, "allocates", property, staticmethod, classmethod, types.MethodType,
    property.__dict__["getter"], property.__dict__["setter"], property.__dict__["deleter"],
    property.__new__, staticmethod.__new__, classmethod.__new__)


@rule(*slots(property, "__init__"), *slots(staticmethod, "__init__"), *slots(classmethod, "__init__"), kind="mutates")
def filled(r, func, args, kwargs):
    """An outside descriptor that gets another function: nobody could tell from its type what it had."""
    known(r, func, args, kwargs)
    if args[0] is not None and not r.is_internal(args[0]):
        r.stop("object-write", f"{func.__qualname__} of an outside one")


add(nothing, "pure", types.FunctionType.__dict__["__get__"], *slots(types.MethodType, "__get__"),
    *slots(staticmethod, "__get__"), *slots(classmethod, "__get__"),
    *slots(types.MethodDescriptorType, "__get__"), *slots(types.WrapperDescriptorType, "__get__"),
    *slots(types.ClassMethodDescriptorType, "__get__"))
add(nothing, "pure", *slots(types.BuiltinFunctionType, "__hash__"))


@rule(*slots(property, "__get__ __set__ __delete__"), kind="calls")
def property_used(r, func, args, kwargs):
    """Asked by name. Without an object a property gives itself."""
    descriptor, obj, *value_ = args[:3] if func.__name__ == "__set__" else args[:2]
    r.know(descriptor)
    accessor = r.know_part(descriptor, {"__get__": "fget", "__set__": "fset", "__delete__": "fdel"}[func.__name__])
    if obj is not None and accessor is not None:
        calls(r, accessor, (obj, *value_))


# None, `int | str` and list[int]: values, whose classes are fixed.
_UNION, _ALIAS = types.UnionType, types.GenericAlias
add(known, "reads", *slots(_UNION, "__eq__ __ne__ __hash__ __or__ __ror__ __repr__ __getitem__"), *slots(_ALIAS, """
    __eq__ __ne__ __hash__ __or__ __ror__ __repr__ __getitem__ __mro_entries__"""))
add(nothing, "pure", *slots(type(NotImplemented), "__repr__"), *slots(type(...), "__repr__"))


@rule(*slots(types.GetSetDescriptorType, "__get__"), *slots(types.MemberDescriptorType, "__get__"), kind="reads")
def field_read(r, func, args, kwargs):
    """The descriptor of a C field, asked by name: as reading the attribute, where it is that."""
    descriptor, obj = args[:2]
    if obj is None or r.is_internal(obj):
        return
    name = descriptor.__name__
    if next((vars(cls)[name] for cls in type(obj).__mro__ if name in vars(cls)), None) is not descriptor:
        r.stop("object-read", f"field {name!r} of a {type(obj).__qualname__}")
    r.read_attr(obj, name)


@rule(*slots(types.FunctionType, "__call__"), *slots(types.MethodType, "__call__"),
      *slots(types.BuiltinFunctionType, "__call__"),
      *slots(types.MethodDescriptorType, "__call__"),
      *slots(types.WrapperDescriptorType, "__call__"), *slots(staticmethod, "__call__"),
      kind="calls")
def call_method(r, func, args, kwargs):
    """f.__call__(...)"""
    target = args[0].__func__ if is_a(args[0], staticmethod) else args[0]
    calls(r, target, args[1:], kwargs)


@rule(*slots(types.MethodType, "__eq__ __ne__ __hash__"),
      *slots(types.BuiltinFunctionType, "__eq__ __ne__"), kind="reads")
def method_compared(r, func, args, kwargs):
    """Bound methods are equal if their objects are identical."""
    for arg in args:
        owner = getattr(arg, "__self__", None)
        if owner is not None and not fixed(owner):
            if r.know(arg) is not None:
                r.stop("object-read", "comparison of an outside bound method")
            r.observe_identity(owner)


@rule(types.SimpleNamespace, kind="allocates")
def simple_namespace(r, func, args, kwargs):
    for arg in args:
        items_of(r, arg)


@rule(*slots(types.SimpleNamespace, "__eq__ __ne__ __repr__ __reduce__ __replace__"), kind="reads")
def namespace_method(r, func, args, kwargs):
    for arg in args:
        if is_a(arg, types.SimpleNamespace):
            r.read_instance_dict(arg)
            r.read_content(vars(arg))
    if func.__name__ == "__repr__":
        for item in vars(args[0]).values():
            text(r, item, "__repr__")
    elif func.__name__ in ("__eq__", "__ne__") and is_a(args[1], types.SimpleNamespace):
        for name, item in vars(args[0]).items():
            if name in vars(args[1]):
                same_or_equal(r, item, vars(args[1])[name])


PLAIN_METHODS = (types.FunctionType, types.MethodDescriptorType, types.WrapperDescriptorType)


@rule(types.MappingProxyType, types.MappingProxyType.__new__, kind="allocates")
def mapping_proxy(r, func, args, kwargs):
    r.read_content(args[-1])


@rule(*slots(types.MappingProxyType, "__getitem__ __contains__ __iter__ __len__ get keys values "
             "items copy __reversed__ __eq__ __ne__ __or__ __ror__ __repr__"), kind="reads")
def proxy_method(r, func, args, kwargs):
    """A proxy hands on to its mapping, which the recording knows: it was read when the proxy
    was made, or is a class's own dict."""
    internal(r, args[0])
    mapping, name = r.behind_proxy(args[0]), func.__name__
    if name in ("__or__", "__ror__"):
        other = r.behind_proxy(args[1])
        operate(r, "or", *((mapping, other) if name == "__or__" else (other, mapping)))
    elif name in ("__eq__", "__ne__"):
        compare(r, mapping, args[1], name)
    elif name in ("get", "keys", "values", "items", "copy", "__reversed__"):
        r.read_attr(mapping, name)
        method = r.type_lookup(type(mapping), name)
        if r.own_attribute(mapping, name) is not ABSENT or not is_a(method, PLAIN_METHODS):
            r.stop("object-read", f"{name} of {type(mapping).__qualname__}, behind a proxy")
        calls(r, method, (mapping, *args[1:]), kwargs)
    elif not r.special(name, (mapping, *args[1:])) and name in ("__contains__", "__iter__"):
        iterates(r, mapping)
