"""Rules of json's C code. What it writes is the value of everything below an object; what it
reads is text. Functions that a user gives it (``default=``, ``object_hook=``) are called in
between, and recorded."""

import json.decoder
import json.encoder
import types

from magpy.recorder.callables.reads import (
    calls, calls_later, is_c, plain, value, values, watch)
from magpy.recorder.callables.registry import add, is_a, rule, slots

ENCODER = json.encoder.c_make_encoder
SCANNER = json.decoder.scanner.c_make_scanner
HOOKS = "object_hook object_pairs_hook parse_float parse_int parse_constant".split()

add(values, "pure", json.encoder.c_encode_basestring, json.encoder.c_encode_basestring_ascii,
    json.decoder.scanstring)


# ---- writing ----------------------------------------------------------------------------------

@rule(ENCODER, ENCODER.__new__, kind="allocates")
def encoder_made(r, func, args, kwargs):
    for arg in (*args, *kwargs.values()):
        r.know(arg)


@rule(*slots(ENCODER, "__call__"), kind="calls")
def encode(r, func, args, kwargs):
    encoder, obj = args[:2]
    if r.know(encoder) is not None:
        r.stop("object-read", "an outside json encoder")
    if is_c(encoder.encoder) and encoder.encoder not in (
            json.encoder.c_encode_basestring, json.encoder.c_encode_basestring_ascii):
        r.stop("unknown-callable", "json with a string encoder of its own")
    default = encoder.default
    if not is_python(default):
        r.stop("unknown-callable", "json with a default function in C")
    calls(r, default, ())
    watch(r, getattr(default, "__func__", default), lambda found: written(r, found, 0))
    written(r, obj, 0)


def is_python(func):
    return is_a(func, (types.FunctionType, types.MethodType))


def written(r, obj, depth):
    """Everything below *obj*, as C walks it: containers, their subclasses by their base's
    content, and what is none of them by `default`."""
    if plain(obj):
        return
    if depth > 200:
        r.stop("object-read", "containers nested too deeply, or in a cycle")
    if is_a(obj, (list, tuple)):
        r.read_content(obj)
        for item in (list if is_a(obj, list) else tuple).__iter__(obj):
            written(r, item, depth + 1)
    elif is_a(obj, dict):
        if is_python(type(obj).items):
            r.stop("unknown-callable", f"json of a {type(obj).__qualname__}")
        r.read_content(obj)
        for key, item in type(obj).items(obj):
            if not plain(key):
                r.stop("dict-key", f"json of a key of type {type(key).__qualname__}")
            written(r, item, depth + 1)
    elif is_a(obj, (str, int, float)):
        value(r, obj)
    else:
        r.know(obj)


# ---- reading ------------------------------------------------------------------------------------

@rule(SCANNER, SCANNER.__new__, kind="allocates")
def scanner_made(r, func, args, kwargs):
    """It takes its settings from the attributes of a decoder."""
    context = args[-1]
    for name in ("strict", *HOOKS):
        r.read_attr(context, name)


@rule(*slots(SCANNER, "__call__"), kind="calls")
def scan(r, func, args, kwargs):
    scanner = args[0]
    values(r, func, args[1:], kwargs)
    node = r.know(scanner)
    for name in ("strict", *HOOKS):
        setting = getattr(scanner, name)
        if node is not None:
            r.edge(node, "member", SCANNER.__dict__[name], setting, f"{node.path}.{name}")
        if name in HOOKS and setting is not None and not of_numbers(setting):
            calls_later(r, setting)


def of_numbers(setting):
    """A default: int, float, or the look-up of NaN and the infinities."""
    return setting is int or setting is float or (
        getattr(setting, "__self__", None) is json.decoder._CONSTANTS)
