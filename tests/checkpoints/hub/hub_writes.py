"""What the Hub of the tests does when it is written to: repositories made, large files taken, files committed."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.checkpoints.hub.hub_server import HubServer

READ_TOKEN = "hf_readToken"  # may read, but write nowhere
OWNED = "lab"  # where the right token may write


def receive(server: HubServer, request: BaseHTTPRequestHandler) -> None:
    """Answer a POST or PUT."""
    from tests.checkpoints.hub.hub_server import TOKEN, Repo

    body = request.rfile.read(int(request.headers.get("Content-Length") or 0))
    server.requests.append(f"{request.command} {request.path}")
    token = (request.headers.get("Authorization") or "").removeprefix("Bearer ").strip()
    if server.status:
        return server.refuse(request, server.status)
    if request.path.startswith(server.refused):
        return server.refuse(request, 403)
    if request.path.startswith("/lfs/"):
        server.uploads[request.path.rpartition("/")[2]] = body
        return reply(request, {})
    if token not in (TOKEN, READ_TOKEN):
        return server.refuse(request, 401, message="Invalid credentials in Authorization header")
    if request.path == "/api/validate-yaml":
        bad = "license: nonsense" in json.loads(body)["content"]
        errors = [{"message": '"license" must be one of a list'}] if bad else []
        return reply(request, {"errors": errors, "warnings": []}, 400 if bad else 200)
    if request.path == "/api/repos/create":
        asked = json.loads(body)
        name = f"{asked['organization']}/{asked['name']}"
        if token != TOKEN or asked["organization"] != OWNED:
            return server.refuse(
                request, 403, message="You don't have the rights to create a model under this namespace"
            )
        status = 409 if name in server.repos else 200
        access = "private" if asked.get("visibility") == "private" or asked.get("private") else "open"
        server.repos.setdefault(name, Repo(access))
        return reply(request, {"url": f"{server.root}/{name}"}, status)
    found = re.fullmatch(
        r"/(?:api/models/)?([^/]+/[^/]+?)(/preupload/main|/commit/main|\.git/info/lfs/objects/batch)", request.path
    )
    assert found is not None, request.path
    if token != TOKEN or not found[1].startswith(f"{OWNED}/"):
        return server.refuse(request, 403, message="Your token has no write access to this model")
    if found[2] == "/preupload/main":
        files = [
            {
                "path": file["path"],
                "uploadMode": "lfs" if file["path"].endswith(".safetensors") else "regular",
                "shouldIgnore": False,
                "oid": None,
            }
            for file in json.loads(body)["files"]
        ]
        return reply(request, {"files": files})
    if found[2] == "/commit/main":
        return reply(request, commit(server, found[1], body))
    objects = [
        {**thing, "authenticated": True, "actions": {"upload": {"href": f"{server.root}/lfs/{thing['oid']}"}}}
        for thing in json.loads(body)["objects"]
        if thing["oid"] not in server.uploads
    ]
    return reply(request, {"transfer": "basic", "objects": objects})


def commit(server: HubServer, name: str, body: bytes) -> dict[str, Any]:
    """Add a commit of what the lines of ``body`` say to what the repository has."""
    repo = server.repos[name]
    files = dict(repo.commits.get(repo.refs.get("main", ""), {}))
    for line in body.splitlines():
        entry = json.loads(line)
        value = entry["value"]
        if entry["key"] == "file":
            assert value["encoding"] == "base64"
            files[value["path"]] = base64.b64decode(value["content"])
        elif entry["key"] == "lfsFile":
            data = server.uploads[value["oid"]]
            assert (hashlib.sha256(data).hexdigest(), len(data)) == (value["oid"], value["size"])
            files[value["path"]] = data
        else:
            assert entry["key"] == "header"
            server.messages.append(value["summary"])
    sha = repo.commit(files)
    return {"success": True, "commitOid": sha, "commitUrl": f"{server.root}/{name}/commit/{sha}"}


def describe(server: HubServer, request: BaseHTTPRequestHandler, name: str) -> None:
    """Answer what a repository is."""
    if name not in server.repos:
        return server.refuse(request, 404, "RepoNotFound")
    return reply(request, {"id": name, "sha": server.repos[name].refs.get("main"), "siblings": []})


def reply(request: BaseHTTPRequestHandler, value: dict[str, Any], status: int = 200) -> None:
    data = json.dumps(value).encode()
    request.send_response(status)
    request.send_header("Content-Type", "application/vnd.git-lfs+json")
    request.send_header("Content-Length", str(len(data)))
    request.end_headers()
    request.wfile.write(data)
