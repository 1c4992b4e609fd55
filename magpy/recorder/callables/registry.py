"""The tables of rules for C callables, filled by the modules of this package.

A rule is a function ``rule(r, func, args, kwargs)`` that runs *before* the call
happens. It tells the recorder what the call reads and writes outside:

    r.read_content(obj), r.read_deep(obj), r.read_len(obj), r.read_key(d, key), ...
    r.mutate(obj, func, args, kwargs)    the call changes *obj*: redo it at replay
    r.stop(reason, detail)               it cannot be captured

A C callable without a rule stops the capture: nothing is assumed to be pure.
"""

RULES = {}              # C function, method descriptor or type -> rule
TORCH_OPERATORS = set() # C functions of torch that a TorchFunctionMode sees
LEAF_CODE = set()       # code objects of Python functions that are run, not recorded


def rule(*callables):
    """Decorator: the function below is the rule of *callables*."""
    def register(function):
        for callable_ in callables:
            RULES[callable_] = function
        return function
    return register
