"""A function taken apart: each simple statement becomes a function of its own, called from where it stood.

    for x in values:                        for x in values:
        y = twice(x)               ->           y, = parts[0](x, twice)
        self.assertEqual(y, x + x)              parts[1](self, x, y)

The names that a statement reads are the part's parameters, those that it binds its results. What stays as it is: the
headers of compound statements; statements that a part cannot stand for (return, yield, del, nonlocal…); and functions
made inside that use a variable which is bound elsewhere too, since they share the variable and not its value.
"""
import ast
import inspect
import textwrap
import types

_COMPOUND = (ast.If, ast.For, ast.While, ast.Try, ast.TryStar, ast.With, ast.Match)
_KEPT = (ast.Return, ast.Yield, ast.YieldFrom, ast.Await, ast.Break, ast.Continue, ast.Delete, ast.Global, ast.Nonlocal,
         ast.NamedExpr, ast.Pass, ast.Import, ast.ImportFrom, ast.AsyncFor, ast.AsyncWith, ast.AsyncFunctionDef)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_READS_FRAME = {"locals", "vars", "dir", "eval", "exec", "super"}


def split(function, compiled):
    """*function* with its statements run by what *compiled* makes of them; None where that cannot be done."""
    tree = _tree_of(function)
    if tree is None:
        return None
    code, scope = function.__code__, function.__globals__
    splitter = _Splitter({*code.co_varnames, *code.co_cellvars, *code.co_freevars}, tree)
    tree.body = splitter.block(tree.body)
    outer = {name: cell.cell_contents for name, cell in zip(code.co_freevars, function.__closure__ or ())}
    parts = [compiled(_function(part, scope)) for part in splitter.parts]
    factory = _function(_def("factory", ["parts", *outer], [tree, ast.copy_location(ast.Return(_load(tree.name)), tree)]), scope)
    whole = factory(parts, *outer.values())
    whole.__defaults__, whole.__kwdefaults__ = function.__defaults__, function.__kwdefaults__
    return whole


def _tree_of(function):
    """The def statement of an ordinary function, with the line numbers of its file."""
    code = getattr(function, "__code__", None)
    unusual = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
    if code is None or hasattr(function, "__wrapped__") or "__class__" in code.co_freevars or code.co_flags & unusual:
        return None
    try:
        lines, first = inspect.getsourcelines(function)
    except OSError:
        return None
    try:
        tree = ast.parse(textwrap.dedent("".join(lines))).body[0]
    except SyntaxError:         # a string of several lines begins further left
        return None
    if not isinstance(tree, ast.FunctionDef) or tree.name != code.co_name:
        return None
    ast.increment_lineno(tree, first - 1)
    tree.decorator_list, tree.args.defaults = [], []
    tree.args.kw_defaults = [None] * len(tree.args.kwonlyargs)
    return tree


# --- making functions -------------------------------------------------------------------

def _def(name, parameters, body):
    arguments = ast.arguments([], [ast.arg(p) for p in parameters], None, [], [], None, [])
    return ast.copy_location(ast.FunctionDef(name, arguments, body, [], type_params=[]), body[0])


def _function(tree, scope):
    """The function that a def statement makes, with the globals *scope*."""
    module = ast.fix_missing_locations(ast.Module([tree], []))
    code = compile(module, scope.get("__file__", "<part>"), "exec", dont_inherit=True)
    return types.FunctionType(next(c for c in code.co_consts if isinstance(c, types.CodeType)), scope)


def _load(name):
    return ast.Name(name, ast.Load())


# --- which names a statement reads and binds ----------------------------------------------

def binds(node):
    """The names that *node* binds where it stands (one name as often as it is bound)."""
    if isinstance(node, ast.Name):
        return [node.id] if isinstance(node.ctx, ast.Store) else []
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return [node.name]
    if isinstance(node, (ast.Lambda, *_COMPREHENSIONS)):
        return []
    found = [name for child in ast.iter_child_nodes(node) for name in binds(child)]
    if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
        return found
    if isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and node.name:
        found.append(node.name)
    if isinstance(node, ast.alias):
        found.append(node.asname or node.name.partition(".")[0])
    return found


def reads(node):
    """The names that *node* reads and does not bind itself inside a scope of its own."""
    if isinstance(node, ast.Name):
        return {node.id} if isinstance(node.ctx, ast.Load) else set()
    if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
        return {node.target.id} | reads(node.value)
    if isinstance(node, _FUNCTIONS):
        return reads_later(node) | _reads_of_header(node)
    found = set().union(*map(reads, ast.iter_child_nodes(node)))
    if isinstance(node, _COMPREHENSIONS):
        return found - {name for each in node.generators for name in binds(each.target)} | reads(node.generators[0].iter)
    if isinstance(node, ast.ClassDef):
        found -= {name for each in node.body for name in binds(each)}
        return found | reads_later(node)
    return found


def _reads_of_header(node):
    arguments = node.args
    parts = [*arguments.defaults, *filter(None, arguments.kw_defaults), *getattr(node, "decorator_list", ())]
    parts += [each.annotation for each in _arguments(arguments) if each.annotation]
    parts += [node.returns] if getattr(node, "returns", None) else []
    return set().union(*map(reads, parts))


def _arguments(arguments):
    return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs,
            *filter(None, (arguments.vararg, arguments.kwarg))]


def reads_later(node):
    """The outer names that the functions made by *node* may use after it."""
    if isinstance(node, _FUNCTIONS):
        body = node.body if isinstance(node.body, list) else [node.body]
        declared = {name for each in _walk_scope(body) if isinstance(each, ast.Nonlocal) for name in each.names}
        bound = {each.arg for each in _arguments(node.args)} | {name for each in body for name in binds(each)}
        used = set().union(*map(reads, body), *map(reads_later, body))
        return used - (bound - declared) | declared
    if isinstance(node, ast.GeneratorExp):
        return reads(node)
    return set().union(*map(reads_later, ast.iter_child_nodes(node)))


def _walk_scope(nodes):
    """All nodes below *nodes* that run in the same scope."""
    for node in nodes:
        yield node
        if isinstance(node, _FUNCTIONS):
            inner = [*node.args.defaults, *filter(None, node.args.kw_defaults), *getattr(node, "decorator_list", ())]
        else:
            inner = ast.iter_child_nodes(node)
        yield from _walk_scope(inner)


# --- the splitting ------------------------------------------------------------------------

class _Splitter:
    def __init__(self, names, tree):
        self.names = names
        self.name = tree.name
        self.parts = []
        bound = [name for each in tree.body for name in binds(each)]
        self.changing = {name for name in names if bound.count(name) > 1}
        self.changing.update(name for each in ast.walk(tree) if isinstance(each, ast.Nonlocal) for name in each.names)
        self.pending = set(bound)       # names that nothing has bound yet

    def block(self, body):
        return [self.statement(node) for node in body]

    def statement(self, node):
        if isinstance(node, _COMPOUND):
            return self.compound(node)
        result = node if self.stays(node) else self.part(node)
        self.pending.difference_update(binds(node))
        return result

    def compound(self, node):
        for header in ("target", "items"):
            for each in [node.target] if hasattr(node, "target") else getattr(node, "items", ()):
                self.pending.difference_update(binds(each))
        for field in ("body", "orelse", "finalbody"):
            if getattr(node, field, None):
                setattr(node, field, self.block(getattr(node, field)))
        for inner in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
            self.pending.difference_update(binds(inner))
            inner.body = self.block(inner.body)
        return node

    def stays(self, node):
        if any(isinstance(each, _KEPT) for each in _walk_scope([node])):
            return True
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            return True
        used = reads(node)
        shared = reads_later(node) & self.names
        return bool(used & _READS_FRAME or shared & self.changing or shared & self.pending - set(binds(node)))

    def part(self, node):
        results = sorted(set(binds(node)))
        inputs = sorted(reads(node) & self.names - (self.pending & set(results)))
        body = [node]
        if results:
            body.append(ast.copy_location(ast.Return(ast.Tuple([_load(n) for n in results], ast.Load())), node))
        self.parts.append(_def(f"{self.name}_{len(self.parts)}", inputs, body))
        called = ast.Subscript(_load("parts"), ast.Constant(len(self.parts) - 1), ast.Load())
        call = ast.Call(called, [_load(n) for n in inputs], [])
        if not results:
            return ast.copy_location(ast.Expr(call), node)
        target = ast.Tuple([ast.Name(n, ast.Store()) for n in results], ast.Store())
        return ast.copy_location(ast.Assign([target], call), node)
