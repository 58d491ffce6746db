# ===- test_remote_s3.py - A bank in a bucket -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""S3 as moto plays it, which checks signatures: libcurl signs, nothing of ours does."""

import json

import boto3
import pytest
from banks import User, hits, many, warnings
from servers import Moto

POLICY = {
    "Version": "2012-10-17",
    "Statement": [{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}],
}


@pytest.fixture(scope="module")
def bucket(tmp_path_factory):
    """The server, and the keys of a user who may read and write the bucket."""
    with Moto(tmp_path_factory.mktemp("moto")) as server:
        region = {"region_name": "us-east-1", "endpoint_url": server.address}
        keys = {"aws_access_key_id": "x", "aws_secret_access_key": "x"}
        iam = boto3.client("iam", **region, **keys)
        iam.create_user(UserName="ada")
        iam.put_user_policy(
            UserName="ada", PolicyName="all", PolicyDocument=json.dumps(POLICY)
        )
        made = iam.create_access_key(UserName="ada")["AccessKey"]
        boto3.client("s3", **region, **keys).create_bucket(Bucket="winners")
        # From here on nobody gets in without a signature.
        yield (
            server,
            {
                "AWS_ACCESS_KEY_ID": made["AccessKeyId"],
                "AWS_SECRET_ACCESS_KEY": made["SecretAccessKey"],
            },
        )


def test_a_bucket_is_a_bank(bucket, tmp_path):
    server, keys = bucket
    model, bank = many(tmp_path, 5)
    owner = User(tmp_path / "owner", keys)
    place = server.url + "#s3=us-east-1,max-age=0"
    said = owner.bank("sync", bank, place)
    assert "5 stored" in said
    assert "5 not faster" in owner.bank("sync", bank, place)
    reader = User(tmp_path / "reader", keys)
    for _ in range(2):
        said = reader.compile(model, place + ",trusted")
        assert hits(said) == (5, 0) and not warnings(said)
    for value in keys.values():
        for file in tmp_path.rglob("*"):
            assert not file.is_file() or value.encode() not in file.read_bytes()


def test_wrong_and_missing_keys_are_refused(bucket, tmp_path):
    server, keys = bucket
    model, bank = many(tmp_path, 1)
    place = server.url + "#s3=us-east-1"
    said = User(tmp_path / "none").bank("sync", bank, place, expect=1)
    assert "AWS_SECRET_ACCESS_KEY is not set" in said
    wrong = User(tmp_path / "wrong", keys | {"AWS_SECRET_ACCESS_KEY": "not-the-key"})
    said = wrong.bank("sync", bank, place, expect=1)
    assert "refuses (403)" in said and "not-the-key" not in said
    said = wrong.compile(model, place)
    assert hits(said) == (0, 1) and len(warnings(said)) == 1
    # Nor without any signature.
    said = User(tmp_path / "open").bank("sync", bank, server.url, expect=1)
    assert "refuses (403)" in said
