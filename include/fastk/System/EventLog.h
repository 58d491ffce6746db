//===- EventLog.h - What a program says of itself ---------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_SYSTEM_EVENTLOG_H
#define FASTK_SYSTEM_EVENTLOG_H

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <variant>
#include <vector>

namespace fastk {

/// What a program that runs for long says of what it does: as lines for people,
/// or as one JSON object a line, for programs. A line that cannot be written is
/// lost, and nothing else is: neither a full disk nor a reader that has gone
/// ends whoever says it.
class EventLog {
public:
  using Fields = std::vector<
      std::pair<const char *, std::variant<std::string, double, int64_t>>>;

  /// On stderr. \p common are fields of every event.
  explicit EventLog(bool isJSON, Fields common = {})
      : isJSON(isJSON), common(std::move(common)) {}
  ~EventLog();
  EventLog(const EventLog &) = delete;
  EventLog &operator=(const EventLog &) = delete;

  /// From now on at the end of a file instead, which is made where it is not
  /// there; nobody is waited for where it is a pipe. \p complain is told of the
  /// first line that cannot be written.
  std::error_code open(const std::string &path,
                       std::function<void(const std::error_code &)> complain);

  /// \p event is what happened, a word or two; \p line is for people.
  void say(const char *event, const std::string &line,
           const Fields &fields = {}, bool isError = false) const;

private:
  void write(const std::string &line) const;

  bool isJSON;
  Fields common;
  int descriptor = STDERR_FILENO;
  std::function<void(const std::error_code &)> complain;
  /// Whether the last line was cut off: the next one begins a new line.
  mutable std::atomic<bool> isCut = false;
  mutable std::atomic<bool> hasComplained = false;
};

} // namespace fastk

#endif // FASTK_SYSTEM_EVENTLOG_H
