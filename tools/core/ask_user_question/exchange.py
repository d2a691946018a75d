"""The private directory that a server and the process of its dialog share.

`questions.json`, written before that process starts; `alive`, a FIFO that the server holds open while it wants an
answer; `shown`, a FIFO that tells it that the dialog stands; `answer.json`, put there whole by renaming.
"""

from __future__ import annotations

import os

QUESTIONS, ALIVE, SHOWN, ANSWER = "questions.json", "alive", "shown", "answer.json"
FILES = (QUESTIONS, ALIVE, SHOWN, ANSWER, ANSWER + ".new")


def write_private(path: str, text: str) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with open(os.open(path, flags, 0o600), "w", encoding="utf-8") as stream:
        stream.write(text)


def remove(directory: str) -> None:
    """The files of a dialog and their directory, where they still are."""
    for name in FILES:
        try:
            os.unlink(os.path.join(directory, name))
        except OSError:
            continue
    try:
        os.rmdir(directory)
    except OSError:
        return
