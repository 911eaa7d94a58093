"""A TCP proxy on this machine that passes everything on, stalls, or cuts its connections."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Proxy:
    """Between clients and `port`. While it stalls, nothing passes and nobody is told; while it is
    cut, connections are reset at once."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._passes = threading.Event()
        self._passes.set()
        self._is_cut = False
        self._open: set[socket.socket] = set()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        threading.Thread(target=self._accept, daemon=True).start()

    def stall(self) -> None:
        self._passes.clear()

    def cut(self) -> None:
        self._is_cut = True
        for one in list(self._open):
            _close(one)

    def heal(self) -> None:
        self._is_cut = False
        self._passes.set()

    def close(self) -> None:
        _close(self._listener)
        self.heal()
        self.cut()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._connect, args=(client,), daemon=True).start()

    def _connect(self, client: socket.socket) -> None:
        self._passes.wait()
        try:
            server = socket.create_connection(("127.0.0.1", self._port), timeout=10)
        except OSError:
            _close(client)
            return
        server.settimeout(None)
        self._open |= {client, server}
        if self._is_cut:
            _close(client)
        for here, there in ((client, server), (server, client)):
            threading.Thread(target=self._pass_on, args=(here, there), daemon=True).start()

    def _pass_on(self, here: socket.socket, there: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := here.recv(65536):
                self._passes.wait()
                there.sendall(data)
        for one in (here, there):
            _close(one)
            self._open.discard(one)


def _close(one: socket.socket) -> None:
    with contextlib.suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)
    one.close()


@contextmanager
def proxy(port: int) -> Iterator[Proxy]:
    made = Proxy(port)
    try:
        yield made
    finally:
        made.close()
