/* Push before poll: guards whose answer cannot change unheard are not asked again.

   After a full run that held, `Pushed::arm` goes through the program once more and sorts
   its instructions:

   - *watched*: the interpreter will tell before the answer can be another one (a dict's
     key, an instance's attribute, a cell), or the answer cannot change at all (an element
     of a tuple, a closure's cell). They are not run again until something was told.
   - *versioned*: lookups on classes and reads of functions. CPython gives each state of a
     class or function a number; one comparison for each class and function stands for
     all reads of it.
   - *polled*: everything else (arguments, tensors, lists, C state), run at each call.

   A slot that a watched instruction filled keeps its object: as long as nothing was told,
   every reference on the way from the callable to it is still there, so it is alive.
   An argument through which more is read (a module that is passed in) is an *anchor*: it
   is loaded at each call, and what hangs on it holds as long as it is the same object.

   What was told is asked again at the next call, and only that; if another object
   with others hanging on it was found there, the whole program runs, and is armed anew.
   A program whose watched state changes all the time would be armed all the time: each
   arming must be paid for by more calls than the last.  */

#ifndef MAGPY_PUSH_H
#define MAGPY_PUSH_H

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "guard_program.h"
#include "watch.h"

namespace magpy {

/* Set by MAGPY_VERIFY_GUARDS: run everything at each call as well, and abort the process
   when the answers differ. */
extern bool verify_guards;

class Pushed : public Subscriber {
public:
    static constexpr Py_ssize_t Ask = -2;       // only a full run can tell

    explicit Pushed(Program &program) : program(program) {}
    ~Pushed() { disarm(); }

    // Which instruction fails; their number when none does, and then *result* is filled; Ask.
    Py_ssize_t check(const Call &call, Match *result);
    // A full run is about to be made: is it time to arm?
    bool pays();
    // After a full run of the program that held, with its frame.
    void arm(Run &run);
    void changed(int number) override;

    bool is_armed() const { return armed && !lost; }
    bool is_stable(int slot) const { return slot >= 0 && stable[slot]; }
    size_t polls() const { return polled.size() + groups.size(); }
    size_t tensor_polls() const { return tensors.size(); }
    size_t versions() const { return classes.size() + functions.size(); }
    size_t watches() const { return facts.size(); }

private:
    struct Anchor {
        int instr;
        PyObject *object;
    };
    struct Class {
        PyTypeObject *type;
        unsigned version;
    };
    struct Function {
        PyFunctionObject *function;
        uint32_t version;
    };
    /* An "alias" or "unique" check, taken apart: the groups of members in stable slots are in a
       table, so that only the others are looked up. */
    struct Groups {
        int instr;
        bool by_storage;
        std::unordered_map<const void *, int> stable;   // storage or object -> its group
        std::unordered_set<int> taken;                  // the groups in it
        std::vector<std::pair<int, int>> others;        // slot and group
    };
    struct FactHash {
        size_t operator()(const Fact &fact) const;
    };

    void disarm();
    bool loads_watched(int i, PyObject *source, PyObject *value, Run &run);
    bool holds_watched(int i, PyObject *value);
    bool watch_object(PyObject *object, int number = Gone);
    bool watch_attr(int i, PyObject *source);
    bool watch_dict(int i, PyObject *dict, Py_hash_t hash, FactKind kind);
    bool by_version(const Instr &instr, PyObject *source);
    bool can_anchor(int i, PyObject *value) const;
    bool subscribe(const Fact &fact, int number);
    bool still_there(const Instr &instr, PyObject *was, PyObject *now) const;
    bool same_versions();
    bool same_anchors();
    Py_ssize_t ask_again(Run &run);
    Py_ssize_t poll(Run &run);
    bool fill_groups(Groups &groups);
    bool same_groups(Groups &groups);
    PyObject *value_of(int slot) const { return frame[slot] != nullptr ? frame[slot] : program.absent; }
    void give_stable();
    void give(Match *result, bool made);

    Program &program;
    bool armed = false;
    bool lost = false;              // something was told that asks for a full run
    std::vector<PyObject *> frame;  // as the program's; slots of watched instructions stay filled
    std::vector<char> stable;       // for each place in the frame
    std::vector<char> in_pass;      // the same: is it a tensor of tensor_pass?
    std::vector<int> polled;        // instructions
    std::vector<int> tensors;       // instructions: tensors in stable slots
    std::unique_ptr<TensorPass> tensor_pass;
    std::vector<Groups> groups;
    std::vector<Anchor> anchors;
    std::vector<Class> classes;
    std::vector<Function> functions;
    std::unordered_set<Fact, FactHash> facts;
    std::unordered_map<int, int> bad_anchors;   // instruction -> how often it was another object
    std::vector<int> told;          // instructions
    std::vector<char> is_told;      // for each instruction
    std::vector<PyObject *> slots;  // of the last match, in the order of Program::want
    std::vector<int> moving;        // which of them are not stable
    uint64_t held = 0, full_runs = 0, next_arming = 1;
};

}  // namespace magpy

#endif
