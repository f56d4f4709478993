#!/usr/bin/env python3
"""The layering check of texts: no code decides by what a sentence says.

    sentences.py SOURCE_DIR

The programs decide by codes, parameters and SQLSTATEs. A text that is compared is a word, a name or a flag, never a sentence or
a part of one, whether it stands in the call or in a constant that the call names; and the text of an error is compared with
nothing. Only the backends of sites have to read what other programs print.
"""
import os
import re
import sys

FOLDERS = ("broker", "client", "simulator", "federation", "site-agent")
READERS = ("site-agent/backends/slurm/", "site-agent/backends/kubernetes/")  # of other programs' output
CALL = re.compile(r"\b(?:strncmp|strcmp|strstr|strcasestr|strncasecmp|strcasecmp|memcmp|memmem|helio_text_is|\w*begins\w*)\s*\(")
LITERAL = re.compile(r'"(?:[^"\\\n]|\\.)*"')
COMMENT_OR_LITERAL = re.compile(r"/\*.*?\*/|" + LITERAL.pattern + r"|'(?:[^'\\\n]|\\.)+'", re.S)
SENTENCE = re.compile(r"[A-Za-z][a-z]+[,;:.]? ")  # a word, and something after it
CONSTANT = re.compile(r'^([ \t]*)(?:static )?const char\b[^;={()]*?(\w+)(?:\[[^\]]*\])*\s=\s([^;"]*(?:' + LITERAL.pattern + r'[^;"]*)*);',
                      re.M)
ERROR_TEXT = re.compile(r"\b\w*(?:err|error|why|trouble|problem)(?:->|\.)text\b")
ALLOWED = {
    ("broker/http/request/request.c", "Bearer "): "a protocol's word",
    ("site-agent/journal/inspect.c", "magic"): "SQLite's mark of its files",
    ("site-agent/shim/cgroup.c", "populated 0"): "a line of the kernel's file",
}


def without_comments(text):
    """Comments become blank lines, so that line numbers stay."""
    keep = lambda m: "\n" * m[0].count("\n") if m[0].startswith("/*") else m[0]
    return COMMENT_OR_LITERAL.sub(keep, text)


def constants(text):
    """(name, first, end) of each constant that holds a sentence, and where its name is known."""
    for m in CONSTANT.finditer(text):
        is_table = "{" in m[3].lstrip()[1:]  # of rows: what is compared is a member
        if not is_table and any(SENTENCE.search(s) for s in LITERAL.findall(m[3])):
            end = text.find("\n}", m.end()) if m[1] else len(text)
            yield m[2], m.start(), end if end >= 0 else len(text)


def arguments(text, start):
    depth, at = 1, start
    while at < len(text) and depth:
        literal = COMMENT_OR_LITERAL.match(text, at)
        if literal:
            at = literal.end()
            continue
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        at += 1
    return text[start:at]


def faults_of(path, text):
    text = without_comments(text)
    known = list(constants(text))
    for call in CALL.finditer(text):
        given = arguments(text, call.end())
        literals = LITERAL.findall(given)
        names = set(re.findall(r"\w+", LITERAL.sub("", given)))
        held = {name for name, first, end in known if first <= call.start() < end}
        reasons = names | {s[1:-1] for s in literals}
        is_sentence = any(SENTENCE.search(s) for s in literals) or names & held
        is_error = ERROR_TEXT.search(LITERAL.sub("", given))
        if (is_error or (is_sentence and not path.startswith(READERS))) and not any(at == path and what in reasons for at, what in ALLOWED):
            yield "%s:%d: %s%s" % (path, text.count("\n", 0, call.start()) + 1, call[0], " ".join(given.split()))


def sources(top, folders, endings):
    for folder in folders:
        for root, _, names in os.walk(os.path.join(top, folder)):
            for name in sorted(names):
                if name.endswith(endings):
                    path = os.path.join(root, name)
                    yield os.path.relpath(path, top), open(path, encoding="utf-8").read()


LIKE = re.compile(r"(reason|detail|text)[a-z_.]* (not )?(like|similar to|~) '", re.I)
OLD_ROWS = "t.details is null and t.reason like 'moved from %'"  # rows that a release before details wrote


def main():
    top = sys.argv[1]
    faults = [f for path, text in sources(top, FOLDERS, (".c", ".h")) for f in faults_of(path, text)]
    for path, text in sources(top, ("schema/queries", "schema/report"), (".sql",)):
        faults += ["%s:%d: %s" % (path, i, line.strip()) for i, line in enumerate(text.split("\n"), 1)
                   if LIKE.search(line) and OLD_ROWS not in line]
    if faults:
        print("a sentence is compared; compare its code:\n" + "\n".join(faults))
        return 1
    print("no sentence is compared")
    return 0


if __name__ == "__main__":
    sys.exit(main())
