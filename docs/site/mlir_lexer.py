# ===- mlir_lexer.py - Colours for MLIR -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""MLIR's text for Pygments, which does not know it."""

from pygments.lexer import RegexLexer
from pygments.token import Comment, Keyword, Name, Number, Operator, String, Text


class MlirLexer(RegexLexer):
    name = "MLIR"
    aliases = ["mlir"]
    tokens = {
        "root": [
            (r"//[^\n]*", Comment.Single),
            (r'"(?:[^"\\\n]|\\.)*"', String),
            (r"%[\w$.#-]+", Name.Variable),
            (r"@(?:[\w$.-]+|\"[^\"]*\")", Name.Function),
            (r"[#^!][\w$.-]+", Name.Label),
            (r"(?:tensor|memref|vector)(?=<)", Keyword.Type),
            (r"\b(?:index|none|b?f\d+|tf32|[su]?i\d+)\b", Keyword.Type),
            (r"\b[a-z_]\w*(?:\.[a-z_]\w*)+", Name.Builtin),
            (r"\b(?:module|func|attributes|loc|true|false|dense|affine_map|ins|outs)\b", Keyword),
            (r"-?\b\d[\d.]*(?:e[+-]?\d+)?\b|0x[0-9a-fA-F]+", Number),
            (r"->|[=:<>(){}\[\],*+?-]", Operator),
            (r"\s+", Text.Whitespace),
            (r"\w+", Text),
            (r".", Text),
        ]
    }


def setup(app):
    app.add_lexer("mlir", MlirLexer)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
