#!/usr/bin/python3
"""Compares answers with docs/openapi.yaml: whether the operation is described, with this status, this media type and this body, and
whether the request had a body that is described. Strict on purpose: a member that a schema does not name is a fault, unless it has
`additionalProperties`.

  judge.py [--every] FILE     FILE: lines of exchanges.py. --every: each operation was called, and each had an answer that is no error

It needs Debian's python3-yaml and python3-jsonschema."""
import argparse, base64, collections, datetime, gzip, json, os, re, sys, urllib.parse

import jsonschema, yaml

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
METHODS = ("get", "put", "post", "delete", "patch")
formats = jsonschema.FormatChecker(formats=())


@formats.checks("date-time", raises=ValueError)
def is_date_time(value):
    if not isinstance(value, str):
        return True
    if not re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", value):
        raise ValueError("no time in UTC")
    return bool(datetime.datetime.fromisoformat(value.split(".")[0].rstrip("Z")))


class UniqueKeys(yaml.SafeLoader):
    """YAML without timestamps, and without keys that stand twice in one mapping."""

    def construct_mapping(self, node, deep=False):
        keys = [key.value for key, _ in node.value]
        twice = [key for key, count in collections.Counter(keys).items() if count > 1]
        if twice:
            raise SystemExit(f"docs/openapi.yaml:{node.start_mark.line + 1}: {twice[0]} stands twice in one mapping")
        return super().construct_mapping(node, deep)


UniqueKeys.yaml_implicit_resolvers = {first: [(tag, match) for tag, match in resolvers if not tag.endswith(":timestamp")]
                                      for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()}


def closed(node):
    """The same schemas, which allow no member that they do not name."""
    if isinstance(node, list):
        return [closed(entry) for entry in node]
    if not isinstance(node, dict):
        return node
    copy = {key: closed(value) for key, value in node.items()}
    if isinstance(node.get("properties"), dict) and not {"additionalProperties", "unevaluatedProperties"} & set(node):
        copy["unevaluatedProperties"] = False
    return copy


class Document:
    def __init__(self, path=os.path.join(TOP, "docs", "openapi.yaml")):
        with open(path) as file:
            self.tree = yaml.load(file, UniqueKeys)
        self.closed = {"components": {"schemas": closed(self.tree["components"]["schemas"])}}
        self.operations = {}  # "GET /v1/jobs/{id}" -> (expression of its paths, operation)
        for path, item in self.tree["paths"].items():
            shape = re.compile("/".join("[^/]+" if part.startswith("{") else re.escape(part) for part in path.split("/")))
            for method in METHODS:
                if method in item:
                    self.operations[f"{method.upper()} {path}"] = shape, item[method]
        self.validators = {}

    def follow(self, node):
        while "$ref" in node:
            found = self.tree
            for part in node["$ref"][2:].split("/"):
                found = found[part]
            node = found
        return node

    def find(self, method, path):
        """The names of the operation: literal paths come before those with parameters."""
        method = "GET" if method == "HEAD" else method
        names = [name for name, (shape, _) in self.operations.items() if name.split(" ")[0] == method and shape.fullmatch(path)]
        return min(names, key=lambda name: name.count("{")) if names else None

    def complaints(self, schema, value):
        key = json.dumps(schema, sort_keys=True)
        if key not in self.validators:
            whole = dict(closed(schema), **self.closed)
            jsonschema.Draft202012Validator.check_schema(whole)
            self.validators[key] = jsonschema.Draft202012Validator(whole, format_checker=formats)
        found = sorted(self.validators[key].iter_errors(value), key=lambda error: list(map(str, error.absolute_path)))
        return [f"{'.'.join(map(str, error.absolute_path)) or 'the body'}: {error.message[:300]}" for error in found[:3]]

    def check_content(self, content, kind, body, whole):
        """What is wrong with a body of this media type."""
        media = content.get(kind.split(";")[0].strip().lower())
        if media is None:
            return [f"the media type {kind!r} is not described"]
        if kind.startswith("text/event-stream"):
            return self.check_events(media, body)
        schema = media.get("schema")
        if not schema or "json" not in kind or "ndjson" in kind:
            return []
        if not whole:
            return []
        try:
            value = json.loads(body)
        except ValueError as error:
            return [f"no JSON: {error}"]
        return self.complaints(schema, value)

    def check_events(self, media, body):
        """Each whole event: its name, and its data by the schema of that name."""
        schemas, found = dict(media.get("x-events", {})), []
        if not schemas:
            return []
        schemas["transition"] = media["schema"]
        for block in body.decode().split("\n\n")[:-1]:
            lines = [line.partition(":") for line in block.split("\n") if line and not line.startswith(":")]
            fields = {name: value.strip() for name, _, value in lines}
            if not fields or set(fields) == {"retry"}:
                continue
            if fields.get("event") not in schemas:
                found.append(f"the event {fields} is not described")
            elif "id" not in fields:
                found.append(f"the event {fields} has no id")
            else:
                found += self.complaints(schemas[fields["event"]], json.loads(fields.get("data") or "null"))
        return found

    def judge(self, exchange):
        """(operation, faults). Operation is None for paths that are not described, which are to be answered 404."""
        split = urllib.parse.urlsplit(exchange["target"])
        name, status = self.find(exchange["method"], split.path), exchange["status"]
        body = base64.b64decode(exchange["body"])
        kind = exchange["headers"].get("content-type", "")
        general = self.tree["x-general-responses"]
        if not name:
            answers = {status_: general[status_] for status_ in general if status_ in ("400", "404", "405", "414")}
        else:
            answers = {**{status_: general[status_] for status_ in general if status_ not in ("404", "500")}, **self.operations[name][1]["responses"]}
        answer = answers.get(str(status))
        if not answer:
            return name, [f"the status {status} is not described: {body[:300]!r}"]
        if exchange["headers"].get("content-encoding") == "gzip" and exchange["whole"]:
            body = gzip.decompress(body)
        faults = self.check_headers(self.follow(answer), exchange, status)
        content = self.follow(answer).get("content")
        if exchange["method"] == "HEAD" or (not content and not body):
            return name, faults
        if not content:
            return name, faults + [f"a body is not described: {body[:300]!r}"]
        faults += self.check_content(content, kind, body, exchange["whole"])
        if "problem" in kind and exchange["whole"] and not faults and json.loads(body)["status"] != status:
            faults.append(f"the member status is not {status}")
        if name and status < 300 and exchange["request"]:
            faults += self.check_request(name, exchange)
        return name, faults

    @staticmethod
    def check_headers(answer, exchange, status):
        """A header that the description requires is there."""
        required = [name for name, header in answer.get("headers", {}).items() if header.get("required")]
        return [f"the header {name} is missing with {status}" for name in required if name.lower() not in exchange["headers"]]

    def check_request(self, name, exchange):
        """A body that was taken is one that is described."""
        described = self.operations[name][1].get("requestBody")
        kind = exchange["request_headers"]["content-type"] or "application/json"
        body = base64.b64decode(exchange["request"])
        if not described:
            return [] if body in (b"{}", b"null") else [f"a body was taken that is not described: {body[:200]!r}"]
        return ["the request: " + fault for fault in self.check_content(self.follow(described)["content"], kind, body, True)]


def routes_of_table():
    """The routes of the broker, from its table."""
    with open(os.path.join(TOP, "broker", "http", "routes", "table.c")) as file:
        return {f"{method} {path}" for method, path in re.findall(r'^    \{"([A-Z]+)", "([^"]+)"', file.read(), re.M)}


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--every", action="store_true")
    args.add_argument("file")
    options = args.parse_args()
    document = Document()
    seen, faults, count = collections.defaultdict(collections.Counter), collections.Counter(), 0
    with open(options.file) as file:
        for line in file:
            exchange = json.loads(line)
            if "fault" in exchange:
                faults[exchange["fault"]] += 1
                continue
            name, found = document.judge(exchange)
            seen[name][exchange["status"]] += 1
            count += 1
            faults.update(f"{name or exchange['method'] + ' ' + exchange['target']} -> {exchange['status']}: {fault}" for fault in found)
    if routes_of_table() != set(document.operations):
        faults[f"the description and the broker's table of routes differ: {routes_of_table() ^ set(document.operations)}"] += 1
    if options.every:
        for name in sorted(document.operations):
            if not any(status < 400 for status in seen[name]):
                faults[f"{name}: no answer that is no error; tests/integration/openapi.py has to ask it so that it succeeds; seen: {dict(seen[name])}"] += 1
    for fault, times in faults.items():
        print(f"FAULT: {fault}{f' ({times} times)' if times > 1 else ''}")
    if not count:
        raise SystemExit("nothing was exchanged")
    kinds = sum(len(statuses) for name, statuses in seen.items() if name)
    print(f"{count} answers of {len([n for n in seen if n])} operations, {kinds} kinds of operation and status, {len(faults)} faults by docs/openapi.yaml")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
