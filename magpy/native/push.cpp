/* Arming a guard program, and asking an armed one. See push.h for the idea. */

#include "push.h"

#include <algorithm>

namespace magpy {

bool verify_guards;

static constexpr int BadAnchors = 2;        // then an argument is no anchor any more
static constexpr uint64_t SlowestArming = 1 << 12;

size_t Pushed::FactHash::operator()(const Fact &fact) const {
    return ((uintptr_t)fact.object >> 4) * 31 + (size_t)fact.hash * 3 + (size_t)fact.kind;
}

/* --- what can be watched ----------------------------------------------------------- */

/* Can the class of an object change? Of instances of heap types and of modules. */
static bool class_can_change(PyObject *value) {
    return PyType_HasFeature(Py_TYPE(value), Py_TPFLAGS_HEAPTYPE) || PyModule_Check(value);
}

static bool is_fixed_container(PyObject *value) {
    return PyTuple_Check(value) || PyUnicode_Check(value) || PyBytes_Check(value)
        || PyFrozenSet_Check(value) || PyLong_Check(value) || PyFloat_Check(value)
        || PyComplex_Check(value) || value == Py_None;
}

/* The members of a function that its version number covers, or that never change. */
static bool is_versioned_member(PyObject *descriptor) {
    static const char *const names[] = {"__code__", "__defaults__", "__kwdefaults__",
                                        "__closure__", "__globals__"};
    if (PyDescr_TYPE(descriptor) != &PyFunction_Type) {
        return false;
    }
    for (const char *name : names) {
        if (PyUnicode_CompareWithASCIIString(PyDescr_NAME(descriptor), name) == 0) {
            return true;
        }
    }
    return false;
}

/* A slot that a class of the user's names in its __slots__. */
static bool is_slot(PyObject *descriptor) {
    return Py_IS_TYPE(descriptor, &PyMemberDescr_Type)
        && ((PyMemberDescrObject *)descriptor)->d_member->type == Py_T_OBJECT_EX
        && PyType_HasFeature(PyDescr_TYPE(descriptor), Py_TPFLAGS_HEAPTYPE);
}

bool Pushed::subscribe(const Fact &fact, int number) {
    if (!watch(fact, this, number)) {
        return false;
    }
    facts.insert(fact);
    return true;
}

/* Its class, its __dict__, its slots or content, and that it is there. */
bool Pushed::watch_object(PyObject *object, int number) {
    Fact fact{object, 0, FactKind::Object};
    return (number == Gone && facts.count(fact))
        || (PyObject_IS_GC(object) && subscribe(fact, number));
}

bool Pushed::watch_dict(int i, PyObject *dict, Py_hash_t hash, FactKind kind) {
    return PyDict_Check(dict) && subscribe({dict, hash, kind}, i);
}

/* An attribute of the instance itself is an item of its __dict__, which is made for this. */
bool Pushed::watch_attr(int i, PyObject *source) {
    PyTypeObject *type = Py_TYPE(source);
    if (PyType_Check(source) || !watch_object(source)) {
        return false;
    }
    if (type->tp_dictoffset == 0 && !PyType_HasFeature(type, Py_TPFLAGS_MANAGED_DICT)) {
        return true;        // there is none, and never will be
    }
    PyObject *dict = PyObject_GenericGetDict(source, nullptr);
    if (dict == nullptr) {
        PyErr_Clear();
        return false;
    }
    Py_hash_t hash = PyObject_Hash(program.instrs[i].key);      // of a str
    bool watched = Py_REFCNT(dict) > 1 && watch_dict(i, dict, hash, FactKind::Key);
    Py_DECREF(dict);
    return watched;
}

bool Pushed::by_version(const Instr &instr, PyObject *source) {
    switch (instr.load) {
    case Load_type_lookup:
    case Load_type_own:
    case Load_type_mro: {
        PyObject *object = instr.load == Load_type_mro ? instr.key : PyTuple_GET_ITEM(instr.key, 0);
        PyTypeObject *type = (PyTypeObject *)object;
        if (instr.version == 0 || instr.version != type->tp_version_tag) {
            return false;
        }
        for (const Class &each : classes) {
            if (each.type == type) {
                return true;
            }
        }
        classes.push_back({type, instr.version});
        return true;
    }
    case Load_member: {
        PyFunctionObject *function = (PyFunctionObject *)source;
        if (!PyFunction_Check(source) || !is_versioned_member(instr.key)
            || function->func_version == 0 || !watch_object(source)) {     // its end must be told
            return false;
        }
        for (const Function &each : functions) {
            if (each.function == function) {
                return true;
            }
        }
        functions.push_back({function, function->func_version});
        return true;
    }
    }
    return false;
}

/* Will the load of instruction *i* give *value* until something is told? *source* is what it
   loads from, NULL when that is not stable. */
bool Pushed::loads_watched(int i, PyObject *source, PyObject *value, Run &run) {
    const Instr &instr = program.instrs[i];
    switch (instr.load) {
    case Load_fn:
    case Load_const:
        return true;
    case Load_type_lookup:
    case Load_type_own:
    case Load_type_mro:
        return by_version(instr, nullptr);
    case Load_closure:
        return instr.src < 0 || source != nullptr;
    }
    if (source == nullptr) {
        return false;
    }
    switch (instr.load) {
    case Load_slot:
        return true;
    case Load_attr:
        return watch_attr(i, source);
    case Load_dict:
        return watch_dict(i, source, instr.number, FactKind::Key);
    case Load_tuple:
        return true;
    case Load_cell:
        return watch_object(source, i);
    case Load_instance_dict:
        return watch_object(source);
    case Load_member:
        return by_version(instr, source) || (is_slot(instr.key) && watch_object(source, i));
    case Load_key:
        return !PyODict_Check(source) && watch_dict(i, source, 0, FactKind::Whole);
    }
    return false;
}

/* Will the check of instruction *i* hold for *value*, which stays the same object? */
bool Pushed::holds_watched(int i, PyObject *value) {
    const Instr &instr = program.instrs[i];
    switch (instr.check) {
    case Check_none:
    case Check_is:
    case Check_leaf:
    case Check_absent:
        return true;
    case Check_type:
        return !class_can_change(value) || watch_object(value);
    case Check_same:
    case Check_distinct:
        return is_stable((int)instr.expected.number);
    case Check_len:
    case Check_truth:
        return is_fixed_container(value)
            || (PyDict_Check(value) && watch_dict(i, value, 0, FactKind::Whole));
    case Check_keys:
        return !PyODict_Check(value) && watch_dict(i, value, 0, FactKind::Whole);
    case Check_set:
        return PyFrozenSet_Check(value) || (PySet_Check(value) && watch_object(value));
    }
    return false;
}

/* A module or another object of a class of the user's, that came with the call. */
bool Pushed::can_anchor(int i, PyObject *value) const {
    auto bad = bad_anchors.find(i);
    return program.instrs[i].check == Check_type && program.instrs[i].dst >= 0
        && PyType_HasFeature(Py_TYPE(value), Py_TPFLAGS_HEAPTYPE) && PyObject_IS_GC(value)
        && (bad == bad_anchors.end() || bad->second < BadAnchors);
}

/* --- arming ---------------------------------------------------------------------------- */

bool Pushed::pays() {
    if (armed && !lost) {
        return false;       // another object on an anchor: see check
    }
    if (held > 4 * next_arming) {
        next_arming = 1;    // the last arming was worth it
    }
    held = 0;
    if (++full_runs < next_arming) {
        return false;
    }
    full_runs = 0;
    next_arming = std::min(2 * next_arming, SlowestArming);
    return true;
}

void Pushed::arm(Run &run) {
    disarm();
    is_told.assign(program.instrs.size(), false);
    tensor_pass = torch_checks.pass();
    size_t nslots = (size_t)program.nslots;
    frame.assign(program.frame.begin(), program.frame.end());
    std::copy_n(run.frame, nslots, frame.begin());
    stable.assign(frame.size(), true);
    in_pass.assign(frame.size(), false);
    std::fill_n(stable.begin(), nslots, false);
    for (int i = 0; i < (int)program.instrs.size(); i++) {
        Instr &instr = program.instrs[i];
        PyObject *source = is_stable(instr.src) ? frame[instr.src] : nullptr, *value = nullptr;
        if (instr.load != Load_state && instr.load != Load_slots && instr.load != Load_call) {
            load_value(instr, &value, run);
        }
        bool loads = loads_watched(i, source, value, run);
        bool holds = loads && holds_watched(i, value);
        if (loads && instr.check == Check_tensor
            && (!class_can_change(value) || watch_object(value))
            && tensor_pass->add(value, instr.expected.meta)) {
            tensors.push_back(i);
            if (instr.dst >= 0) {
                in_pass[instr.dst] = true;
            }
        }
        else if (instr.check == Check_alias || instr.check == Check_unique) {
            groups.push_back({i, instr.check == Check_alias, {}, {}});
        }
        else if (!holds) {
            polled.push_back(i);
            loads = false;      // its slot is filled anew at each call
        }
        if (!loads && value != nullptr && can_anchor(i, value) && watch_object(value)) {
            anchors.push_back({i, value});
            loads = true;
        }
        if (instr.dst >= 0) {
            stable[instr.dst] = loads;
        }
    }
    for (Groups &each : groups) {
        fill_groups(each);
    }
    give_stable();
    lost = false;
    armed = true;
}

void Pushed::disarm() {
    for (const Fact &fact : facts) {
        unwatch(fact, this);
    }
    facts.clear();
    polled.clear();
    tensors.clear();
    groups.clear();
    anchors.clear();
    classes.clear();
    functions.clear();
    told.clear();
    armed = false;
}

void Pushed::changed(int number) {
    if (number == Gone) {
        lost = true;
    }
    else if (!is_told[number]) {
        is_told[number] = true;
        told.push_back(number);
    }
}

/* --- asking ------------------------------------------------------------------------------ */

/* Does the check look only at the loaded value itself, so that it says all there is to say
   about another one? */
static bool says_all(const Instr &instr) {
    return instr.check == Check_leaf || instr.check == Check_is || instr.check == Check_absent
        || instr.check == Check_none;
}

/* Is it known that the object in a slot is still the one that was armed? Its address may
   have been given to another. */
bool Pushed::still_there(const Instr &instr, PyObject *was, PyObject *now) const {
    return instr.load == Load_slot
        || (instr.dst < 0 ? says_all(instr) : now == was && facts.count({now, 0, FactKind::Object}));
}

/* Run what was told again: their number when all hold, which one does not, or Ask. */
Py_ssize_t Pushed::ask_again(Run &run) {
    std::vector<int> asking;
    asking.swap(told);
    std::sort(asking.begin(), asking.end());
    for (size_t k = 0; k < asking.size(); k++) {
        int i = asking[k];
        Instr &instr = program.instrs[i];
        PyObject *was = instr.dst >= 0 ? frame[instr.dst] : nullptr;
        is_told[i] = false;
        if (std::binary_search(polled.begin(), polled.end(), i)) {
            continue;           // it is asked in its turn, after what it compares with
        }
        if (!step(instr, run)) {
            for (; k < asking.size(); k++) {        // these are still to be asked
                is_told[asking[k]] = true;
                told.push_back(asking[k]);
            }
            return anchors.empty() ? i : Ask;
        }
        if (!still_there(instr, was, instr.dst >= 0 ? frame[instr.dst] : nullptr)) {
            lost = true;
            return Ask;
        }
    }
    return (Py_ssize_t)program.instrs.size();
}

bool Pushed::same_versions() {
    for (const Class &each : classes) {
        if (each.type->tp_version_tag != each.version) {
            return false;
        }
    }
    for (const Function &each : functions) {
        if (each.function->func_version != each.version) {
            return false;
        }
    }
    return true;
}

/* Is what hangs on the anchors still asked of the same objects? */
bool Pushed::same_anchors() {
    for (const Anchor &anchor : anchors) {
        PyObject *&now = frame[program.instrs[anchor.instr].dst];
        if (now != anchor.object) {
            now = anchor.object;
            lost = lost || ++bad_anchors[anchor.instr] >= BadAnchors;
            return false;
        }
    }
    return true;
}

static const void *identity(PyObject *value, bool by_storage) {
    const void *storage = by_storage && value != nullptr ? torch_checks.storage(value) : nullptr;
    return storage != nullptr ? storage : value;
}

/* Go through all members. Does the pattern hold? */
bool Pushed::fill_groups(Groups &groups) {
    const Alias &alias = *program.instrs[groups.instr].expected.alias;
    std::unordered_map<int, const void *> firsts;
    groups.stable.clear();
    groups.taken.clear();
    groups.others.clear();
    bool holds = true;
    for (size_t k = 0; k < alias.slots.size(); k++) {
        int slot = alias.slots[k], group = alias.groups[k];
        if (!stable[slot] || (groups.by_storage && !in_pass[slot])) {
            groups.others.push_back({slot, group});
            continue;
        }
        const void *here = identity(frame[slot], groups.by_storage);
        groups.taken.insert(group);
        holds = groups.stable.try_emplace(here, group).first->second == group
            && firsts.try_emplace(group, here).first->second == here && holds;
    }
    return holds && same_groups(groups);
}

/* The members in stable slots are known to fit: do the others? */
bool Pushed::same_groups(Groups &groups) {
    for (size_t k = 0; k < groups.others.size(); k++) {
        auto [slot, group] = groups.others[k];
        const void *here = identity(frame[slot], groups.by_storage);
        auto found = groups.stable.find(here);
        if (found != groups.stable.end()) {
            if (found->second != group) {
                return false;
            }
            continue;
        }
        if (groups.taken.count(group)) {
            return false;       // its group has another storage
        }
        for (size_t j = 0; j < k; j++) {
            auto [other, its_group] = groups.others[j];
            if ((identity(frame[other], groups.by_storage) == here) != (its_group == group)) {
                return false;
            }
        }
    }
    return true;
}

Py_ssize_t Pushed::poll(Run &run) {
    Py_ssize_t all = (Py_ssize_t)program.instrs.size();
    if (!same_versions()) {
        lost = true;
        return Ask;
    }
    Py_ssize_t at = told.empty() ? all : ask_again(run);
    for (size_t k = 0; at == all && k < polled.size(); k++) {
        if (!step(program.instrs[polled[k]], run)) {
            at = polled[k];
        }
    }
    if (!same_anchors()) {
        return Ask;
    }
    if (at != all) {
        return at;
    }
    if (lost || !told.empty()) {        // a key's __eq__ has changed something
        return Ask;
    }
    size_t tensor = tensor_pass->check();
    if (tensor < tensors.size()) {
        return tensors[tensor];
    }
    bool moved = tensor_pass->moved();
    for (Groups &each : groups) {
        if (!(moved && each.by_storage ? fill_groups(each) : same_groups(each))) {
            return each.instr;
        }
    }
    return all;
}

/* The wanted slots that stay as they are are given once. */
void Pushed::give_stable() {
    moving.clear();
    slots.clear();
    for (int slot : program.want) {
        if (!stable[slot]) {
            moving.push_back((int)slots.size());
        }
        slots.push_back(value_of(slot));
    }
}

/* All instructions hold: give the wanted slots. */
void Pushed::give(Match *result, bool made) {
    for (int i : moving) {
        slots[i] = value_of(program.want[i]);
    }
    result->slots = slots.data();
    if (made) {
        result->list = program.wanted(frame.data());
    }
    held++;
}

Py_ssize_t Pushed::check(const Call &call, Match *result) {
    if (!armed || lost || program.busy) {
        return Ask;
    }
    std::vector<PyObject *> owned;
    Run run{call, frame.data(), owned, {}};
    program.busy = true;
    Py_ssize_t at = poll(run);
    program.busy = false;
    if (at == (Py_ssize_t)program.instrs.size()) {
        give(result, !owned.empty());
    }
    for (PyObject *value : owned) {
        Py_DECREF(value);
    }
    return at;
}

}  // namespace magpy
