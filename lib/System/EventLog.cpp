//===- EventLog.cpp - What a program says of itself -----------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/System/EventLog.h"
#include "fastk/System/PipeSignal.h"
#include <cerrno>
#include <cstdio>
#include <ctime>
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>

using namespace fastk;

/// "2026-11-27T06:49:18.042Z".
static std::string timeNow() {
  std::timespec now = {};
  std::timespec_get(&now, TIME_UTC);
  std::tm utc = {};
  char text[64];
  gmtime_r(&now.tv_sec, &utc);
  size_t size = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &utc);
  snprintf(text + size, sizeof text - size, ".%03ldZ", now.tv_nsec / 1'000'000);
  return text;
}

EventLog::~EventLog() {
  if (descriptor != STDERR_FILENO)
    ::close(descriptor);
}

/// Whether a file has a line that was cut off at its end.
static bool endsWithinLine(int descriptor, const std::string &path) {
  struct stat status = {};
  if (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode) ||
      status.st_size == 0)
    return false;
  int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  char last = '\n';
  if (file >= 0) {
    (void)!::pread(file, &last, 1, status.st_size - 1);
    ::close(file);
  }
  return last != '\n';
}

std::error_code
EventLog::open(const std::string &path,
               std::function<void(const std::error_code &)> told) {
  // A pipe without a reader is an error, and one whose reader is slow loses
  // lines: a search waits for neither.
  int opened =
      ::open(path.c_str(),
             O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0666);
  if (opened < 0)
    return {errno, std::generic_category()};
  descriptor = opened;
  isCut = endsWithinLine(opened, path);
  complain = std::move(told);
  return {};
}

void EventLog::write(const std::string &line) const {
  NoPipeSignal quiet;
  // At once, for several processes may write there.
  std::string text = (isCut ? "\n" : "") + line + "\n";
  size_t done = 0;
  while (done < text.size()) {
    ssize_t size = ::write(descriptor, text.data() + done, text.size() - done);
    if (size < 0 && errno == EINTR)
      continue;
    if (size <= 0)
      break;
    done += size_t(size);
  }
  std::error_code error(errno, std::generic_category());
  // What follows a line that was cut off is a line of its own.
  if (done > 0)
    isCut = done < text.size();
  if (done < text.size() && complain && !hasComplained.exchange(true))
    complain(error);
}

void EventLog::say(const char *event, const std::string &line,
                   const Fields &fields, bool isError) const {
  if (!isJSON)
    return write(line);
  nlohmann::ordered_json object = {{"time", timeNow()},
                                   {"level", isError ? "error" : "info"},
                                   {"event", event}};
  for (const Fields *each : {&common, &fields})
    for (const auto &field : *each) {
      const char *name = field.first;
      std::visit([&](const auto &value) { object[name] = value; },
                 field.second);
    }
  object["text"] = line;
  write(object.dump(-1, ' ', /*ensure_ascii=*/true,
                    nlohmann::json::error_handler_t::replace));
}
