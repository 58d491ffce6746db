//===- PtxasLog.cpp - What ptxas says of itself ---------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PtxasLog.h"
#include <algorithm>
#include <string>

using namespace fastk::cuda;

/// Takes \p prefix off \p text.
static bool consume(std::string_view &text, std::string_view prefix) {
  if (text.substr(0, prefix.size()) != prefix)
    return false;
  text.remove_prefix(prefix.size());
  return true;
}

/// Takes off " : " with any number of spaces on both sides.
static bool consumeColon(std::string_view &text) {
  auto skipSpaces = [&] {
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  };
  skipSpaces();
  bool found = consume(text, ":");
  skipSpaces();
  return found;
}

/// "ptxas fatal   : MESSAGE": the message, empty for other lines.
static std::string_view fatalOf(std::string_view line) {
  if (!consume(line, "ptxas fatal") || !consumeColon(line))
    return {};
  return line;
}

/// "ptxas /proc/self/fd/4, line 1; fatal   : MESSAGE".
static std::string_view fatalOfInput(std::string_view line) {
  if (!consume(line, "ptxas "))
    return {};
  // The file's name is ours: it has neither.
  size_t comma = line.find_first_of(",; ");
  line.remove_prefix(std::min(comma, line.size()));
  if (!consume(line, ", line "))
    return {};
  line.remove_prefix(
      std::min(line.find_first_not_of("0123456789"), line.size()));
  if (!consume(line, "; fatal") || !consumeColon(line))
    return {};
  return line;
}

template <typename Match>
static bool anyLine(std::string_view log, Match matches) {
  while (!log.empty()) {
    size_t end = std::min(log.find('\n'), log.size());
    if (matches(log.substr(0, end)))
      return true;
    log.remove_prefix(std::min(end + 1, log.size()));
  }
  return false;
}

bool fastk::cuda::saysTooNew(std::string_view log) {
  return anyLine(log, [](std::string_view line) {
    std::string_view own = fatalOf(line);
    std::string_view message = own.empty() ? fatalOfInput(line) : own;
    return consume(message, "Unsupported .version ");
  });
}

bool fastk::cuda::saysUnknownGpu(std::string_view log, std::string_view arch) {
  std::string message =
      "Value '" + std::string(arch) + "' is not defined for option 'gpu-name'";
  return anyLine(log, [&](std::string_view line) {
    std::string_view own = fatalOf(line);
    return consume(own, message);
  });
}
