#!/usr/bin/env python3
"""The layering check of calls. It uses the references of the object files, which the linker resolves, so nothing is guessed:

    calls.py SOURCE_DIR BUILD_DIR [ROOMS [CIRCLES]]

- a symbol of another room can be used only if rooms.txt allows it, however it was declared;
- no caller can reach two symbols of the same name in different rooms;
- rooms.txt is sorted, names each room once and has no circle;
- the files of one room do not refer to one another in a circle. circles.txt lists the known circles that are still to be
  broken: a known circle can lose files, and its line must be removed with the circle.

A reference to a constant table counts as a call. The object files are those of compile_commands.json, so that objects left
by moved sources do not count.
"""
import collections
import json
import os
import re
import shlex
import subprocess
import sys

DEFINED = set("TDBRGSCVWu")


def read_rooms(path, faults):
    """Room -> the rooms that it can use."""
    rooms, last = {}, ""
    for line in open(path):
        name, _, uses = line.partition(":")
        if line.strip() and line[0] not in "#<":
            if name in rooms:
                faults.append(f"rooms.txt: {name} is listed twice")
            elif name < last:
                faults.append(f"rooms.txt: {name} comes after {last}; the rows are sorted")
            rooms[name], last = set(uses.split()), name
    for room, uses in sorted(rooms.items()):
        faults += [f"rooms.txt: {room} may use {use}, which is no room" for use in sorted(uses - set(rooms))]
    for group in circles({room: uses & set(rooms) for room, uses in rooms.items()}):
        faults.append(f"rooms.txt: a circle of rooms: {' '.join(sorted(group))}")
    return rooms


def read_circles(path):
    """The known circles as (room, names of files)."""
    known = []
    for line in open(path):
        room, _, files = line.partition(":")
        if line.strip() and line[0] != "#":
            known.append((room, frozenset(files.split())))
    return known


def objects(source_dir, build_dir, rooms):
    """(object file, room, name of its source) of every source of a room, including generated ones."""
    found, home = [], {}
    generated = []
    for entry in json.load(open(os.path.join(build_dir, "compile_commands.json"))):
        words = shlex.split(entry["command"])
        output = words[words.index("-o") + 1]
        target = re.match(r"CMakeFiles/([^/]+)\.dir/", output)
        if not target:  # a test's
            continue
        place = os.path.join(entry["directory"], output)
        path = os.path.relpath(entry["file"], source_dir)
        if entry["file"].startswith(os.path.join(build_dir, "generated")):
            generated.append((place, target[1], os.path.basename(path)))
        elif os.path.dirname(path) in rooms:
            home[target[1]] = os.path.dirname(path)
            found.append((place, os.path.dirname(path), os.path.basename(path)))
    return found + [(place, home[target], name) for place, target, name in generated if target in home]


def read_symbols(places):
    """Object file -> (defined symbols, undefined symbols)."""
    symbols = {place: (set(), set()) for place in places}
    listing = subprocess.run(["nm", "-A", "-P", "--extern-only", *places], capture_output=True, text=True, check=True).stdout
    for line in listing.splitlines():
        place, name, kind = line.split()[:3]
        defined, undefined = symbols[place.rstrip(":")]
        (defined if kind in DEFINED else undefined).add(name)
    return symbols


def circles(arrows):
    """The sets of two and more nodes that reach one another (Tarjan), from node -> nodes."""
    index, low, stack, found = {}, {}, [], []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in sorted(arrows[node]):
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            group = stack[stack.index(node):]
            del stack[stack.index(node):]
            if len(group) > 1:
                found.append(frozenset(group))

    for node in sorted(arrows):
        if node not in index:
            visit(node)
    return found


def check_calls(files, rooms, faults):
    """Room -> file -> file -> a symbol, for the references that stay within their room."""
    symbols = read_symbols([place for place, _, _ in files])
    home = collections.defaultdict(list)  # symbol -> [(room, file)]
    for place, room, name in files:
        for symbol in symbols[place][0] - {"main"}:
            home[symbol].append((room, name))
    inside = {room: {} for _, room, _ in files}
    for place, room, name in files:
        arrows = inside[room].setdefault(name, {})
        for symbol in sorted(symbols[place][1] & set(home)):
            near = [(other_room, other) for other_room, other in home[symbol] if other_room == room or other_room in rooms[room]]
            where = " and ".join("/".join(pair) for pair in near or home[symbol])
            if len(near) != 1:
                faults.append(f"{room}/{name}: {symbol} is defined in {where}" if near else
                              f"{room}/{name}: {room} may not call {symbol} of {where}")
            elif near[0][0] == room:
                arrows.setdefault(near[0][1], symbol)
    return inside


def check_circles(inside, known, faults):
    found = [(room, group) for room, arrows in sorted(inside.items()) for group in circles(arrows)]
    for room, group in found:
        if not any(room == known_room and group <= names for known_room, names in known):
            faults.append(f"{room}: a circle of calls between {len(group)} files: {' '.join(sorted(group))}")
            faults += [f"    {name} -> {other} ({symbol})" for name in sorted(group)
                       for other, symbol in sorted(inside[room][name].items()) if other in group]
    for room, names in known:
        if not any(room == found_room and group <= names for found_room, group in found):
            faults.append(f"circles.txt: this circle is broken, so its line must go: {room}: {' '.join(sorted(names))}")


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    source_dir, build_dir = (os.path.realpath(path) for path in sys.argv[1:3])
    faults = []
    rooms = read_rooms(sys.argv[3] if len(sys.argv) > 3 else os.path.join(here, "rooms.txt"), faults)
    known = read_circles(sys.argv[4] if len(sys.argv) > 4 else os.path.join(here, "circles.txt"))
    files = objects(source_dir, build_dir, rooms)
    missing = [place for place, _, _ in files if not os.path.exists(place)]
    if missing or not files:
        faults.append(f"{len(missing)} of {len(files)} object files are not built: {' '.join(missing[:1])}")
    else:
        inside = check_calls(files, rooms, faults)
        check_circles(inside, known, faults)
    for fault in faults:
        print(fault)
    print(f"{len(files)} object files of {len(rooms)} rooms, {len(known)} known circles, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
