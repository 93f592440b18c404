"""A small OpenML: suites, tasks, data sets and their files on a loopback port, with faults to switch on."""

from __future__ import annotations

import hashlib
import threading
from collections import Counter
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from xml.sax.saxutils import escape, quoteattr

XMLNS = 'xmlns:oml="http://openml.org/openml"'


@dataclass
class DataSet:
    """One data set: its file and what OpenML says about it."""

    data_id: int
    name: str
    arff: str = ""
    target: str = "class"
    features: list[tuple[str, str, list[str]]] = field(default_factory=list)  # name, type, nominal values
    qualities: dict[str, float] = field(default_factory=dict)
    extra: dict[str, str] = field(default_factory=dict)  # row_id_attribute, ignore_attribute
    parquet: bytes = b""
    format: str = "ARFF"
    md5: str | None = None


class OpenMLServer:
    """Serves data sets, tasks and suites until closed.

    Attributes
    ----------
    mode : "ok", "cut", "error page", "database" or "hang"
        How every request is answered.
    requests : Counter of str
        Paths asked for, without the query.
    """

    def __init__(self) -> None:
        self.data: dict[int, DataSet] = {}
        self.tasks: dict[int, tuple[int, int, str]] = {}  # task -> type, data, target
        self.suites: dict[str, list[int]] = {}
        self.mode = "ok"
        self.broken: set[str] = set()  # paths that answer an error page
        self.requests: Counter[str] = Counter()
        self.release = threading.Event()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.answer(self, body=True)

            def do_HEAD(self) -> None:
                outer.answer(self, body=False)

            def log_message(self, format: str, *args: object) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.thread = threading.Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self.thread.start()
        self.root = f"http://127.0.0.1:{self.http.server_address[1]}"
        self.api = f"{self.root}/api/v1/xml"

    def close(self) -> None:
        self.release.set()
        self.http.shutdown()
        self.http.server_close()
        self.thread.join()

    def add(self, task_id: int, data: DataSet, *, kind: int = 1, target: str | None = None) -> None:
        """Serve a data set, and a task on it (kind 1: classification, 2: regression, others as OpenML numbers them)."""
        self.data[data.data_id] = data
        self.tasks[task_id] = (kind, data.data_id, data.target if target is None else target)

    def answer(self, request: BaseHTTPRequestHandler, *, body: bool) -> None:
        path = request.path.split("?")[0]
        self.requests[path] += 1
        status, content = 200, b""
        if self.mode == "cut":
            request.close_connection = True
            return
        if self.mode == "hang":
            self.release.wait(20)
            return
        if self.mode == "error page" or path in self.broken:
            status, content = 503, b"<html><body><p>Service unavailable<br></body></html>"
        elif self.mode == "database":
            status, content = 412, error(107, "Database connection error. Usually due to high server load.")
        else:
            status, content = self.page(path)
        request.send_response(status)
        request.send_header("Content-Type", "text/plain; charset=utf-8")
        request.send_header("Content-Length", str(len(content)))
        request.send_header("ETag", '"abc"')
        request.send_header("Last-Modified", "Wed, 01 Jan 2025 00:00:00 GMT")
        request.end_headers()
        if body:
            request.wfile.write(content)

    def page(self, path: str) -> tuple[int, bytes]:
        """Status and content of an address."""
        parts = path.strip("/").split("/")
        if parts[0] == "bucket":
            return 200, self.data[int(parts[1])].parquet
        if parts[0] == "file":
            return 200, self.data[int(parts[1])].arff.encode()
        match parts[3:]:
            case ["study", name] if name in self.suites:
                return 200, self.study(name)
            case ["study", name]:
                return 412, error(271, f"Unknown study {name}")
            case ["task", "list", *filters]:
                return self.listing(filters)
            case ["estimationprocedure", "list"]:
                return 200, PROCEDURES
            case ["task", number] if int(number) in self.tasks:
                return 200, self.task(int(number))
            case ["task", number]:
                return 412, error(151, f"Unknown task {number}")
            case ["data", "features", number] if int(number) in self.data:
                return 200, self.features(self.data[int(number)])
            case ["data", number] if int(number) in self.data:
                return 200, self.description(self.data[int(number)])
        return 412, error(111, f"Nothing at {path}")

    def study(self, name: str) -> bytes:
        ids = "".join(f"<oml:task_id>{i}</oml:task_id>" for i in self.suites[name])
        tasks = f"<oml:tasks>{ids}</oml:tasks>"
        return (
            f"<oml:study {XMLNS}><oml:id>99</oml:id><oml:main_entity_type>task</oml:main_entity_type>"
            f"<oml:name>{name}</oml:name><oml:description>d</oml:description><oml:status>active</oml:status>"
            f"<oml:creation_date>2020-01-01</oml:creation_date><oml:creator>1</oml:creator>{tasks}</oml:study>"
        ).encode()

    def task(self, number: int) -> bytes:
        kind, data_id, target = self.tasks[number]
        return (
            f"<oml:task {XMLNS}><oml:task_id>{number}</oml:task_id><oml:task_name>t</oml:task_name>"
            f"<oml:task_type_id>{kind}</oml:task_type_id><oml:task_type>{TYPES[kind]}</oml:task_type>"
            f'<oml:input name="source_data"><oml:data_set><oml:data_set_id>{data_id}</oml:data_set_id>'
            f"<oml:target_feature>{target}</oml:target_feature></oml:data_set></oml:input>"
            '<oml:input name="estimation_procedure"><oml:estimation_procedure><oml:id>1</oml:id>'
            "<oml:type>crossvalidation</oml:type><oml:data_splits_url>none</oml:data_splits_url>"
            '<oml:parameter name="number_repeats">1</oml:parameter><oml:parameter name="number_folds">10'
            "</oml:parameter></oml:estimation_procedure></oml:input></oml:task>"
        ).encode()

    def description(self, data: DataSet) -> bytes:
        md5 = hashlib.md5(data.arff.encode()).hexdigest() if data.md5 is None else data.md5
        more = "".join(f"<oml:{key}>{value}</oml:{key}>" for key, value in data.extra.items())
        if data.parquet:
            more += f"<oml:parquet_url>{self.root}/bucket/{data.data_id}/dataset.pq</oml:parquet_url>"
        return (
            f"<oml:data_set_description {XMLNS}><oml:id>{data.data_id}</oml:id><oml:name>{escape(data.name)}</oml:name>"
            f"<oml:version>1</oml:version><oml:description>d</oml:description><oml:format>{data.format}</oml:format>"
            f"<oml:url>{self.root}/file/{data.data_id}/data.arff</oml:url>{more}"
            f"<oml:default_target_attribute>{data.target}</oml:default_target_attribute>"
            f"<oml:md5_checksum>{md5}</oml:md5_checksum></oml:data_set_description>"
        ).encode()

    def features(self, data: DataSet) -> bytes:
        items = ""
        for index, (name, kind, values) in enumerate(data.features):
            nominal = "".join(f"<oml:nominal_value>{escape(value)}</oml:nominal_value>" for value in values)
            items += (
                f"<oml:feature><oml:index>{index}</oml:index><oml:name>{escape(name)}</oml:name>"
                f"<oml:data_type>{kind}</oml:data_type>{nominal}</oml:feature>"
            )
        return f"<oml:data_features {XMLNS}>{items}</oml:data_features>".encode()

    def listing(self, filters: list[str]) -> tuple[int, bytes]:
        wanted = dict(zip(filters[::2], filters[1::2], strict=True))
        items = ""
        for number, (kind, data_id, target) in self.tasks.items():
            data = self.data[data_id]
            if str(kind) != wanted.get("type", str(kind)) or not fits(data.qualities, wanted):
                continue
            qualities = "".join(
                f"<oml:quality name={quoteattr(k)}>{v}</oml:quality>" for k, v in data.qualities.items()
            )
            items += (
                f"<oml:task><oml:task_id>{number}</oml:task_id><oml:task_type_id>{kind}</oml:task_type_id>"
                f"<oml:task_type>{TYPES[kind]}</oml:task_type><oml:did>{data_id}</oml:did>"
                f"<oml:name>{escape(data.name)}</oml:name><oml:status>active</oml:status>"
                f'<oml:input name="target_feature">{target}</oml:input>{qualities}</oml:task>'
            )
        if not items:
            return 412, error(482, "No results")
        return 200, f"<oml:tasks {XMLNS}>{items}</oml:tasks>".encode()


TYPES = {1: "Supervised Classification", 2: "Supervised Regression", 5: "Clustering"}
PROCEDURES = (
    f"<oml:estimationprocedures {XMLNS}>"
    + "".join(
        f"<oml:estimationprocedure><oml:id>{i}</oml:id><oml:ttid>{i}</oml:ttid><oml:name>cv</oml:name>"
        "<oml:type>crossvalidation</oml:type></oml:estimationprocedure>"
        for i in (1, 2)
    )
    + "</oml:estimationprocedures>"
).encode()
FILTERS = {
    "number_instances": "NumberOfInstances",
    "number_features": "NumberOfFeatures",
    "number_classes": "NumberOfClasses",
}


def fits(qualities: dict[str, float], wanted: dict[str, str]) -> bool:
    """As the real server filters; a data set without a quality is listed."""
    for key, quality in FILTERS.items():
        if key in wanted and quality in qualities:
            low, high = (float(bound) for bound in wanted[key].split(".."))
            if not low <= qualities[quality] <= high:
                return False
    return True


def error(code: int, message: str) -> bytes:
    return (
        f"<oml:error {XMLNS}><oml:code>{code}</oml:code><oml:message>{message}</oml:message>"
        "<oml:additional_information>none</oml:additional_information></oml:error>"
    ).encode()
