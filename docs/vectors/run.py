#!/usr/bin/env python3
"""Runs the test vectors against a decoder of messages.

usage: python3 run.py COMMAND [ARGUMENT...]

For each vector the command is run once. In its arguments, {bytes}, {dialect} and
{species} stand for the message in hex, for stock or openbc, and for the number of the
ship's class. An argument with {species} is left out if the message can be read without.
The command prints a JSON object with the fields, alone or under the key "fields".

A decoder in Python can call check(decode) instead; decode gets bytes, dialect and species
(None if there is none) and returns a dictionary.
"""
import concurrent.futures
import json
import pathlib
import re
import struct
import subprocess
import sys

VECTORS = json.loads(pathlib.Path(__file__).with_name("messages.json").read_text())
VERSION = 1  # of the format that this program knows


def single(x):
    """Returns the bits of a number as a 32-bit float."""
    return struct.pack("<f", x)


def paths(fields, path=""):
    """Returns the paths of all fields in a value, without the numbers of elements."""
    if isinstance(fields, list):
        return set().union(*(paths(f, path) for f in fields))
    if not isinstance(fields, dict):
        return {path}
    return {path}.union(*(paths(value, f"{path}.{key}") for key, value in fields.items()))


def difference(want, got, path, known):
    """Returns where two values differ, or None. Fields that no vector of the message has don't matter."""
    if isinstance(want, dict):
        if not isinstance(got, dict):
            return f"{path}: no object, but {got!r}"
        level = re.sub(r"\[\d+\]", "", f".{path}")[:-1]
        wrong = [key for key in want.keys() ^ got.keys() if f"{level}.{key}" in known]
        if wrong:
            return f"{path}{wrong[0]} is {'missing' if wrong[0] in want else 'not in the message'}"
        return next(filter(None, (difference(want[k], got[k], f"{path}{k}.", known) for k in want)), None)
    if isinstance(want, list):
        if not isinstance(got, list) or len(got) != len(want):
            return f"{path[:-1]}: want {want}, got {got!r}"
        return next(filter(None, (difference(w, g, f"{path[:-1]}[{i}].", known) for i, (w, g) in enumerate(zip(want, got)))), None)
    if isinstance(want, float) and isinstance(got, (int, float)) and not isinstance(got, bool):
        same = single(want) == single(got)  # floats are numbers of 32 bits
    else:
        same = want == got and isinstance(want, bool) == isinstance(got, bool)
    return None if same else f"{path[:-1]}: want {want!r}, got {got!r}"


def test(decode, vector):
    """Returns what is wrong with a decoder's fields for a vector, or None."""
    try:
        fields = decode(bytes.fromhex(vector["bytes"]), vector["dialect"], vector.get("species"))
        known = set().union(*(paths(v["fields"]) for v in VECTORS["vectors"] if v["message"] == vector["message"]))
        return difference(vector["fields"], fields, "", known)
    except Exception as problem:  # whatever the decoder raises
        return f"{type(problem).__name__}: {problem}"


def check(decode):
    """Runs all vectors, prints those that fail, and returns how many do."""
    if VECTORS["version"] != VERSION:
        raise SystemExit(f"messages.json has version {VECTORS['version']}, and this program knows {VERSION}")
    with concurrent.futures.ThreadPoolExecutor() as pool:
        results = list(pool.map(lambda v: test(decode, v), VECTORS["vectors"]))
    failed = 0
    for vector, problem in zip(VECTORS["vectors"], results):
        if problem:
            failed += 1
            print(f"{vector['name']} ({vector['message']}, {vector['evidence']}): {problem}")
    print(f"{len(results) - failed} of {len(results)} vectors pass")
    return failed


def command(arguments):
    """Returns a decoder that runs a command."""
    def decode(message, dialect, species):
        line = [a.replace("{bytes}", message.hex()).replace("{dialect}", dialect).replace("{species}", str(species))
                for a in arguments if species or "{species}" not in a]
        fields = json.loads(subprocess.run(line, check=True, capture_output=True).stdout)
        return fields.get("fields", fields) if fields.keys() & {"fields", "opcode"} else fields
    return decode


if __name__ == "__main__":
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    sys.exit(1 if check(command(sys.argv[1:])) else 0)
