# ===- fx_importer_backend.py - The FX importer's way -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
class FxImporterTestConfig:
    def __init__(self, backend):
        self.backend = backend
