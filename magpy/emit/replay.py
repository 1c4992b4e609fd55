"""Which mock code needs no Python function, and its steps (native/replay.h).

Most calls only run a graph and give its outputs back, alone or in tuples, lists and
dicts. A step is (operation, number, object); an object that is used twice, or is part of
itself, is left to the function that emit/mock.py writes, as are effects and random state.
"""

from magpy.refgraph.values import Const, FromSlot, GraphOut

_OPERATIONS = ("output", "slot", "constant", "list", "tuple", "dict")
OUTPUT, SLOT, CONSTANT, LIST, TUPLE, DICT = range(len(_OPERATIONS))


def steps(result, slots):
    """The steps that make *result* (a recipe) again, or None. *slots*: the nodes that the
    guards give, in order."""
    made = []
    seen = set()
    positions = {node.index: i for i, node in enumerate(slots)}

    def add(recipe):
        kind = type(recipe)
        if kind is GraphOut:
            made.append((OUTPUT, recipe.index, None))
        elif kind is FromSlot:
            made.append((SLOT, positions[recipe.node.index], None))
        elif kind is Const:
            made.append((CONSTANT, 0, recipe.obj))
        elif id(recipe) in seen or recipe.type not in (list, tuple, dict):
            return False
        else:
            seen.add(id(recipe))
            return add_new(recipe)
        return True

    def add_new(new):
        if new.type is not dict:
            if not all(map(add, new.parts)):
                return False
            made.append((LIST if new.type is list else TUPLE, len(new.parts), None))
            return True
        keys, values = new.parts[0::2], new.parts[1::2]
        if any(type(key) is not Const for key in keys) or not all(map(add, values)):
            return False
        made.append((DICT, 0, tuple(key.obj for key in keys)))
        return True

    return made if add(result) else None
