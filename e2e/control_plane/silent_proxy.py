"""A proxy to the API server that simulates failures of networks: open connections that stop carrying data, and
addresses that do not respond."""

import select
import socket
import threading

BLOCK_BYTES = 65536
LOOK_SECONDS = 0.2


class _Pair:
    """A client's connection and the proxy's connection to the server; owned by one thread."""

    def __init__(self, client, server):
        self.client = client
        self.server = server
        self.is_silent = False  # set by other threads, read by this one: drop bytes and ends of streams
        self.has_swallowed = False  # set by this thread, read by other threads
        self.is_over = False

    def run(self):
        ends = {self.client: self.server, self.server: self.client}
        try:
            while not self.is_over and ends:
                for source in select.select(list(ends), [], [], LOOK_SECONDS)[0]:
                    data = source.recv(BLOCK_BYTES)
                    if self.is_silent:
                        if data:
                            self.has_swallowed = True
                        else:
                            del ends[source]  # not forwarded to the other side
                    elif data:
                        ends[source].sendall(data)
                    else:
                        return
        except (OSError, ValueError):  # broken, or closed by `cut` in another thread
            pass
        finally:
            if not self.is_silent:
                self.close()

    def close(self):
        self.is_over = True
        for end in (self.client, self.server):
            end.close()


class SilentProxy:
    """Forwards a port of its own to `target_port`, both on loopback, until exit. Thread-safe."""

    def __init__(self, target_port):
        self.target_port = target_port
        self.lock = threading.Lock()
        self.pairs = []
        self.is_blocked = False
        self.stopping = False
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.listener.settimeout(LOOK_SECONDS)
        self.port = self.listener.getsockname()[1]
        self.thread = threading.Thread(target=self._accept, daemon=True)
        self.thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stopping = True
        self.thread.join(timeout=10)
        self.listener.close()
        self.cut()

    def silence(self):
        """Stops the data of all open connections, which stay open. New ones work. Returns the number of silent connections."""
        with self.lock:
            open_pairs = [pair for pair in self.pairs if not pair.is_over]
            for pair in open_pairs:
                pair.is_silent = True
            return len(open_pairs)

    def swallowed(self):
        """Returns the number of silent connections that have dropped bytes."""
        with self.lock:
            return sum(pair.has_swallowed for pair in self.pairs)

    def block(self):
        """Closes all connections, and every new one immediately, until `unblock`."""
        self.is_blocked = True
        self.cut()

    def unblock(self):
        self.is_blocked = False

    def cut(self):
        with self.lock:
            for pair in self.pairs:
                pair.is_silent = False
                pair.close()
            self.pairs.clear()

    def _accept(self):
        while not self.stopping:
            try:
                client, _ = self.listener.accept()
            except TimeoutError:
                continue
            try:
                if self.is_blocked:
                    raise ConnectionRefusedError
                server = socket.create_connection(("127.0.0.1", self.target_port), timeout=5)
            except OSError:
                client.close()
                continue
            for end in (client, server):
                end.settimeout(30)  # limits a send to a peer that does not read
            pair = _Pair(client, server)
            with self.lock:
                self.pairs.append(pair)
            threading.Thread(target=pair.run, daemon=True).start()
