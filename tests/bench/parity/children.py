"""Forked processes that do some work and send messages, within limits on time and memory."""
import ctypes
import json
import os
import resource
import selectors
import signal
import sys
import time
import traceback


class Child:
    """Runs ``work(send)`` in a fork of this process; *send* takes a dict. Each message gives it *seconds* more."""

    def __init__(self, work, seconds, memory, silent):
        self.seconds = seconds
        self.pipe, their_end = os.pipe()
        signal.pthread_sigmask(signal.SIG_BLOCK, _INTERRUPTS)       # what is raised in the middle of a fork gets lost
        self.pid = os.fork()
        if self.pid == 0:
            _live(work, their_end, memory, silent)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _INTERRUPTS)
        os.close(their_end)
        self.unread = b""
        self.done = self.ended = False
        self.deadline = time.monotonic() + seconds

    def fileno(self):
        return self.pipe

    def messages(self):
        """What has come since. ``ended`` is set when there can be no more."""
        data = os.read(self.pipe, 1 << 16)
        self.deadline = time.monotonic() + self.seconds
        *lines, self.unread = (self.unread + data).split(b"\n")
        messages = [json.loads(line) for line in lines]
        self.done = bool(messages) and messages[-1] == _DONE
        self.ended = self.done or not data
        return messages[:-1] if self.done else messages

    def end(self):
        """Makes sure that it is gone, with all that it started. Says how it ended; "" if as it should."""
        for kill in (os.killpg, os.kill):       # the group, or the child that has not made it yet
            try:
                kill(self.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        os.close(self.pipe)
        code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        if self.done:
            return ""
        return f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit status {code}"


_DONE = {"done": True}
_TICK_SECONDS = 1
_INTERRUPTS = signal.SIGINT, signal.SIGTERM


def _live(work, pipe, memory, silent):
    """The whole life of the child. The kernel closes the pipe, so that its end means that of the process."""
    def send(message):
        data = json.dumps(message).encode() + b"\n"
        while data:
            data = data[os.write(pipe, data):]
    status = 1
    try:
        _limit(memory)
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2) if silent else (0,):
            os.dup2(nowhere, stream)
        work(send)
        send(_DONE)
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(status)


def _limit(memory):
    """Own process group, no longer life than the parent's, no core files, *memory* bytes more than now."""
    for interrupt in _INTERRUPTS:
        signal.signal(interrupt, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _INTERRUPTS)
    os.setpgid(0, 0)
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)          # PR_SET_PDEATHSIG
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + memory, resource.getrlimit(resource.RLIMIT_AS)[1]))


def wait_for_any(children):
    """(those with something to say, those whose time is over); both are empty when nothing happens for a while."""
    with selectors.DefaultSelector() as selector:
        for child in children:
            selector.register(child, selectors.EVENT_READ)
        patience = min(child.deadline for child in children) - time.monotonic()
        ready = [key.fileobj for key, _ in selector.select(min(max(0.0, patience), _TICK_SECONDS))]
    now = time.monotonic()
    return ready, [child for child in children if child not in ready and child.deadline <= now]
