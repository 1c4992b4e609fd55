"""Corners of Python and its library, one entry each: a setup, and what can be read, written and changed.

In the texts ``#`` stands for a number that makes names unique, ``$`` for some number, ``~`` for any other thing.
"""
import dataclasses


@dataclasses.dataclass
class Corner:
    name: str
    setup: str
    path: str
    nums: tuple = ()
    tens: tuple = ()
    seqs: tuple = ()
    writes: tuple = ()
    changes: tuple = ()
    decoys: tuple = ()


CORNERS = (
    Corner("key with __eq__", """
class K#:
    def __init__(self, v): self.v = v
    def __hash__(self): return 1
    def __eq__(self, o): return isinstance(o, K#) and self.v == o.v
k# = K#(1)
kd# = {k#: $, 5: 3}
ks# = {K#(2), 7}
""", "k#", nums=("kd#.get(@, 4)", "kd#.get(K#(1), 5)", "(2 if @ in kd# else 3)", "(2 if @ in ks# else 3)", "kd#.get(K#(2), 5)", "@.v", "len({@, K#(1)})",
                "{K#(1): 2}.get(@, 3)", "(2 if {@: 1} == {K#(1): 1} else 3)", "[K#(3), @].index(K#(1)) if K#(1) == @ else 7", "hash(@) % 5",
                "(2 if @ in [K#(1)] else 3)", "(2 if (@,) == (K#(1),) else 3)"),
           writes=("kd#[K#(n)] = 3", "kd#[@] = n", "kd#.setdefault(K#(1), 8)", "@.v = n", "ks#.add(K#(1))"),
           changes=("@.v = 2", "@.v = 1", "kd#[K#(2)] = $", "kd#[@] = $", "K#.__eq__ = lambda s, o: True", "K#.__eq__ = lambda s, o: False",
                    "K#.__hash__ = lambda s: 2", "next(iter(kd#)).v = 2", "ks#.clear()", "kd#.pop(5, None)")),
    Corner("int subclass", """
class I#(int):
    def __add__(self, o): return 40
    unit = $
class F#(float): pass
i# = I#(2)
fl# = F#(2.5)
""", "i#", nums=("@ + 1", "@ * 2", "@.unit", "int(@)", "fl# * 2", "[5, 6, 7, 8][@]", "sum([@, 1])", "range(4)[@]", "@ == 2", "len('ab' * @)", "{2: 5}.get(@, 1)", "fl# > @",
                 "round(fl#)", "math.floor(fl#)", "max(@, 1)", "type(@).__name__ == 'int'"),
           changes=("@ = I#(3)", "@ = 2", "I#.__add__ = lambda s, o: $", "I#.__radd__ = lambda s, o: $", "I#.unit = $", "fl# = F#(3.5)", "I#.__index__ = lambda s: 1", "I#.__eq__ = lambda s, o: False",
                    "I#.__hash__ = lambda s: 5", "I#.__mul__ = lambda s, o: 3", "F#.__mul__ = lambda s, o: 3", "F#.__round__ = lambda s, *a: 9", "@.extra = 1", "I#.__int__ = lambda s: 4", "@ = True")),
    Corner("str subclass", """
class S#(str):
    def upper(self): return 'XYZ'
s# = S#('ab')
""", "s#", nums=("len(@)", "len(@.upper())", "{'ab': 2}.get(@, 3)", "(@ == 'ab') + 1", "len('-'.join([@, 'c']))", "len(f'{@}')", "len(@ + 'q')", "(2 if 'a' in @ else 3)", "getattr(SimpleNamespace(ab=2), @, 4)", "len(str(@))"),
           changes=("@ = S#('abc')", "@ = 'ab'", "S#.upper = lambda s: 'q'", "S#.__len__ = lambda s: 7", "S#.__eq__ = lambda s, o: False", "S#.__hash__ = lambda s: 1", "S#.__str__ = lambda s: 'str'",
                    "S#.__format__ = lambda s, f: 'fmt'", "S#.__contains__ = lambda s, o: False", "S#.__add__ = lambda s, o: 'add'")),
    Corner("list subclass", """
class L#(list):
    def __len__(self): return 3 + super().__len__()
    extra = $
ls# = L#([1, $])
""", "ls#", nums=("len(@)", "sum(@)", "@[0]", "@.extra", "len(list(@))", "(2 if @ else 3)", "len([*@])", "(2 if @ == [1, 2] else 3)", "len(@ + [1])", "len(@[:])", "max(@)", "len(tuple(@))", "len(sorted(@))"),
           seqs=("@", "@[1:]"), writes=("@.append(n)", "@.extra = n", "@[0] = n", "@ += [n]", "@.extend(@)"),
           changes=("@.append($)", "L#.__len__ = lambda s: 1", "L#.__iter__ = lambda s: iter([$])", "L#.__getitem__ = lambda s, i: $", "L#.append = lambda s, v: None", "L#.__bool__ = lambda s: False", "@.extra = $", "del @[0]",
                    "L#.__eq__ = lambda s, o: True", "@ = list(@)")),
    Corner("dict subclass", """
class D#(dict):
    def __getitem__(self, k): return super().__getitem__(k) if k in self else 6
dd# = D#(a=$, b=2)
""", "dd#", nums=("@['a']", "@['q']", "@.get('a')", "len({**@})", "len(dict(@))", "sum(@.values())", "sum(len(k) for k in @)", "dict(**@)['a']", "len(list(@.items()))", "(lambda a=1, b=1, **k: a)(**@)", "int('%(a)d' % @)", "len('{a}'.format(**@))",
                   "len('{a}'.format_map(@))", "({'a': 1} | @)['a']"),
           writes=("@['c'] = n", "@.update(a=n)", "@ |= {'d': 1}", "@.setdefault('e', n)"),
           changes=("@['a'] = $", "D#.__getitem__ = lambda s, k: $", "D#.keys = lambda s: ['a']", "D#.__iter__ = lambda s: iter(['a'])", "D#.get = lambda s, k, d=None: 8", "D#.__contains__ = lambda s, k: False", "D#.__setitem__ = lambda s, k, v: None", "D#.__missing__ = lambda s, k: 2",
                    "D#.values = lambda s: [1]", "D#.items = lambda s: [('a', 4)]", "@ = dict(@)", "@['a'] = @.pop('a', 1)")),
    Corner("abc", """
import abc
class A#(abc.ABC):
    @abc.abstractmethod
    def area(self): ...
class Sq#(A#):
    def area(self): return $
class Virtual#:
    def area(self): return 4
a# = Sq#()
""", "a#", nums=("@.area()", "(2 if isinstance(@, A#) else 3)", "(2 if issubclass(type(@), A#) else 3)", "(2 if isinstance(@, (int, A#)) else 3)"),
           changes=("@ = Virtual#()", "A#.register(Virtual#)", "Sq#.area = lambda s: $", "@ = Sq#()")),
    Corner("protocol", """
@typing.runtime_checkable
class Pr#(typing.Protocol):
    def go(self): ...
class Go#:
    def go(self): return $
class NoGo#: pass
pr# = Go#()
""", "pr#", nums=("(2 if isinstance(@, Pr#) else 3)", "(@.go() if hasattr(@, 'go') else 5)"), changes=("@ = NoGo#()", "NoGo#.go = lambda s: 3", "Go#.go = None", "@ = Go#()", "@.go = lambda: 2")),
    Corner("instancecheck", """
class MI#(type):
    answer = True
    def __instancecheck__(cls, o): return cls.answer
    def __subclasscheck__(cls, o): return o is int
    def __contains__(cls, v): return v == 2
    def __iter__(cls): return iter([1, $])
    def __getitem__(cls, i): return $
class IC#(metaclass=MI#): 
    def __class_getitem__(cls, i): return 4
""", "IC#", nums=("(2 if isinstance(n, @) else 3)", "(2 if issubclass(int, @) else 3)", "(2 if 2 in @ else 3)", "sum(@)", "@[0]", "len(list(@))"),
           changes=("MI#.answer = False", "IC#.answer = False", "MI#.__contains__ = lambda c, v: False", "MI#.__instancecheck__ = lambda c, o: False", "MI#.__iter__ = lambda c: iter([5])", "del MI#.__getitem__")),
    Corner("lying class", """
class Lie#:
    k = $
    @property
    def __class__(self): return int
lie# = Lie#()
""", "lie#", nums=("(2 if isinstance(@, int) else 3)", "(2 if @.__class__ is int else 3)", "@.k", "(2 if type(@) is int else 3)"), changes=("Lie#.__class__ = property(lambda s: str)", "del Lie#.__class__")),
    Corner("operator module", """
ag# = operator.attrgetter('a')
ig# = operator.itemgetter(0)
mc# = operator.methodcaller('count', 1)
og# = SimpleNamespace(a=$, b=SimpleNamespace(a=2))
""", "og#", nums=("ag#(@)", "operator.attrgetter('b.a')(@)", "ig#([n, 2])", "operator.itemgetter('a')(vars(@))", "mc#([1, 1, 2])", "sum(map(ag#, [@, @.b]))", "max([@, @.b], key=ag#).a", "sorted([@, @.b], key=lambda v: v.a)[0].a",
                  "operator.contains([1, 2], @.a)", "operator.is_(@.b, @)", "operator.add(@.a, 2)", "operator.not_(@.a)", "operator.getitem([5, 6, 7], 1)"),
           writes=("operator.setitem(vars(@), 'a', n)", "@.b.a += 1", "@.a, @.b.a = @.b.a, @.a"),
           changes=("@.a = $", "@.b = SimpleNamespace(a=$)", "ag# = operator.attrgetter('b.a')", "mc# = operator.methodcaller('index', 2)", "@.b.a = $", "@.b = @")),
    Corner("formatting", """
class Fo#:
    a = $
    def __str__(self): return 's' * 3
    def __repr__(self): return 'r' * 4
fo# = Fo#()
fd# = {'a': $, 'o': fo#}
""", "fo#", nums=("len('{0.a}'.format(@))", "len('%s' % @)", "len('%(a)s %(o)r' % fd#)", "len('{o} {a}'.format_map(fd#))", "len('{o!r}'.format(**fd#))", "len(f'{@!s:>9}')", "len(str([@]))", "len(repr({1: @}))", "len('%s %s' % (@, 1))", "len(f'{fd#[\"o\"]}')",
                  "len('{0[a]}'.format(fd#))", "len(str(fd#))", "len(ascii(@))", "len(format(@))", "len('{:{w}}'.format(1, w=5))", "len(''.join(map(str, [@, 1])))", "len(repr((@,)))", "len(str({'q': [@]}))"),
           changes=("Fo#.__str__ = lambda s: 'q'", "Fo#.__repr__ = lambda s: 'qq'", "Fo#.a = $", "fd#['a'] = 'abc'", "Fo#.__format__ = lambda s, f: 'fmt'", "fd#['o'] = 3", "@.a = 'xyz'", "del Fo#.__str__", "fd#['zz'] = 1")),
    Corner("outside exception", """
ex# = ValueError('v', $)
class Ex#(Exception):
    code = $
    def __init__(self, *a): super().__init__(*a); self.seen = 0
exi# = Ex#('i')
def thrower#(e):
    raise e
""", "ex#", nums=("@.args[1]", "len(@.args)", "exi#.code", "exi#.seen", "len(str(@))", "(2 if @.__context__ is None else 3)", "(2 if @.__traceback__ is None else 3)", "len(getattr(@, '__notes__', ()))"),
           writes=("try: raise @\nexcept ValueError as e: x = x + len(e.args)", "try: thrower#(exi#)\nexcept Ex# as e: e.seen += 1", "try:\n    try: raise KeyError('k')\n    finally: thrower#(exi#)\nexcept Ex# as e: n = 2 if e.__context__ is None else 3",
                   "try: raise Ex#(1) from @\nexcept Ex# as e: n = len(e.__cause__.args)", "@.add_note('n')", "try: thrower#(Ex#(n))\nexcept (KeyError, Ex#) as e: n = e.args[0]"),
           changes=("ex# = ValueError('w')", "ex#.args = (1, 2, 3)", "exi#.code = $", "Ex#.code = $", "exi# = Ex#('j')", "thrower# = lambda e: None", "exi#.__traceback__ = None", "Ex#.__bases__ = (KeyError,)")),
    Corner("writes that raise", """
wl# = [1]
wd# = {'a': 1}
wz# = {1, 2}
class Ws#:
    __slots__ = ('a',)
ws# = Ws#()
def wg#():
    yield 7
    raise ValueError('w')
""", "wl#", nums=("len(@)", "len(wd#)", "len(wz#)", "getattr(ws#, 'a', 3)"),
           writes=tuple(f"try:\n    {text}\nexcept Exception as e: n = len(type(e).__name__)" for text in (
               "@.pop()", "@.pop(2)", "@.remove(n)", "@[3] = n", "del @[1]", "@.index(n)", "del wd#['a']", "wd#.pop('b')", "wd#[[]] = 1", "wd#.popitem()",
               "wz#.remove(1)", "wz#.pop()", "ws#.b = 1", "del ws#.a", "@.extend(wg#())", "wd#.update(wg#())", "@[:] = wg#()", "@.sort(key=lambda v: 1 / v)",
               "@.insert('q', 1)", "@ += 5", "@.append(n); @[9]", "x.add_(torch.ones(7))", "int.q = 1", "wd#.update(5)", "setattr(ws#, 'c', 1)", "ws#.a = n; ws#.zz = 1")),
           changes=("@.append(1)", "@.clear()", "wd#['b'] = 2", "wd#.clear()", "wz#.add(1)", "wz#.clear()", "ws#.a = $", "@ = [1, 2, 3, 4]", "wg# = lambda: [(1, 2)]", "Ws#.b = property(lambda s: 1, lambda s, v: wl#.append(v))")),
    Corner("raise and except", """
class Ra#(Exception): k = $
class Rb#(Ra#): pass
class Rc#(Ra#): pass
class Rd#(Rb#): pass
rx# = Rd#(3)
kinds# = (Rc#, KeyError)
def rf#(e): raise e
""", "kinds#", nums=("len(rx#.args)", "(2 if issubclass(Rd#, Rc#) else 3)", "Rd#.k"),
           writes=("try: rf#(Rd#)\nexcept kinds#: n = 3\nexcept Ra# as e: n = e.k", "try: rf#(Rd#(n))\nexcept Rc#: n = 3\nexcept Exception as e: n = len(e.args)", "try: raise rx#\nexcept Ra# as e: n = len(e.args)",
                   "try:\n    try: rf#(Rb#)\n    except kinds# as e: n = 4\nexcept Ra#: n = 5", "try: raise Rd# from Rb#\nexcept Ra# as e: n = len(e.__cause__.args)", "with contextlib.suppress(*kinds#, Ra#): rf#(Rd#)",
                   "try: raise ExceptionGroup('g', [Rd#(1), KeyError(2)])\nexcept* Rc# as e: n = 2\nexcept* Exception as e: n = len(e.exceptions)"),
           changes=("Rd#.__bases__ = (Rc#,)", "Rd#.__bases__ = (Rb#,)", "@ = (Rd#,)", "@ = Rb#", "Rd#.__init__ = lambda s, *a: setattr(s, 'args', (1, 2, 3))", "Ra#.k = $", "Rc# = Rb#", "rx# = Rb#()", "rf# = lambda e: None", "Ra#.__new__ = lambda c, *a: Exception.__new__(c, 7)")),
    Corner("order of sets", """
os1# = frozenset([8, 0])
os2# = {16, 8, 0}
""", "os1#", nums=("list(@)[0]", "next(iter(@))", "[*os2#][0]", "len(str(@))", "(2 if @ == {0, 8} else 3)", "tuple(os2#)[-1]"), seqs=("@", "os2#", "@ | os2#"), changes=("@ = frozenset([0, 8])", "os2# = {0, 8, 16}", "os2# = {0, 16, 8}", "@ = frozenset([8, 0])", "@ = frozenset([8.0, 0])"),
           writes=("os2#.add(24)", "os2#.discard(0); os2#.add(0)")),
    Corner("comparisons that are absent", """
class Ca#:
    def __init__(self, v): self.v = v
class Cb#: pass
ca1# = Ca#(1)
ca2# = Ca#(2)
cb# = Cb#()
""", "ca1#", writes=tuple(f"try: n = ({text}) * 2\nexcept (TypeError, AttributeError): n = 3" for text in (
               "@ < ca2#", "@ >= ca2#", "max([@, ca2#]).v", "sorted([ca2#, @])[0].v", "@ + ca2#", "1 + @", "@ < cb#", "cb# + @", "-@", "[1, 2, 3][@]", "@ in [1]", "1 in @", "len(@)", "float(@)", "@()", "@[0]", "[@] < [ca2#]",
               "sum([1, @])", "abs(@)", "round(@)", "@ == 1", "divmod(@, 2)", "2 ** @", "int(@)", "len([*@])", "min(@, ca2#).v", "@ // ca2#")),
           changes=tuple(f"Ca#.{text}" for text in (
               "__gt__ = lambda s, o: True", "__lt__ = lambda s, o: False", "__le__ = lambda s, o: 1", "__radd__ = lambda s, o: 4", "__add__ = lambda s, o: 6", "__neg__ = lambda s: 7", "__index__ = lambda s: 1", "__len__ = lambda s: 2",
               "__iter__ = lambda s: iter([1])", "__contains__ = lambda s, v: True", "__getitem__ = lambda s, i: [1][i]", "__float__ = lambda s: 2.5", "__call__ = lambda s: 8", "__abs__ = lambda s: 4", "__round__ = lambda s: 1",
               "__rpow__ = lambda s, o: 5", "__divmod__ = lambda s, o: 9", "__rfloordiv__ = lambda s, o: 5")) + ("ca1#.v = 5",)),
    Corner("torch functions kept", """
tf1# = torch.tanh
tf2# = torch.cos
tf3# = torch.Tensor.sin
tf4# = [torch.sigmoid, torch.exp]
""", "tf1#", tens=("@(x)", "tf2#(x)", "tf3#(x)", "tf4#[0](x)", "tf4#[-1](x)", "[*map(@, [x])][0]", "functools.reduce(lambda v, f: f(v), tf4#, x)"),
           changes=("patch(torch, 'tanh', torch.relu)", "patch(torch, 'cos', torch.relu)", "patch(torch.Tensor, 'sin', lambda s: tf3#(s) * 2)", "tf4#.reverse()", "patch(torch, 'sigmoid', torch.relu)", "patch(torch, 'exp', torch.tanh)", "@ = tf2#", "tf2# = @")),
    Corner("cache with state", """
ck# = $
cl# = []
@functools.lru_cache(maxsize=2)
def cs#(v, w=1): return v + ck# % 5
@functools.lru_cache
def cw#(v):
    cl#.append(v)
    return (v, 1)
""", "cs#", nums=("@(1)", "@(2, w=3)", "@(n)", "cw#(2)[0]", "len(cl#)", "sum(@(v) for v in (1, 2, 3))"), changes=("ck# = $", "ck# = $", "@.cache_clear()", "cw#.cache_clear()", "cl#.clear()", "@(9)", "@.__wrapped__.__defaults__ = (2,)")),
    Corner("objects in classes", """
class Pa#:
    k = $
    def go(self): return self.k
class Pb#(Pa#):
    def go(self): return 9
class Wh#:
    part = Pa#()
    parts = [Pa#()]
    table = {'a': $}
    bound = Pa#().go
wh# = Wh#()
""", "wh#", nums=("@.part.k", "@.part.go()", "@.parts[0].go()", "@.table['a']", "Wh#.bound()", "len(@.parts)", "Wh#.part.go()", "@.table.get('b', 3)"), writes=("@.parts.append(1)", "@.table['b'] = n", "@.part.k = n", "@.part = Pb#()"),
           changes=("Wh#.part.__class__ = Pb#", "Wh#.parts[0].__class__ = Pb#", "Wh#.part = Pb#()", "Wh#.table['a'] = $", "Pa#.k = $", "Wh#.bound.__self__.__class__ = Pb#", "Wh#.part.k = $", "Pa#.go = lambda s: $", "Wh#.parts = [Pb#()]", "@.part = Pa#()")),
    Corner("context variable", """
import contextvars
cv# = contextvars.ContextVar('cv#', default=$)
""", "cv#", nums=("@.get()", "@.get(5)"), writes=("@.set(n)", "tok = @.set(3); @.reset(tok)"), changes=("@.set($)", "@.set(7)")),
    Corner("thread local", """
import threading
tl# = threading.local()
tl#.a = $
""", "tl#", nums=("@.a", "getattr(@, 'b', 3)"), writes=("@.a = n", "@.b = n"), changes=("@.a = $", "@.b = $")),
    Corner("lock", """
import threading
lock# = threading.Lock()
rlock# = threading.RLock()
""", "lock#", nums=("@.locked() + 1",), writes=("with @: x = x + 1", "with rlock#:\n    with rlock#: x = x + 1", "@.acquire(); @.release()"), changes=()),
    Corner("environment", """
import os
os.environ['MAGPY_SEARCH'] = '2'
""", "os", nums=("float(os.environ.get('MAGPY_SEARCH', '3'))", "(2 if 'MAGPY_SEARCH' in os.environ else 3)", "float(os.getenv('MAGPY_SEARCH', '7'))"), changes=("os.environ['MAGPY_SEARCH'] = '5'", "os.environ.pop('MAGPY_SEARCH', None)")),
    Corner("__del__", """
dl# = []
class Del#:
    def __init__(self, v): self.v = v
    def __del__(self): dl#.append(self.v)
keep# = [Del#(0)]
""", "dl#", nums=("len(@)", "Del#(n).v", "sum([Del#(2).v for _ in range(2)])"), writes=("Del#(n)", "weakref.finalize(keep#, dl#.append, 3)" , "h = Del#(3); del h", "keep#.append(Del#(n)); keep#.pop(0)"),
           changes=("keep# = [Del#(0)]", "Del#.__del__ = lambda s: dl#.append(7)", "dl#.clear()", "del Del#.__del__")),
    Corner("generator object", """
def gg#(v):
    try:
        while True:
            got = yield v
            v += 1 if got is None else got
    finally:
        gl#.append(v)
gl# = []
""", "gl#", nums=("len(@)", "next(gg#(1))", "sum(itertools.islice(gg#(n), 3))", "(lambda g: (next(g), g.send(3))[1])(gg#(1))", "[a for a, _ in zip(gg#(2), range(2))][-1]"),
           writes=("for q in gg#(1):\n    if q > 2: break", "g = gg#(1); next(g); g.close()", "g = gg#(2); next(g); del g", "g = gg#(1); next(g)", "try: g = gg#(1); next(g); g.throw(ValueError)\nexcept ValueError: n = 4"),
           changes=("gl#.clear()", "gg# = lambda v: iter([$, 2, 3])", "gl#.append(9)")),
    Corner("yield from", """
yf_in# = [1, $]
def inner#():
    got = yield from yf_in#
    return len(yf_in#)
def outer#(o=None):
    r = yield from inner#()
    yield r
""", "yf_in#", nums=("len(@)",), seqs=("outer#()", "(v for v in inner#())"), writes=("@.append(n)", "@[0] = n"), changes=("@.append($)", "yf_in# = ($,)", "inner# = lambda: iter([2])")),
    Corner("class made inside", """
class CB#:
    k = $
    def __init_subclass__(cls, **kw): cls.made = kw.get('q', 1) + cls.k % 3
    def go(self): return self.k
class SN#:
    def __set_name__(self, owner, name): self.name = name; owner.marked = $
def maker#(v):
    class Local(CB#, q=2):
        w = v
        s = SN#()
        def go(self): return super().go() + self.w % 3
        def __len__(self): return 2
    return Local
""", "CB#", nums=("maker#(n)().go()", "maker#(2).made", "len(maker#(2)())", "maker#(3).marked", "(2 if isinstance(maker#(1)(), CB#) else 3)", "maker#(4).w", "len(maker#(4).s.name)", "type('T', (CB#,), {'k': 3})().go()"),
           changes=("@.k = $", "@.go = lambda s: $", "@.__init_subclass__ = classmethod(lambda c, **k: setattr(c, 'made', 5))", "SN#.__set_name__ = lambda s, o, n: setattr(s, 'name', 'abcd')", "maker#.__code__ = (lambda v: CB#).__code__")),
    Corner("functions made inside", """
def mk#(v, w=$):
    def fn(x, k=v): return x * 0.5 + (v + w + k) % 7
    return fn
reg# = {}
mkl# = [mk#(2)]
""", "mkl#", nums=("len(reg#)", "mk#(2).__defaults__[0]", "@[0].__closure__[0].cell_contents"), tens=("mk#(n)(x)", "@[0](x)", "@[-1](x, 2)", "functools.reduce(lambda f, g: lambda x: f(g(x)), @, lambda x: x)(x)"),
           writes=("reg#['f'] = mk#(n)", "@.append(mk#(n))", "@[0] = mk#(n, 2)"), changes=("@[0] = mk#(3)", "@[0].__defaults__ = ($,)", "@[0].__closure__[0].cell_contents = $", "mk#.__defaults__ = ($,)", "@[-1] = lambda x, k=1: x", "@.reverse()")),
    Corner("mutable default", """
def md#(x, acc=[], *, memo={}):
    acc.append(1)
    memo['n'] = memo.get('n', 0) + 1
    return x + len(acc) % 5 + memo['n'] % 3
""", "md#", nums=("len(@.__defaults__[0])", "@.__kwdefaults__['memo'].get('n', 0)"), tens=("@(x)", "@(x, [1])", "@(x, memo={})"), changes=("@.__defaults__[0].clear()", "@.__kwdefaults__['memo']['n'] = 7", "@.__defaults__ = ([1, 2],)")),
    Corner("counter", """
cn# = {'n': 0}
co# = SimpleNamespace(n=0, total=0.0)
class Co#: n = 0
def tick#():
    co#.n += 1
    return co#.n
""", "co#", nums=("@.n", "tick#()", "cn#['n']", "Co#.n", "@.total"), writes=("@.n += 1", "cn#['n'] += 1", "Co#.n += 1", "@.total += 0.5", "@.n += 1; @.n += 1", "cn#['n'] -= 2", "tick#()", "@.n = @.n + 1", "@.n *= 2", "cn#['m'] = cn#.get('m', 0) + 1", "if @.n > 3: @.n = 0"),
           changes=("@.n = $", "cn#['n'] = $", "Co#.n = $", "co# = SimpleNamespace(n=2.5, total=1)", "@.n = True", "cn# = {'n': 3}", "del Co#.n; Co#.n = 1")),
    Corner("swaps", """
class Sw#:
    def __init__(self): self.a = $; self.b = 2; self.c = [1]
sw# = Sw#()
""", "sw#", nums=("@.a", "@.b", "len(@.c)", "(2 if [*vars(@)] == ['a', 'b', 'c'] else 3)"), writes=("@.a, @.b = @.b, @.a", "@.a = @.b", "t = @.a; @.a = n; x = x + @.a % 3; @.a = t", "del @.a; @.a = 4", "@.b = @.c; @.b.append(n); @.b = 2", "@.c = [*@.c[-3:], n]", "@.c = @.c[:2] + [@.a]", "@.__init__()"),
           changes=("@.a = $", "@.c = [1, 2]", "@.a, @.b = @.b, @.a", "@ = Sw#()", "@.c.append(3)")),
    Corner("descriptors of library", """
class Lib#:
    def __init__(self): self.v = $
    def base(self, x, m=1): return x + self.v % 5 * m
    pm = functools.partialmethod(base, m=2)
    @functools.singledispatchmethod
    def sd(self, a): return 1
    @sd.register
    def _(self, a: int): return 2
    @functools.cached_property
    def cp(self): return self.v + 1
    @functools.lru_cache
    def lc(self): return 5
@functools.singledispatch
def sdf#(a): return 1
sdf#.register(int)(lambda a: 3)
lib# = Lib#()
""", "lib#", nums=("@.sd(2)", "@.sd('a')", "@.cp", "sdf#(n)", "sdf#('q')", "@.lc()", "@.v"), tens=("@.pm(x)", "@.base(x)"), writes=("@.v = n",),
           changes=("@.v = $", "@.__dict__.pop('cp', None)", "sdf#.register(float)(lambda a: 5)", "sdf#.register(int)(lambda a: 6)", "Lib#.base = lambda s, x, m=1: x - m", "Lib#.pm = functools.partialmethod(Lib#.base, m=3)", "@.cp = 9")),
    Corner("lru_cache with state", """
lk# = $
@functools.lru_cache
def lc#(v): return v + 1
@functools.cache
def lo#(v): return [v]
""", "lc#", nums=("@(2)", "@(2.0)", "@(True)", "@(n)", "lo#(2)[0]", "len(lo#(n))"), writes=("lo#(3).append(n)",), changes=("@.cache_clear()", "@ = functools.lru_cache(lambda v: v + 2)", "lo#(2).append(1)")),
    Corner("collections", """
ct# = collections.Counter('aab')
ch# = collections.ChainMap({'a': $}, {'a': 2, 'b': 3})
ud# = collections.UserDict(a=$)
ul# = collections.UserList([1, $])
""", "ct#", nums=("@['a']", "@['zz']", "len(@.most_common(1))", "ch#['a']", "ch#.get('b', 1)", "len(ch#)", "ud#['a']", "len(ud#)", "ul#[0]", "len(ul#)", "sum(ul#)", "sum(@.values())", "(2 if 'b' in ud# else 3)"),
           writes=("@['a'] += 1", "@.update('b')", "ch#['c'] = n", "ud#['b'] = n", "ul#.append(n)", "ul#[0] = n"),
           changes=("@['zz'] = $", "del @['a']; @['a'] = 3", "ch#.maps[1]['b'] = $", "ch#.maps.reverse()", "ud#.data['a'] = $", "ul#.data[0] = $", "ch#.maps[0].pop('a', None)", "@ = collections.Counter('b')")),
    Corner("heapq bisect", """
import heapq, bisect
hq# = [1, 3, 5]
""", "hq#", nums=("@[0]", "heapq.nsmallest(1, @)[0]", "bisect.bisect(@, 2)", "len(@)"), writes=("heapq.heappush(@, n)", "heapq.heappop(@) if len(@) > 2 else None", "bisect.insort(@, n)"), changes=("@.insert(0, 0)", "@[1] = 2", "heapq.heapify(@)")),
    Corner("bytes", """
by# = b'abc'
ba# = bytearray(b'ab')
""", "by#", nums=("@[0] % 9", "len(@)", "len(ba#)", "ba#[0] % 9", "int.from_bytes(@[:1], 'big') % 9", "len(@.decode())"), writes=("ba#.append(3)", "ba#[0] = 4"), changes=("@ = b'bc'", "ba#[0] = 99", "ba#.extend(b'zz')")),
    Corner("json copy", """
import json
js# = {'a': [1, $], 'b': {'c': 2}}
""", "js#", nums=("len(json.dumps(@))", "len(copy.copy(@)['a'])", "copy.deepcopy(@)['a'][0]", "len(copy.deepcopy(@)['b'])", "(2 if copy.copy(@) == @ else 3)", "len(json.loads('[1, 2]'))", "@['b']['c']", "len(str(@))"),
           writes=("@['a'].append(n)", "@['b']['c'] = n", "@['z'] = copy.deepcopy(@['a'][:2])"), changes=("@['a'].append($)", "@['b']['c'] = $", "@['b'] = {'d': 1}", "@['a'][0] = 'q'")),
    Corner("copies of objects", """
class Cp#:
    def __init__(self): self.v = $; self.l = [1]
    def __copy__(self): return SimpleNamespace(v=7, l=self.l)
class Cq#:
    def __init__(self): self.v = $; self.l = [1]
cp# = Cp#()
cq# = Cq#()
""", "cq#", nums=("copy.copy(@).v", "copy.deepcopy(@).v", "len(copy.deepcopy(@).l)", "copy.copy(cp#).v", "len(copy.copy(@).l)"), writes=("copy.copy(@).l.append(n)", "c = copy.deepcopy(@); x = x + c.v % 3"),
           changes=("@.v = $", "@.l.append(1)", "Cp#.__copy__ = lambda s: s", "Cq#.__copy__ = lambda s: cp#", "Cq#.__reduce_ex__ = lambda s, p: (Cq#, ())", "Cq#.__deepcopy__ = lambda s, m: cp#", "@.w = 2")),
    Corner("identity", """
id1# = [1]
id2# = [1]
id3# = id1#
big# = 10**9
txt# = 'some text'
tup# = (1, 2)
""", "id1#", nums=("(2 if @ is id2# else 3)", "(2 if @ is id3# else 3)", "(2 if @ == id2# else 3)", "(2 if big# is 10**9 else 3)", "(2 if txt# is 'some text' else 3)", "(2 if tup# is (1, 2) else 3)", "(2 if @ in [id2#, id3#] else 3)", "len({id(@), id(id2#), id(id3#)})",
                   "[id2#, id3#].index(@)", "(2 if (@, 1) == (id3#, 1) else 3)", "(2 if x is @ else 3)", "len({id(v): v for v in [@, id2#]})"),
           writes=("@.append(n)", "id3#.append(n)", "id2#.append(len(@))"), changes=("id3# = id2#", "id2# = id1#", "id1# = [1]", "big# = int('1000000000')", "txt# = ' '.join(['some', 'text'])", "tup# = tuple([1, 2])", "id1#[:] = [1]")),
    Corner("truth and comparisons", """
class Tr#:
    def __init__(self, v): self.v = v
    def __bool__(self): return bool(self.v)
    def __lt__(self, o): return Tr#(self.v < 3)
    def __eq__(self, o): return Tr#(self.v == 2)
    __hash__ = None
tr# = Tr#($)
""", "tr#", nums=("(2 if @ < 1 else 3)", "(2 if @ == 2 else 3)", "(2 if 1 < @ else 3)", "(2 if not @ else 3)", "(@ or 3) if not @ else 4", "(2 if any([@]) else 3)", "(2 if all([@, 1]) else 3)", "(2 if @ in [5] else 3)", "(2 if @ and n else 3)", "len([*filter(None, [@])])",
                  "(2 if bool(@) else 3)", "(2 if @ == 2 and @ < 4 else 3)", "len([v for v in [@] if v == 2])"), changes=("@.v = $", "@.v = 0", "Tr#.__bool__ = lambda s: True", "Tr#.__eq__ = lambda s, o: NotImplemented", "Tr#.__lt__ = lambda s, o: NotImplemented", "Tr#.__gt__ = lambda s, o: 0", "del Tr#.__bool__", "Tr#.__len__ = lambda s: 0")),
    Corner("numeric protocol", """
class Nu#:
    def __init__(self, v): self.v = v
    def __index__(self): return int(self.v)
    def __float__(self): return float(self.v)
    def __round__(self, k=0): return self.v
    def __abs__(self): return abs(self.v)
    def __divmod__(self, o): return (1, self.v)
    def __pow__(self, o, m=None): return 3
    def __matmul__(self, o): return self.v
    def __rsub__(self, o): return self.v
    def __complex__(self): return complex(self.v)
    def __trunc__(self): return 3
    def __floor__(self): return 4
nu# = Nu#(2)
""", "nu#", nums=("float(@)", "math.sqrt(@)", "round(@)", "abs(@)", "divmod(@, 2)[1]", "pow(@, 2)", "(3 - @)", "[1, 2, 3, 4, 5, 6, 7][@]", "range(9)[@]", "len([1, 2, 3][:@])", "hex(@).count('x')", "math.floor(@)", "int(@)", "complex(@).real", "len('a' * @)", "[0] * 3 and [5, 6, 7, 8][@:][0]", "max(range(@))",
                  "sum([1.5], @.v)", "math.gcd(@, 4)", "operator.index(@)", "len(list(itertools.repeat(1, @)))", "x.shape[int(@) % 2]"), tens=("(x + float(@))", "x.sum(dim=int(@) % 2, keepdim=True)", "(x * math.sqrt(@))"),
           changes=("@.v = 3", "@.v = 1", "Nu#.__index__ = lambda s: 1", "Nu#.__float__ = lambda s: 5.0", "Nu#.__round__ = lambda s, k=0: 6", "Nu#.__abs__ = lambda s: 2", "Nu#.__rsub__ = lambda s, o: 2", "Nu#.__int__ = lambda s: 4", "Nu#.__floor__ = lambda s: 1", "@ = 2")),
    Corner("shadowed builtins", """
sb# = [3, 1, 2]
""", "sb#", nums=("len(@)", "max(@)", "sum(@)", "min(@)", "sorted(@)[0]", "abs(-2)", "(2 if isinstance(@, list) else 3)", "len(range(3))", "int('3')", "float(2)", "len(str(12))", "len(list(@))", "bool(@)", "any(@)", "round(2.6)", "len(dict(a=1))", "(2 if hasattr(@, 'append') else 3)"),
           changes=("len = lambda v: 4", "max = min", "sum = lambda *v: $", "isinstance = lambda *a: False", "range = lambda *a: [1]", "sorted = lambda v, **k: [7]", "abs = lambda v: 5", "float = int", "list = tuple", "str = lambda v: 'abcd'", "hasattr = lambda *a: False", "globals().pop('len', None)",
                    "globals().pop('max', None)", "round = lambda *a: 9")),
    Corner("patched torch", """
pt# = torch.relu
""", "pt#", tens=("torch.relu(x)", "F.relu(x)", "x.sin()", "pt#(x)", "torch.nn.functional.silu(x)", "(x @ x.transpose(-1, -2)).sum()", "-x", "x.relu()"), nums=("math.sqrt(4)", "math.pi", "len(copy.copy([1]))"),
           changes=("patch(torch, 'relu', torch.sin)", "patch(F, 'relu', torch.tanh)", "patch(torch.Tensor, 'sin', lambda s: s - 1)", "pt# = torch.tanh", "F = SimpleNamespace(relu=torch.cos, gelu=torch.cos, dropout=lambda v, p: v)", "patch(F, 'silu', lambda v: v)", "patch(torch.Tensor, '__neg__', lambda s: s + 1)", "math = SimpleNamespace(sqrt=abs, pi=3)", "patch(math, 'sqrt', lambda v: 5)",
                    "patch(torch.Tensor, 'relu', torch.sin)")),
    Corner("default dtype", """
""", "torch", tens=("torch.ones(3)", "torch.tensor(1.5)", "torch.zeros(2, 3)", "torch.arange(3) * 0.5", "torch.full((3,), 2.0)", "torch.linspace(0, 1, 3)"), nums=("(2 if torch.get_default_dtype() is torch.float32 else 3)", "torch.is_grad_enabled() + 1")),
    Corner("module attribute", """
mod# = types.ModuleType('mod#')
mod#.a = $
def _mga#(name): return 4
""", "mod#", nums=("@.a", "getattr(@, 'b', 3)", "(2 if hasattr(@, 'c') else 3)", "len(@.__name__)", "vars(@).get('a', 1)"), writes=("@.a = n", "@.b = n", "@.a += 1"), changes=("@.a = $", "@.b = $", "@.__getattr__ = _mga#", "del @.a; @.a = 2", "@.__name__ = 'q'")),
    Corner("property of class", """
class Meta#(type):
    @property
    def p(cls): return cls.v + 1
    def __getattr__(cls, name): return 6
    def __setattr__(cls, name, v): super().__setattr__(name, v * 1)
class Pc#(metaclass=Meta#):
    v = $
""", "Pc#", nums=("@.p", "@.v", "@.nothing", "getattr(@, 'w', 2)"), writes=("@.v = n", "@.w = n"), changes=("@.v = $", "Meta#.p = property(lambda c: $)", "Meta#.__getattr__ = lambda c, n: $", "@.nothing = 2", "Meta#.v = property(lambda c: 3)")),
    Corner("slots and weak", """
class Sl#:
    __slots__ = ('a', '__weakref__', 'b')
    def __init__(self): self.a = $
class Sm#(Sl#):
    __slots__ = ('c',)
sl# = Sl#()
sm# = Sm#()
""", "sl#", nums=("@.a", "getattr(@, 'b', 3)", "getattr(sm#, 'c', 4)", "sm#.a", "(2 if hasattr(@, 'b') else 3)", "Sl#.a.__get__(@)"), writes=("@.a = n", "@.b = n", "if hasattr(@, 'b'): del @.b", "@.a += 1", "sm#.c = x", "Sl#.a.__set__(@, n)"), changes=("@.a = $", "@.b = $", "sm#.c = $", "@.__class__ = Sl#", "Sl#.a = property(lambda s: 4)" , "sm#.a = $", "@ = sm#")),
    Corner("method objects", """
class Me#:
    k = $
    def m(self, x): return x + self.k % 5
    @classmethod
    def c(cls): return cls.k
me# = Me#()
bm# = me#.m
app# = [].append
lst# = []
la# = lst#.append
""", "me#", nums=("@.c()", "len(lst#)", "(2 if bm#.__self__ is @ else 3)", "(2 if @.m == bm# else 3)", "(2 if @.m == @.m else 3)"), tens=("bm#(x)", "@.m(x)", "[*map(bm#, [x])][0]", "Me#.m(@, x)", "bm#.__func__(@, x)", "types.MethodType(Me#.m, @)(x)"), writes=("la#(n)", "lst#.append(2)", "@.k = n"),
           changes=("@.k = $", "Me#.k = $", "Me#.m = lambda s, x: x - 1", "bm# = Me#().m", "lst#.clear()", "la# = [].append", "lst# = []", "me# = Me#()", "@.m = lambda x: x * 2", "bm#.__func__.__code__ = (lambda s, x: x).__code__")),
    Corner("eval", """
ev# = 'n + 1'
""", "ev#", nums=("eval(@)", "eval('n + 2')", "len(locals())", "len(@)"), changes=("@ = 'n * 3'",)),
    Corner("function attributes", """
def fa#(x, k=$):
    "doc"
    return x + fa#.gain % 5
fa#.gain = $
fa#.log = []
""", "fa#", nums=("@.gain", "len(@.__name__)", "len(@.__doc__ or '')", "len(@.log)", "@.__code__.co_argcount", "len(vars(@))", "@.__defaults__[0]", "getattr(@, 'zz', 2)", "len(@.__qualname__)", "len(@.__annotations__)"), tens=("@(x)",), writes=("@.gain = n", "@.log.append(n)", "@.gain += 1", "@.zz = 3"),
           changes=("@.gain = $", "@.__name__ = 'q'", "@.__doc__ = 'longer'", "@.__defaults__ = ($,)", "@.zz = $", "@.__annotations__['x'] = 1", "@.log.append(1)", "@.__qualname__ = 'abc'", "@.__dict__ = {'gain': 2, 'log': []}")),
    Corner("compiled inside", """
ck# = $
def cf#(x, n=1):
    return x * 0.5 + (ck# + n) % 5
cc# = compile(cf#)
cl# = []
@compile
def cw#(x):
    cl#.append(1)
    return x + len(cl#) % 3
""", "cc#", tens=("@(x)", "cc#(x, n)", "cw#(x)", "cf#(x)"), nums=("len(cl#)",), writes=("x = cw#(@(x))",), changes=("ck# = $", "cf#.__defaults__ = ($,)", "rr = cc#(T(1))", "rr = cw#(T(1))", "cl#.clear()", "cf#.__code__ = (lambda x, n=1: x + 4).__code__", "rr = cc#(T(2), 3)")),
    Corner("iterators made inside", """
ii# = [1, $, 3]
""", "ii#", nums=("next(iter(@))", "(lambda i: (next(i), next(i, 2))[1])(iter(@))", "list(zip(@, itertools.count()))[-1][1]", "sum(a * b for a, b in itertools.pairwise(@))", "len(list(itertools.groupby(@)))", "sum(itertools.accumulate(@))", "len(list(itertools.product(@, [1, 2])))", "sum(itertools.takewhile(lambda v: v < 3, @))", "sum(map(lambda a, b: a * b, @, @[1:]))",
                   "list(enumerate(@, 2))[0][0]", "list(reversed(@))[0]", "sum(itertools.chain.from_iterable([@, @]))", "len(list(itertools.batched(@, 2)))", "sum(itertools.compress(@, [1, 0, 1]))", "dict(zip(@, @[1:])).get(1, 4)", "len(set(@) | {1})", "next((v for v in @ if v > 1), 7)", "max(@, key=lambda v: -v)", "sum(itertools.starmap(pow, [(2, 2)]))", "sum(v for v, in zip(@))", "list(itertools.islice(@, 1, None))[0]", "sum(map(operator.neg, @)) * -1", "len([*itertools.zip_longest(@, [1])])"),
           seqs=("itertools.chain(@, @)", "itertools.islice(itertools.cycle(@), 4)", "(a for a, b in zip(@, reversed(@)))", "itertools.filterfalse(lambda v: v == 1, @)", "map(max, @, reversed(@))", "itertools.dropwhile(lambda v: v == 1, @)"),
           writes=("for v in @[:3]: @.append(v)", "i = iter(@); next(i); @.append(n); x = x + sum(i) % 5", "for v, _ in zip(@, '1234'): @.append(v + 1)"), changes=("@.append($)", "@[0] = $", "@[-1] = $", "@ = ($, 2, 3)", "@.insert(1, 4)")),
    Corner("tensor lists", """
tl# = [T(1), T(2, 3)]
td# = {'w': P(3, 3), 'b': T(4, 3)}
""", "tl#", tens=("sum(@)", "torch.stack([t.sum() for t in @]).sum()", "@[0]", "td#['w']", "torch.cat([t.reshape(-1) for t in @])[:3]", "sum(td#.values())", "functools.reduce(torch.add, @)", "max(@, key=lambda t: t.dim())", "F.linear(x.float(), torch.eye(3), td#['b'])"), nums=("len(@)", "(2 if @[0] is @[-1] else 3)", "sum(t.dim() for t in @)"),
           writes=("@.append(x.detach())", "@[0] = x.detach()", "td#['b'] = td#['b'] + 1", "with torch.no_grad(): td#['w'].add_(1)", "@[-1].add_(1)", "@[0][0] = 1.0", "@[:] = @[-2:]"), changes=("@[0] = T(5)", "@[0] = @[-1]", "@.append(T(6))", "td#['b'] = @[-1]", "td#['w'] = td#['b']", "@[0].add_(1)", "del @[1:]", "@[0] = @[0][:1]", "@[0] = @[0].double()", "td#['b'] = td#['w'].data", "@[-1] = @[0].detach()")),
    Corner("default factory", """
df# = defaultdict(lambda: [$])
dg# = defaultdict(int, a=1)
""", "df#", nums=("len(@['q'])", "len(@)", "dg#['a']", "len(dg#)", "(2 if 'z' in dg# else 3)"), writes=("@['r'].append(n)", "dg#['a'] += 1", "dg#['z'] += 2"), changes=("@.clear()", "@.default_factory = list", "dg#.pop('z', None)", "dg#.default_factory = None", "dg#['a'] = $", "@['q'] = [1, 2, 3]")),
    Corner("exit stack", """
es# = []
class Cmg#:
    def __init__(self, v): self.v = v
    def __enter__(self): es#.append(self.v); return self
    def __exit__(self, t, e, tb): es#.append(-1); return t is ValueError
cg# = Cmg#($)
""", "cg#", nums=("len(es#)", "@.v"), writes=("with contextlib.ExitStack() as s:\n    s.enter_context(@); s.callback(es#.append, 3)", "with @, Cmg#(2) as m: x = x + m.v", "with @: raise ValueError", "with Cmg#(1) as m:\n    for _ in [1, 2]:\n        if m.v: break", "try:\n    with @: [][1]\nexcept IndexError: n = 3"), changes=("@.v = $", "Cmg#.__exit__ = lambda s, *e: True", "Cmg#.__enter__ = lambda s: s", "es#.clear()", "@.__enter__ = lambda: 1")),
    Corner("enum kinds", """
class Ie#(enum.IntEnum):
    A = 1
    B = 2
class Fl#(enum.Flag):
    R = 1
    W = 2
class Se#(enum.StrEnum):
    X = 'x'
ie# = Ie#.A
fg# = Fl#.R
""", "ie#", nums=("@ + 1", "@.value", "int(@)", "(2 if @ == 1 else 3)", "(2 if @ is Ie#.A else 3)", "[5, 6, 7][@]", "{1: 4}.get(@, 5)", "len(Se#.X)", "(2 if fg# & Fl#.W else 3)", "(fg# | Fl#.W).value", "Ie#(2).value", "len(f'{Se#.X}')", "len(str(@))", "(2 if @ in Ie# else 3)"), changes=("@ = Ie#.B", "@ = 1", "fg# = Fl#.R | Fl#.W", "Ie#.__add__ = lambda s, o: 8", "Ie#.__str__ = lambda s: 'q'")),
    Corner("rng", """
rs# = torch.Generator()
""", "rs#", tens=("torch.rand(3)", "torch.randn_like(x)", "F.dropout(x, 0.5)", "torch.randint(0, 5, (3,))", "torch.randperm(3)", "torch.bernoulli(torch.full((3,), 0.5))", "torch.empty(3).uniform_()", "F.dropout(x, 0.5, training=False)"), changes=("torch.manual_seed(3)", "torch.rand(1)", "torch.manual_seed(0)")),
    Corner("grad", """
gp# = P(5, 3)
gn# = nn.Linear(3, 3)
""", "gp#", tens=("@ * x", "gn#(x.float())", "@.detach()", "(x * @).sum(-1, keepdim=True)"), nums=("(2 if @.grad is None else 3)", "(2 if @.requires_grad else 3)", "@.is_leaf + 1"), changes=("(gp# * 2).sum().backward()", "@.grad = None", "@.requires_grad_(not @.requires_grad)", "gn#.zero_grad()", "gn#.weight.data.add_(1)", "@ = P(6, 3)", "gn#.requires_grad_(False)", "gn# = nn.Linear(3, 3, bias=False)")),
)


def make(b):
    corner = b.choose.pick(CORNERS)
    number = b.name("")

    def text(template):
        while "$" in template:
            template = template.replace("$", b.number(), 1)
        return template.replace("#", number)
    b.add(*[line for line in text(corner.setup).split("\n") if line.strip()])
    b.feature("corner: " + corner.name)
    fields = {kind: [text(t) for t in getattr(corner, kind)] for kind in ("nums", "tens", "seqs", "writes", "changes", "decoys")}
    return b.thing(text(corner.path), **fields)
