"""The manifest: JSON and back, versions, damage, and the published schema."""

from __future__ import annotations

import dataclasses
import functools
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from attacks import attacks
from compilations import compilations, small
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from cutecc.errors import RecordError
from cutecc.record import Artifact, Compilation, Failure, Step, manifest
from cutecc.record.compilation import Occupancy

ROOT = Path(__file__).parents[3]
SCHEMA = ROOT / "docs" / "manifest.schema.json"


def edited(**changes: Any) -> bytes:
    body = json.loads(manifest.encode(small()))
    for key, value in changes.items():
        if value is None:
            body.pop(key)
        else:
            body[key] = value
    return json.dumps(body).encode()


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None, max_examples=attacks(20))
@given(compilations())
def test_round_trip(compilation: Compilation) -> None:
    data = manifest.encode(compilation)
    assert manifest.decode(data) == compilation
    validator().validate(json.loads(data))


@functools.cache
def validator() -> Any:
    """Made once: a look at the schema itself takes longer than one at what it describes."""
    schema = manifest.json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def test_it_begins_with_schema_and_version() -> None:
    body = json.loads(manifest.encode(small()))
    assert list(body)[:2] == ["schema", "version"]
    assert body["schema"] == "cutecc/compilation"
    assert body["version"] == "1.8"


@pytest.mark.parametrize("version", ["2.0", "2", "10.0", "", "one", "-1.0", "x.1"])
def test_newer_and_unreadable_versions_are_refused(version: str) -> None:
    with pytest.raises(RecordError, match=r"has version '.*'; this cutecc reads versions up to 1.x"):
        manifest.decode(edited(version=version))


def test_no_version_is_refused() -> None:
    with pytest.raises(RecordError, match="has version ''"):
        manifest.decode(edited(version=None))


@pytest.mark.parametrize("version", ["1.0", "1.8", "1.99"])
def test_newer_minor_versions_are_read_and_unknown_keys_ignored(version: str) -> None:
    compilation = small()
    compilation.steps.append(Step(1, "cse", "cse", "wheel"))
    body = json.loads(manifest.encode(compilation))
    body |= {"version": version, "novelty": {"a": [1]}}
    body["steps"][0]["novelty"] = 3
    body["versions"]["novelty"] = "x"
    assert manifest.decode(json.dumps(body).encode()) == compilation


def test_unknown_kinds_of_artifacts_of_a_newer_minor_version_are_ignored() -> None:
    compilation = small()
    compilation.artifacts.append(Artifact("ptx", "k.ptx"))
    body = json.loads(manifest.encode(compilation))
    body["artifacts"].insert(0, {"kind": "novelty", "file": "k.new"})
    with pytest.raises(RecordError, match="damaged"):
        manifest.decode(json.dumps(body).encode())
    assert manifest.decode(json.dumps(body | {"version": "1.99"}).encode()) == compilation


def test_a_manifest_of_version_1_1_is_read() -> None:
    body = json.loads(manifest.encode(small()))
    del body["analyses"]
    assert manifest.decode(json.dumps(body | {"version": "1.1"}).encode()) == small()


def test_a_manifest_of_version_1_6_is_read() -> None:
    compilation = small()
    compilation.versions = replace(compilation.versions, flavour="cu13")
    body = json.loads(manifest.encode(compilation))
    assert body["versions"].pop("flavour") == "cu13"
    read = manifest.decode(json.dumps(body | {"version": "1.6"}).encode()).versions
    assert (read.flavour, read.wheel) == (None, "4.8.1")
    assert compilation.versions.wheel == "4.8.1 cu13"


def test_reimplementations_have_the_name_in_a_manifest_that_all_readers_of_1_x_know() -> None:
    compilation = small()
    compilation.steps.append(Step(1, "arith-expand", "arith-expand", "reimplementation"))
    body = json.loads(manifest.encode(compilation))
    assert body["steps"][0]["provider"] == "stand-in"
    assert manifest.decode(json.dumps(body).encode()) == compilation


@pytest.mark.parametrize("data", [b"", b"{", b"\xff\xfe", b"[" * 100_000, b'{"schema": "cutecc/compilation", '])
def test_what_is_not_json(data: bytes) -> None:
    with pytest.raises(RecordError, match=r"here\.json is not JSON"):
        manifest.decode(data, where="here.json")


@pytest.mark.parametrize("data", [b"[]", b"3", b"null", b"{}", b'{"schema": "else"}', b'"cutecc/compilation"'])
def test_what_is_not_a_manifest(data: bytes) -> None:
    with pytest.raises(RecordError, match=r"here\.json is not a manifest of cutecc"):
        manifest.decode(data, where="here.json")


@pytest.mark.parametrize(
    "changes",
    [
        {"name": None},
        {"name": 3},
        {"status": "splendid"},
        {"steps": [{"index": "one"}]},
        {"steps": {}},
        {"artifacts": [{"kind": "poem", "file": "a"}]},
        {"versions": []},
        {"seconds": {"trace": "long"}},
    ],
)
def test_damage_is_named(changes: dict[str, Any]) -> None:
    with pytest.raises(RecordError, match=r"here\.json is damaged: "):
        manifest.decode(edited(**changes), where="here.json")


@settings(deadline=None, max_examples=200)
@given(st.data())
def test_any_cut_or_flip_is_read_or_refused(data: st.DataObject) -> None:
    compilation = small()
    compilation.steps.append(Step(1, "cse", "cse", "wheel", operations_before={"arith": 3}))
    compilation.artifacts.append(Artifact("ptx", "k.ptx"))
    compilation.failure = Failure("cse", "no")
    whole = bytearray(manifest.encode(compilation))
    position = data.draw(st.integers(0, len(whole) - 1))
    if data.draw(st.booleans()):
        del whole[position:]
    else:
        whole[position] = data.draw(st.integers(0, 255))
    try:
        manifest.decode(bytes(whole))
    except RecordError as error:
        assert error.message.startswith("manifest.json")


def test_the_published_schema_is_current() -> None:
    assert json.loads(SCHEMA.read_text()) == json.loads(json.dumps(manifest.json_schema())), (
        "run tools/update_schema.py"
    )
    done = subprocess.run([sys.executable, ROOT / "tools" / "update_schema.py", "--check"])
    assert done.returncode == 0, "run tools/update_schema.py"


def test_the_schema_is_a_schema_and_refuses() -> None:
    schema = manifest.json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    for changes in ({"version": "2.0"}, {"schema": "else"}, {"name": None}, {"status": "splendid"}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(json.loads(edited(**changes)), schema)


def test_only_keys_without_a_default_are_required() -> None:
    required = [
        field.name
        for field in dataclasses.fields(Compilation)
        if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
    ]
    assert manifest.json_schema()["required"] == ["schema", "version", *required]


def test_an_occupancy_is_said_in_whole_percent_and_halves_go_up():
    found = [Occupancy(128, 1, 1, fraction, []).percent for fraction in (0.625, 0.375, 0.125, 0.75, 1.0)]
    assert found == [63, 38, 13, 75, 100]
