# ===- __init__.py - KernelBench through fastk -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Runs the problems of a KernelBench checkout that the user has.

On the command line: python -m fastk.kernelbench CHECKOUT -o OUT. Nothing here knows a
problem: what is run is what the checkout's files say, and no file of it is copied.

  problems   finds the files and builds what they define
  stage      one step of one problem, in a process of its own
  runner     all steps of all problems, with limits, going on where it ended
  turns      who of them works on the device
  measure    what a compiled problem computes and how long it takes, beside torch
  peer       torch.compile, compiled before it runs
  machine    the machine as a row names it
  rows       the results on disk
  page       the results as a page
"""
