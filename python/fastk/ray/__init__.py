# ===- __init__.py - Evaluations on a Ray cluster -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------===#
"""Answers a spool of jobs on the GPUs of a Ray cluster.

`fastk-opt --evaluator=ray:ADDRESS` starts `python -m fastk.ray ADDRESS SPOOL`
(docs/ray.md). The spool is the only state (docs/formats/spool.md): what is answered
there is never asked again, whoever is killed.
"""
