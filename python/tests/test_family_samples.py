# ===- test_family_samples.py - The page of timed samples -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""benchmarks/family_samples.py on made evidence: no number here was measured."""

import json
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def instance(sample, default_ns=None, instance_ns=None, ratio=None, **more):
    made = {"sample": sample, "workload": "key", "about": f"m {sample}; A | B", "program": "p"}
    made["precision"] = "ieee"
    if ratio is not None:
        times = {"instance_ns": instance_ns, "default_ns": default_ns, "ratio": ratio}
        made["times"] = times | more
    return made


@pytest.fixture
def family(tmp_path):
    """Writes the evidence of a family and returns its folder."""

    def write(name, instances, **more):
        folder = tmp_path / "all" / name
        folder.mkdir(parents=True)
        (folder / "family.json").write_text("{}")
        evidence = {"format": 1, "nvrtc": "13.0", "target": "cuda:sm_90a", "device": "NVIDIA H200"}
        evidence |= {"seed": 0, "instances": instances} | more
        (folder / "evidence.json").write_text(json.dumps(evidence))
        return folder

    return write


def run(*arguments):
    return subprocess.run(
        [sys.executable, ROOT / "benchmarks" / "family_samples.py", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )


def test_each_timed_sample_is_a_row(family, tmp_path):
    folder = family(
        "products",
        [
            instance(0, 16000, 2000, 8.0),
            instance(0),
            instance(3, 4000, 8000, 0.5, below_resolution=True),
            instance(6),
        ],
        driver="13.1",
    )
    page = tmp_path / "page.md"
    result = run(folder.parent, "-o", page)
    assert (result.returncode, result.stderr, result.stdout) == (0, "", "")
    text = page.read_text()
    assert "| 0 | m 0; A \\| B | 16.0 | 2.0 | 8.00 | ieee |" in text
    assert "| 3 | m 3; A \\| B | 4.0 | 8.0 | 0.50 * | ieee |" in text
    assert "m 6" not in text
    machine = "NVIDIA H200, its driver's CUDA 13.1, NVRTC 13.0"
    assert f"| `products` | 2 of 3 | 2.00 | 0.50 | 8.00 | 1 | {machine} |" in text
    assert "Geometric mean 2.00, least 0.50 (sample 3)." in text
    assert "less than five empty launches" in text
    assert f"$ fastk-opt --admit-family={folder} --target=cuda:sm_90a\n" in text
    assert "to fastk's default lowering, and not to torch" in text
    assert "Sizes are random and mostly small" in text


def test_what_was_not_timed_is_named(family):
    folder = family("a", [instance(0, 2000, 1000, 2.0)], seed=7)
    family("b", [instance(0)])
    result = run(folder.parent)
    assert result.returncode == 0
    assert "| `b` | 0 of 1 | not timed |" in result.stdout
    assert "## b" not in result.stdout
    assert "--seed=7" in result.stdout
    assert "NVIDIA H200, NVRTC 13.0" in result.stdout
    assert "less than five" not in result.stdout


def test_without_any_times_there_is_no_page(family, tmp_path):
    folder = family("a", [instance(0)])
    result = run(folder, "-o", tmp_path / "page.md")
    assert result.returncode == 1
    assert "no evidence has times" in result.stderr
    assert f"fastk-opt --admit-family={folder} --target=cuda:sm_90a measures" in result.stderr
    assert not (tmp_path / "page.md").exists()


@pytest.mark.parametrize("text", ["{", "[]", '{"target": "cuda:sm_90a"}'])
def test_evidence_that_cannot_be_read_is_named(family, text):
    folder = family("a", [])
    (folder / "evidence.json").write_text(text)
    result = run(folder)
    assert result.returncode == 1
    assert f"{folder}/evidence.json: " in result.stderr
    assert f"fastk-opt --admit-family={folder}" in result.stderr


def test_a_ratio_of_nothing_is_none(family):
    result = run(family("a", [instance(0, 1000, 1000, 0)]))
    assert result.returncode == 1
    assert "the ratio of sample 0 is not above 0" in result.stderr


def test_families_without_evidence_are_left_out(family):
    folder = family("a", [instance(0, 2000, 1000, 2)])
    other = family("b", [])
    (other / "evidence.json").unlink()
    result = run(folder.parent)
    assert result.returncode == 0, result.stderr
    assert "## a" in result.stdout
    assert "b is left out: it has no evidence" in result.stderr
    assert run(other).returncode == 1


def test_hidden_folders_are_no_families(family):
    folder = family("a", [instance(0, 2000, 1000, 2)])
    family(".b", [instance(0, 2000, 1000, 2)])
    result = run(folder.parent)
    assert "## a" in result.stdout and ".b" not in result.stdout


def test_evidence_of_the_host_is_of_clang(family):
    folder = family("a", [instance(0, 2000, 1000, 2)], target="host", clang="22.1.8", vector_bytes=64)
    (folder / "evidence.json").rename(folder / "evidence.64.json")
    result = run(folder)
    assert result.returncode == 0, result.stderr
    assert "NVIDIA H200 with vectors of 64 bytes, clang 22.1.8" in result.stdout
    assert "## a (host, vectors of 64 bytes)" in result.stdout


def test_each_width_of_vectors_has_evidence_of_its_own(family):
    host = {"target": "host", "clang": "22.1.8"}
    folder = family("a", [instance(0, 2000, 1000, 2)], **host, vector_bytes=32)
    narrow = folder / "evidence.32.json"
    (folder / "evidence.json").rename(narrow)
    wide = json.loads(narrow.read_text()) | {"vector_bytes": 64, "device": "another"}
    (folder / "evidence.64.json").write_text(json.dumps(wide))
    result = run(folder.parent)
    assert result.returncode == 0, result.stderr
    for bytes in (32, 64):
        assert f"## a (host, vectors of {bytes} bytes)" in result.stdout
    assert result.stdout.count("$ fastk-opt --admit-family") == 1


def test_a_folder_without_families_is_named(tmp_path):
    result = run(tmp_path)
    assert result.returncode == 1
    assert f"{tmp_path}: holds no family" in result.stderr
