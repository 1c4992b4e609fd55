"""A compiled function: a C callable that looks like the function it was made from."""

import functools
import types

from magpy.dispatch import compiled


class CompiledFunction(compiled.Compiled):
    """What ``magpy.compile(f)`` returns for a function, method or other callable."""

    def __init__(self, table):
        super().__init__(table)
        functools.update_wrapper(self, table.fn)

    def __get__(self, instance, owner=None):
        # In a class body it is a method: one table, self its first argument.
        return self if instance is None else types.MethodType(self, instance)

    def __repr__(self):
        return f"<magpy.compile of {compiled.table_of(self).fn!r}>"

    def __reduce__(self):
        raise TypeError("a compiled function cannot be pickled: pickle the function and "
                        "compile it again")

    def __copy__(self):
        return self             # as functions are

    def __deepcopy__(self, memo):
        return self
