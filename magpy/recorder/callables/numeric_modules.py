"""Rules of math and cmath: functions of numbers, and a few of iterables of numbers."""

import cmath
import math
import types

from magpy.recorder.callables.reads import convert, each_item, index, number
from magpy.recorder.callables.registry import add, is_a, rule

OF_INTEGERS = (math.gcd, math.lcm, math.isqrt, math.factorial, math.comb, math.perm)
OF_ITEMS = (math.fsum, math.prod, math.sumprod, math.dist)
ROUNDING = {math.ceil: "__ceil__", math.floor: "__floor__", math.trunc: "__trunc__"}


@rule(*OF_INTEGERS, kind="pure")
def of_integers(r, func, args, kwargs):
    for arg in args:
        index(r, arg)


@rule(*OF_ITEMS, kind="calls")
def of_items(r, func, args, kwargs):
    for arg in args:
        each_item(r, arg, lambda item: number(r, item))
    for start in kwargs.values():
        number(r, start)


@rule(*ROUNDING, kind="pure")
def rounding(r, func, args, kwargs):
    convert(r, args[0], ROUNDING[func], "__float__", "__index__")


def of_numbers(r, func, args, kwargs):
    for arg in (*args, *kwargs.values()):
        convert(r, arg, *(("__complex__",) if func.__module__ == "cmath" else ()),
                "__float__", "__index__")


for _module in (math, cmath):
    for _function in vars(_module).values():
        if is_a(_function, types.BuiltinFunctionType) and \
                _function not in (*OF_INTEGERS, *OF_ITEMS, *ROUNDING):
            add(of_numbers, "pure", _function)
