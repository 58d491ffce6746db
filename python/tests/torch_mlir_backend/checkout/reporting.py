# ===- reporting.py - What is said of a test -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
class ErrorContext:
    @staticmethod
    def empty():
        return None


class SingleTestReport:
    def __init__(self, said, context):
        self.failed, self.said = said is not None, said

    def error_str(self):
        return self.said
