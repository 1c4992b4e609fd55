"""Rules of datetime. Its objects cannot change, so an outside one is guarded by which it is.

What asks the clock, the machine's time zone or its language stops the capture.
"""

import datetime
import re

from magpy.recorder.callables.reads import name_of, plain, stops, values
from magpy.recorder.callables.registry import FIELD_TYPES, IDENTITY_TYPES, add, rule

KINDS = (datetime.date, datetime.time, datetime.datetime, datetime.timedelta, datetime.timezone)
IDENTITY_TYPES.update(KINDS)
FIELD_TYPES.update(KINDS)

OF_THE_CLOCK = {"now", "utcnow", "today"}
OF_THE_PLACE = {"fromtimestamp", "utcfromtimestamp", "timestamp", "astimezone", "ctime", "strptime", "timetuple",
                "utctimetuple"}
AS_TEXT = {"strftime", "__format__"}
NOT_CALLED = {"__new__", "__init__", "__getattribute__", "__reduce__", "__reduce_ex__", "__getinitargs__"}
# Directives of strftime whose text is the same in every language.
NUMERIC = re.compile(r"(?:[^%]|%[YmdHMSfjyuVGz%])*")


@rule(*[cls.__dict__[name] for cls in KINDS for name in AS_TEXT if name in cls.__dict__], kind="pure")
def formatted(r, func, args, kwargs):
    values(r, func, args, kwargs)
    for form in (*args[1:], *kwargs.values()):
        if not plain(form) or type(form) is str and not NUMERIC.fullmatch(form):
            r.stop("unknown-callable", f"{name_of(func)} in words")


for _cls in KINDS:
    add(values, "pure", _cls, _cls.__new__, *[
        method for name, method in _cls.__dict__.items()
        if name not in OF_THE_CLOCK | OF_THE_PLACE | AS_TEXT | NOT_CALLED and callable(method)
        and type(method).__name__ in ("method_descriptor", "wrapper_descriptor", "classmethod_descriptor")])
    add(stops("time"), "random", *[_cls.__dict__[name] for name in OF_THE_CLOCK if name in _cls.__dict__])
    add(stops("time"), "state", *[_cls.__dict__[name] for name in OF_THE_PLACE if name in _cls.__dict__])
