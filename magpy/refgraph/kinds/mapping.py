"""Dicts of exactly the builtin types. Subclasses are in instance.py.

``parts`` alternates keys and values, in the dict's order.
"""

import collections

from magpy.reasons import StopCapture
from magpy.refgraph.kinds.base import Filled


def flat_items(items, d):
    """Recipes of keys and values, alternating."""
    parts = []
    for key, value in items:
        parts.append(d.key(key))
        parts.append(d.value(value))
    return parts


def pairs(parts):
    return zip(parts[0::2], parts[1::2])


def display(parts, w):
    """The text of a dict display."""
    return "{" + ", ".join(f"{w.ref(k)}: {w.ref(v)}" for k, v in pairs(parts)) + "}"


class _Dict(Filled):

    def describe(self, obj, new, d):
        new.parts = flat_items(dict.items(obj), d)

    def make(self, new, w):
        return "{}"

    def fill(self, new, name, w):
        return [f"{name}.update({display(new.parts, w)})"] if new.parts else []

    def whole(self, new, w):
        return display(new.parts, w)


class _OrderedDict(_Dict):

    def describe(self, obj, new, d):
        if obj.__dict__:
            raise StopCapture("output-kind", "an OrderedDict with attributes")
        new.parts = flat_items(collections.OrderedDict.items(obj), d)

    def make(self, new, w):
        return "OrderedDict()"

    def whole(self, new, w):
        return f"OrderedDict({display(new.parts, w)})"


class _DefaultDict(Filled):
    """The factory is the first part, then the items."""

    def describe(self, obj, new, d):
        factory = collections.defaultdict.default_factory.__get__(obj)
        new.parts = [d.value(factory), *flat_items(dict.items(obj), d)]

    def first(self, new):
        return 1

    def make(self, new, w):
        return f"defaultdict({w.ref(new.parts[0])})"

    def fill(self, new, name, w):
        return [f"{name}.update({display(new.parts[1:], w)})"] if new.parts[1:] else []

    def whole(self, new, w):
        return f"defaultdict({w.ref(new.parts[0])}, {display(new.parts[1:], w)})"


KINDS = {
    dict: _Dict(),
    collections.OrderedDict: _OrderedDict(),
    collections.defaultdict: _DefaultDict(),
}
