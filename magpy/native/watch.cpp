/* The table of subscriptions, and the interpreter's callbacks. See watch.h for the idea. */

#include "watch.h"

#include <unordered_map>

#include "cpython/watchpoint.h"

namespace magpy {

namespace {

struct Subscription {
    Subscriber *subscriber;
    int number;
};

struct FactHash {
    size_t operator()(const Fact &fact) const {
        uint64_t mixed = ((uintptr_t)fact.object >> 4) * 0x9E3779B97F4A7C15u
            ^ ((uint64_t)fact.hash + (uint64_t)fact.kind) * 0xC2B2AE3D27D4EB4Fu;
        return mixed ^ mixed >> 29;
    }
};

/* Made once and never destroyed: objects die, and say so, until the very end of a process. */
struct Hub {
    std::unordered_map<Fact, std::vector<Subscription>, FactHash> facts;
    std::unordered_map<PyObject *, std::vector<Fact>> objects;      // the facts of each
    int dict_watcher = -1, object_watcher = -1;
    uint64_t changes = 0;
};

Hub *hub;

void tell(const Fact &fact, bool gone) {
    auto found = hub->facts.find(fact);
    if (found == hub->facts.end()) {
        return;
    }
    hub->changes++;
    for (const Subscription &each : found->second) {
        each.subscriber->changed(gone ? Subscriber::Gone : each.number);
    }
}

/* Everything that is known of *object* may change; *gone*: and it will not be there afterwards. */
void tell_all(PyObject *object, bool gone) {
    auto found = hub->objects.find(object);
    if (found == hub->objects.end()) {
        return;
    }
    for (const Fact &fact : found->second) {
        tell(fact, gone);
    }
    if (gone) {
        for (const Fact &fact : found->second) {
            hub->facts.erase(fact);
        }
        hub->objects.erase(found);
    }
}

/* The hash of a dict key, where asking for it runs no Python code. */
bool plain_hash(PyObject *key, Py_hash_t *hash) {
    if (!PyUnicode_CheckExact(key) && !PyLong_CheckExact(key)) {
        return false;
    }
    *hash = PyObject_Hash(key);
    return true;
}

int on_dict_event(PyDict_WatchEvent event, PyObject *dict, PyObject *key, PyObject *) {
    Py_hash_t hash;
    switch (event) {
    case PyDict_EVENT_DEALLOCATED:
        tell_all(dict, true);
        return 0;
    case PyDict_EVENT_ADDED:
    case PyDict_EVENT_DELETED:
        tell({dict, 0, FactKind::Whole}, false);
        [[fallthrough]];
    case PyDict_EVENT_MODIFIED:
        if (key != nullptr && plain_hash(key, &hash)) {
            tell({dict, hash, FactKind::Key}, false);
            return 0;
        }
        [[fallthrough]];
    default:
        tell_all(dict, false);
        return 0;
    }
}

int on_object_event(PyWatch_Event event, PyObject *object, PyObject *, PyObject *) {
    if (event == PyWatch_EVENT_DEALLOCATED) {
        tell_all(object, true);
    }
    else {
        tell({object, 0, FactKind::Object}, false);
    }
    return 0;
}

/* Ask the interpreter to tell of *object*'s changes. */
bool start(const Fact &fact) {
    int status = fact.kind == FactKind::Object ? PyWatch_Watch(hub->object_watcher, fact.object)
                                               : PyDict_Watch(hub->dict_watcher, fact.object);
    if (status < 0) {
        PyErr_Clear();
    }
    return status == 0;
}

void stop(const Fact &fact) {
    int status = fact.kind == FactKind::Object ? PyWatch_Unwatch(hub->object_watcher, fact.object)
                                               : PyDict_Unwatch(hub->dict_watcher, fact.object);
    if (status < 0) {
        PyErr_Clear();
    }
}

}  // namespace

int watch_setup() {
    if (hub != nullptr) {
        return 0;
    }
    Hub *made = new Hub();
    made->dict_watcher = PyDict_AddWatcher(on_dict_event);
    made->object_watcher = made->dict_watcher < 0 ? -1 : PyWatch_AddWatcher(on_object_event);
    if (made->object_watcher < 0) {
        delete made;
        return -1;
    }
    hub = made;
    return 0;
}

bool watch(const Fact &fact, Subscriber *subscriber, int number) {
    auto found = hub->facts.find(fact);
    if (found == hub->facts.end()) {
        if (fact.kind != FactKind::Object && !PyDict_Check(fact.object)) {
            return false;
        }
        if (!start(fact)) {
            return false;
        }
        found = hub->facts.try_emplace(fact).first;
        hub->objects[fact.object].push_back(fact);
    }
    found->second.push_back({subscriber, number});
    return true;
}

void unwatch(const Fact &fact, Subscriber *subscriber) {
    auto found = hub->facts.find(fact);
    if (found == hub->facts.end()) {
        return;
    }
    std::erase_if(found->second, [=](const Subscription &each) { return each.subscriber == subscriber; });
    if (!found->second.empty()) {
        return;
    }
    hub->facts.erase(found);
    auto object = hub->objects.find(fact.object);
    std::erase(object->second, fact);
    bool object_watch = fact.kind == FactKind::Object, others = false;
    for (const Fact &each : object->second) {
        others = others || (each.kind == FactKind::Object) == object_watch;
    }
    if (!others) {
        stop(fact);
    }
    if (object->second.empty()) {
        hub->objects.erase(object);
    }
}

WatchCounts watch_counts() { return {hub->facts.size(), hub->objects.size(), hub->changes}; }

}  // namespace magpy
