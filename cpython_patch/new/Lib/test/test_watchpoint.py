"""Tests of watchpoints (Include/cpython/watchpoint.h).

The tests of lists and sets hand an operation to check_change(), which first runs
it on unwatched objects until its instructions are specialised, and then on a
watched one, whose content each event records.
"""

import collections
import copy
import functools
import gc
import heapq
import random
import sys
import types
import unittest
import weakref
from test import support
from test.support import import_helper, script_helper

_testwatchpoint = import_helper.import_module('_testwatchpoint')
_testcapi = import_helper.import_module('_testcapi')
_testlimitedcapi = import_helper.import_module('_testlimitedcapi')
Watcher = _testwatchpoint.Watcher

WARM = 100                      # calls until an instruction is specialised


class WatchTestCase(unittest.TestCase):

    def watcher(self, **kwargs):
        watcher = Watcher(**kwargs)
        self.addCleanup(watcher.close)
        return watcher

    def watch(self, obj, **kwargs):
        watcher = self.watcher(**kwargs)
        watcher.watch(obj)
        return watcher

    def assert_events(self, watcher, *expected, of=None):
        """(name, key, new value) of the events since the last call."""
        events = [(name, key, new) for name, _, key, new, _ in watcher.events]
        if of is not None:
            self.assertEqual({address for _, address, *_ in watcher.events},
                             {id(of)} if expected else set())
        watcher.events.clear()
        self.assertEqual(events, list(expected))

    def check_change(self, make, operation, *, events=None):
        """The operation changes what make() gives, and tells so before."""
        for _ in range(WARM):
            operation(make())
        obj = make()
        before = list(obj)
        watcher = self.watch(obj, observe=list)
        operation(obj)
        seen = [entry[-1] for entry in watcher.events]
        self.assertNotEqual(list(obj), before)
        self.assertEqual({entry[:4] for entry in watcher.events},
                         {('MODIFIED', id(obj), None, None)})
        self.assertEqual(seen[0], before)
        if events is not None:
            self.assertEqual(len(seen), events)
        watcher.events.clear()
        watcher.unwatch(watcher.watch(other := make()))
        operation(other)
        self.assertEqual(watcher.events, [])
        watcher.close()

    def check_no_change(self, make, operation, *, raises=()):
        obj = make()
        before = list(obj)
        watcher = self.watch(obj)
        if raises:
            self.assertRaises(raises, operation, obj)
        else:
            operation(obj)
        self.assertEqual(list(obj), before)
        self.assertEqual(watcher.events, [])
        watcher.close()


# --- lists ------------------------------------------------------------------

def set_first(x): x[0] = 'new'
def set_last(x): x[-1] = 'new'
def delete_first(x): del x[0]
def append(x): x.append('new')
def append_as_value(x): return x.append('new')
def extend_by_literal(x): x += ['new']
def repeat(x): x *= 2
def repeat_never(x): x *= 0


class SubList(list):
    pass


class ListTest(WatchTestCase):

    OPERATIONS = {
        'setitem': (set_first, 1),
        'setitem from the end': (set_last, 1),
        'delitem': (delete_first, 1),
        'append': (append, 1),
        'append as value': (append_as_value, 1),
        'iadd': (extend_by_literal, 1),
        'iadd self': (lambda x: x.__iadd__(x), 1),
        'imul': (repeat, 1),
        'imul 0': (repeat_never, 1),
        'insert': (lambda x: x.insert(1, 'new'), 1),
        'pop': (lambda x: x.pop(), 1),
        'pop first': (lambda x: x.pop(0), 1),
        'remove': (lambda x: x.remove(1), 1),
        'clear': (lambda x: x.clear(), 1),
        'reverse': (lambda x: x.reverse(), 1),
        'sort': (lambda x: x.sort(reverse=True), 2),
        'sort by key': (lambda x: x.sort(key=lambda v: -v), 2),
        'extend list': (lambda x: x.extend([8, 9]), 1),
        'extend tuple': (lambda x: x.extend((8, 9)), 1),
        'extend set': (lambda x: x.extend({8, 9}), 1),
        'extend dict': (lambda x: x.extend({8: 9}), 1),
        'extend keys': (lambda x: x.extend({8: 9}.keys()), 1),
        'extend values': (lambda x: x.extend({8: 9}.values()), 1),
        'extend items': (lambda x: x.extend({8: 9}.items()), 1),
        'extend iterator': (lambda x: x.extend(iter('abcdefghijk')), 11),
        'extend generator': (lambda x: x.extend(c for c in 'ab'), 2),
        'extend by itself': (lambda x: x.extend(x), 1),
        'init': (lambda x: x.__init__([7]), 2),
        'init empty': (lambda x: x.__init__(), 1),
        'set slice': (lambda x: x.__setitem__(slice(0, 2), [7, 8, 9]), 1),
        'set slice, same length': (lambda x: x.__setitem__(slice(0, 1), [7]), 1),
        'set all': (lambda x: x.__setitem__(slice(None), 'ab'), 1),
        'set all to nothing': (lambda x: x.__setitem__(slice(None), ''), 1),
        'set to itself': (lambda x: x.__setitem__(slice(1, 1), x), 1),
        'set extended slice': (
            lambda x: x.__setitem__(slice(0, 3, 2), 'ab'), 1),
        'delete slice': (lambda x: x.__delitem__(slice(0, 2)), 1),
        'delete extended slice': (
            lambda x: x.__delitem__(slice(0, 3, 2)), 1),
        'delete backwards': (
            lambda x: x.__delitem__(slice(None, None, -2)), 1),
        'heappush': (lambda x: heapq.heappush(x, -1), None),
        'heappop': (lambda x: heapq.heappop(x), None),
        'heapreplace': (lambda x: heapq.heapreplace(x, 9), None),
        'heappushpop': (lambda x: heapq.heappushpop(x, 9), None),
        'heapify max': (lambda x: heapq._heapify_max(x), None),
        'heappop max': (lambda x: heapq._heappop_max(x), None),
        'heapreplace max': (lambda x: heapq._heapreplace_max(x, -9), None),
        'C setitem': (lambda x: _testlimitedcapi.list_setitem(x, 0, 'new'), 1),
        'C insert': (lambda x: _testlimitedcapi.list_insert(x, 0, 'new'), 1),
        'C append': (lambda x: _testlimitedcapi.list_append(x, 'new'), 1),
        'C setslice': (lambda x: _testlimitedcapi.list_setslice(x, 0, 1, ()), 1),
        'C reverse': (lambda x: _testlimitedcapi.list_reverse(x), 1),
        'C extend': (lambda x: _testcapi.list_extend(x, [8]), 1),
        'C clear': (lambda x: _testcapi.list_clear(x), 1),
    }

    def test_changes(self):
        for kind in list, SubList:
            for name, (operation, events) in self.OPERATIONS.items():
                with self.subTest(name, kind=kind.__name__):
                    self.check_change(lambda: kind([0, 1, 2]), operation,
                                      events=events)

    def test_c_sort(self):
        self.check_change(lambda: [2, 1], _testlimitedcapi.list_sort, events=2)

    def test_heapify(self):
        self.check_change(lambda: [3, 2, 1], heapq.heapify)

    def test_change_of_an_empty_list(self):
        for operation in append, extend_by_literal, lambda x: x.extend(iter('a')):
            self.check_change(list, operation, events=1)

    def test_no_change(self):
        for operation in (
            lambda x: x.extend(()), lambda x: x.extend(iter(())),
            lambda x: x.extend(set()), lambda x: x.extend({}),
            lambda x: x.__setitem__(slice(1, 1), ()),
            lambda x: x.__delitem__(slice(5, 9, 2)),
            list.copy, len, sorted, repr, copy.deepcopy, lambda x: x[0],
            lambda x: x + [1], lambda x: x * 2, lambda x: list(reversed(x)),
            lambda x: x.__imul__(1), lambda x: x == [0], lambda x: 1 in x,
            lambda x: x.count(1), lambda x: x.index(1), gc.get_referents,
        ):
            self.check_no_change(lambda: [0, 1, 2], operation)

    def test_no_change_by_errors(self):
        for error, operation in (
            (IndexError, lambda x: x.__setitem__(3, 0)),
            (IndexError, lambda x: x.pop(3)),
            (ValueError, lambda x: x.remove(3)),
            (TypeError, lambda x: x.extend(3)),
            (TypeError, lambda x: x.__setitem__(slice(0, 1), 3)),
            (ValueError, lambda x: x.__setitem__(slice(0, 3, 2), [1])),
            (ZeroDivisionError, lambda x: x.extend(1 / n for n in [0])),
        ):
            self.check_no_change(lambda: [0, 1, 2], operation, raises=error)

    def test_sort_tells_twice(self):
        # code runs in between, for which the list is empty
        x = [2, 1]
        watcher = self.watch(x, observe=list)
        def key(value):
            names.append((len(watcher.events), list(x)))
            return value
        names = []
        x.sort(key=key)
        self.assertEqual(names, [(1, []), (1, [])])
        self.assertEqual([e[-1] for e in watcher.events], [[2, 1], []])

    def test_failed_sort(self):
        x = [2, 1, 'a']
        watcher = self.watch(x, observe=list)
        self.assertRaises(TypeError, x.sort)
        self.assertEqual([e[-1] for e in watcher.events], [[2, 1, 'a'], []])

    def test_finalizer_in_a_change_sees_it_done(self):
        class Item:
            def __del__(self):
                seen.append((len(watcher.events), list(x)))
        for change in list.clear, list.pop, set_first, delete_first, repeat_never:
            seen = []
            x = [Item()]
            watcher = self.watch(x)
            change(x)
            self.assertEqual(seen, [(1, list(x))])

    def test_comprehension(self):
        # LIST_APPEND, on a list that only the collector can find
        def items():
            yield 1
            found = [x for x in gc.get_objects()
                     if type(x) is list and x == [marker, 1]]
            for x in found:
                watcher.watch(x)
            yield 2
        marker = object()
        watcher = self.watcher()
        x = [*[marker], *items()]
        self.assertEqual(x, [marker, 1, 2])
        self.assertIn(('MODIFIED', id(x)), [e[:2] for e in watcher.events])


# --- sets -------------------------------------------------------------------

def add(x): x.add('new')
def update_literal(x): x |= {'new', 'other'}


class SubSet(set):
    pass


class SetTest(WatchTestCase):

    OPERATIONS = {
        'add': (add, 1),
        'discard': (lambda x: x.discard(1), 1),
        'remove': (lambda x: x.remove(1), 1),
        'pop': (lambda x: x.pop(), 1),
        'clear': (lambda x: x.clear(), 1),
        'ior': (update_literal, None),
        'update set': (lambda x: x.update({7, 8}), None),
        'update dict': (lambda x: x.update({7: 8}), None),
        'update list': (lambda x: x.update([7]), 1),
        'update several': (lambda x: x.update([7], [8]), None),
        'intersection_update': (lambda x: x.intersection_update({1, 2}), 1),
        'iand': (lambda x: x.__iand__({1, 2}), 1),
        'difference_update': (lambda x: x.difference_update({1}), None),
        'difference_update list': (lambda x: x.difference_update([1]), None),
        'isub': (lambda x: x.__isub__({1}), None),
        'isub itself': (lambda x: x.__isub__(x), 1),
        'symmetric_difference_update': (
            lambda x: x.symmetric_difference_update({1, 9}), 2),
        'symmetric_difference_update dict': (
            lambda x: x.symmetric_difference_update({1: 9}), 1),
        'symmetric_difference_update list': (
            lambda x: x.symmetric_difference_update([1]), 1),
        'ixor': (lambda x: x.__ixor__({1}), 1),
        'ixor itself': (lambda x: x.__ixor__(x), 1),
        'init': (lambda x: x.__init__([7]), 2),
        'init empty': (lambda x: x.__init__(), 1),
        'C add': (lambda x: _testlimitedcapi.set_add(x, 'new'), 1),
        'C discard': (lambda x: _testlimitedcapi.set_discard(x, 1), 1),
        'C pop': (lambda x: _testlimitedcapi.set_pop(x), 1),
        'C clear': (lambda x: _testlimitedcapi.set_clear(x), 1),
    }

    def test_changes(self):
        for kind in set, SubSet:
            for name, (operation, events) in self.OPERATIONS.items():
                with self.subTest(name, kind=kind.__name__):
                    self.check_change(lambda: kind(range(3)), operation,
                                      events=events)

    def test_changes_of_an_empty_set(self):
        for operation in (add, update_literal, lambda x: x.update({7: 8}),
                          lambda x: x.update(range(50)),
                          lambda x: x.update(set(range(50))),
                          lambda x: x.__init__({7})):
            self.check_change(set, operation)

    def test_each_item_of_an_iterator(self):
        self.check_change(lambda: {0}, lambda x: x.update(iter('ab')), events=2)

    def test_no_change(self):
        for operation in (
            lambda x: x.add(1), lambda x: x.discard(9), lambda x: x.update(()),
            lambda x: x.update({1}), lambda x: x.update(x), lambda x: x.update({}),
            lambda x: x.__isub__({9}), lambda x: x.__ixor__(set()),
            lambda x: x | {9}, lambda x: x & {9}, lambda x: x - {1},
            lambda x: x ^ {1}, set.copy, len, sorted, lambda x: x <= {9},
            lambda x: x.isdisjoint({9}), gc.get_referents,
        ):
            self.check_no_change(lambda: {0, 1, 2}, operation)

    def test_no_change_by_errors(self):
        for error, operation in (
            (KeyError, lambda x: x.remove(9)), (TypeError, lambda x: x.add([])),
            (TypeError, lambda x: x.update(9)), (TypeError, lambda x: x.update([[]])),
        ):
            self.check_no_change(lambda: {0, 1, 2}, operation, raises=error)

    def test_order(self):
        # A set's table may be made larger, and the items reordered, for items
        # that turn out to be there.
        reordered = 0
        for extra in range(200):
            x = set(range(0, 8 * 5, 8)) | set(range(extra))
            x -= set(range(1, extra, 2))
            before = list(x)
            watcher = self.watch(x, observe=list)
            x.update(set(x))
            x -= {-1}
            if list(x) != before:
                self.assertEqual(watcher.events[0][-1], before)
                reordered += 1
            watcher.close()
        self.assertGreater(reordered, 0)


# --- cells ------------------------------------------------------------------

class CellTest(WatchTestCase):

    def make(self):
        content = 0
        def store(value):
            nonlocal content
            content = value
        def delete():
            nonlocal content
            del content
        def read():
            return content
        return store, delete, read, store.__closure__[0]

    def test_nonlocal(self):
        store, delete, read, cell = self.make()
        for i in range(WARM):
            store(i)
        watcher = self.watch(cell, observe=lambda cell: cell.cell_contents)
        store('a')
        self.assertEqual(watcher.events,
                         [('CELL_SET', id(cell), None, 'a', WARM - 1)])
        watcher.events.clear()
        read()
        self.assert_events(watcher)
        delete()
        self.assert_events(watcher, ('CELL_SET', None, None), of=cell)
        watcher.unwatch(cell)
        store('b')
        self.assert_events(watcher)

    def test_owner_stores(self):
        def owner():
            value = 1
            def inner():
                return value
            watcher.watch(inner.__closure__[0])
            value = 2
            del value
            value = 3
            return inner
        watcher = self.watcher()
        inner = owner()
        self.assert_events(
            watcher, ('CELL_SET', None, 2), ('CELL_SET', None, None),
            ('CELL_SET', None, 3), of=inner.__closure__[0])

    def test_cell_contents(self):
        cell = types.CellType(1)
        watcher = self.watch(cell)
        cell.cell_contents = 2
        del cell.cell_contents
        _testwatchpoint.cell_set(cell, 3)
        _testwatchpoint.cell_set(cell)
        self.assert_events(
            watcher, ('CELL_SET', None, 2), ('CELL_SET', None, None),
            ('CELL_SET', None, 3), ('CELL_SET', None, None), of=cell)

    def test_frame_locals(self):
        def owner():
            value = 1
            inner = lambda: value
            watcher.watch(inner.__closure__[0])
            sys._getframe().f_locals['value'] = 2
            return value, inner
        watcher = self.watcher()
        value, inner = owner()
        self.assertEqual(value, 2)
        self.assert_events(watcher, ('CELL_SET', None, 2))

    def test_class_cell(self):
        class Meta(type):
            def __new__(meta, name, bases, namespace):
                watcher.watch(namespace['__classcell__'])
                return super().__new__(meta, name, bases, namespace)
        watcher = self.watcher()
        class C(metaclass=Meta):
            def f(self):
                return __class__
        self.assertEqual(watcher.events[-1][0], 'CELL_SET')
        self.assertIs(watcher.events[-1][3], C)
        watcher.events.clear()


# --- instances --------------------------------------------------------------

class Slots:
    __slots__ = 'a', 'b'


class SlotsToo:
    __slots__ = 'a', 'b'


class SubSlots(Slots):
    __slots__ = 'c',


class SlotsAndDict(Slots):
    pass


class Plain:
    pass


class PlainToo:
    pass


class IntWithDict(int):
    pass


class TupleWithDict(tuple):
    pass


class SubPartial(functools.partial):
    pass


class SlotTest(WatchTestCase):

    def test_store(self):
        def store(obj, value):
            obj.a = value
        for kind in Slots, SubSlots, SlotsAndDict:
            obj = kind()
            for i in range(WARM):
                store(obj, i)
            watcher = self.watch(obj, observe=lambda obj: obj.a)
            for i in range(WARM):
                store(obj, -i)
            self.assertEqual(
                watcher.events,
                [('SLOT_SET', id(obj), 'a', -i, WARM - 1 if i == 0 else 1 - i)
                 for i in range(WARM)])
            other = kind()
            for i in range(WARM):
                store(other, i)
            self.assertEqual(len(watcher.events), WARM)
            watcher.unwatch(obj)
            store(obj, 0)
            self.assertEqual(len(watcher.events), WARM)
            watcher.close()

    def test_other_ways(self):
        obj = SubSlots()
        watcher = self.watch(obj)
        setattr(obj, 'b', 1)
        object.__setattr__(obj, 'c', 2)
        Slots.a.__set__(obj, 3)
        del obj.b
        delattr(obj, 'c')
        Slots.a.__delete__(obj)
        self.assert_events(
            watcher, ('SLOT_SET', 'b', 1), ('SLOT_SET', 'c', 2),
            ('SLOT_SET', 'a', 3), ('SLOT_SET', 'b', None),
            ('SLOT_SET', 'c', None), ('SLOT_SET', 'a', None), of=obj)
        self.assertRaises(AttributeError, setattr, obj, 'd', 1)
        self.assert_events(watcher)

    def test_specialised_after_class_set(self):
        def store(obj, value):
            obj.a = value
        class New:
            __slots__ = 'a', 'b'
        obj, other = Slots(), New()
        for i in range(WARM):
            store(other, i)
        watcher = self.watch(obj)
        obj.__class__ = New
        self.assert_events(watcher, ('CLASS_SET', None, New), of=obj)
        for i in range(WARM):
            store(obj, i)
        self.assertEqual(len(watcher.events), WARM)

    def test_members_in_c(self):
        # a member that C code made, of an instance of a class in Python
        class Error(ImportError):
            pass
        obj = Error()
        def store(value):
            obj.name = value
        for i in range(WARM):
            store(i)
        watcher = self.watch(obj)
        store('x')
        self.assert_events(watcher, ('SLOT_SET', 'name', 'x'), of=obj)

    def test_type_is_told_once(self):
        class C:
            __slots__ = 'a',
        class D:
            pass
        type_watcher = _testcapi.add_type_watcher(0)
        self.addCleanup(_testcapi.clear_type_watcher, type_watcher)
        for kind, expected in (C, [C]), (D, []):
            kind().a = 1
            _testcapi.watch_type(type_watcher, kind)
            objects = [kind() for _ in range(3)]
            watchers = [self.watch(obj) for obj in objects]
            events = _testcapi.get_type_modified_events()
            self.assertEqual(events, expected)
            events.clear()
            for watcher in watchers:
                watcher.close()


class InstanceTest(WatchTestCase):

    def test_dict_replaced(self):
        for kind in Plain, SlotsAndDict, IntWithDict, TupleWithDict, SubList:
            for materialised in False, True:
                with self.subTest(kind=kind.__name__, materialised=materialised):
                    obj = kind()
                    obj.x = 1
                    old = vars(obj) if materialised else {'x': 1}
                    watcher = self.watch(
                        obj, observe=lambda obj: getattr(obj, 'x', None))
                    obj.__dict__ = new = {'x': 2}
                    self.assertEqual(watcher.events,
                                     [('DICT_REPLACED', id(obj), None, new, 1)])
                    self.assertIs(watcher.events[0][3], new)
                    self.assertEqual(old, {'x': 1})
                    watcher.events.clear()
                    del obj.__dict__
                    self.assert_events(watcher, ('DICT_REPLACED', None, None))
                    obj.x = 3
                    self.assert_events(watcher)
                    self.assertRaises(TypeError, setattr, obj, '__dict__', 1)
                    self.assert_events(watcher)
                    watcher.close()

    def test_dict_of_c_types(self):
        class Error(Exception):
            pass
        function = lambda: 0
        ordered = collections.OrderedDict()
        for obj in Error(), function, ordered:
            watcher = self.watch(obj)
            obj.__dict__ = new = {}
            self.assert_events(watcher, ('DICT_REPLACED', None, new), of=obj)
            watcher.close()

    def test_dict_of_partial(self):
        obj = SubPartial(print)
        watcher = self.watch(obj)
        new = {'a': 1}
        obj.__setstate__((print, (), {}, new))
        self.assert_events(watcher, ('DICT_REPLACED', None, new), of=obj)

    def test_old_dict_dies_when_it_is_replaced(self):
        class Item:
            def __del__(self):
                seen.append((len(watcher.events), vars(obj)))
        for kind in Plain, IntWithDict:
            seen = []
            obj = kind()
            obj.item = Item()
            watcher = self.watch(obj)
            obj.__dict__ = {'new': 1}
            self.assertEqual(seen, [(1, {'new': 1})])

    def test_class_set(self):
        obj = Plain()
        watcher = self.watch(obj, observe=type)
        obj.__class__ = PlainToo
        self.assertEqual(
            watcher.events, [('CLASS_SET', id(obj), None, PlainToo, Plain)])
        watcher.events.clear()
        self.assertRaises(TypeError, setattr, obj, '__class__', int)
        self.assert_events(watcher)

    def test_module_class(self):
        class Module(types.ModuleType):
            pass
        module = types.ModuleType('m')
        watcher = self.watch(module)
        module.__class__ = Module
        self.assert_events(watcher, ('CLASS_SET', None, Module), of=module)

    def test_metaclass_set(self):
        class Meta(type):
            pass
        class C(metaclass=Meta):
            pass
        class Meta2(type):
            pass
        watcher = self.watch(C)
        C.__class__ = Meta2
        self.assert_events(watcher, ('CLASS_SET', None, Meta2), of=C)

    def test_names_of_types(self):
        class C:
            pass
        watcher = self.watch(C)
        C.__name__ = 'A'
        C.__qualname__ = 'B'
        self.assert_events(watcher, ('SLOT_SET', '__name__', 'A'),
                           ('SLOT_SET', '__qualname__', 'B'), of=C)

    def test_functions(self):
        def f(a=1, *, b=2):
            return __class__
        def g(a=1, *, b=2):
            return __class__
        watcher = self.watch(f)
        __class__ = None
        expected = []
        for name, value in {
            '__code__': g.__code__, '__defaults__': (3,),
            '__kwdefaults__': {'b': 4}, '__name__': 'n', '__qualname__': 'q',
            '__annotations__': {'a': int}, '__type_params__': (),
            '__doc__': 'd', '__module__': 'm',
        }.items():
            setattr(f, name, value)
            expected.append(('SLOT_SET', name, value))
        self.assert_events(watcher, *expected, of=f)
        del f.__defaults__
        f.__kwdefaults__ = None
        _testcapi.function_set_defaults(f, (5,))
        _testcapi.function_set_kw_defaults(f, {'b': 6})
        _testwatchpoint.function_set_closure(f, g.__closure__)
        self.assert_events(
            watcher, ('SLOT_SET', '__defaults__', None),
            ('SLOT_SET', '__kwdefaults__', None),
            ('SLOT_SET', '__defaults__', (5,)),
            ('SLOT_SET', '__kwdefaults__', {'b': 6}),
            ('SLOT_SET', '__closure__', g.__closure__), of=f)

    def test_specialised_store_in_functions(self):
        def f():
            pass
        def store(value):
            f.__doc__ = value
        for i in range(WARM):
            store(i)
        watcher = self.watch(f)
        store('d')
        self.assert_events(watcher, ('SLOT_SET', '__doc__', 'd'), of=f)


# --- the end of objects -----------------------------------------------------

class DeallocTest(WatchTestCase):

    def check_dealloc(self, make):
        watcher = self.watcher()
        for collect in False, True:
            obj = watcher.watch(make())
            address = id(obj)
            self.assertEqual(watcher.count, 1)
            del obj
            if collect:
                gc.collect()
            deallocated = [e for e in watcher.events if e[0] == 'DEALLOCATED']
            if not deallocated:
                gc.collect()
                deallocated = [e for e in watcher.events if e[0] == 'DEALLOCATED']
            self.assertEqual(deallocated,
                             [('DEALLOCATED', address, None, None, None)])
            self.assertIs(watcher.events[-1], deallocated[0])
            self.assertEqual(watcher.count, 0)
            watcher.events.clear()
        watcher.close()

    def test_kinds(self):
        class WithDel:
            def __del__(self):
                pass
        class WithDelAndSlots:
            __slots__ = 'a', '__weakref__'
            def __del__(self):
                pass
        def plain_with_attributes():
            obj = Plain()
            obj.a = obj.b = []
            return obj
        for make in (
            list, lambda: [1], lambda: [[]], SubList, set, lambda: {1}, SubSet,
            types.CellType, lambda: lambda: 0, lambda: types.ModuleType('m'),
            lambda: type('C', (), {}), Slots, SubSlots, SlotsAndDict, Plain,
            plain_with_attributes, IntWithDict, TupleWithDict, WithDel,
            WithDelAndSlots, collections.OrderedDict, lambda: SubPartial(print),
            lambda: type('D', (dict,), {})(), lambda: type('E', (Exception,), {})(),
        ):
            with self.subTest(make=make):
                self.check_dealloc(make)

    def test_cycles(self):
        def list_in_itself():
            x = []
            x.append(x)
            return x
        def set_of_its_owner():
            obj = Plain()
            obj.x = {obj}
            return obj.x
        def cell():
            def f():
                return f
            return f.__closure__[0]
        def instance(kind=Plain):
            obj = kind()
            obj.a = obj
            return obj
        def sub_list():
            obj = instance(SubList)
            obj.append(obj)
            return obj
        for make in (list_in_itself, set_of_its_owner, cell, instance, sub_list,
                     lambda: instance(Slots), lambda: instance(IntWithDict)):
            with self.subTest(make=make):
                self.check_dealloc(make)

    def test_clearing_by_the_collector(self):
        x = []
        x.append(x)
        watcher = self.watch(x)
        del x
        gc.collect()
        self.assert_events(watcher, ('MODIFIED', None, None),
                           ('DEALLOCATED', None, None))

    def test_deep_nesting(self):
        # the trashcan keeps a list of objects in the field of the bit
        watcher = self.watcher()
        n = 10_000
        for make in (lambda x: [x], lambda x: SubList([x])):
            x = None
            for _ in range(n):
                x = watcher.watch(make(x))
            del x
            self.assertEqual(len(watcher.events), n)
            self.assertEqual(len({e[1] for e in watcher.events}), n)
            self.assertEqual(watcher.count, 0)
            watcher.events.clear()

    def test_resurrection(self):
        saved = []
        class C:
            def __del__(self):
                saved.append(self)
        class CycleOfC(C):
            pass
        for kind, cycle in (C, False), (CycleOfC, True):
            obj = kind()
            if cycle:
                obj.itself = obj
            watcher = self.watch(obj)
            del obj
            gc.collect()
            self.assertEqual(watcher.events, [])
            self.assertEqual(watcher.count, 1)
            saved[0].__dict__ = new = {}
            self.assert_events(watcher, ('DICT_REPLACED', None, new))
            saved.clear()
            gc.collect()
            self.assert_events(watcher, ('DEALLOCATED', None, None))
            self.assertEqual(watcher.count, 0)

    def test_weakref_callback_runs_before(self):
        obj = Plain()
        watcher = self.watch(obj)
        seen = []
        ref = weakref.ref(obj, lambda ref: seen.append(len(watcher.events)))
        del obj
        self.assertEqual(seen, [0])
        self.assertIsNone(ref())
        self.assert_events(watcher, ('DEALLOCATED', None, None))

    def test_reuse(self):
        # lists have a free list; the rest of the memory is reused as well
        for make, change in ((list, append), (set, add),
                             (Plain, lambda obj: setattr(obj, '__dict__', {}))):
            watcher = self.watcher()
            addresses = set()
            for _ in range(200):
                obj = watcher.watch(make())
                addresses.add(id(obj))
                del obj
            watcher.events.clear()
            objects = [make() for _ in range(500)]
            self.assertTrue(addresses & set(map(id, objects)))
            for obj in objects:
                change(obj)
            self.assertEqual(watcher.events, [])
            self.assertEqual(watcher.count, 0)

    def test_dealloc_after_unwatch(self):
        x = []
        watcher = self.watch(x)
        watcher.unwatch(x)
        del x
        self.assert_events(watcher)


class CollectorTest(WatchTestCase):

    def test_bit_is_kept(self):
        x, s, obj, cell = [1], {1}, Slots(), types.CellType(1)
        objects = x, s, obj, cell
        watcher = self.watcher()
        for o in objects:
            watcher.watch(o)
        neighbours = []
        for action in (
            gc.collect, lambda: gc.collect(0), lambda: gc.collect(1), gc.freeze,
            gc.unfreeze, gc.collect,
            lambda: neighbours.extend([] for _ in range(10_000)),
            neighbours.clear, gc.collect,
        ):
            action()
            x.append(1)
            s.symmetric_difference_update({1})
            obj.a = 1
            cell.cell_contents = 2
            self.assert_events(
                watcher, ('MODIFIED', None, None), ('MODIFIED', None, None),
                ('SLOT_SET', 'a', 1), ('CELL_SET', None, 2))

    def test_links_with_many_watched(self):
        watcher = self.watcher()
        objects = [watcher.watch([i]) for i in range(1000)]
        random.Random(1).shuffle(objects)
        del objects[::2]
        gc.collect()
        self.assertEqual(watcher.count, 500)
        self.assertEqual(
            {id(x) for x in gc.get_objects()} & {id(x) for x in objects},
            {id(x) for x in objects})

    def test_not_watched_is_not_told(self):
        x, y = [1], [2]
        watcher = self.watch(x)
        y.append(1)
        gc.collect()
        y.append(1)
        self.assert_events(watcher)


# --- watchers ---------------------------------------------------------------

class WatcherTest(WatchTestCase):

    def test_event_names(self):
        names = [_testwatchpoint.event_name(i)
                 for i in range(-1, _testwatchpoint.PyWatch_NUM_EVENTS + 1)]
        self.assertEqual(names, [
            None, 'MODIFIED', 'CELL_SET', 'SLOT_SET', 'DICT_REPLACED',
            'CLASS_SET', 'DEALLOCATED', None])

    def test_can_watch(self):
        class C:
            pass
        for obj in ([], set(), types.CellType(), lambda: 0, sys, C, C(), Slots(),
                    SubList(), IntWithDict(), collections.OrderedDict(),
                    Exception.__new__(type('E', (Exception,), {}))):
            self.assertIs(_testwatchpoint.can_watch(obj), True, obj)
        watcher = self.watcher()
        for obj in (1, 'a', (1,), {}, frozenset({1}), int, None, 1.0, Exception(),
                    iter([]), functools.partial(print), print,
                    collections.deque(), [].append, (lambda: 0).__code__):
            self.assertIs(_testwatchpoint.can_watch(obj), False, obj)
            with self.assertRaisesRegex(TypeError, 'cannot watch'):
                watcher.watch(obj)
        self.assertEqual(watcher.count, 0)

    def test_several(self):
        x, y = [], []
        first, second = self.watcher(), self.watcher()
        first.watch(x)
        second.watch(x)
        second.watch(y)
        x.append(1)
        self.assert_events(first, ('MODIFIED', None, None), of=x)
        self.assert_events(second, ('MODIFIED', None, None), of=x)
        first.unwatch(x)
        first.unwatch(x)
        first.unwatch(y)
        x.append(1)
        y.append(1)
        self.assert_events(first)
        self.assertEqual([e[1] for e in second.events], [id(x), id(y)])

    def test_twice_is_once(self):
        x = []
        watcher = self.watch(x)
        watcher.watch(x)
        self.assertEqual(watcher.count, 1)
        x.append(1)
        self.assert_events(watcher, ('MODIFIED', None, None))
        watcher.unwatch(x)
        x.append(1)
        self.assert_events(watcher)

    def test_ids(self):
        watchers = [self.watcher()
                    for _ in range(_testwatchpoint.PyWatch_MAX_WATCHERS)]
        self.assertEqual([w.id for w in watchers], list(range(len(watchers))))
        with self.assertRaisesRegex(RuntimeError, 'no more watcher IDs'):
            Watcher()
        x = []
        for watcher in watchers:
            watcher.watch(x)
        x.append(1)
        for watcher in watchers:
            self.assert_events(watcher, ('MODIFIED', None, None), of=x)
        watchers[3].close()
        again = self.watcher()
        self.assertEqual(again.id, 3)
        x.append(1)
        self.assertEqual(again.events, [])
        self.assertEqual(watchers[3].events, [])
        self.assertEqual(len(watchers[4].events), 1)

    def test_invalid_ids(self):
        x = []
        for id, message in ((-1, 'Invalid watcher ID -1'),
                            (8, 'Invalid watcher ID 8'),
                            (7, 'No watcher set for ID 7')):
            for call in (lambda: _testwatchpoint.watch(id, x),
                         lambda: _testwatchpoint.unwatch(id, x),
                         lambda: _testwatchpoint.clear_watcher(id),
                         lambda: _testwatchpoint.count_watched(id)):
                with self.assertRaisesRegex(ValueError, message):
                    call()

    def test_error(self):
        x = []
        failing = self.watch(x, exception=ZeroDivisionError('boom'))
        other = self.watch(x)
        with support.catch_unraisable_exception() as caught:
            x.append(1)
            self.assertIs(caught.unraisable.exc_type, ZeroDivisionError)
            self.assertIsNone(caught.unraisable.object)
            self.assertRegex(
                caught.unraisable.err_msg,
                '^Exception ignored in MODIFIED watcher callback for '
                '<list at 0x')
        self.assertEqual(x, [1])
        self.assert_events(other, ('MODIFIED', None, None))
        with support.catch_unraisable_exception() as caught:
            del x
            self.assertIn('DEALLOCATED', caught.unraisable.err_msg)
        self.assert_events(other, ('DEALLOCATED', None, None))
        self.assertEqual(failing.count, 0)

    def test_pending_exception(self):
        x = []
        watcher = self.watch(x)
        failing = self.watch(x, exception=ZeroDivisionError('boom'))
        with support.catch_unraisable_exception() as caught:
            with self.assertRaisesRegex(KeyError, 'pending'):
                _testwatchpoint.append_and_raise(x, KeyError('pending'))
            self.assertIs(caught.unraisable.exc_type, ZeroDivisionError)
        self.assert_events(watcher, ('MODIFIED', None, None))
        self.assertEqual(len(failing.events), 1)

    def test_many_objects(self):
        rng = random.Random(1)
        watcher, other = self.watcher(), self.watcher()
        objects = [[i] for i in range(5000)]
        watched = set()
        for step in range(20_000):
            i = rng.randrange(len(objects))
            if i in watched:
                watcher.unwatch(objects[i])
                watched.discard(i)
            else:
                watcher.watch(objects[i])
                watched.add(i)
            if step % 3 == 0:
                other.watch(objects[rng.randrange(len(objects))])
            if step % 2000 == 0:
                self.assertEqual(watcher.count, len(watched))
                watcher.events.clear()
                for x in objects:
                    x.append(step)
                self.assertEqual({e[1] for e in watcher.events},
                                 {id(objects[i]) for i in watched})
        others = other.count
        watcher.close()
        self.assertEqual(other.count, others)
        other.events.clear()
        for x in objects:
            x.append(0)
        self.assertEqual(len(other.events), others)

    def test_no_leak(self):
        def run():
            watcher = Watcher()
            for _ in range(100):
                x = watcher.watch([1])
                x.append(2)
            watcher.close()
            return sys.getallocatedblocks()
        run()
        before = run()
        self.assertAlmostEqual(run(), before, delta=50)

    def test_end_of_process(self):
        code = '''if True:
            import _testwatchpoint
            class C:
                pass
            watcher = _testwatchpoint.Watcher()
            objects = [watcher.watch(x) for x in ([], set(), C(), C)]
            objects.append(objects)
            watcher.watch(objects)
            import builtins
            builtins.saved = objects, watcher
        '''
        script_helper.assert_python_ok('-c', code)


# --- CPython's own watchers, on which users of watchpoints rely as well -----

class DictWatcherTest(unittest.TestCase):

    def setUp(self):
        self.id = _testcapi.add_dict_watcher(0)
        self.addCleanup(_testcapi.clear_dict_watcher, self.id)

    def watch(self, d):
        _testcapi.watch_dict(self.id, d)

    def take_events(self):
        events = _testcapi.get_dict_watcher_events()
        taken = list(events)
        events.clear()
        return taken

    def check(self, make, operation, *expected):
        for _ in range(WARM):
            operation(make())
        obj = make()
        d = obj if isinstance(obj, dict) else vars(obj)
        self.watch(d)
        operation(obj)
        self.assertEqual(self.take_events(), list(expected))
        _testcapi.unwatch_dict(self.id, d)

    def make_instance(self):
        obj = Plain()
        obj.a = obj.b = 1
        vars(obj)
        return obj

    def make_instance_with_many(self):
        obj = Plain()
        for i in range(100):
            setattr(obj, f'x{i}', 1)
        obj.a = obj.b = 1
        return obj

    def make_instance_of_changed_class(self):
        obj = PlainToo()
        obj.a = obj.b = 1
        obj.__class__ = Plain
        return obj

    def make_instance_with_new_dict(self):
        obj = Plain()
        obj.__dict__ = {'a': 1, 'b': 1}
        return obj

    def make_int(self):
        obj = IntWithDict()
        obj.a = obj.b = 1
        return obj

    def test_instance_attributes(self):
        def store(obj):
            obj.a = 2
        def store_new(obj):
            obj.c = 2
        def delete(obj):
            del obj.a
        for make in (self.make_instance, self.make_instance_with_many,
                     self.make_instance_of_changed_class,
                     self.make_instance_with_new_dict, self.make_int):
            with self.subTest(make=make.__name__):
                self.check(make, store, 'mod:a:2')
                self.check(make, store_new, 'new:c:2')
                self.check(make, delete, 'del:a')
                self.check(make, lambda o: setattr(o, 'a', 2), 'mod:a:2')
                self.check(make, lambda o: delattr(o, 'b'), 'del:b')
                self.check(make, lambda o: object.__setattr__(o, 'c', 2),
                           'new:c:2')
                self.check(make, lambda o: vars(o).update(a=2, c=3),
                           'mod:a:2', 'new:c:3')
                self.check(make, lambda o: vars(o).__setitem__('a', 2),
                           'mod:a:2')
                self.check(make, lambda o: vars(o).setdefault('c', 2),
                           'new:c:2')
                self.check(make, lambda o: vars(o).setdefault('a', 2))
                self.check(make, lambda o: vars(o).pop('a'), 'del:a')
                self.check(make, lambda o: vars(o).popitem(), 'del:b')
                self.check(make, lambda o: vars(o).clear(), 'clear')
                self.check(make, lambda o: vars(o).__ior__({'a': 2}), 'mod:a:2')
                self.check(make, lambda o: vars(o).__init__(a=2), 'mod:a:2')

    def test_store_after_shared_keys_are_full(self):
        obj = self.make_instance()
        self.watch(vars(obj))
        names = [f'y{i}' for i in range(100)]
        for name in names:
            setattr(obj, name, 0)
        self.assertEqual(self.take_events(), [f'new:{name}:0' for name in names])
        obj.a = 2
        self.assertEqual(self.take_events(), ['mod:a:2'])

    def test_clear_of_an_instance_is_done_at_once(self):
        class Item:
            def __del__(self):
                seen.append(dict(vars(obj)))
                seen.append(hasattr(obj, 'b'))
                obj.c = 1
        seen = []
        obj = Plain()
        obj.a = Item()
        obj.b = 1
        d = vars(obj)
        self.watch(d)
        d.clear()
        self.assertEqual(seen, [{}, False])
        self.assertEqual(self.take_events(), ['clear', 'new:c:1'])
        self.assertEqual(d, {'c': 1})
        self.assertEqual(list(d), ['c'])

    def test_globals(self):
        namespace = {'__name__': 'm'}
        exec('''if True:
            value = 0
            def store(new):
                global value
                value = new
            def delete():
                global value
                del value
        ''', namespace)
        store, delete = namespace['store'], namespace['delete']
        for i in range(WARM):
            store(i)
        self.watch(namespace)
        store('x')
        delete()
        exec('value = 3', namespace)
        self.assertEqual(self.take_events(),
                         ['mod:value:x', 'del:value', 'new:value:3'])

    def test_module_attributes(self):
        module = types.ModuleType('m')
        def store(new):
            module.value = new
        for i in range(WARM):
            store(i)
        self.watch(vars(module))
        store('x')
        del module.value
        self.assertEqual(self.take_events(), ['mod:value:x', 'del:value'])

    def test_ordered_dict(self):
        make = lambda: collections.OrderedDict(a=1, b=2)
        self.check(make, lambda d: d.move_to_end('a'), 'mod:a:1')
        self.check(make, lambda d: d.move_to_end('b', last=False), 'mod:b:2')
        self.check(make, lambda d: d.move_to_end('b'))
        self.check(make, lambda d: d.popitem(), 'del:b')
        self.check(make, lambda d: d.popitem(last=False), 'del:a')
        self.check(make, lambda d: d.pop('a'), 'del:a')
        self.check(make, lambda d: d.__delitem__('a'), 'del:a')
        self.check(make, lambda d: d.__setitem__('a', 3), 'mod:a:3')
        # once for the dict and once for the order
        self.check(make, lambda d: d.__setitem__('c', 3), 'new:c:3', 'mod:c:3')
        self.check(make, lambda d: d.setdefault('c', 3), 'new:c:3', 'mod:c:3')
        self.check(make, lambda d: d.update(a=3), 'mod:a:3')
        self.check(make, lambda d: d.__ior__({'a': 3}), 'mod:a:3')
        self.check(make, lambda d: d.clear(), 'clear', 'clear')

    def test_ordered_dict_with_other_keys(self):
        class Key:
            pass
        first, second = Key(), Key()
        d = collections.OrderedDict({first: 1, second: 2})
        self.watch(d)
        d.move_to_end(first)
        self.assertEqual(self.take_events(), ['clear'])
        self.assertEqual(list(d), [second, first])


class TypeWatcherTest(unittest.TestCase):

    def setUp(self):
        self.id = _testcapi.add_type_watcher(0)
        self.addCleanup(_testcapi.clear_type_watcher, self.id)

    def check(self, kind, change):
        _testcapi.watch_type(self.id, kind)
        change(kind)
        events = _testcapi.get_type_modified_events()
        taken = list(events)
        events.clear()
        self.assertEqual(taken, [kind])

    def test_changes(self):
        class A:
            x = 1
        class B(A):
            y = 1
        class A2:
            x = 2
        self.check(B, lambda c: setattr(c, 'z', 1))
        self.check(B, lambda c: setattr(c, 'z', 2))
        self.check(B, lambda c: delattr(c, 'z'))
        self.check(B, lambda c: setattr(A, 'x', 2))
        self.check(B, lambda c: setattr(c, '__bases__', (A2,)))
        self.check(B, lambda c: setattr(c, '__doc__', 'doc'))
        self.check(B, lambda c: setattr(c, '__module__', 'm'))
        self.check(B, lambda c: setattr(c, '__annotations__', {}))
        self.check(B, lambda c: setattr(c, '__abstractmethods__', ()))
        self.check(B, lambda c: setattr(c, '__type_params__', ()))

    def test_one_event_a_version(self):
        class C:
            pass
        _testcapi.watch_type(self.id, C)
        C.x = 1
        C.x = 2                 # has no version tag, so nobody is told
        events = _testcapi.get_type_modified_events()
        self.assertEqual(events, [C])
        events.clear()
        self.check(C, lambda c: setattr(c, 'x', 3))

    def test_versions_run_out(self):
        class C:
            pass
        for i in range(1100):
            _testcapi.watch_type(self.id, C)
            if _testcapi.type_get_version(C) == 0:
                break
            C.x = i
        self.assertEqual(_testcapi.type_get_version(C), 0)
        events = _testcapi.get_type_modified_events()
        self.assertEqual(events, [C] * i)
        events.clear()
        C.x = -1
        self.assertEqual(events, [])

    def test_custom_mro(self):
        class Meta(type):
            hidden = False
            def mro(cls):
                result = super().mro()
                return result[:1] + result[-1:] if Meta.hidden else result
        class A(metaclass=Meta):
            x = 1
        class A2(metaclass=Meta):
            x = 2
        class B(A):
            pass
        self.check(B, lambda c: setattr(c, '__bases__', (A2,)))
        Meta.hidden = True
        self.check(B, lambda c: setattr(c, '__bases__', (A,)))


if __name__ == '__main__':
    unittest.main()
