"""A compiled callable met while another one is recorded: the outer capture goes on
through the function inside, as if it had not been compiled."""

from magpy.dispatch import compiled
from magpy.recorder.callables.registry import FIELD_TYPES, IDENTITY_BASES, rule

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
