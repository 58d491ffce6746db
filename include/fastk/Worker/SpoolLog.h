//===- SpoolLog.h - What a worker says --------------------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_WORKER_SPOOLLOG_H
#define FASTK_WORKER_SPOOLLOG_H

#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace fastk::worker {

/// What a worker says at a spool, on stderr: as lines for people, or as one
/// JSON object a line, for programs.
class SpoolLog {
public:
  /// \p gpu is empty where this process sees all.
  SpoolLog(bool isJSON, std::string gpu)
      : isJSON(isJSON), gpu(std::move(gpu)) {}

  using Fields =
      std::vector<std::pair<const char *, std::variant<std::string, double>>>;
  /// \p event is what happened, one word; \p line is for people.
  void say(const char *event, const std::string &line,
           const Fields &fields = {}, bool isError = false) const;

private:
  bool isJSON;
  std::string gpu;
};

} // namespace fastk::worker

#endif // FASTK_WORKER_SPOOLLOG_H
