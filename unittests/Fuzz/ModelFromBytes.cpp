//===- ModelFromBytes.cpp - A model for any bytes -------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ModelFromBytes.h"
#include "ModelGenerator.h"
#include <random>

using namespace fastk::fuzz;

static std::string listOf(const std::vector<Value> &values, bool names,
                          bool types) {
  std::string text;
  for (const Value &value : values)
    text += (text.empty() ? "" : ", ") + (names ? value.name : "") +
            (names && types ? ": " : "") + (types ? typeOf(value) : "");
  return text;
}

static std::string functionText(const Program &program,
                                const std::string &name) {
  std::string types = listOf(program.results, false, true);
  return "func.func @" + name + "(" + listOf(program.arguments, true, true) +
         ") -> (" + types + ") {\n" + program.body + "  return " +
         listOf(program.results, true, false) + " : " + types + "\n}\n";
}

std::string fastk::fuzz::modelFromBytes(std::string_view bytes) {
  return functionText(ModelGenerator(bytes, /*isRun=*/false).run(), "main");
}

std::string fastk::fuzz::runnableProgram(uint64_t seed) {
  std::mt19937_64 random(seed);
  std::string bytes(256, '\0');
  for (char &byte : bytes)
    byte = static_cast<char>(random());
  return functionText(ModelGenerator(bytes, /*isRun=*/true).run(),
                      "program_" + std::to_string(seed));
}
