//===- SpoolLog.cpp - What a worker says ----------------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Worker/SpoolLog.h"
#include <cstdio>
#include <ctime>
#include <nlohmann/json.hpp>

using namespace fastk::worker;

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

void SpoolLog::say(const char *event, const std::string &line,
                   const Fields &fields, bool isError) const {
  if (!isJSON) {
    fprintf(stderr, "%s\n", line.c_str());
    return;
  }
  nlohmann::ordered_json object = {{"time", timeNow()},
                                   {"level", isError ? "error" : "info"},
                                   {"event", event}};
  if (!gpu.empty())
    object["gpu"] = gpu;
  for (const auto &field : fields) {
    const char *name = field.first;
    std::visit([&](const auto &value) { object[name] = value; }, field.second);
  }
  object["text"] = line;
  fprintf(stderr, "%s\n",
          object
              .dump(-1, ' ', /*ensure_ascii=*/true,
                    nlohmann::json::error_handler_t::replace)
              .c_str());
}
