"""What a kind of object is: four questions that describing and emitting ask.

    describe(obj, new, d)   set new.parts (recipes, by d.value) and new.static (any
                            other data), reading the real object and never through
                            what its class overrides
    first(new)              how many of the leading parts must exist to make it
    make(new, w)            an expression that makes it from those
    fill(new, name, w)      statements that put the other parts into it
    whole(new, w)           an expression that does both at once, or None

In a cycle something is always made before it is filled; elsewhere the shorter
``whole`` is used. *w* is the writer of the emitted code: ``w.ref(recipe)`` and
``w.refs(recipes)`` are texts of parts, ``w.constant(obj, hint)`` a name for an
object, ``w.type(cls)`` a name for a class.
"""


class Fixed:
    """A kind that cannot change once made."""

    def describe(self, obj, new, d):
        raise NotImplementedError

    def first(self, new):
        return len(new.parts)

    def make(self, new, w):
        return self.whole(new, w)

    def fill(self, new, name, w):
        return []

    def whole(self, new, w):
        raise NotImplementedError


class Filled(Fixed):
    """A kind that can be made empty."""

    def first(self, new):
        return 0

    def make(self, new, w):
        raise NotImplementedError

    def whole(self, new, w):
        return None
