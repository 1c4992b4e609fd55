"""Classes with the special methods and descriptors of Python, and instances of them."""
import re

from soundness.grammar.bodies import Body


class Made:
    """A class being written, and what an instance of it offers."""

    def __init__(self, b):
        self.b = b
        self.lines = []
        self.fields = {"nums": [], "tens": [], "seqs": [], "writes": [], "changes": [], "decoys": []}
        self.slots = False
        self.name = b.name("C")

    def offer(self, kind, *texts):
        self.fields[kind].extend(texts)

    def method(self, head, *body):
        self.lines += [f"def {head}:", *[f"    {line}" for line in body]]

    def value(self):
        """A number in terms of self."""
        return self.b.choose.pick(("self.a", "self.a + 1", "len(str(self.a))", "self.k", "self.a * self.k"))


def class_(b):
    c = Made(b)
    c.slots = b.choose.chance(4)
    base = base_class(b, c)
    meta = metaclass(b, c) if not base and b.choose.chance(8) else ""
    c.lines += [f"k = {b.number()}"]
    if c.slots:
        c.lines.append("__slots__ = ('a', 'held')")
    start(b, c)
    for feature in b.choose.some(FEATURES, 2 + b.choose.below(4)):
        b.feature("class: " + feature.__name__.rstrip("_"))
        feature(b, c)
    b.add(f"class {c.name}{heading(base, meta)}:", *[f"    {line}" for line in c.lines])
    return instance(b, c)


def heading(base, meta):
    inner = ", ".join(part for part in (base, meta and f"metaclass={meta}") if part)
    return f"({inner})" if inner else ""


def base_class(b, c):
    if not b.choose.chance(3):
        return ""
    name = b.name("Base")
    b.add(f"class {name}:", f"    j = {b.number()}", "    def top(self, x):", f"        return x + self.j % 7",
          "    def low(self): return self.j", f"class {name}Other({name}):", f"    j = {b.number()}", "    def low(self): return 7")
    b.feature("class: inheritance")
    c.method("top(self, x)", "return super().top(x) * 0.5 + super().low() % 3")
    c.offer("tens", "@.top(x)")
    c.offer("nums", "@.j", "@.low()", f"(2 if isinstance(@, {name}Other) else 3)", f"super({c.name}, @).low()")
    c.offer("changes", f"{name}.j = {b.number()}", f"{name}.low = lambda self: {b.number()}", f"{c.name}.j = {b.number()}",
            f"{name}.top = lambda self, x: x - 1", f"{c.name}.__bases__ = ({name}Other,)")
    c.offer("decoys", f"{name}.decoy = 1")
    return name


def metaclass(b, c):
    name = b.name("Meta")
    b.add(f"class {name}(type):", f"    m = {b.number()}", "    def __call__(cls, *args):", "        made = super().__call__(*args)",
          "        return made", "    @property", "    def size(cls): return cls.k", "    def __len__(cls): return 3")
    b.feature("class: metaclass")
    c.offer("nums", "type(@).m", "type(@).size", f"len({c.name})", f"{c.name}.m")
    c.offer("changes", f"{name}.m = {b.number()}", f"{name}.__len__ = lambda cls: 2")
    return name


def start(b, c):
    c.method("__init__(self, a=2, held=None)", "self.a = a", "self.held = held")
    c.offer("nums", "@.a", "@.k", "(@.a + @.k)", f"(2 if type(@) is {c.name} else 3)", f"{c.name}(4).a", "getattr(@, 'a', 5)",
            "(2 if hasattr(@, 'zz') else 3)", "getattr(@, 'b', 3)")
    c.offer("writes", "@.a = n", "@.a += 1", "@.k = n", f"{c.name}.k = n", "setattr(@, 'a', 3)", "@.a, @.k = 2, n" if not c.slots else "@.a = 2")
    c.offer("changes", f"@.a = {b.number()}", f"@.a = {b.other_number()}", f"{c.name}.k = {b.number()}")
    if not c.slots:
        c.offer("nums", "len(@.__dict__)", "vars(@).get('a', 2)", "(2 if 'b' in @.__dict__ else 3)", "len([*vars(@)])",
                "vars(@)['a']", "len(list(@.__dict__.items()))")
        c.offer("writes", "@.b = n", "@.__dict__['a'] = n", "vars(@).update(b=2)", "if hasattr(@, 'b'): del @.b", "@.__dict__.pop('b', 1)")
        c.offer("changes", f"@.k = {b.number()}", f"@.__dict__['k'] = {b.number()}", "@.b = 3", "@.zz = 1", "@.__dict__.pop('k', None)",
                "@.__dict__ = dict(@.__dict__)", f"@.__dict__ = {{'a': {b.number()}, 'held': 2}}")
        c.offer("decoys", "@.decoy = 1", f"{c.name}.decoy = 1")
    else:
        c.offer("changes", "del @.a" if b.choose.chance(4) else "@.a = 6")


def method_(b, c):
    c.method("meth(self, x, n=1, *, k=2)", f"self.a = self.a" if b.choose.chance(4) else "pass",
             f"return x + {c.value()} % 7 + n % 3 * k")
    c.offer("tens", "@.meth(x)", "@.meth(x, k=3)", f"{c.name}.meth(@, x)")
    c.offer("changes", f"{c.name}.meth = lambda self, x, n=1, *, k=2: x + self.a % 5 * 2", f"{c.name}.meth.__kwdefaults__ = {{'k': {b.number()}}}")
    if not c.slots:
        c.offer("changes", "@.meth = lambda x, n=1, *, k=2: x - 1", "@.__dict__.pop('meth', None)")


def property_(b, c):
    c.lines += ["@property", "def prop(self):", f"    return {c.value()}", "@prop.setter", "def prop(self, v):", "    self.a = v"]
    c.offer("nums", "@.prop")
    c.offer("writes", "@.prop = n", "@.prop += 1")
    c.offer("changes", f"{c.name}.prop = property(lambda self: {b.number()})", f"{c.name}.prop = {b.number()}", f"{c.name}.prop.fget.__code__ = (lambda self: 9).__code__")


def descriptor(b, c):
    name = b.name("Desc")
    b.add(f"class {name}:", f"    gain = {b.number()}", "    def __init__(self, v): self.v = v",
          "    def __get__(self, obj, cls=None): return self.v if obj is None else obj.a + self.v + self.gain",
          *(["    def __set__(self, obj, v): obj.a = v"] if b.choose.chance(2) else []))
    c.lines.append(f"desc = {name}({b.number()})")
    c.offer("nums", "@.desc", f"{c.name}.desc")
    c.offer("writes", "@.desc = n") if not c.slots else None
    c.offer("changes", f"{c.name}.__dict__['desc'].v = {b.number()}", f"{name}.gain = {b.number()}", f"{name}.__get__ = lambda s, o, c=None: 4",
            f"{name}.__set__ = lambda s, o, v: None", f"{name}.__delete__ = lambda s, o: None", f"{c.name}.desc = {name}(3)")
    if not c.slots:
        c.offer("changes", f"@.__dict__['desc'] = {b.number()}")


def call_(b, c):
    c.method("__call__(self, x, n=1, k=1)", f"return x + {c.value()} % 7")
    c.offer("tens", "@(x)", "@(x, 2)", "@.__call__(x)", "[*map(@, [x])][0]")
    c.offer("changes", f"{c.name}.__call__ = lambda self, x, n=1, k=1: x + {b.number()} % 7")


def len_(b, c):
    c.method("__len__(self)", "return int(bool(self.a)) + 1")
    c.offer("nums", "len(@)", "(2 if @ else 3)", "(not @) + 1")
    c.offer("changes", f"{c.name}.__len__ = lambda self: {b.choose.pick('0123')}")


def bool_(b, c):
    c.method("__bool__(self)", "return self.a == 2")
    c.offer("nums", "(2 if @ else 3)", "bool(@)", "(@ and 2 or 3) if not @ else 4", "len([v for v in [@] if v])", "len(list(filter(None, [@, 1])))")
    c.offer("changes", f"{c.name}.__bool__ = lambda self: {b.choose.pick(('True', 'False'))}", f"del {c.name}.__bool__")


def eq_(b, c):
    hashed = b.choose.chance(2)
    c.method("__eq__(self, other)", "return self.a == getattr(other, 'a', other)")
    if hashed:
        c.method("__hash__(self)", "return hash(self.k)")
        c.offer("nums", f"{{{c.name}(2): 3}}.get(@, 4)", "len({@, @})", f"len({{@, {c.name}(2)}})")
    c.offer("nums", "(2 if @ == 2 else 3)", f"(2 if @ == {c.name}(2) else 3)", "(2 if @ != 1 else 3)", "(2 if @ in [1, 2, 5] else 3)", "[1, 2, 5, 2.5].count(@)",
            f"(4 if [@] == [{c.name}(2)] else 5)", f"(4 if (1, @) == (1, {c.name}(2)) else 5)", "(1 if {'k': @} == {'k': 2} else 2)")
    c.offer("changes", f"{c.name}.__eq__ = lambda self, other: {b.choose.pick(('True', 'False'))}", f"{c.name}.__ne__ = lambda self, other: False")


def hash_(b, c):
    """Found in a dict by identity."""
    d = b.name("reg")
    c.offer("nums", f"{d}.get(@, 4)", f"(2 if @ in {d} else 3)")
    c.offer("changes", f"{d}[@] = {b.number()}", f"{d}.pop(@, None)")
    b.add(f"{d} = {{}}")


def order(b, c):
    c.method("__lt__(self, other)", "return self.a < getattr(other, 'a', other)")
    c.offer("nums", "(2 if @ < 3 else 3)", f"sorted([{c.name}(3), @])[0].a", f"max(@, {c.name}(3)).a", "(3 > @) + 1")
    c.offer("changes", f"{c.name}.__lt__ = lambda self, other: {b.choose.pick(('True', 'False'))}", f"{c.name}.__gt__ = lambda self, other: True")


def iter_(b, c):
    if b.choose.chance(2):
        c.method("__iter__(self)", "yield self.a", "yield self.k")
    else:
        c.method("__iter__(self)", "return iter([self.a, 2])")
    c.offer("seqs", "@", "list(@)", "[*@]", "(v for v in @)", "map(abs, @)", "zip(@, [1, 2]) and @")
    c.offer("nums", "sum(@)", "len(list(@))", "(2 if 2 in @ else 3)", "max(@)", "dict(zip(@, 'ab')).get(2) == 'a'", "len(tuple(@))", "[*enumerate(@)][0][1]")
    c.offer("changes", f"{c.name}.__iter__ = lambda self: iter([{b.number()}])")


def getitem(b, c):
    c.method("__getitem__(self, i)", "if isinstance(i, int) and i > 2: raise IndexError(i)", f"return {c.value()}")
    c.method("__setitem__(self, i, v)", "self.a = v")
    c.offer("nums", "@[1]", "@['q']", "len(list(zip(@, [1, 2])))", "(2 if 2 in @ else 3)", "@[1:2]")
    c.offer("writes", "@[0] = n", "@[0] += 1")
    c.offer("changes", f"{c.name}.__getitem__ = lambda self, i: [{b.number()}, 2][i] if isinstance(i, int) else 5")


def contains(b, c):
    c.method("__contains__(self, v)", "return v == self.a")
    c.offer("nums", "(2 if 2 in @ else 3)", "(2 if n not in @ else 3)")
    c.offer("changes", f"{c.name}.__contains__ = lambda self, v: {b.choose.pick(('True', 'False'))}", f"del {c.name}.__contains__")


def getattr_(b, c):
    c.method("__getattr__(self, name)", "if name.startswith('__'): raise AttributeError(name)",
             f"return {b.number()} if name in ('b', 'zz') else len(name)")
    c.offer("nums", "@.zz", "@.missing", "getattr(@, 'b', 3)", "(2 if hasattr(@, 'yy') else 3)")
    c.offer("changes", f"{c.name}.__getattr__ = lambda self, name: {b.number()}", f"{c.name}.zz = {b.number()}", f"{c.name}.missing = 3")
    if not c.slots:
        c.offer("changes", f"@.missing = {b.number()}")


def getattribute(b, c):
    c.method("__getattribute__(self, name)", f"if name == 'virtual': return {b.number()}", "return object.__getattribute__(self, name)")
    c.offer("nums", "@.virtual", "@.a")
    c.offer("changes", f"{c.name}.__getattribute__ = lambda self, name: {b.number()} if name == 'virtual' else object.__getattribute__(self, name)",
            f"del {c.name}.__getattribute__")


def setattr_(b, c):
    c.method("__setattr__(self, name, v)", "object.__setattr__(self, name, v)", f"type(self).k = {b.number()}" if b.choose.chance(3) else "pass")
    c.offer("changes", f"{c.name}.__setattr__ = lambda self, name, v: object.__setattr__(self, name, 4)", f"del {c.name}.__setattr__")


def class_and_static(b, c):
    c.lines += ["@classmethod", "def cm(cls, v=1):", "    return cls.k + v % 3", "@staticmethod", f"def sm(v={b.number()}):", "    return v"]
    c.offer("nums", "@.cm()", "@.sm()", f"{c.name}.cm(2)", f"{c.name}.sm(n)")
    c.offer("changes", f"{c.name}.cm = classmethod(lambda cls, v=1: {b.number()})", f"{c.name}.sm = staticmethod(lambda v=1: 7)",
            f"{c.name}.sm.__defaults__ = ({b.number()},)")


def cached_property(b, c):
    if c.slots:
        return
    c.lines += ["@functools.cached_property", "def cp(self):", f"    return {c.value()}"]
    c.offer("nums", "@.cp")
    c.offer("changes", "@.__dict__.pop('cp', None)", "@.cp = 3")


def context(b, c):
    c.method("__enter__(self)", "self.a += 1", "return self.a")
    c.method("__exit__(self, *error)", "self.a -= 1", "return bool(error[0]) and self.k == 2")
    c.offer("writes", "with @ as m: x = x + m % 5", "with @: x = x * 0.5")
    c.offer("changes", f"{c.name}.__enter__ = lambda self: {b.number()}", f"{c.name}.__exit__ = lambda self, *e: True")


def arithmetic(b, c):
    c.method("__add__(self, other)", "return self.a + other")
    c.method("__radd__(self, other)", "return other + self.a * 2")
    c.method("__index__(self)", "return 2")
    c.method("__neg__(self)", "return -self.a")
    if b.choose.chance(2):
        c.method("__iadd__(self, other)", "self.a += other", "return self")
        c.offer("writes", "@ += 2")
    c.offer("nums", "(@ + 1)", "(1 + @)", "(-@)", "[1, 2, 3, 4][@]", "sum([1, @])", "range(@)[-1]", "len('x' * int(@))")
    c.offer("tens", "(x + (1 + @) % 3)")
    c.offer("changes", f"{c.name}.__add__ = lambda self, o: {b.number()}", f"{c.name}.__radd__ = lambda self, o: {b.number()}",
            f"{c.name}.__index__ = lambda self: 1", f"{c.name}.__int__ = lambda self: 3")


def repr_(b, c):
    c.method("__repr__(self)", "return 'r' * int(bool(self.a))")
    c.method("__format__(self, spec)", "return spec + str(self.a)")
    c.offer("nums", "len(repr(@))", "len(str(@))", "len(f'{@:abc}')", "len(f'{@!r}')", "len('%s' % @)", "len('{}'.format(@))", "len(str([@]))")
    c.offer("changes", f"{c.name}.__repr__ = lambda self: 'abc'", f"{c.name}.__str__ = lambda self: 'abcd'", f"{c.name}.__format__ = lambda self, s: 'q'")


FEATURES = (method_, property_, descriptor, call_, len_, bool_, eq_, hash_, order, iter_, getitem, contains, getattr_, getattribute, setattr_,
            class_and_static, cached_property, context, arithmetic, repr_)


def instance(b, c):
    name = b.name("o")
    args = b.number()
    inner = None
    if b.things and b.choose.chance(2):
        inner = b.choose.pick(b.things)
        args += f", {inner.path}"
    other = b.name("o")
    b.add(f"{name} = {c.name}({args})", f"{other} = {c.name}({b.number()})", f"class {c.name}Sub({c.name}):",
          f"    k = {b.number()}" if not c.slots else f"    __slots__ = ()\n    k = {b.number()}")
    thing = b.thing(name, **c.fields)
    thing.nums.append(f"(2 if @ is {other} else 3)")
    thing.changes += [f"@ = {other}", f"@.__class__ = {c.name}Sub", f"@ = {c.name}Sub({b.number()})", f"@ = {c.name}({b.number()})"]
    if inner is not None:
        thing.adopt(inner.below(".held", b.choose), changes=not inner.is_value)
        thing.changes += [f"@.held = {inner.path}", f"@.held = {b.choose.pick(b.things).path}"]
        thing.writes += [f"@.held = {inner.path}", "@.held = x"] if b.choose.chance(2) else []
    return thing


def data_class(b):
    cls, name = b.name("Data"), b.name("dt")
    options = b.choose.pick(("", "(frozen=True)", "(slots=True)", "(eq=False)", "(order=True)", "(kw_only=True)"))
    b.add(f"@dataclass{options}", f"class {cls}:", "    p: float = 1", f"    q: object = {b.number()}",
          "    r: list = dataclasses.field(default_factory=list)", f"{name} = {cls}(p={b.number()})")
    b.feature("dataclass")
    thing = b.thing(name, nums=["@.p", "@.q", f"{cls}(p=2).q", f"(2 if @ == {cls}(p=2) else 3)", "len(@.r)", f"len(dataclasses.fields(@))",
                                f"dataclasses.replace(@, p=5).p", "len(repr(@))"],
                    writes=["@.r.append(n)"] + ([] if "frozen" in options else ["@.p = n", "@.p += 1"]),
                    changes=["@.r.append(1)", f"@ = {cls}(p={b.number()})"] + ([] if "frozen" in options else [f"@.p = {b.number()}", f"@.q = {b.other_number()}"]))
    if not options == "(slots=True)":
        thing.changes.append(f"{cls}.q = {b.number()}")
    return thing


def named_tuple(b):
    cls, name = b.name("NT"), b.name("nt")
    b.add(f"{cls} = namedtuple('{cls}', 'p q', defaults=[{b.number()}])", f"{name} = {cls}({b.number()})")
    b.feature("namedtuple")
    return b.thing(name, nums=["@.p", "@.q", "@[1]", "len(@)", "@._replace(p=3).p", f"{cls}(1).q", "sum(@)", "(2 if @ == (2, 3.0) else 4)"],
                   seqs=["@", "@[1:]"], changes=[f"@ = {cls}({b.number()}, 2)", "@ = @._replace(q=4)", "@ = tuple(@) + (1,)"])


def enumeration(b):
    cls, name = b.name("En"), b.name("e")
    b.add(f"class {cls}(Enum):", f"    A = {b.choose.pick(('1', '2', '(1, 2)'))}", "    B = 3", "    def size(self): return len(self.name)",
          f"{name} = {cls}.A")
    b.feature("enum")
    return b.thing(name, nums=[f"(2 if @ is {cls}.A else 3)", f"(2 if @ == {cls}.B else 3)", "len(@.name)", "@.size()", f"len(list({cls}))",
                               f"{{{cls}.A: 2}}.get(@, 4)", f"len({cls}['A'].name)", "(3 if @.value == 3 else 4)"],
                   changes=[f"@ = {cls}.B", f"@ = {cls}.A", f"{cls}.size = lambda self: 5"])


def namespace(b):
    name = b.name("ns")
    inner = b.choose.pick(b.things).path if b.things else b.number()
    b.add(f"{name} = SimpleNamespace(a={b.number()}, held={inner})")
    b.feature("SimpleNamespace")
    thing = b.thing(name, nums=["@.a", "len(vars(@))", "getattr(@, 'b', 2)"], writes=["@.a = n", "@.a += 1", "@.b = 2", "if hasattr(@, 'b'): del @.b"],
                    changes=[f"@.a = {b.number()}", "@.b = 4", "vars(@).pop('b', None)"])
    held = next((t for t in b.things if t.path == inner), None)
    if held is not None:
        thing.adopt(held.below(".held", b.choose), changes=not held.is_value)
        thing.changes.append(f"@.held = {b.choose.pick(b.things[:-1] or [held]).path}")
    return thing


def weak(b):
    owners = [t for t in b.things if re.fullmatch(r"(o|dt)\d+", t.path)]
    if not owners:
        return class_(b)
    owner = b.choose.pick(owners)
    name = b.name("wr")
    b.add(f"try: {name} = weakref.ref({owner.path})", f"except TypeError: {name} = lambda: None")
    b.feature("weakref")
    return b.thing(name, nums=["(2 if @() is None else 3)", f"(2 if @() is {owner.path} else 3)", "getattr(@(), 'a', 5)"],
                   changes=[f"{owner.path} = SimpleNamespace(a=4)"])


MAKERS = (class_, class_, class_, class_, data_class, named_tuple, enumeration, namespace, weak)
