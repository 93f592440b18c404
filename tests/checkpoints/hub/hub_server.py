"""A small Hugging Face Hub on a loopback port: repositories of files at commits, with faults to switch on."""

from __future__ import annotations

import hashlib
import re
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote

from tests.checkpoints.hub.hub_writes import describe, receive

TOKEN = "hf_rightToken"
LFS_AT = 1000  # bytes from which a file has a SHA-256 as ETag, as those under Git LFS


@dataclass
class Repo:
    """The commits of a repository and what points to them.

    Attributes
    ----------
    access : "open", "gated", "private" or "disabled"
        Private ones open for `TOKEN`, gated ones for nobody.
    """

    access: str = "open"
    commits: dict[str, dict[str, bytes]] = field(default_factory=dict)
    refs: dict[str, str] = field(default_factory=dict)

    def commit(self, files: dict[str, bytes], *refs: str) -> str:
        """Add a commit that `refs` point to; its 40 hexadecimal digits."""
        sha = hashlib.sha1(repr((len(self.commits), sorted(files))).encode()).hexdigest()
        self.commits[sha] = files
        self.refs |= dict.fromkeys(refs or ("main",), sha)
        return sha


class HubServer:
    """Serves repositories until closed.

    Attributes
    ----------
    requests : list of str
        "METHOD path" of every request, in order.
    tokens : set of str
        What came as authorization.
    status : int
        If not 0, the status of every answer.
    hang : bool
        Whether requests wait until the server closes.
    spoil : dict of str to callable
        By file name, what bytes to send in place of the right ones.
    cut : dict of str to int
        By file name, after how many bytes the connection breaks, once.
    headers : dict of str to str
        Sent in place of the right ones.
    redirects : bool
        Whether large files are answered with an address elsewhere, as the Hub does.
    elsewhere : list of str
        Paths asked for there, without a token.
    uploads : dict of str to bytes
        Large files that arrived, by SHA-256.
    messages : list of str
        Of the commits that arrived.
    refused : str
        Writing to paths that start so is forbidden.
    """

    def __init__(self) -> None:
        self.repos: dict[str, Repo] = {}
        self.requests: list[str] = []
        self.tokens: set[str] = set()
        self.status = 0
        self.hang = False
        self.spoil: dict[str, bytes] = {}
        self.cut: dict[str, int] = {}
        self.headers: dict[str, str] = {}
        self.redirects = False
        self.elsewhere: list[str] = []
        self.uploads: dict[str, bytes] = {}
        self.messages: list[str] = []
        self.refused = "nothing"
        self.release = threading.Event()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                outer.answer(self)

            def do_HEAD(self) -> None:
                outer.answer(self)

            def do_POST(self) -> None:
                receive(outer, self)

            def do_PUT(self) -> None:
                receive(outer, self)

            def log_message(self, format: str, *args: object) -> None:
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, request: object, client_address: object) -> None:
                pass  # a client that hangs up is none of ours

        self.http = Server(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self.thread.start()
        self.root = f"http://127.0.0.1:{self.http.server_address[1]}"

    def close(self) -> None:
        self.release.set()
        self.http.shutdown()
        self.http.server_close()
        self.thread.join()

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        self.requests.append(f"{request.command} {request.path}")
        token = (request.headers.get("Authorization") or "").removeprefix("Bearer ")
        if token:
            self.tokens.add(token)
        if self.hang:
            self.release.wait(20)
        if self.status:
            return self.refuse(request, self.status)
        if request.path.startswith("/elsewhere/") and not token:
            self.elsewhere.append(request.path)
            files = (
                data for repo in self.repos.values() for commit in repo.commits.values() for data in commit.values()
            )
            data = next(data for data in files if request.path.endswith(etag(data)))
            return self.send(request, "", data, "")
        if (about := re.fullmatch(r"/api/models/([^/]+/[^/]+)", request.path)) is not None:
            return describe(self, request, about[1])
        found = re.fullmatch(r"/([^/]+/[^/]+)/resolve/([^/]+)/(.+)", request.path)
        assert found is not None, request.path
        repo, revision, name = self.repos.get(found[1]), unquote(found[2]), found[3]
        if token not in ("", TOKEN):
            return self.refuse(request, 401, message="Invalid credentials in Authorization header")
        if repo is None or (repo.access == "private" and not token):
            return self.refuse(request, 404 if token else 401, "RepoNotFound")
        if repo.access == "gated":
            return self.refuse(request, 403 if token else 401, "GatedRepo")
        if repo.access == "disabled":
            return self.refuse(request, 403, message="Access to this resource is disabled.")
        commit = repo.refs.get(revision, revision)
        if commit not in repo.commits:
            return self.refuse(request, 404, "RevisionNotFound")
        if name not in repo.commits[commit]:
            return self.refuse(request, 404, "EntryNotFound", commit=commit)
        return self.send(request, name, repo.commits[commit][name], commit)

    def refuse(self, request: BaseHTTPRequestHandler, status: int, code: str = "", message: str = "", commit: str = ""):
        request.send_response(status)
        for header, value in (("X-Error-Code", code), ("X-Error-Message", message), ("X-Repo-Commit", commit)):
            if value:
                request.send_header(header, value)
        request.send_header("Content-Length", "0")
        request.end_headers()

    def send(self, request: BaseHTTPRequestHandler, name: str, data: bytes, commit: str) -> None:
        head = {"X-Repo-Commit": commit, "ETag": f'"{etag(data)}"', "Accept-Ranges": "bytes"}
        if self.redirects and commit and len(data) >= LFS_AT:
            port = self.http.server_address[1]
            request.send_response(302)
            linked = {"X-Linked-ETag": head["ETag"], "X-Linked-Size": str(len(data)), "X-Repo-Commit": commit}
            location = f"http://localhost:{port}/elsewhere/{etag(data)}"  # another host than 127.0.0.1
            for header, value in {**linked, "Location": location, "Content-Length": "0"}.items():
                request.send_header(header, value)
            return request.end_headers()
        if request.command == "GET":
            data = self.spoil.get(name, data)
        start = int(re.fullmatch(r"bytes=(\d+)-", request.headers.get("Range") or "bytes=0-")[1])  # type: ignore[index]
        request.send_response(206 if start else 200)
        if start:
            head["Content-Range"] = f"bytes {start}-{len(data) - 1}/{len(data)}"
        for header, value in {**head, "Content-Length": str(len(data) - start), **self.headers}.items():
            if value:
                request.send_header(header, value)
        request.end_headers()
        if request.command == "GET":
            end = self.cut.pop(name, len(data))
            request.wfile.write(data[start:end])
            request.close_connection = end < len(data)


def etag(data: bytes) -> str:
    """As the Hub names bytes: SHA-256 of large files, a Git blob's SHA-1 of others."""
    if len(data) >= LFS_AT:
        return hashlib.sha256(data).hexdigest()
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()
