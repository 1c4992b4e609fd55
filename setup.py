"""Builds magpy's compiled modules: every magpy/**/*.pyx is one, C++ with torch's headers at hand.

A .pyx that needs more C++ files names them in its head, as Cython has it: `# distutils: sources = magpy/native/x.cpp`.
All else about the package is in pyproject.toml.
"""

import importlib.util
import os
import sys
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup

if not hasattr(sys, "magpy_info"):
    sys.exit(
        f"magpy builds only with its patched CPython, and {sys.executable} is not that: "
        "use build_scripts/setup, or build_scripts/magpy-python -m pip install --no-build-isolation ."
    )

ROOT = Path(__file__).parent
# what torch.utils.cpp_extension says, without the seconds that importing torch takes
TORCH = Path(importlib.util.find_spec("torch").origin).parent
TORCH_HEADERS = [str(TORCH / "include"), str(TORCH / "include/torch/csrc/api/include")]
HEADERS = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "magpy").glob("**/*.h*"))


def extension(pyx: Path) -> Extension:
    module = pyx.relative_to(ROOT).with_suffix("")
    # beside an installed magpy is torch; where magpy's modules are built elsewhere, the build's own torch serves
    to_site_packages = "/".join([".."] * (len(module.parts) - 1))
    return Extension(
        ".".join(module.parts),
        [str(pyx.relative_to(ROOT))],
        language="c++",
        include_dirs=[".", "magpy/native", *TORCH_HEADERS],
        library_dirs=[str(TORCH / "lib")],
        runtime_library_dirs=[f"$ORIGIN/{to_site_packages}/torch/lib", str(TORCH / "lib")],
        extra_compile_args=["-std=c++20", "-O2"],
        # most modules do not use torch: they must not load its libraries (and "libraries" would come before the option)
        extra_link_args=["-Wl,--as-needed", "-ltorch_python", "-ltorch_cpu", "-ltorch", "-lc10"],
        depends=HEADERS,
    )


def extensions() -> list[Extension]:
    return cythonize(
        [extension(pyx) for pyx in sorted((ROOT / "magpy").glob("**/*.pyx"))],
        build_dir="build/cython",
        nthreads=os.cpu_count() or 1,
        annotate=bool(os.environ.get("MAGPY_CYTHON_ANNOTATE")),
    )


setup(ext_modules=extensions())
