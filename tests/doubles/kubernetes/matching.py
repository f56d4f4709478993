"""Label and field selectors."""
import re
from failure import bad_request

TERM = re.compile(r"^\s*(!?)\s*([A-Za-z0-9][-A-Za-z0-9_./]*)\s*(?:(==|=|!=)\s*([-A-Za-z0-9_.]*)|(?:\s(in|notin)\s*\(([^)]*)\)))?\s*$")
FIELDS = {"metadata.name", "metadata.namespace", "spec.nodeName", "status.phase", "spec.unschedulable", "involvedObject.name",
          "involvedObject.kind", "involvedObject.namespace", "involvedObject.uid", "reason", "type", "status.successful"}


def compile_selectors(labels, fields):
    """A predicate on objects."""
    tests = [label_test(term) for term in split(labels or "")] + [field_test(term) for term in split(fields or "")]
    return lambda item: all(test(item) for test in tests)


def split(text):
    return [term for term in re.split(r",(?![^(]*\))", text) if term.strip()]


def label_test(term):
    match = TERM.match(term)
    if not match:
        raise bad_request(f"unable to parse requirement: found '{term}'")
    negated, key, operator, value, word, values = match.groups()
    wanted = {value} if operator else {one.strip() for one in (values or "").split(",")}
    unequal = operator == "!=" or word == "notin"

    def test(item):
        found = (item["metadata"].get("labels") or {}).get(key)
        if not operator and not word:
            return (found is None) == bool(negated)
        return (found not in wanted) if unequal else (found in wanted)
    return test


def field_test(term):
    match = re.match(r"^([A-Za-z.]+)\s*(==|=|!=)\s*(.*)$", term)
    if not match or match.group(1) not in FIELDS:
        raise bad_request(f"field label not supported: {term}")
    path, operator, wanted = match.groups()

    def test(item):
        for word in path.split("."):
            item = item.get(word) if isinstance(item, dict) else None
        found = "" if item is None else str(item).lower() if isinstance(item, bool) else str(item)
        return (found == wanted) != (operator == "!=")
    return test
