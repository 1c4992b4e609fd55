/* Mock code that needs no Python: call the graph, put its outputs into new tuples, lists and
   dicts, return. What else a recorded call did is redone by the Python function that
   emit/mock.py writes.

   A recipe is a list of operations in postfix order, made by emit/replay.py. Pointers are
   borrowed: the entry's Replay object in Python keeps what they point to.  */

#ifndef MAGPY_REPLAY_H
#define MAGPY_REPLAY_H

#include <Python.h>

#include <cstdint>
#include <vector>

#include "guard_program.h"

namespace magpy {

enum class ReplayOp : uint8_t { Output, Slot, Constant, List, Tuple, Dict };

struct ReplayStep {
    ReplayOp op;
    int number;             // Output, Slot: which one; List, Tuple: how many items
    PyObject *object;       // Constant: itself; Dict: the keys, a tuple
};

struct Replay {
    std::vector<ReplayStep> steps;
    int ninputs = 0, noutputs = 0;
    bool has_graph = false;

    // A new reference, or NULL with an exception. *in_graph* says whether the exception came
    // from calling the graph or from what it gave back.
    PyObject *run(PyObject *graph, const Match &match, bool *in_graph) const;
};

}  // namespace magpy

#endif
