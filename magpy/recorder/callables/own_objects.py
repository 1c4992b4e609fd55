"""Rules of C objects whose content guards cannot hold: text and byte streams, arrays, views of
memory, hashes, generators of random numbers.

Those that the recording made follow from what they were made of, and what is done to them
concerns nobody else. One from outside stops the capture when it is used (writing to a
stream is in effects.py).
"""

import _hashlib
import _queue
import _random
import array
import hashlib
import io
import random
import zlib

from magpy.recorder.callables.draws import drawn
from magpy.recorder.callables.reads import (
    CONTAINERS, each_item, fixed, internal, name_of, value, values)
from magpy.recorder.callables.registry import add, is_a, rule, slots

NOT_METHODS = frozenset(("__new__", "__init__", "__getattribute__", "__sizeof__", "__reduce__",
                         "__reduce_ex__", "__setstate__", "__class_getitem__", "__repr__",
                         "fromfile", "tofile", "buffer_info", "fileno", "__del__"))


def methods(cls, without=""):
    """The method descriptors of *cls* itself, as far as they concern its content."""
    left_out = NOT_METHODS | set(without.split())
    return [method for name, method in cls.__dict__.items()
            if name not in left_out and type(method).__name__ in (
                "method_descriptor", "wrapper_descriptor")]


def taken(r, arg):
    """C code takes the value of *arg*, or those of its items."""
    if fixed(arg) or is_a(arg, CONTAINERS) or not hasattr(type(arg), "__next__"):
        value(r, arg)
    else:
        each_item(r, arg, lambda item: value(r, item))


def own_method(r, func, args, kwargs):
    internal(r, args[0])
    for arg in (*args[1:], *kwargs.values()):
        taken(r, arg)


def made(r, func, args, kwargs):
    """The type is called, or its __new__ or __init__ with the type or object first."""
    for arg in (*args, *kwargs.values()):
        if not is_a(arg, type):
            taken(r, arg)


def own_type(cls, without=""):
    add(own_method, "calls", *methods(cls, without))
    add(made, "allocates", cls, cls.__new__, *slots(cls, "__init__"))


own_type(io.StringIO, "write")
own_type(io.BytesIO, "write getbuffer")
own_type(array.array)
own_type(memoryview)
add(own_method, "reads", *slots(memoryview, "__enter__ __exit__"))


# ---- streams: what Python's base classes add to them ---------------------------------------------

@rule(*slots(io.IOBase.__base__, """__iter__ __next__ __enter__ __exit__ readline readlines flush
    _checkClosed _checkSeekable _checkReadable _checkWritable seekable readable writable isatty"""),
      kind="calls")
def stream_method(r, func, args, kwargs):
    if not is_a(args[0], (io.StringIO, io.BytesIO)) or r.know(args[0]) is not None:
        r.stop("effect", f"{name_of(func)} of {type(args[0]).__qualname__}")


@rule(*slots(io.IOBase.__base__, "writelines"), kind="calls")
def write_lines(r, func, args, kwargs):
    stream_method(r, func, args, kwargs)
    each_item(r, args[1], lambda item: value(r, item))


# ---- iterators over them --------------------------------------------------------------------------

for _made in (iter(memoryview(b"")), iter(array.array("b"))):
    add(own_method, "reads", *slots(type(_made), "__iter__ __next__"))


# ---- checksums and compression that go on ----------------------------------------------------------

for _cls in {type(getattr(hashlib, name)()) for name in sorted(hashlib.algorithms_guaranteed)} | {
        _hashlib.HASH, _hashlib.HASHXOF, _hashlib.HMAC, hashlib.blake2b, hashlib.blake2s}:
    add(own_method, "calls", *methods(_cls))
add(values, "allocates", *[getattr(hashlib, name) for name in sorted(hashlib.algorithms_guaranteed)],
    hashlib.blake2b.__new__, hashlib.blake2s.__new__, _hashlib.new, _hashlib.hmac_new,
    zlib.compressobj, zlib.decompressobj)
add(values, "pure", _hashlib.hmac_digest)
for _cls in (type(zlib.compressobj()), type(zlib.decompressobj())):
    add(own_method, "calls", *methods(_cls))


# ---- queues -----------------------------------------------------------------------------------------

def held(r, func, args, kwargs):
    """Holds its arguments, or gives back what it holds. One that would wait never returns."""
    if args and not is_a(args[0], type):
        internal(r, args[0])
    for arg in args[1:]:
        r.know(arg)


add(held, "calls", *methods(_queue.SimpleQueue))
add(held, "allocates", _queue.SimpleQueue, _queue.SimpleQueue.__new__)


# ---- random numbers -----------------------------------------------------------------------------------

RANDOM = _random.Random


@rule(RANDOM.__new__, kind="allocates")
def random_made(r, func, args, kwargs):
    """A generator of the recording's own gives the same numbers each time, once `seed` has
    been told what to start from."""
    if args[0].__init__ is not random.Random.__init__ or args[0].seed is not random.Random.seed:
        r.stop("random", args[0].__qualname__)


@rule(RANDOM.seed, kind="random")
def seeded(r, func, args, kwargs):
    own_random(r, func, args, kwargs)
    if len(args) < 2 or args[1] is None:
        r.stop("random", name_of(func))
    value(r, args[1])


@rule(RANDOM.random, RANDOM.getrandbits, kind="random")
def random_drawn(r, func, args, kwargs):
    if r.know(args[0]) is not None:     # the recording's own are known to `seeded`
        drawn(r, func, args, kwargs)


@rule(RANDOM.getstate, RANDOM.setstate, kind="random")
def own_random(r, func, args, kwargs):
    if r.know(args[0]) is not None:
        r.stop("random", name_of(func))
