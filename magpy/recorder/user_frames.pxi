# Where in the user's code the edges were read. Python's frame objects would say so, but
# making one for each frame costs a tenth of the recording; so the recorder notes how far
# each frame of the user's code has come, which is enough: a frame that waits for another
# stands at the last instruction that had a handler.

cdef bint is_user_code(PyCodeObject *code) except -1:
    filename = <object>code.co_filename
    cdef object found = LIBRARY_FILES.get(filename)
    if found is None:
        found = LIBRARY_FILES[filename] = places.is_library(filename)
    return not found

cdef dict LIBRARY_FILES = {}        # file name -> bool


cdef int note_user_frame(Recorder r, const PyExecState_EventInfo *e) except -1:
    cdef PyCodeObject *code = PyExecState_FrameCode(e.frame)
    if code != r.last_code:
        r.last_is_user = is_user_code(code)
        r.last_code = code
    if r.last_is_user:
        i = find_user_frame(r, e.frame)
        if i < 0:
            r.user_frames.push_back(UserFrame(e.frame, e.offset))
        else:       # those above it have returned
            r.user_frames.resize(i + 1)
            r.user_frames[i].offset = e.offset
    return 0


cdef int find_user_frame(Recorder r, void *frame) noexcept:
    cdef int i = <int>r.user_frames.size() - 1
    while i >= 0 and r.user_frames[i].frame != frame:
        i -= 1
    return i


cdef int note_places(Recorder r, const PyExecState_EventInfo *e, Py_ssize_t first) except -1:
    """The edges from *first* on were read by the innermost frame of the user's code; by the
    frame of the event where the call runs library code only."""
    cdef _PyInterpreterFrame *frame = e.frame
    cdef int found = -1
    while frame != NULL:
        if is_user_code(PyExecState_FrameCode(frame)):
            found = find_user_frame(r, frame)       # not there: it is outside the call
            break
        frame = PyExecState_FrameBack(frame)
    cdef int offset = e.offset
    if found >= 0:
        offset = r.user_frames[found].offset
    else:
        frame = e.frame
    place = place_at(r, PyExecState_FrameCode(frame), offset)
    for i in range(first, len(r.edges)):
        r.edges[i].place = place
    return 0


cdef object place_at(Recorder r, PyCodeObject *code, int offset):
    """One line of the user's code often makes many edges: the last Place is kept. A named tuple's
    own __new__ is Python code, which the hook would look at."""
    last = r.last_place
    if last is None or <PyCodeObject *><PyObject *>last.code != code or last.offset != 2 * offset:
        last = r.last_place = tuple.__new__(Place, (<object><PyObject *>code, 2 * offset))
    return last
