"""Rules of library functions that have a cache or a registry of their own, which a guard
cannot follow, while their result depends on plain arguments alone: re, abc, typing.
"""

import _abc
import abc
import contextlib
import importlib
import inspect
import re
import sys
import types
import typing

from torch.distributions import kl

from magpy.recorder.callables.reads import (
    fixed, internals, is_tensor, known, nothing, stops, values)
from magpy.recorder.callables.registry import IDENTITY_TYPES, LEAF_CODE, add, is_a, rule, slots

# ---- re ------------------------------------------------------------------------------------

PATTERN, MATCH = re.Pattern, re.Match
IDENTITY_TYPES.update({PATTERN, type(re._zero_sentinel)})


@rule(re._compile, kind="pure")
def compiled(r, func, args, kwargs):
    """Its cache decides only about speed."""
    if not all(fixed(arg) for arg in args):
        r.stop("object-read", "a regular expression that is no plain text")
    r.leaf()


@rule(*slots(PATTERN, "match fullmatch search findall finditer split scanner"), kind="pure")
def pattern_method(r, func, args, kwargs):
    values(r, func, args, kwargs)


@rule(PATTERN.sub, PATTERN.subn, kind="calls")
def substituted(r, func, args, kwargs):
    replacement = kwargs.get("repl", args[1] if len(args) > 1 else None)
    if is_a(replacement, types.FunctionType):
        r.know(replacement)
    elif callable(replacement):
        r.stop("unknown-callable", "a regular expression's replacement by C code")
    else:
        parsed(args[0], replacement)
    values(r, func, [arg for arg in args if not callable(arg)], {})


def parsed(pattern, template):
    """C code asks re to take a template with groups apart, in Python, once: the cache of that
    decides only about speed, and is filled here."""
    if type(template) in (str, bytes):
        with contextlib.suppress(Exception):        # the call raises it, too
            re._compile_template(pattern, template)


@rule(*slots(MATCH, "expand"), kind="reads")
def expanded(r, func, args, kwargs):
    internals(r, func, args, kwargs)
    parsed(args[0].re, args[1])


add(internals, "reads", *slots(MATCH, "group groups groupdict start end span __getitem__"))
add(internals, "reads", *slots(MATCH, "__copy__ __deepcopy__"))
add(nothing, "pure", *slots(PATTERN, "__eq__ __ne__ __hash__ __copy__ __deepcopy__"))


# ---- abc -------------------------------------------------------------------------------------

@rule(_abc._abc_instancecheck, _abc._abc_subclasscheck, kind="state")
def abc_check(r, func, args, kwargs):
    """abc remembers the answer for each type. Yes is for good; No holds until some class
    is registered with an ABC, which changes abc's token. Asking here fills the memory; the
    hooks that run for a class that is itself registered decide nothing."""
    cls, obj = args
    kind = obj if func is _abc._abc_subclasscheck else type(obj)
    if not is_a(kind, type):
        return
    r.know(obj)
    r.read_mro(kind)
    if func is _abc._abc_instancecheck and not is_tensor(obj) and not fixed(obj):
        if r.type_lookup(kind, "__class__") is not object.__dict__["__class__"]:
            r.stop("object-read", f"__class__ of {kind.__qualname__}")
    try:
        answer = func(cls, obj)
    except Exception:
        r.stop("unknown-callable", f"a check against {cls.__qualname__}")
    if not answer:
        r.read_state("abc.get_cache_token()", abc.get_cache_token(), abc.get_cache_token)
    r.leaf()


add(nothing, "allocates", _abc._abc_init)
add(nothing, "state", _abc.get_cache_token)
add(stops("object-write"), "mutates", _abc._abc_register)


# ---- inspect ------------------------------------------------------------------------------------

@rule(inspect.signature, kind="reads")
def signature(r, func, args, kwargs):
    """Of a Python function: made from its code, its defaults and its annotations."""
    target = getattr(args[0], "__func__", args[0])
    r.know(args[0])
    if is_a(target, type) and r.is_internal(target):
        return              # recorded
    for _ in range(20):
        if not is_a(target, types.FunctionType) or kwargs:
            r.stop("unknown-callable", "inspect.signature of no plain function")
        for name in ("__code__", "__defaults__", "__kwdefaults__", "__annotations__",
                     "__signature__", "__text_signature__", "__wrapped__"):
            r.read_attr(target, name)
        for part in (target.__defaults__, target.__kwdefaults__):
            if part is not None:
                r.read_content(part)
        if not hasattr(target, "__wrapped__"):
            break
        target = target.__wrapped__
    if hasattr(target, "__signature__") or hasattr(target, "__text_signature__"):
        r.stop("unknown-callable", "inspect.signature of a function that says its own")
    r.leaf()


# ---- typing, importlib -------------------------------------------------------------------------

IDENTITY_TYPES.update({
    typing.TypeVar, typing.ParamSpec, typing._SpecialForm, type(typing.List),
    type(typing.List[int]), type(typing.Optional[int]), typing.ForwardRef})


OF_TYPES = (typing.TypeVar, typing.ParamSpec, typing.TypeVarTuple, typing.ParamSpecArgs, typing.ParamSpecKwargs,
            typing.TypeAliasType)
IDENTITY_TYPES.update(OF_TYPES)
add(known, "allocates", *OF_TYPES, *[cls.__new__ for cls in OF_TYPES])
add(known, "calls", *[method for cls in OF_TYPES for method in slots(cls, """__repr__ __or__ __ror__ __eq__ __ne__
    __typing_subst__ __typing_prepare_subst__ has_default __mro_entries__ __getitem__ __iter__""")])


@rule(*[typing.Generic.__dict__[name] for name in ("__init_subclass__", "__class_getitem__")
        if name in typing.Generic.__dict__], kind="calls")
def generic_class(r, func, args, kwargs):
    """C code hands on to typing."""
    r.know_constant(getattr(typing, "_generic" + func.__name__.replace("__class", "_class").replace(
        "__init", "_init").rstrip("_")))


@rule(typing.cast, kind="pure")
def cast(r, func, args, kwargs):
    r.leaf()


# C code asks a module's spec where it is from, before it says that an attribute is missing.
LEAF_CODE.enter(importlib.machinery.ModuleSpec.has_location.fget.__code__)


@rule(importlib.import_module, kind="state")
def imported(r, func, args, kwargs):
    name = args[0]
    module = sys.modules.get(name) if len(args) == 1 and not kwargs else None
    if module is None:
        r.stop("import-in-forward", str(name))
    node = r.const_node(sys.modules, "sys.modules")
    r.edge(node, "dict", name, module, f"sys.modules[{name!r}]")
    r.leaf()


# ---- torch.distributions -------------------------------------------------------------------

@rule(kl.kl_divergence, kind="calls")
def divergence(r, func, args, kwargs):
    """It keeps which function it has found for two types of distributions: it has done so before."""
    r.enter(func)
    pair = tuple([type(arg) for arg in (*args, *kwargs.values())])
    if len(pair) == 2 and pair not in kl._KL_MEMOIZE and all(each.__module__.startswith("torch.") for each in pair):
        kl._KL_MEMOIZE[pair] = kl._dispatch_kl(*pair)
