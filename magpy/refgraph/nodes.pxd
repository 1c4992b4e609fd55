cdef class Node:
    cdef public Py_ssize_t index
    cdef public object obj
    cdef public object type
    cdef public str kind
    cdef public str path
    cdef public bint const
    cdef public object meta
    cdef public bint written
    cdef public object snapshot
    cdef public Node owner
    cdef public dict written_keys
    cdef public str done
    cdef public object changed


cdef class Edge:
    cdef public tuple load
    cdef public Node parent
    cdef public tuple check
    cdef public Node child
    cdef public str text
    cdef public object place
