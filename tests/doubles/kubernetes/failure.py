"""Refusals, as `Status` objects or plain text."""


class Failure(Exception):
    """An answer that is not the object that was asked for."""

    def __init__(self, code, reason, message, details=None, metadata=None, text=None, headers=None):
        super().__init__(message)
        self.code, self.text, self.headers = code, text, headers or {}
        self.status = {"kind": "Status", "apiVersion": "v1", "metadata": metadata or {}, "status": "Failure", "message": message}
        if reason:
            self.status["reason"] = reason
        if details is not None:
            self.status["details"] = details
        self.status["code"] = code


def plain_text(code, text, **headers):
    headers = {name.replace("_", "-"): value for name, value in headers.items()}
    return Failure(code, None, text, text=text, headers={"x-content-type-options": "nosniff", **headers})


def bad_request(message):
    return Failure(400, "BadRequest", message)


def not_found(kind, name):
    return Failure(404, "NotFound", f'{kind.qualified} "{name}" not found', details(name, kind.group, kind.plural))


def details(name, group, plural):
    found = {"name": name} if name else {}
    if group:
        found["group"] = group
    return {**found, "kind": plural}


def conflict(kind, name, why="the object has been modified; please apply your changes to the latest version and try again"):
    return Failure(409, "Conflict", f'Operation cannot be fulfilled on {kind.qualified} "{name}": {why}', details(name, kind.group, kind.plural))


def invalid(kind, name, causes):
    """causes: (reason, field, message) each."""
    joined = ", ".join(dict.fromkeys(f"{field}: {message}" for _, field, message in causes))
    joined = f"[{joined}]" if len({(field, message) for _, field, message in causes}) > 1 else joined
    singular = f"{kind.kind}.{kind.group}" if kind.group else kind.kind
    listed = [{"reason": reason, "message": message, "field": field} for reason, field, message in causes]
    return Failure(422, "Invalid", f'{singular} "{name}" is invalid: {joined}', {**details(name, kind.group, kind.kind), "causes": listed})


def unknown_resource():
    return Failure(404, "NotFound", "the server could not find the requested resource", {})


def method_not_allowed():
    return Failure(405, "MethodNotAllowed", "the server does not allow this method on the requested resource", {})


def expired(message, metadata=None):
    return Failure(410, "Expired", message, metadata=metadata)


def timed_out():
    """What a request gets whose time is over: JSON without `kind`, called text, and its outcome is unknown."""
    failure = Failure(504, "Timeout", "Timeout: request did not complete within the allotted timeout", {})
    failure.text = ('{"metadata":{},"status":"Failure","message":"Timeout: request did not complete within the allotted timeout",'
                    '"reason":"Timeout","details":{},"code":504}')
    return failure
