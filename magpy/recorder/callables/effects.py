"""Rules of effects that are done again at replay: print, writing to a stream, warnings, logging.

What is shown is the text that the recorded call showed. For plain values and containers of
them the text is known beforehand; of an object, it is what its ``__str__`` gives (`shown`).
"""

import enum
import gc
import io
import logging
import sys
import types
import warnings

from magpy.recorder.callables.reads import (
    CONTAINERS, is_tensor, name_of, plain, stops, text, value, watch)
from magpy.recorder.callables.registry import LEAF_CODE, add, is_a, rule

ENUM_TEXTS = (enum.Enum.__str__, enum.IntEnum.__str__, int.__repr__, str.__str__)


def calling_frame():
    """The frame whose call a rule is looking at."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").startswith("magpy.recorder"):
        frame = frame.f_back
    return frame


# ---- what is shown ----------------------------------------------------------------------------

def settled(r, obj, depth=0):
    """Is the text of *obj* told by values alone, which guards hold? Reads them."""
    if plain(obj):
        return True
    if is_a(obj, enum.Enum):
        return type(obj).__str__ in ENUM_TEXTS and type(obj).__repr__ in (
            enum.Enum.__repr__, int.__repr__)
    if type(type(obj)) is type and is_a(obj, type):
        text(r, obj, "__repr__")
        return type(obj) is type
    if type(obj) not in CONTAINERS or depth > 50:
        return False
    r.read_content(obj)
    return all(settled(r, part, depth + 1) for part in parts_of(obj))


def parts_of(obj):
    return (part for pair in obj.items() for part in pair) if type(obj) is dict else obj


def shown(r, args):
    """*args* as an effect can show them again: plain values as they are, the rest as text.
    Returns the list, and the positions of those whose text comes with the call."""
    result, open_places = [], []
    for i, arg in enumerate(args):
        if plain(arg):
            result.append(arg)
        elif settled(r, arg):
            result.append(str(arg))
        else:
            open_places.append(i)
            result.append(None)
    return result, open_places


def text_method(obj):
    """The Python function that makes the text of *obj*; None when C code does."""
    method = type(obj).__str__
    if method is object.__str__:
        method = type(obj).__repr__
    return method if is_a(method, types.FunctionType) else None


def fill_in(r, effect, args, places):
    """Put the texts of the objects at *places* into the effect as they are made, in order."""
    printing, frame, waiting = calling_frame(), r.frame(), list(places)
    methods = {text_method(args[i]) for i in places}

    def put(found):
        if calling_frame().f_back is not printing:
            return          # part of another text
        if r.effects[-1] is not effect:
            r.stop("effect", "an effect while a text is made")
        i = waiting.pop(0)
        effect.args = (*effect.args[:i], found, *effect.args[i + 1:])
        if not waiting:
            r.leaf(frame)
    for i in places:
        text(r, args[i])
    for method in methods:
        watch(r, method, put)


# ---- print -------------------------------------------------------------------------------------

@rule(print, kind="effect")
def print_text(r, func, args, kwargs):
    stream = kwargs.get("file")
    options = [option for name, option in kwargs.items() if name != "file"]
    if not all(plain(option) for option in options):
        r.stop("effect", "print with an object as option")
    if stream is None and r.is_internal(sys.stdout):
        stream = sys.stdout
    if stream is not None and r.know(stream) is None:
        prints_inside(r, stream, args)
        return
    if stream is not None and type(stream).__module__ != "_io" and \
            stream is not sys.stdout and stream is not sys.stderr:
        r.stop("effect", f"print to a {type(stream).__qualname__}")
    given, places = shown(r, args)
    for i in places:
        if is_tensor(args[i]) or text_method(args[i]) is None:
            r.stop("effect", f"print of a {type(args[i]).__qualname__}")
    r.effect(print, tuple(given), dict(kwargs))
    if not places:
        r.leaf()            # a stream that was put in place of stdout may be Python code
    elif is_a(getattr(type(stream or sys.stdout), "write", None), types.FunctionType):
        r.stop("effect", f"print of a {type(args[places[0]]).__qualname__} to a stream in Python")
    else:
        fill_in(r, r.effects[-1], args, places)


def prints_inside(r, stream, args):
    """To a stream of the recording's own: what it has written follows from its arguments."""
    if not is_a(stream, (io.StringIO, io.BytesIO)):
        r.read_attr(stream, "write")
    for arg in args:
        text(r, arg)


# ---- streams -------------------------------------------------------------------------------------

@rule(io.TextIOWrapper.write, io.StringIO.write, io.BytesIO.write, kind="effect")
def write(r, func, args, kwargs):
    """How many characters were written is known beforehand."""
    value(r, args[1])
    if r.know(args[0]) is not None:
        if not plain(args[1]):
            r.stop("effect", f"{name_of(func)} of a {type(args[1]).__qualname__}")
        r.effect(func, args)
        r.leaf()            # codecs may be Python code


@rule(io.TextIOWrapper.flush, kind="effect")
def flush(r, func, args, kwargs):
    if r.know(args[0]) is not None:
        r.effect(func, args)
        r.leaf()


add(stops("effect"), "effect", io.BytesIO.getbuffer, gc.collect, gc.disable, gc.enable)


# ---- warnings -------------------------------------------------------------------------------

class Rewarn:
    """The function of a warning's effect: warns as if from the recorded place, so that
    filters and the once-per-place registry treat it as the same warning."""

    __slots__ = ("filename", "lineno", "module", "namespace", "__name__")

    def __init__(self, frame, depth):
        for _ in range(depth):
            frame = frame.f_back or frame
        self.filename = frame.f_code.co_filename
        self.lineno = frame.f_lineno
        self.namespace = frame.f_globals
        self.module = self.namespace.get("__name__") or "<string>"
        self.__name__ = "warn"

    def __call__(self, message, category):
        warnings.warn_explicit(
            message, category or UserWarning, self.filename, self.lineno, self.module,
            self.namespace.setdefault("__warningregistry__", {}))


@rule(warnings.warn, kind="effect")
def warn(r, func, args, kwargs):
    """Warned again at replay, where filters are asked anew."""
    given = dict(zip(("message", "category", "stacklevel", "source"), args))
    given.update(kwargs)
    message, category = given.get("message"), given.get("category")
    if type(message) is not str or given.get("source") is not None or \
            given.get("skip_file_prefixes"):
        r.stop("effect", "a warning that is no plain text")
    depth = max(given.get("stacklevel", 1), 1) - 1
    r.effect(Rewarn(calling_frame(), depth), (message, category))
    r.leaf()


# How a warning of C code reaches sys.stderr. The C code warns again when it is called again.
LEAF_CODE.enter(warnings._showwarnmsg.__code__)


@rule(warnings._filters_mutated, kind="effect")
def filters_changed(r, func, args, kwargs):
    """Tells warnings' C code to look at the filters again."""
    r.effect(func, ())


# ---- logging --------------------------------------------------------------------------------

LEVELS = {logging.Logger.debug: logging.DEBUG, logging.Logger.info: logging.INFO,
          logging.Logger.warning: logging.WARNING, logging.Logger.error: logging.ERROR,
          logging.Logger.critical: logging.CRITICAL, logging.Logger.exception: logging.ERROR}


class Relog:
    """The function of a logging effect: logs as if from the recorded place."""

    __slots__ = ("place", "__name__")

    def __init__(self, frame, depth):
        for _ in range(depth):
            frame = frame.f_back or frame
        self.place = frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name
        self.__name__ = "log"

    def __call__(self, logger, level, message, args, extra):
        if logger.isEnabledFor(level):
            filename, lineno, function = self.place
            logger.handle(logger.makeRecord(
                logger.name, level, filename, lineno, message, args, None, function, extra, None))


def ask_level(r, logger, level):
    """Guards on what decides whether *logger* takes records of *level*."""
    if type(logger).isEnabledFor is not logging.Logger.isEnabledFor:
        r.stop("effect", f"levels of a {type(logger).__qualname__}")
    value(r, level)
    r.read_attr(logger, "disabled")
    r.read_attr(logger, "manager")
    r.read_attr(logger.manager, "_disable")
    while logger is not None:
        r.read_attr(logger, "level")
        if logger.level:
            break
        r.read_attr(logger, "parent")
        logger = logger.parent


@rule(logging.Logger.isEnabledFor, kind="state")
def enabled(r, func, args, kwargs):
    logger, level = args[0], kwargs.get("level", args[1] if len(args) > 1 else None)
    if r.know(logger) is None:
        r.stop("effect", "a logger made during the call")
    ask_level(r, logger, level)
    r.leaf()


@rule(*LEVELS, logging.Logger.log, kind="effect")
def log(r, func, args, kwargs):
    """Logged again at replay, where levels and handlers are asked anew. Records that were
    not taken need no text: that they still are not is a guard then."""
    logger, *rest = args
    if r.know(logger) is None:
        r.stop("effect", "a logger made during the call")
    level = LEVELS[func] if func in LEVELS else rest.pop(0)
    given = dict(kwargs)
    message = rest.pop(0) if rest else given.pop("msg", None)
    extra, depth = given.pop("extra", None), given.pop("stacklevel", 1)
    simple = type(message) is str and all(settled(r, arg) for arg in (*rest, extra)) and plain(depth) \
        and func is not logging.Logger.exception and not any(given.values())
    if simple and type(logger)._log is logging.Logger._log:
        r.effect(Relog(calling_frame(), max(depth, 1) - 1),
                 (logger, level, message, copied(tuple(rest)), copied(extra)))
    elif simple and not kwargs:
        r.effect(func, (logger, *args[1:2], *copied(args[2:])))
    elif type(level) is int and not logger.isEnabledFor(level):
        ask_level(r, logger, level)
    else:
        r.stop("effect", f"logging.Logger.{func.__name__} of objects")
    r.leaf()


def copied(obj):
    """*obj* as it is now: containers of the recording's own may change before the end."""
    if type(obj) is dict:
        return {key: copied(item) for key, item in obj.items()}
    if type(obj) in CONTAINERS and not plain(obj):      # plain ones cannot change
        return type(obj)(copied(item) for item in obj)
    return obj


@rule(logging.getLogger, kind="state")
def get_logger(r, func, args, kwargs):
    """There is one logger for a name, for good."""
    name = args[0] if args else kwargs.get("name")
    value(r, name)
    if name:
        loggers = logging.Logger.manager.loggerDict
        if not is_a(loggers.get(name), logging.Logger):
            r.stop("effect", "a new logger")
        r.edge(r.const_node(loggers, "logging.Logger.manager.loggerDict"), "dict", name,
               logging.getLogger(name), f"logging.getLogger({name!r})")
    else:
        r.know_constant(logging.root)
    r.leaf()
