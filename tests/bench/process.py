"""A contender in a process of its own, which answers each line that it is sent with one: "ok" and what it has to say,
or "error" and why."""

import subprocess
import threading


class Failed(Exception):
    """A contender cannot take part; the text says why."""


class Process:
    def __init__(self, command, patience=120, **options):
        self.child = subprocess.Popen(list(map(str, command)), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                      text=True, **options)
        self.patience = patience        # seconds for one answer
        self.answer()

    def answer(self):
        watch = threading.Timer(self.patience, self.child.kill)
        watch.start()
        line = self.child.stdout.readline()
        watch.cancel()
        status, *words = line.split(maxsplit=1)[:2] if line.strip() else ["the process ended", str(self.child.poll())]
        if status != "ok":
            raise Failed(" ".join([status, *words]).strip())
        return words[0].strip() if words else ""

    def ask(self, *command):
        try:
            self.child.stdin.write(" ".join(map(str, command)) + "\n")
            self.child.stdin.flush()
        except OSError as error:
            raise Failed(f"the process has ended: {error}") from error
        return self.answer()

    def numbers(self, *command):
        return [float(word) for word in self.ask(*command).split()]

    def close(self):
        try:
            self.child.stdin.close()
        except OSError:
            pass                        # it has ended before it read everything
        try:
            self.child.wait(20)
        except subprocess.TimeoutExpired:
            self.child.kill()
