//===- Names.h - Enumerations and their spelling ----------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One table per enumeration gives both directions.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_PROTOCOL_NAMES_H
#define FASTK_PROTOCOL_NAMES_H

#include <cstddef>
#include <optional>
#include <string_view>

namespace fastk::worker {

template <typename T>
struct Name {
  T value;
  std::string_view text;
};

template <typename T, size_t N>
std::string_view nameOf(const Name<T> (&table)[N], T value) {
  for (const Name<T> &entry : table)
    if (entry.value == value)
      return entry.text;
  return "?";
}

template <typename T, size_t N>
std::optional<T> valueOf(const Name<T> (&table)[N], std::string_view text) {
  for (const Name<T> &entry : table)
    if (entry.text == text)
      return entry.value;
  return std::nullopt;
}

} // namespace fastk::worker

#endif // FASTK_PROTOCOL_NAMES_H
