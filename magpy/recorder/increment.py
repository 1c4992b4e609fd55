"""Counter updates (`obj.n += 1`): found in bytecode, redone at replay.

A guard on the number would miss on every call; so a load that can only feed such a
store, which the bytecode tells, is not a read of the value but part of one operation.
A later look at the result in the same call is a read of the old value after all
(`Recorder.read_written`). The general case is a traced scalar (design, section 7).
"""

import operator
from opcode import _inline_cache_entries, opmap

OPERATORS = {13: operator.iadd, 18: operator.imul, 23: operator.isub}   # BINARY_OP's oparg
EXTENDED_ARG = opmap["EXTENDED_ARG"]
CACHES = {opmap[name]: count for name, count in _inline_cache_entries.items() if name in opmap}

# load, the shuffle before the store, the store, whether the load's name index is shifted
SHAPES = (
    ("LOAD_ATTR", ("SWAP",), "STORE_ATTR", True),
    ("LOAD_GLOBAL", (), "STORE_GLOBAL", True),
    ("LOAD_DEREF", (), "STORE_DEREF", False),
    ("BINARY_SUBSCR", ("SWAP", "SWAP"), "STORE_SUBSCR", False),
)


class Increment:
    """A counter update in the bytecode: the offset of its store, and its operand, which
    is a constant or the fast local of that index."""

    __slots__ = ("store", "operator", "const", "local")

    def __init__(self, store, op, const, local):
        self.store = store
        self.operator = op
        self.const = const
        self.local = local


def real_instructions(code):
    """[(offset, op, oparg)], offsets in code units, caches and prefixes left out."""
    text = code.co_code
    result, i, arg = [], 0, 0
    while i < len(text) // 2:
        op, low = text[2 * i], text[2 * i + 1]
        arg = (arg << 8) | low
        if op == EXTENDED_ARG:
            i += 1
            continue
        result.append((i, op, arg))
        arg = 0
        i += 1 + CACHES.get(op, 0)
    return result


def find_increments(code):
    """{offset of the load: Increment} of a code object."""
    instructions = real_instructions(code)
    found = {}
    for start, (offset, op, _) in enumerate(instructions):
        for shape in SHAPES:
            if op == opmap[shape[0]]:
                match = match_shape(code, instructions, start, shape)
                if match is not None:
                    found[offset] = match
    return found


def match_shape(code, instructions, start, shape):
    load, shuffle, store, shifted = shape
    names = ("BINARY_OP", *shuffle, store)
    rest = instructions[start + 1: start + 2 + len(names)]
    if [op for _, op, _ in rest[1:]] != [opmap[name] for name in names]:
        return None
    if rest[1][2] not in OPERATORS or not container_is_kept(instructions, start, load):
        return None
    index = instructions[start][2]
    if shifted:
        if index & 1:       # with a NULL or self pushed: a call
            return None
        index >>= 1
    if store != "STORE_SUBSCR" and rest[-1][2] != index:
        return None
    _, op, arg = rest[0]
    if op == opmap["LOAD_CONST"]:
        return Increment(rest[-1][0], OPERATORS[rest[1][2]], code.co_consts[arg], None)
    if op == opmap["LOAD_FAST"]:
        return Increment(rest[-1][0], OPERATORS[rest[1][2]], None, arg)
    return None


def container_is_kept(instructions, start, load):
    """The container must wait on the stack for the store: COPY 1, or COPY 2 twice."""
    copy = opmap["COPY"]
    if load == "LOAD_ATTR":
        return start >= 1 and instructions[start - 1][1:] == (copy, 1)
    if load == "BINARY_SUBSCR":
        return start >= 2 and all(x[1:] == (copy, 2) for x in instructions[start - 2:start])
    return True


class Update:
    """The function of an increment's effect: ``update(container, operand)``.

    ``op`` is the edge's load op (attr, dict, cell), ``key`` its key.
    """

    __slots__ = ("op", "key", "operator", "__name__")

    def __init__(self, op, key, op_function):
        self.op = op
        self.key = key
        self.operator = op_function
        self.__name__ = f"increment_{op}"

    def __call__(self, container, operand):
        if self.op == "attr":
            value = self.operator(object.__getattribute__(container, self.key), operand)
            object.__setattr__(container, self.key, value)
        elif self.op == "dict":
            value = self.operator(dict.__getitem__(container, self.key), operand)
            dict.__setitem__(container, self.key, value)
        else:
            container.cell_contents = self.operator(container.cell_contents, operand)
