"""MagPy's own functions, called while a call is recorded. A compiled callable inside: the
outer capture goes on through the function that was compiled, as if it had not been."""

from magpy import api, control
from magpy.dispatch import compiled
from magpy.recorder.callables.reads import stops
from magpy.recorder.callables.registry import FIELD_TYPES, IDENTITY_BASES, add, rule

add(stops("graph-break"), "effect", api.graph_break)
add(stops("object-write"), "effect", control.annotate, control.allow_in_graph)


@rule(compiled.enter_disabled, kind="effect")
def disabled_block(r, func, args, kwargs):
    """A function that is marked is told where its frame starts: this is the ``with`` statement."""
    r.stop("disabled", "with magpy.disable()")

# Which compiled callable it is decides what is called: it is guarded by identity.
IDENTITY_BASES.append(compiled.Compiled)
FIELD_TYPES.add(compiled.Table)


@rule(compiled.Compiled.__call__, kind="calls")
def call_compiled(r, func, args, kwargs):
    original = compiled.table_of(args[0]).fn
    r.know_constant(original)
    r.call(original, args[1:], kwargs)


@rule(compiled.table_of, kind="reads")
def read_table(r, func, args, kwargs):
    table = compiled.table_of(args[0])
    r.know_constant(table)
    r.know_constant(table.fn)
