"""The order of tests that several processes run side by side."""


def for_workers(items, workers, weight):
    """*items* so that each worker begins with its share of the long ones, the longest first.

    pytest-xdist's "worksteal" gives each worker one part of the list, and one that is done takes from the end of
    another's part. A long test at an end would start last, and run while the other workers have nothing to do.
    """
    long = sorted(filter(weight, items), key=weight, reverse=True)
    short = [item for item in items if not weight(item)]
    ordered = []
    for i in range(workers):
        size = (len(items) - len(ordered)) // (workers - i)
        share = long[i::workers]
        rest = max(0, size - len(share))
        ordered += share + short[:rest]
        del short[:rest]
    return ordered
