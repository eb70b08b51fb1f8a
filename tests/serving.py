"""What the tests of endpoints share: a real HTTP server whose every reply a test decides."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TypeAlias

Reply: TypeAlias = "tuple[int, str | dict[str, object]]"
"""HTTP status and body."""


class Server:
    """Answers chats by `reply(number, body)`; keeps what it was asked."""

    def __init__(self, reply: Callable[[int, dict[str, object]], Reply]) -> None:
        self.reply = reply
        self.asked: list[dict[str, object]] = []
        self.keys: list[str | None] = []
        self.retry_after: str | None = None
        """Sent with each reply of status 429."""
        self.most = 0
        self._now = 0
        self._lock = threading.Lock()
        self.url = ""

    def handle(self, body: dict[str, object], key: str | None) -> Reply:
        with self._lock:
            number = len(self.asked)
            self.asked.append(body)
            self.keys.append(key)
            self._now += 1
            self.most = max(self.most, self._now)
        try:
            return self.reply(number, body)
        finally:
            with self._lock:
                self._now -= 1


@contextmanager
def serving(
    reply: Callable[[int, dict[str, object]], Reply], models: tuple[str, ...] = ("teacher",)
) -> Iterator[Server]:
    """A server on a free port, for the length of a block."""
    server = Server(reply)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._send((200, {"object": "list", "data": [{"id": name, "object": "model"} for name in models]}))

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            self._send(server.handle(body, self.headers["Authorization"]))

        def _send(self, reply: Reply) -> None:
            status, body = reply
            data = (body if isinstance(body, str) else json.dumps(body)).encode()
            self.send_response(status)
            self.send_header("Content-Type", "text/html" if isinstance(body, str) else "application/json")
            self.send_header("Content-Length", str(len(data)))
            if status == 429 and server.retry_after is not None:
                self.send_header("Retry-After", server.retry_after)
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *arguments: object) -> None:
            pass

        def log_error(self, format: str, *arguments: object) -> None:
            pass

    class Quiet(ThreadingHTTPServer):
        def handle_error(self, request: object, client_address: object) -> None:
            pass  # a client that hangs up is what some tests are about

    http = Quiet(("127.0.0.1", 0), Handler)
    server.url = f"http://127.0.0.1:{http.server_port}/v1"
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        http.shutdown()
        http.server_close()
        thread.join()


def completion(text: object, tokens: int | None = 10, **message: object) -> Reply:
    """A chat completion as servers send it."""
    usage = {"prompt_tokens": 0, "completion_tokens": tokens, "total_tokens": tokens} if tokens is not None else None
    said = {"role": "assistant", "content": text, **message}
    choice = {"index": 0, "finish_reason": "stop", "message": said}
    return 200, {
        "id": "x",
        "object": "chat.completion",
        "created": 0,
        "model": "m",
        "choices": [choice],
        "usage": usage,
    }


def asked(body: dict[str, object]) -> str:
    """The last message of a chat."""
    messages = body["messages"]
    assert isinstance(messages, list)
    return messages[-1]["content"]
