"""Per type of object: what of it is read, and how it is made again.

`of` finds an object's kind (base.Kind) by its exact type, then by the builtin type
that its class is built on: a table instead of a ladder of isinstance checks.
"""

from magpy.refgraph.kinds import exceptions, instance, iterators, mapping, sequence, small
from magpy.refgraph.kinds.instance import hashes_by_identity

__all__ = ["of", "hashes_by_identity"]

# By id: a class may have a metaclass whose __hash__ is user code.
_TABLE = {id(cls): kind for table in (sequence.KINDS, mapping.KINDS, small.KINDS, iterators.KINDS)
          for cls, kind in table.items()}


def of(obj):
    """The kind of *obj*, or None when such objects cannot be made again."""
    kind = _TABLE.get(id(type(obj)))
    if kind is not None:
        return kind
    if sequence.is_structseq(type(obj)):
        return sequence.STRUCTSEQ
    if issubclass(type(obj), BaseException):
        return exceptions.of(type(obj))
    return instance.of(type(obj))
