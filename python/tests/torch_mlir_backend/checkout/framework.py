# ===- framework.py - How a test is run -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
def compile_and_run_test(test, config):
    return test.body(config.backend)
