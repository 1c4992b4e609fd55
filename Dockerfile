# MagPy in an image: docker run -it --rm IMAGE [interpreter arguments]
#
# The steps are build_scripts/ in order, each with only the files it reads, so that an edit of the package does not
# rebuild the interpreter.

FROM debian:trixie-slim AS machine
WORKDIR /opt/magpy
ENV MAGPY_HOME=/opt/magpy-home \
    PIP_NO_CACHE_DIR=1
COPY build_scripts/lib/ build_scripts/lib/
COPY build_scripts/check_machine.sh build_scripts/
RUN build_scripts/check_machine.sh --install-deps interpreter

FROM machine AS interpreter
COPY cpython_patch/ cpython_patch/
COPY build_scripts/fetch_cpython.sh build_scripts/apply_series.sh build_scripts/build_cpython.sh build_scripts/
RUN build_scripts/fetch_cpython.sh && build_scripts/build_cpython.sh

FROM interpreter AS package
COPY build_scripts/make_env.sh build_scripts/requirements.txt build_scripts/
RUN build_scripts/make_env.sh
COPY . .
RUN build_scripts/setup --prune

# Inductor compiles at run time: the compilers stay.
FROM machine
COPY --from=package /opt/magpy /opt/magpy
COPY --from=package /opt/magpy-home /opt/magpy-home
ENTRYPOINT ["/opt/magpy/build_scripts/magpy-python"]
