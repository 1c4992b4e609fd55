"""Rules of set and frozenset. Guards know a set's content as a whole, so every question about
an outside set reads all of it."""

from magpy.recorder.callables.reads import each_item, fixed, hashes, items_of, nothing, stops, text
from magpy.recorder.callables.registry import add, is_a, rule, slots
from magpy.recorder.callables.sequences import copied

# ---- sets -------------------------------------------------------------------------

def ordered(r, items):
    """The order of a set's items is seen: it must be the same whenever they are."""
    if len(items) > 1 and not all(fixed(item) for item in items):
        r.stop("dict-key", "the order of a set of objects")


def set_items(obj):
    return (set if is_a(obj, set) else frozenset).__iter__(obj)


@rule(*slots(set, "__len__"), *slots(frozenset, "__len__"))
def set_len(r, func, args, kwargs):
    r.read_len(args[0])


@rule(*slots(frozenset, "__hash__"))
def frozenset_hash(r, func, args, kwargs):
    r.read_content(args[0])
    for item in set_items(args[0]):
        hashes(r, item)


@rule(*slots(set, "__repr__"), *slots(frozenset, "__repr__"))
def set_repr(r, func, args, kwargs):
    for item in items_of(r, args[0]):
        text(r, item, "__repr__")


add(stops("object-read"), "random", *slots(set, "__sizeof__"))


@rule(*slots(set, "__iter__"), *slots(frozenset, "__iter__"), kind="allocates")
def set_iter(r, func, args, kwargs):
    node = r.know(args[0])
    r.read_content(args[0])
    if node is None or node.written:        # else a guard holds the order, too
        ordered(r, list(set_items(args[0])))


@rule(*slots(set, "copy"), *slots(frozenset, "copy"), kind="allocates")
def set_copy(r, func, args, kwargs):
    r.read_content(args[0])


@rule(*slots(set, "__contains__"), *slots(frozenset, "__contains__"))
def set_contains(r, func, args, kwargs):
    r.read_content(args[0])
    hashes(r, args[1])


SET_QUESTIONS = """__eq__ __ne__ __lt__ __le__ __gt__ __ge__ __and__ __rand__ __or__ __ror__
    __xor__ __rxor__ __sub__ __rsub__ difference intersection isdisjoint issubset issuperset
    symmetric_difference union"""


@rule(*slots(set, SET_QUESTIONS), *slots(frozenset, SET_QUESTIONS))
def set_algebra(r, func, args, kwargs):
    for arg in args:
        if is_a(arg, (set, frozenset)):
            r.read_content(arg)
        elif func.__name__[:2] != "__":
            each_item(r, arg, lambda item: hashes(r, item))


@rule(set.add, set.discard, kind="mutates")
def set_change(r, func, args, kwargs):
    hashes(r, args[1])
    node = r.know(args[0])
    if node is None or func is set.discard and taken_back(r, node, args[1]):
        return
    if not fixed(args[1]):
        r.stop("dict-key", "an object put into an outside set")
    r.mutate(args[0], func, args)


def taken_back(r, node, item):
    """Did the recording put *item* into this outside set, as the last thing done to it, when it was not there?
    Then nothing is left to redo: how `reprlib.recursive_repr` marks what it is at. Only where it has
    asked what is in there: else a guard says nothing of the item."""
    if node.done != "content" or not fixed(item):
        return False
    done = [i for i, effect in enumerate(r.effects) if effect.args and effect.args[0] is node.obj]
    if not done or r.effects[done[-1]].func is not set.add or r.effects[done[-1]].args[1] != item:
        return False
    before = set(node.snapshot)
    for i in done[:-1]:
        r.effects[i].func(before, *r.effects[i].args[1:])
    if item in before:
        return False
    del r.effects[done[-1]]
    return True


@rule(set.remove, set.pop, set.clear, kind="mutates")
def set_take(r, func, args, kwargs):
    if func is not set.clear:
        r.read_content(args[0])
    if func is set.pop:
        ordered(r, list(set_items(args[0])))
        if r.know(args[0]) is not None:
            r.stop("object-write", "pop of an outside set")
    for item in args[1:]:
        hashes(r, item)
    r.mutate(args[0], func, args)


@rule(set.update, set.difference_update, set.intersection_update,
      set.symmetric_difference_update, *slots(set, "__ior__ __iand__ __isub__ __ixor__"),
      kind="mutates")
def set_update(r, func, args, kwargs):
    owner, others = args[0], args[1:]
    if func.__name__[:2] == "__" and not is_a(others[0], (set, frozenset)):
        return
    outside = r.know(owner) is not None
    copies = []
    for other in others:
        if is_a(other, (set, frozenset)):
            r.read_content(other)
        else:
            each_item(r, other, lambda item: hashes(r, item))
        if outside:
            items = copied(r, other, func.__name__)
            if not all(fixed(item) for item in items):
                r.stop("dict-key", "objects put into an outside set")
            copies.append(frozenset(items))
    r.mutate(owner, func, (owner, *copies))


# ---- constructors -------------------------------------------------------------------

def takes_keys(r, source):
    if is_a(source, (set, frozenset)):
        r.read_content(source)
    else:
        each_item(r, source, lambda item: hashes(r, item))


@rule(set, frozenset, kind="allocates")
def set_type(r, func, args, kwargs):
    for arg in args:
        takes_keys(r, arg)


add(nothing, "allocates", *slots(set, "__new__"))


@rule(*slots(frozenset, "__new__"), kind="allocates")
def frozenset_new(r, func, args, kwargs):
    """frozenset.__new__(cls, items)"""
    for arg in args[1:]:
        takes_keys(r, arg)


@rule(*slots(set, "__init__"), kind="mutates")
def set_init(r, func, args, kwargs):
    """set.__init__(self, items); *self* is None when the type is being called."""
    if args[0] is not None and r.know(args[0]) is not None:
        r.stop("object-write", "set.__init__ on an outside object")
    for arg in args[1:]:
        takes_keys(r, arg)
