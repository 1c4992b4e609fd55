"""Rules of contextvars: state of the running context, which is neither an attribute nor
an item of anything.

A variable that is set and reset within the call leaves nothing behind, which is how
libraries use them; its `set` is an effect that the matching `reset` takes back. Reading a
variable that the recording has not set is a guard that asks the variable again.
"""

from contextvars import ContextVar, Token

from magpy.recorder.callables.reads import nothing
from magpy.recorder.callables.registry import IDENTITY_TYPES, add, rule
from magpy.refgraph.graph import ABSENT

IDENTITY_TYPES.update({ContextVar, Token})


def settings(r, variable):
    """The effects of this recording that set *variable* and were not taken back."""
    return [effect for effect in r.effects
            if effect.func is ContextVar.set and effect.args[0] is variable]


@rule(ContextVar.get, kind="state")
def get(r, func, args, kwargs):
    variable = args[0]
    if settings(r, variable):
        return
    if len(args) > 1:
        r.stop("object-read", f"{variable.name}.get() with a default")
    read = variable.get
    try:
        value = read()
    except LookupError:
        value = ABSENT
    r.edge(None, "call", read, value, f"{variable.name}.get()")


@rule(ContextVar.set, kind="mutates")
def set_(r, func, args, kwargs):
    r.effect(func, args)


@rule(ContextVar.reset, kind="mutates")
def reset(r, func, args, kwargs):
    variable, token = args
    made = settings(r, variable)
    before = made[-2].args[1] if len(made) > 1 else None
    if not made or len(made) > 1 and token.old_value is not before:
        r.stop("object-write", f"reset of {variable.name} out of order")
    for i, effect in enumerate(r.effects):
        if effect is made[-1]:
            del r.effects[i]
            break


add(nothing, "allocates", ContextVar)
