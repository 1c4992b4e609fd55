"""Rules of library functions in C that depend on numbers, text and bytes alone.

A buffer that can change (a bytearray, an array, a memoryview) is such a value only while
the recording's own code holds it: `values` stops at one from outside.
"""

import _codecs
import _io
import _operator
import _sre
import _statistics
import _string
import binascii
import hashlib
import keyword
import posix
import struct
import sys
import unicodedata
import zlib

from magpy.recorder.callables.reads import internal, value, values
from magpy.recorder.callables.registry import FIELD_TYPES, IDENTITY_TYPES, add, is_a, rule, slots


def functions(module, names):
    return [getattr(module, name) for name in names.split() if hasattr(module, name)]


add(values, "pure",
    *functions(struct, "calcsize pack unpack"),
    *functions(zlib, "adler32 crc32 compress decompress"),
    *functions(binascii, """a2b_base64 a2b_hex a2b_qp a2b_uu b2a_base64 b2a_hex b2a_qp b2a_uu crc32
        crc_hqx hexlify unhexlify"""),
    *functions(unicodedata, """bidirectional category combining decimal decomposition digit
        east_asian_width is_normalized lookup mirrored name normalize numeric"""),
    *functions(_sre, "ascii_iscased ascii_tolower unicode_iscased unicode_tolower getcodesize"),
    *functions(posix, "_path_normpath _path_splitroot_ex"),
    *functions(hashlib, "pbkdf2_hmac scrypt"),
    _operator._compare_digest, _statistics._normal_dist_inv_cdf)
# A user's own error handler is a Python function that nobody looked up: it stops the capture.
add(values, "pure", *[each for name, each in vars(_codecs).items() if name.endswith(("_encode", "_decode"))],
    _io.text_encoding)
add(values, "pure", *functions(keyword, "iskeyword issoftkeyword"))

# Fixed when the interpreter starts.
add(values, "state", *functions(sys, """getdefaultencoding getfilesystemencoding
    getfilesystemencodeerrors is_finalizing _is_gil_enabled"""))


# ---- struct --------------------------------------------------------------------------------

IDENTITY_TYPES.add(struct.Struct)       # what it was made of cannot change
FIELD_TYPES.add(struct.Struct)
add(values, "allocates", struct.Struct, struct.Struct.__new__, *slots(struct.Struct, "__init__"))
add(values, "pure", *slots(struct.Struct, "pack unpack"))


@rule(struct.iter_unpack, struct.unpack_from, *slots(struct.Struct, "iter_unpack unpack_from"),
      kind="reads")
def unpacks(r, func, args, kwargs):
    """They look into a buffer later, or at a place of it."""
    for arg in (*args, *kwargs.values()):
        value(r, arg)


@rule(struct.pack_into, *slots(struct.Struct, "pack_into"), kind="mutates")
def packs_into(r, func, args, kwargs):
    for arg in args:
        if not is_a(arg, struct.Struct):
            value(r, arg)


add(values, "allocates", *functions(_string, "formatter_parser formatter_field_name_split"))
UNPACKER = type(struct.iter_unpack("b", b""))


@rule(*slots(UNPACKER, "__iter__ __next__ __length_hint__"), kind="reads")
def unpacker(r, func, args, kwargs):
    internal(r, args[0])


# The parts of a format string come from iterators of C's own.
for _iterator in (_string.formatter_parser(""), _string.formatter_field_name_split("a")[1]):
    add(unpacker, "reads", *slots(type(_iterator), "__iter__ __next__"))
