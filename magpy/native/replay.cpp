/* Calling a graph and rebuilding the result. See replay.h. */

#include "replay.h"

namespace magpy {

namespace {

/* References that are given up at the end. */
struct Owned : std::vector<PyObject *> {
    ~Owned() {
        for (PyObject *value : *this) {
            Py_XDECREF(value);
        }
    }
};

/* What matched is borrowed, and a graph may run any code. A Python function takes its own
   references before anything else happens; for others they are taken here. */
PyObject *call_graph(PyObject *graph, PyObject *const *inputs, int n, bool owned) {
    Owned held;
    if (!owned && !PyFunction_Check(graph)) {
        held.assign(inputs, inputs + n);
        for (PyObject *value : held) {
            Py_INCREF(value);
        }
        inputs = held.data();
    }
    return PyObject_Vectorcall(graph, inputs, n, nullptr);
}

PyObject *outputs_of(PyObject *given, int noutputs) {
    PyObject *outputs = PySequence_Fast(given, "a graph gives a sequence of its outputs");
    if (outputs != nullptr && PySequence_Fast_GET_SIZE(outputs) != noutputs) {
        PyErr_Format(PyExc_ValueError, "a graph with %d outputs gave %zd", noutputs,
                     PySequence_Fast_GET_SIZE(outputs));
        Py_CLEAR(outputs);
    }
    return outputs;
}

PyObject *build_items(const ReplayStep &step, Owned &stack) {
    bool list = step.op == ReplayOp::List;
    PyObject *made = list ? PyList_New(step.number) : PyTuple_New(step.number);
    if (made == nullptr) {
        return nullptr;
    }
    for (int i = step.number; i-- > 0; stack.pop_back()) {
        if (list) {
            PyList_SET_ITEM(made, i, stack.back());
        }
        else {
            PyTuple_SET_ITEM(made, i, stack.back());
        }
    }
    return made;
}

PyObject *build_dict(PyObject *keys, Owned &stack) {
    Py_ssize_t n = PyTuple_GET_SIZE(keys);
    PyObject *made = PyDict_New(), **values = stack.data() + stack.size() - n;
    for (Py_ssize_t i = 0; made != nullptr && i < n; i++) {
        if (PyDict_SetItem(made, PyTuple_GET_ITEM(keys, i), values[i]) < 0) {
            Py_CLEAR(made);
        }
    }
    for (; n > 0; n--, stack.pop_back()) {
        Py_DECREF(stack.back());
    }
    return made;
}

}  // namespace

PyObject *Replay::run(PyObject *graph, const Match &match, bool *in_graph) const {
    PyObject *const *slots = match.list != nullptr ? ((PyListObject *)match.list)->ob_item
                                                   : match.slots;
    Owned kept, stack;
    for (const ReplayStep &step : steps) {
        if (step.op == ReplayOp::Slot) {
            kept.push_back(Py_NewRef(slots[step.number]));
        }
    }
    PyObject *outputs = nullptr;
    if (has_graph) {
        PyObject *given = call_graph(graph, slots, ninputs, match.list != nullptr);
        if (given != nullptr && noutputs > 0) {
            outputs = outputs_of(given, noutputs);
        }
        *in_graph = given == nullptr || (noutputs > 0 && outputs == nullptr);
        Py_XDECREF(given);
        if (*in_graph) {
            return nullptr;
        }
    }
    size_t next_kept = 0;
    for (const ReplayStep &step : steps) {
        PyObject *value = nullptr;
        switch (step.op) {
        case ReplayOp::Output:
            value = Py_NewRef(PySequence_Fast_GET_ITEM(outputs, step.number));
            break;
        case ReplayOp::Slot:
            value = Py_NewRef(kept[next_kept++]);
            break;
        case ReplayOp::Constant:
            value = Py_NewRef(step.object);
            break;
        case ReplayOp::List:
        case ReplayOp::Tuple:
            value = build_items(step, stack);
            break;
        case ReplayOp::Dict:
            value = build_dict(step.object, stack);
            break;
        }
        if (value == nullptr) {
            Py_XDECREF(outputs);
            return nullptr;
        }
        stack.push_back(value);
    }
    Py_XDECREF(outputs);
    PyObject *result = stack.back();
    stack.pop_back();
    return result;
}

}  // namespace magpy
