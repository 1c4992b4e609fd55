"""What a write drops must go quietly: without a finalizer, and without weak references to it.

While a call is recorded, the recorder holds what it knows, and would put such an end off. At
replay another object may stand where the program writes. In the program its end comes with the
write, and what the call reads after that may have changed; mock code redoes all writes behind
the graph, from values that were read before. So where reads follow a write, a guard asks what
dies with it.
"""

import gc
import types
from collections import OrderedDict, deque

from magpy.guards.program import ends_quietly, own_dict
from magpy.recorder.increment import Update
from magpy.refgraph.graph import ABSENT
from magpy.refgraph.nodes import Edge

_ATTRIBUTE = (object.__setattr__, object.__delattr__, setattr, delattr)
_OF_TYPE = (type.__setattr__, type.__delattr__)
_OF_DICT = (dict.__setitem__, dict.__delitem__, dict.pop)
_OF_LIST = (list.__setitem__, list.__delitem__)
_ONLY_ADD = (list.append, list.extend, list.insert, list.__iadd__, list.sort, list.reverse, dict.setdefault, set.add,
             set.update, set.__ior__, OrderedDict.move_to_end)
_DEQUE_ADD = (deque.append, deque.appendleft, deque.extend, deque.extendleft)
_CONTAINERS = (list, dict, set, deque)
_C_FUNCTIONS = (types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType)
_PLAIN = (type(None), bool, int, float, complex, str, bytes)


def check_dropped(r, effect):
    """Before *effect* is done in the recorded call. Stops where more than memory goes with it."""
    place = _place(r, effect)
    if place is None:
        return
    _, op, key, _, content, text = place
    value = _now(r, effect.args[0], op, key)
    if value is ABSENT or type(value) in _PLAIN:
        return
    if not ends_quietly([value, *_copied(r, effect)], content, r.nodes) and not (
            op in ("attr", "dict") and not content and _has_another_owner(r, value, effect.args[0])):
        r.stop("finalizer", f"{text} is replaced, and more than memory may go with it")


def _has_another_owner(r, value, owner):
    """Does an object that was there before the call hold *value* too? What the recorder holds is counted with
    room to spare; this takes long, and settles it for what would have been a stop."""
    dict_of_owner = own_dict(owner)
    return any(holder is not owner and holder is not dict_of_owner and not r.is_internal(holder)
               for holder in gc.get_referrers(value))


def _copied(r, effect):
    """What the recorder's copy of a container holds."""
    node = r.node_of(effect.args[0])
    content = node.snapshot if node is not None else None
    return list(content.values() if type(content) is dict else content or ())


def _now(r, owner, op, key):
    if op == "slot":
        return owner
    try:
        if op == "cell":
            return owner.cell_contents
        if op == "dict":
            names = owner if issubclass(type(owner), dict) else object.__getattribute__(owner, "__dict__")
            return dict.get(names, key, ABSENT)
        if op == "list":
            return list.__getitem__(owner, key)
        if op == "member":
            return key.__get__(owner)
        if op == "type_own":
            return type.__dict__["__dict__"].__get__(owner).get(key[1], ABSENT)
        return r.own_attribute(owner, key)
    except (AttributeError, IndexError, ValueError):
        return ABSENT


def dropped_quietly(r):
    """The guards, as edges."""
    operations = len(r.recording.tape.ops)
    effects = [effect for i, effect in enumerate(r.effects) if i < r.read_after or effect.operations < operations]
    places = {}
    for effect in effects:
        place = _place(r, effect)
        if place is not None:
            places.setdefault(place[:3], place)
    known = _known_to_be_plain(r.edges) if places else ()
    found = [place for place in places.values() if place[:3] not in known]
    return [Edge((op, key), parent, ("quiet", (i == len(found) - 1, content)), None, text)
            for i, (_, op, key, parent, content, text) in enumerate(found)]


def _known_to_be_plain(edges):
    """References that are guarded to be numbers, strings or nothing."""
    return {(edge.parent.index if edge.parent is not None else -1, *edge.load) for edge in edges
            if edge.check[0] in ("leaf", "absent") or edge.check[0] == "type" and edge.check[1] in _PLAIN}


def _place(r, effect):
    """(parent's index, load op, key, parent, content, text): the reference that *effect* overwrites, or whose
    target it may take out of it whatever is in there."""
    func, args = effect.func, effect.args
    if not args or type(func) is Update:
        return None
    owner = args[0]
    if any(func is each for each in _OF_TYPE):
        return -1, "type_own", (owner, args[1]), None, False, f"{owner.__qualname__}.{args[1]}"
    node = r.node_of(owner)
    if any(func is each for each in _ATTRIBUTE):
        return _attribute(r, node, owner, args[1])
    if node is None:
        return None
    if type(owner) is types.CellType:
        return node.index, "cell", None, node, False, node.path
    if not issubclass(type(owner), _CONTAINERS) and not node.changed:
        return None
    key = args[1] if len(args) > 1 else ABSENT
    if any(func is each for each in _OF_DICT) and type(key) in _PLAIN:
        return node.index, "dict", key, node, False, f"{node.path}[{key!r}]"
    if any(func is each for each in _OF_LIST) and type(key) is int:
        return node.index, "list", key, node, False, f"{node.path}[{key}]"
    if type(func) in _C_FUNCTIONS and any(func is each for each in _ONLY_ADD) \
            or any(func is each for each in _DEQUE_ADD) and owner.maxlen is None:
        return None
    return node.index, "slot", None, node, True, f"content of {node.path}"


def _attribute(r, node, owner, name):
    if issubclass(type(owner), types.ModuleType):
        node = r.node_of(object.__getattribute__(owner, "__dict__"))
        return (node.index, "dict", name, node, False, f"{node.path}.{name}") if node is not None else None
    if node is None:
        return None
    slot = r.raw_lookup(type(owner), name)
    if type(slot) is types.MemberDescriptorType:
        return node.index, "member", slot, node, False, f"{node.path}.{name}"
    return node.index, "attr", name, node, False, f"{node.path}.{name}"
