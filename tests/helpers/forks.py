"""``bsx`` for shell scripts, without the seconds that every start takes to import PyTorch: one process forks.

Each call is still a process of its own, with the caller's files, folder, environment and exit status. What a start
imports, and that ``bsx`` is on the PATH, other tests ask of the real program.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bsx.catalog.catalog import shipped
from tests.conftest import REPOSITORY

_CALL = """#!{python} -IS
import json, os, socket, sys
with socket.socket(socket.AF_UNIX) as server:
    server.connect({address!r})
    socket.send_fds(server, [b"."], [0, 1, 2])
    server.sendall(json.dumps([sys.argv[1:], os.getcwd(), dict(os.environ)]).encode())
    server.shutdown(socket.SHUT_WR)
    status = server.recv(16)
sys.exit(int(status) if status else "bsx ended without an exit status")
"""


class Forks:
    """A process that has imported the command line and becomes ``bsx`` at every call of the script ``bsx``.

    Files that a caller has open beside the first three, as for ``<(...)``, it does not see.
    """

    def __init__(self) -> None:
        # In a folder of its own: the address of a socket has at most a hundred characters.
        self._home = tempfile.TemporaryDirectory(prefix="bsx-")
        self.folder = folder = Path(self._home.name)
        environment = {**os.environ, "HF_HUB_OFFLINE": "1", "PYTHONPATH": str(REPOSITORY)}
        command = [sys.executable, "-m", "tests.helpers.forks"]
        self._process = subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE)
        script = folder / "bsx"
        script.write_text(_CALL.format(python=sys.executable, address=str(folder / "socket")), encoding="utf-8")
        script.chmod(0o755)
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == b"ready\n"

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.communicate()
        self._home.cleanup()


def _serve() -> None:
    for module in _heavy():
        importlib.import_module(module)
    shipped()
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the children: they report themselves
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
        server.listen()
        print("ready", flush=True)
        while True:
            connection, _ = server.accept()
            if os.fork() == 0:
                server.close()
                _become(connection)
            connection.close()


def _heavy() -> list[str]:
    from bsx.cli.commands import COMMANDS

    libraries = ["torch", "transformers.models.bert.modeling_bert", "pandas", "scipy.stats", "tokenizers"]
    commands = [
        *COMMANDS.values(),
        *(below for one in COMMANDS.values() if isinstance(one.runs, dict) for below in one.runs.values()),
    ]
    return [one.runs.partition(":")[0] for one in commands if isinstance(one.runs, str)] + libraries


def _become(connection: socket.socket) -> None:
    from bsx.cli.main import run

    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    status: object = 1
    try:
        _, files, _, _ = socket.recv_fds(connection, 1, 3)
        for number, file in enumerate(files):
            os.dup2(file, number)
            os.close(file)
        said = b"".join(iter(lambda: connection.recv(65536), b""))
        arguments, folder, environment = json.loads(said)
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)
        time.tzset()
        sys.path[:0] = [folder for folder in environment.get("PYTHONPATH", "").split(os.pathsep) if folder]
        sys.argv = ["bsx", *arguments]
        run()
    except SystemExit as end:
        status = end.code or 0
    except BaseException:  # noqa: BLE001 - shown as Python shows what ends a process
        sys.excepthook(*sys.exc_info())
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    connection.sendall(str(status).encode())
    os._exit(0)


if __name__ == "__main__":
    _serve()
