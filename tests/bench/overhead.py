"""What a compiled call costs besides its graph, torch.compile and MagPy taken in turns.

    build_scripts/magpy-python tests/bench/overhead.py [--quick] [--only NAME …] [--json FILE] [--png FILE]

The same as ``-m magpy bench``, where it lives: ``magpy/bench/``. Run by hand, on a quiet machine; the ratios are what
to read.
"""
import sys

from magpy.bench import command

if __name__ == "__main__":
    command.main(sys.argv[1:], "overhead.py")
