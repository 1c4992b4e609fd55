"""Programs that write their own globals need globals of their own: a module made from text, one per twin."""
import itertools
import linecache
import textwrap
import types

_numbers = itertools.count()


def module(source):
    """A new module from ``source``; tracebacks show its lines."""
    source = textwrap.dedent(source)
    name = f"fresh_{next(_numbers)}"
    filename = f"<{name}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
    made = types.ModuleType(name)
    exec(compile(source, filename, "exec"), made.__dict__)
    return made
