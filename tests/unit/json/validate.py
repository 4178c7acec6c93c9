# SPDX-License-Identifier: Apache-2.0
#
# validate.py SCHEMA: is the JSON document on standard input what SCHEMA says? Strictly: a field
# that the schema does not name is an error here, though readers are to ignore it.
# Exit 0 yes, 1 no (with the reasons), 77 cannot say (python3-jsonschema is missing).
import json
import sys

try:
    from jsonschema import Draft202012Validator
except ImportError:
    print("python3-jsonschema is not installed, or knows no draft 2020-12")
    sys.exit(77)


def forbid_surprises(part) -> None:
    """No object may have a field that its schema (or an allOf beside it) does not name."""
    if isinstance(part, dict):
        # A schema for all other fields names them; Debian 12's jsonschema would not count it.
        if part.get("type") == "object" and not isinstance(part.get("additionalProperties"), dict):
            part["unevaluatedProperties"] = False
        for inner in part.values():
            forbid_surprises(inner)
    elif isinstance(part, list):
        for inner in part:
            forbid_surprises(inner)


def main() -> int:
    with open(sys.argv[1], encoding="utf-8") as file:
        schema = json.load(file)
    Draft202012Validator.check_schema(schema)
    forbid_surprises(schema)
    document = json.load(sys.stdin)
    errors = list(Draft202012Validator(schema).iter_errors(document))
    for error in errors:
        print(f"{sys.argv[1]}: {'/'.join(map(str, error.path))}: {error.message}"[:400])
    return 1 if errors else 0


sys.exit(main())
