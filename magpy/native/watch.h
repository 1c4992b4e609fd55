/* Who wants to know of a change: the one place where the interpreter's watchers arrive.

   A *fact* is one thing that can change and be told of: the value under one key of a dict,
   a dict as a whole (which keys, in which order), or an object (its class, its __dict__,
   its slots, a cell's content, and that it still exists). Subscribers name a fact and a
   number; when the fact is about to change they are told the number. All this happens
   under the GIL, inside the interpreter's callbacks, where no Python code may run: a
   subscriber only takes a note.

   Keys of dicts are told apart by their hash. Two keys with one hash wake each other's
   subscribers, which costs them a look and is never wrong.  */

#ifndef MAGPY_WATCH_H
#define MAGPY_WATCH_H

#include <Python.h>

#include <cstdint>
#include <vector>

namespace magpy {

enum class FactKind : uint8_t { Key, Whole, Object };

struct Fact {
    PyObject *object = nullptr;     // borrowed: when it dies its subscribers are told
    Py_hash_t hash = 0;             // Key: of the key
    FactKind kind = FactKind::Object;

    bool operator==(const Fact &other) const {
        return object == other.object && hash == other.hash && kind == other.kind;
    }
};

class Subscriber {
public:
    static constexpr int Gone = -1;     // not one fact, but the object that it was about
    virtual void changed(int number) = 0;

protected:
    ~Subscriber() = default;
};

// Take ids from the interpreter. Returns 0, or -1 with an exception.
int watch_setup();

// Subscribe. False (without an exception) when the object cannot be watched in this way.
bool watch(const Fact &fact, Subscriber *subscriber, int number);
// End all subscriptions of *subscriber* to *fact*.
void unwatch(const Fact &fact, Subscriber *subscriber);

// Numbers for tests and benchmarks: facts with subscribers, watched objects, changes told.
struct WatchCounts {
    size_t facts, objects;
    uint64_t changes;
};
WatchCounts watch_counts();

}  // namespace magpy

#endif
