"""Which tensors of a recording hold data that are known in advance.

A tensor made from nothing but Python values (``torch.linspace(0, 1, n)``) holds the same
data at every replay, since the guards hold those values. Python code may look at such
data, and use them where a shape depends on data. Data belong to storages: a change in
place by data that are not known makes everything that shares the storage unknown.
"""

import numpy
import torch

from magpy.guards.tensor_meta import storage_key

PLAIN_TENSORS = frozenset({torch.Tensor, torch.nn.Parameter})
VALUES = (bool, int, float, complex, str, type(None), type(Ellipsis), torch.dtype, torch.device,
          torch.layout, torch.memory_format, range)
NUMBERS = "biufc"

# Of these the first argument gives metadata only; of those the second.
LIKE_FIRST = frozenset("zeros_like ones_like full_like new_zeros new_ones new_full new_tensor new".split())
LIKE_SECOND = frozenset("type_as expand_as view_as reshape_as to".split())
OVERWRITES = frozenset("fill_ zero_ copy_".split())

# Reads of data that say nothing else (an address, a layout, print options).
READS = frozenset("""
    item tolist numpy __array__ equal allclose is_nonzero __bool__ __int__ __float__ __index__
    __complex__ __contains__ _local_scalar_dense
""".split())
SHARES_MEMORY = frozenset("numpy __array__ as_tensor asarray from_numpy".split())
FOLDABLE = frozenset({"tensor-data", "dynamic-output-shape", "graph-argument"})


class Constants:
    """The storages whose data are known. A storage's address may be taken again after it
    was freed; whatever takes it passes `note_results` first."""

    def __init__(self, table):
        self._table = table
        self._known = set()         # storage keys
        self._exposed = set()       # storages that numpy arrays share
        self._arrays = []           # (one of those arrays, its bytes when it was met)

    # ---- asking ---------------------------------------------------------------

    def known(self, tensor):
        return bool(self._known) and type(tensor) in PLAIN_TENSORS \
            and tensor.layout is torch.strided and storage_key(tensor) in self._known \
            and self._table.known(tensor) is not None

    def all_known(self, how, args, kwargs):
        """Are the data of all arguments known that the result's data depend on?"""
        if args and how.name in LIKE_FIRST:
            args = args[1:]
        elif how.name in LIKE_SECOND and len(args) > 1 and isinstance(args[1], torch.Tensor):
            args = args[:1] + args[2:]
        return all(self.value_known(arg) for arg in args) and \
            all(self.value_known(arg) for arg in kwargs.values())

    def result_known(self, how, args, kwargs):
        """Does the call give the same data each time?"""
        return _deterministic(how, args) and self.all_known(how, args, kwargs)

    def value_known(self, value):
        if isinstance(value, torch.Tensor):
            return self.known(value)
        if isinstance(value, (tuple, list)):
            return all(self.value_known(item) for item in value)
        if isinstance(value, dict):
            return all(self.value_known(item) for item in value.values())
        if isinstance(value, slice):
            return self.value_known((value.start, value.stop, value.step))
        if isinstance(value, (numpy.ndarray, numpy.generic)):
            return value.dtype.kind in NUMBERS      # an outside one is guarded
        return isinstance(value, VALUES)

    def changed_by_numpy(self):
        """Has numpy written to memory of a tensor? No operation on the tape says so."""
        return any(array.tobytes() != before for array, before in self._arrays)

    def exposed(self, tensor):
        """Does a numpy array share memory with *tensor*?"""
        return bool(self._exposed) and storage_key(tensor) in self._exposed

    # ---- telling ----------------------------------------------------------------

    def note_results(self, how, given, tensors, found, changed):
        """A call has run: *given* are its args and kwargs, *tensors* the tensors in them,
        *found* its results."""
        if tensors and not self._known and how.name not in LIKE_FIRST | OVERWRITES:
            return                  # nothing is known, and this cannot change it
        known = given is not None and self.result_known(how, *given)
        old = {storage_key(tensor) for tensor in tensors}
        for tensor in found:
            key = storage_key(tensor)
            if key not in old:
                self._set(key, known)
        for tensor in changed:
            self._set(storage_key(tensor), known or given is not None and self._overwritten(how, *given))

    def note_sharing(self, array, tensor):
        """*array* and *tensor* look at the same memory from now on."""
        self._arrays.append((array, array.tobytes()))
        self._exposed.add(storage_key(tensor))

    def add(self, tensor):
        """The data of *tensor* are known, and it stays alive and as it is."""
        self._set(storage_key(tensor), True)

    def forget(self, tensors):
        for tensor in tensors:
            self._set(storage_key(tensor), False)

    def _set(self, key, known):
        self._exposed.discard(key)
        if known and key:
            self._known.add(key)
        else:
            self._known.discard(key)

    def _overwritten(self, how, args, kwargs):
        """Is every byte of the changed storage written by known data?"""
        target = args[0] if args else None
        return (how.name in OVERWRITES and isinstance(target, torch.Tensor)
                and target.is_contiguous()
                and target.nbytes == target.untyped_storage().nbytes()
                and self.all_known(how, args[1:], kwargs))


def _deterministic(how, args):
    """Do the data of the result depend on its arguments alone?"""
    if how.rng or how.foreign or how.resizes or "empty" in how.name:
        return False            # random, whatever it likes, or memory as it was found
    return how.name != "new" or len(args) == 2 and type(args[1]) in (list, tuple)
