"""Lists, dicts, sets, tuples and their relatives, holding numbers or other things (aliases)."""
from soundness.grammar.builder import Thing


def held(b, most=2):
    """Things to put into a container: (text, Thing or None) for each item."""
    items = []
    for _ in range(1 + b.choose.below(3)):
        if b.things and b.choose.chance(2):
            thing = b.choose.pick(b.things)
            items.append((thing.path, thing))
        else:
            items.append((b.number(), None))
    return items


def adopt_items(b, thing, items, steps):
    for step, (text, inner) in zip(steps, items):
        if inner is None:
            thing.nums.append(f"@{step}")
        else:
            thing.adopt(inner.below(step, b.choose), changes=not inner.is_value)


def numbers(b):
    return [b.number() for _ in range(b.choose.below(4))]


def list_of_numbers(b):
    name = b.name("l")
    b.add(f"{name} = [{', '.join(numbers(b))}]")
    b.feature("list")
    return b.thing(name, nums=["len(@)", "sum(@)", "(@[0] if @ else 7)", "(@[-1] if len(@) > 1 else 2)", "max(@, default=2)",
                               "(2 if @ else 3)", "(2 if 2 in @ else 3)", "@.count(1)", "(4 if @ == [2, 3.0] else 5)",
                               "len(@ + [1])", "len(@[1:])", "(6 if any(@) else 7)", "sum(v * i for i, v in enumerate(@))",
                               "min([1, *@])", "(@ < [2]) + 1", "[*@, 1, 2][1]", "len({*@})", "sum(map(abs, @))",
                               "functools.reduce(operator.add, @, 0)"],
                   seqs=["@", "@[:2]", "reversed(@)", "[v + 1 for v in @]", "(v for v in @ if v)", "list(@)", "@ * 2", "iter(@)",
                         "filter(None, @)", "(a + b for a, b in zip(@, @[1:]))", "itertools.chain(@, [1])", "sorted(@)"],
                   writes=["@.append(n)", "@.insert(0, 2)", "@.extend([1, n])", "@.extend((3,))",
                           "if @: @.pop()", "if @: @[0] = n", "if @: @[-1] += 1", "@.clear()", "@.reverse()", "@.sort()",
                           "del @[:1]", "@[1:] = [n]", "if 1 in @: @.remove(1)"],
                   changes=[f"@.append({b.number()})", f"@[:1] = [{b.number()}]", "@.reverse()", f"@.insert(0, {b.other_number()})",
                            "del @[-1:]", f"@[:] = [{', '.join(numbers(b))}]", "@.sort(key=str)", "@.clear()",
                            "@ = list(@)", f"@ = [{b.number()}]", f"@ = ({b.number()}, 1)"])


def list_of_things(b):
    name = b.name("q")
    items = held(b)
    opening, closing, kind = b.choose.pick((("[", "]", "list of things"), ("(", ",)", "tuple of things"),
                                            ("deque([", "])", "deque of things")))
    b.add(f"{name} = {opening}{', '.join(text for text, _ in items)}{closing}")
    b.feature(kind)
    thing = b.thing(name, nums=["len(@)"])
    adopt_items(b, thing, items, [f"[{i}]" for i in range(len(items))])
    if b.things[:-1]:
        other = b.choose.pick(b.things[:-1])
        if not opening.startswith("("):
            thing.changes += [f"@[0] = {other.path}", f"@[-1] = @[0]", "@.reverse()", f"@.append({other.path})"]
            thing.writes += [f"@.append(x)" if b.choose.chance(3) else "@.append(n)", f"@[-1] = @[0]"]
            thing.nums += ["(2 if @[0] is @[-1] else 3)", f"(3 if {other.path} is @[0] else 4)"]
        thing.changes.append(f"@ = type(@)(@)")
    return thing


def dict_of_things(b):
    name = b.name("d")
    items = held(b)
    keys = b.choose.some(("'a'", "'b'", "1", "(1, 'a')", "2.0", "None"), len(items))
    inner = ", ".join(f"{k}: {text}" for k, (text, _) in zip(keys, items))
    text, kind = b.choose.pick(((f"{{{inner}}}", "dict"), (f"OrderedDict({{{inner}}})", "OrderedDict"),
                                (f"defaultdict(list, {{{inner}}})", "defaultdict"),
                                (f"SubDict({{{inner}}})", "dict subclass")))
    if kind == "dict subclass":
        if "class SubDict(dict):" not in b.source:
            b.add("class SubDict(dict):", "    def __missing__(self, key):", "        return 5")
    b.add(f"{name} = {text}")
    b.feature(kind)
    key, absent = b.choose.pick(keys), b.choose.pick(KEYS)
    thing = b.thing(name, nums=["len(@)", f"(2 if {absent} in @ else 3)", "len(list(@))", f"len(str(list(@.keys())))",
                                f"(1 if @.get({absent}) is None else 2)", "(4 if @ else 5)", f"len([k for k in @ if k == 'a'])",
                                f"(3 if list(@)[:1] == [{key}] else 4)", "sum(len(str(k)) for k, v in @.items())", "len({**@})", f"(2 if next(iter(@), 0) == {key} else 3)"],
                    writes=[f"@[{absent}] = n", f"@.setdefault({absent}, 3)", f"@.pop({absent}, None)",
                            f"@.update({{{absent}: 2}})", f"if {absent} in @: del @[{absent}]",
                            f"@[{absent}] = @.get({absent}, 0) + 1 if isinstance(@.get({absent}, 0), int) else 2"],
                    changes=[f"@[{key}] = {b.number()}", f"@[{absent}] = {b.number()}", f"@.pop({key}, None)",
                             f"@[{key}] = @.pop({key}, 3)", "@ = type(@)(@)" if kind != "defaultdict" else "@.clear()",
                             f"@.update({{{key}: {b.other_number()}}})"])
    adopt_items(b, thing, items, [f"[{k}]" for k in keys])
    if kind == "OrderedDict":
        thing.changes += [f"@.move_to_end({key}) if {key} in @ else None"]
        thing.writes += [f"if {key} in @: @.move_to_end({key})"]
    if kind in ("defaultdict", "dict subclass"):
        thing.nums += [f"len(str(@[{absent}]))"]
    return thing


KEYS = ("'zz'", "'a'", "7", "True", "1.0", "(1, 'a')", "None")


def set_of_numbers(b):
    name = b.name("z")
    b.add(f"{name} = " + b.choose.pick(("{1, 2, 3}", "{1.5, 2}", "frozenset([1, 4])", "set()", "{'a', 'b'}", "{True, 5}")))
    b.feature("set")
    return b.thing(name, nums=["len(@)", "(2 if 1 in @ else 3)", "(4 if @ else 5)", "len(@ | {9})", "len(@ & {1, 2})",
                               "(1 if @ == {1, 4} else 2)", "(1 if @ <= {1, 2, 3, 4} else 2)", "(2 if 'a' in @ else 3)"],
                   seqs=["sorted(v for v in @ if not isinstance(v, str))"],
                   writes=["@.add(n)", "@.discard(1)", "@.update([n, 2])"],
                   changes=["@ = set(@)", "@ = @ | {8}", "@ = @ - {1, 'a'}", "@ = {1.0, True, 2}"]
                   + ["@.add(8) if isinstance(@, set) else None", "@.discard(1) if isinstance(@, set) else None"])


def deque_of_numbers(b):
    name = b.name("dq")
    b.add(f"{name} = deque([{', '.join(numbers(b))}], maxlen={b.choose.pick(('None', '4'))})")
    b.feature("deque")
    return b.thing(name, nums=["len(@)", "sum(@)", "(@[0] if @ else 3)", "(2 if 1 in @ else 4)", "(@.maxlen or 2)"], seqs=["@", "list(@)"],
                   writes=["@.append(n)", "@.appendleft(2)", "if @: @.popleft()", "@.rotate(1)"],
                   changes=[f"@.append({b.number()})", "@.rotate(1)", f"@.appendleft({b.other_number()})", "@.clear()"])


def tuple_of_numbers(b):
    name = b.name("u")
    b.add(f"{name} = ({', '.join([*numbers(b), '1'])},)")
    b.feature("tuple")
    return b.thing(name, nums=["len(@)", "@[-1]", "sum(@)", "(2 if 1 in @ else 3)", "(1 if @ == (2, 1) else 2)", "(@ > (1, 2)) + 1"],
                   seqs=["@", "@[1:]", "[a for a, *_ in [@]]"], changes=[f"@ = ({b.number()}, {b.other_number()})", "@ = @[::-1]", "@ = @ + (1,)"],
                   is_value=True)


def iterator(b):
    """An iterator made outside: advancing it is a stop, so there are few."""
    name = b.name("it")
    b.add(f"{name} = iter([1, 2, 3, 4, 5, 6, 7, 8])")
    b.feature("outside iterator")
    return b.thing(name, nums=["next(@, 2)"], changes=["next(@, None)"])


MAKERS = (list_of_numbers, list_of_things, dict_of_things, set_of_numbers, deque_of_numbers, tuple_of_numbers, list_of_things,
          dict_of_things)
RARE = (iterator,)
