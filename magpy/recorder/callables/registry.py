"""The tables of rules for C callables, filled by the modules of this package.

A rule is a function ``rule(r, func, args, kwargs)`` that runs *before* the call
happens. It tells the recorder what the call reads and writes outside:

    r.read_content(obj), r.read_deep(obj), r.read_len(obj), r.read_key(d, key), ...
    r.mutate(obj, func, args, kwargs)    the call changes *obj*: redo it at replay
    r.stop(reason, detail)               it cannot be captured

Methods get their receiver first, also when they are called bound; the rule of a type
gets the type as *func*. A C callable without a rule stops the capture: nothing is
assumed to be pure.

Each entry has a *kind*, one word for what the rule claims, so that a test can hold the
claim against the function itself (tests/recorder/test_rules.py):

    pure        depends on the values of its arguments alone, and changes nothing
    reads       reads what its arguments hold, one level or deep
    allocates   makes an object from its arguments
    mutates     changes its first argument
    calls       calls back into Python code or other C functions
    state       reads a setting outside its arguments
    effect      input or output, replayed or a stop
    random      draws from a generator, or reads a clock or an address: a stop
"""

KINDS_OF_RULES = ("pure", "reads", "allocates", "mutates", "calls", "state", "effect", "random")

RULES = {}              # C function, method descriptor or type -> rule
KINDS = {}              # the same keys -> kind
TORCH_OPERATORS = set() # C functions of torch that a TorchFunctionMode sees
USERS = set()           # those of RULES that users annotated
ANNOTATED = {}          # id of a Python function that users annotated -> (weak reference, rule)

class ByCode(dict):
    """A value for each of some code objects, which are its attribute ``codes``. The key is the id: a code
    object takes a microsecond to hash, since it compares by what is in it."""

    def __init__(self):
        self.codes = []

    def enter(self, code, value=True):
        if id(code) not in self:
            self.codes.append(code)
        self[id(code)] = value


LEAF_CODE = ByCode()    # of Python functions that are run, not recorded
PREPARE = ByCode()      # of Python functions -> what to do before their first call
FILLS = ByCode()        # of each __getattr__ that keeps what it finds -> fill(obj, name), true if it did
COPIES_VALUES = ByCode()    # of functions in which a value is compared with what a copy of it gave
FIELD_TYPES = set()     # C types whose attributes are plain fields: reading one runs no code
BUFFER_TYPES = set()    # C types whose content is memory that a guard can compare
IDENTITY_TYPES = set()  # types whose instances never change: which one it is says it all
IDENTITY_BASES = []     # the same for base classes


def rule(*callables, kind="reads"):
    """Decorator: the function below is the rule of *callables*."""
    def register(function):
        add(function, kind, *callables)
        return function
    return register


def add(function, kind, *callables):
    """Enter *function* as the rule of *callables*."""
    if kind not in KINDS_OF_RULES:
        raise ValueError(f"{kind!r} is no kind of rule")
    for callable_ in callables:
        RULES[callable_] = function
        KINDS[callable_] = kind


def is_a(obj, classes):
    """Is *obj* by its type an instance of *classes*? isinstance() would ask obj.__class__, too, and that may be code
    of the user's, which a rule must not run."""
    return issubclass(type(obj), classes)


def slots(cls, names):
    """The C methods of *cls* itself that are called so; names it lacks are left out."""
    return [cls.__dict__[name] for name in names.split() if name in cls.__dict__]
