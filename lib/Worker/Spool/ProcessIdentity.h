//===- ProcessIdentity.h - A process, on whatever machine -------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_WORKER_SPOOL_PROCESSIDENTITY_H
#define FASTK_LIB_WORKER_SPOOL_PROCESSIDENTITY_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace fastk::worker {

/// Which process wrote something, for other processes on any machine.
struct ProcessIdentity {
  /// For people.
  std::string host;
  /// This start of that machine, and the name space of its process numbers:
  /// containers of one machine have their own.
  std::string boot, processes;
  int64_t pid = 0;
  /// When it began, in the kernel's ticks: numbers are given anew.
  std::string started;

  static ProcessIdentity ofThisProcess();

  /// Whether the process lives; nothing where this process cannot see it, as
  /// on another machine.
  std::optional<bool> isAlive() const;

  /// One line of JSON.
  std::string toJSON() const;
  static std::optional<ProcessIdentity> parse(std::string_view text);
};

} // namespace fastk::worker

#endif // FASTK_LIB_WORKER_SPOOL_PROCESSIDENTITY_H
