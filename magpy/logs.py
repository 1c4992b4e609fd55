"""``MAGPY_LOGS=captures,misses``: what MagPy does, as it does it, on stderr.

As torch's TORCH_LOGS: a comma-separated list of topics (``all`` for every one).
Each topic is an ordinary logger, ``magpy.<topic>``, so a program can also attach its
own handlers. Texts are built only for topics that are on: ask `on` first.
"""

import logging
import os

TOPICS = {
    "captures": "each capture: how long its stages took; or why and where it stopped",
    "guards": "the guards of each entry, as readable Python",
    "mock": "the mock code of each entry",
    "graphs": "the FX graph of each entry",
    "misses": "why no entry fitted a call",
}

_loggers = {topic: logging.getLogger(f"magpy.{topic}") for topic in TOPICS}


def on(topic):
    """Is anybody listening to *topic*?"""
    return _loggers[topic].isEnabledFor(logging.INFO)


def log(topic, text, *args):
    _loggers[topic].info(text, *args, stacklevel=2)


def warn(topic, text, *args, error=None):
    """Something the user should see without asking; *error* adds its traceback."""
    _loggers[topic].warning(text, *args, exc_info=error, stacklevel=2)


class _Format(logging.Formatter):
    """As torch's: ``I1129 16:29:11.123456 4242 file.py:12] [captures] text``."""

    def format(self, record):
        seconds = self.formatTime(record, "%m%d %H:%M:%S")
        micros = int(record.msecs * 1000)
        head = (f"{record.levelname[0]}{seconds}.{micros:06d} {record.process} "
                f"{record.filename}:{record.lineno}] [{record.name.removeprefix('magpy.')}]")
        text = record.getMessage()
        if record.exc_info:
            text += "\n" + self.formatException(record.exc_info)
        return "\n".join(f"{head} {line}" for line in text.split("\n"))


def set_up(setting=None):
    """Listen to the topics that *setting* (default: the variable MAGPY_LOGS) names."""
    setting = os.environ.get("MAGPY_LOGS", "") if setting is None else setting
    names = [name.strip() for name in setting.split(",") if name.strip()]
    wrong = [name for name in names if name not in TOPICS and name != "all"]
    if wrong:
        raise ValueError(f"MAGPY_LOGS: no topic {', '.join(map(repr, wrong))}; "
                         f"there are: {', '.join(TOPICS)}, all")
    if not names:
        return
    root = logging.getLogger("magpy")
    if not any(isinstance(h.formatter, _Format) for h in root.handlers):
        handler = logging.StreamHandler()
        handler.setFormatter(_Format())
        root.addHandler(handler)
        root.propagate = False
    for topic in TOPICS if "all" in names else names:
        _loggers[topic].setLevel(logging.INFO)
