#include "Python.h"
static struct PyModuleDef mod = {PyModuleDef_HEAD_INIT, "_testexecstate", NULL, 0, NULL};
PyMODINIT_FUNC PyInit__testexecstate(void) { return PyModuleDef_Init(&mod); }
