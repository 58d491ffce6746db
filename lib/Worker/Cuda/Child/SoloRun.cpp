//===- SoloRun.cpp - A run of one program as a file -----------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SoloRun.h"
#include "fastk/Protocol/JSONReader.h"
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace fastk::worker;

// The file: eight bytes with the length of the head, the head (JSON), the
// image, the operands.

static bool writeAll(int fd, const void *data, size_t bytes) {
  const char *at = static_cast<const char *>(data);
  while (bytes > 0) {
    ssize_t count = write(fd, at, std::min(bytes, size_t(1) << 30));
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      return false;
    at += count;
    bytes -= size_t(count);
  }
  return true;
}

std::string fastk::worker::writeSoloRun(
    const std::string &path, const SoloRun &run,
    const std::function<const void *(size_t)> &inputOf) {
  Json head = {{"image_bytes", run.image.size()},
               {"inputs", run.inputBytes},
               {"outputs", run.outputBytes},
               {"cupti", run.cupti},
               {"calls", run.calls},
               {"seconds", run.seconds}};
  head["plan"] = toJSON(run.plan);
  std::string text = head.dump(-1, ' ', false, Json::error_handler_t::replace);
  uint64_t length = text.size();
  int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  bool ok = fd >= 0 && writeAll(fd, &length, sizeof(length)) &&
            writeAll(fd, text.data(), text.size()) &&
            writeAll(fd, run.image.data(), run.image.size());
  for (size_t i = 0; i < run.inputBytes.size() && ok; ++i)
    ok = writeAll(fd, inputOf(i), run.inputBytes[i]);
  int problem = errno;
  if (fd >= 0)
    close(fd);
  return ok ? "" : path + ": cannot write: " + strerror(problem);
}

std::optional<SoloRun>
fastk::worker::mapSoloRun(const std::string &path,
                          std::vector<const char *> &inputs,
                          std::string &error) {
  auto fail = [&](const std::string &why) {
    error = path + ": " + why;
    return std::nullopt;
  };
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat info = {};
  if (fd < 0 || fstat(fd, &info) != 0)
    return fail(strerror(errno));
  size_t bytes = size_t(info.st_size), at = sizeof(uint64_t);
  void *mapping = bytes > at
                      ? mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, fd, 0)
                      : MAP_FAILED;
  close(fd);
  if (mapping == MAP_FAILED)
    return fail("is cut off");
  const char *data = static_cast<const char *>(mapping);
  uint64_t length = 0;
  std::memcpy(&length, data, sizeof(length));
  if (length > bytes - at)
    return fail("is cut off");
  std::string problem;
  std::optional<Json> head =
      parseDocument({data + at, size_t(length)}, "run", problem);
  if (!head)
    return fail(problem);
  at += length;
  SoloRun run;
  ObjectReader reader(*head, "$", problem);
  int64_t imageBytes = 0, seconds = 0;
  std::string plan;
  auto sizes = [&](const char *key, std::vector<uint64_t> &into) {
    reader.readArray(key, [&](const Json &value, const std::string &where) {
      if (value.is_number_unsigned() && value.get<uint64_t>() > 0)
        into.push_back(value.get<uint64_t>());
      else if (problem.empty())
        problem = where + " is no size";
    });
  };
  reader.readInt("image_bytes", imageBytes, 1, INT64_MAX);
  sizes("inputs", run.inputBytes);
  sizes("outputs", run.outputBytes);
  reader.readString("cupti", run.cupti);
  reader.readInt("calls", run.calls, 1, 1000);
  reader.readInt("seconds", seconds, 1, 1000000);
  reader.readString("plan", plan);
  if (!reader.finish())
    return fail(problem);
  run.seconds = unsigned(seconds);
  std::optional<LaunchPlan> parsed = parseLaunchPlan(plan, problem);
  if (!parsed)
    return fail(problem);
  run.plan = std::move(*parsed);
  if (uint64_t(imageBytes) > bytes - at)
    return fail("is cut off");
  run.image.assign(data + at, size_t(imageBytes));
  at += size_t(imageBytes);
  for (uint64_t size : run.inputBytes) {
    if (size > bytes - at)
      return fail("is cut off");
    inputs.push_back(data + at);
    at += size;
  }
  if (at != bytes)
    return fail("has more bytes than it says");
  return run;
}

std::string fastk::worker::replyPath(const std::string &path) {
  return path + ".reply";
}

std::string fastk::worker::toJSON(const SoloReply &reply) {
  Json json = {{"error", reply.error}};
  json["calls"] = Json::array();
  for (const TracedCall &call : reply.calls) {
    Json activities = Json::array();
    for (const Activity &activity : call.activities)
      activities.push_back({{"kernel", activity.isKernel},
                            {"name", activity.name},
                            {"start", activity.start},
                            {"end", activity.end}});
    json["calls"].push_back({{"event_ns", number(call.eventNs)},
                             {"host_ns", number(call.hostNs)},
                             {"activities", activities}});
  }
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::optional<SoloReply> fastk::worker::readSoloReply(const std::string &path) {
  std::ifstream file(replyPath(path), std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), {}), problem;
  std::optional<Json> json = parseDocument(text, "reply", problem);
  if (!json)
    return std::nullopt;
  SoloReply reply;
  ObjectReader reader(*json, "$", problem);
  reader.readString("error", reply.error);
  constexpr double most = 1e18;
  reader.readArray("calls", [&](const Json &value, std::string where) {
    TracedCall call;
    ObjectReader fields(value, std::move(where), problem);
    fields.readDouble("event_ns", call.eventNs, 0, most);
    fields.readDouble("host_ns", call.hostNs, 0, most);
    fields.readArray("activities", [&](const Json &value, std::string where) {
      Activity activity;
      ObjectReader entry(value, std::move(where), problem);
      entry.readBool("kernel", activity.isKernel);
      entry.readString("name", activity.name);
      entry.readUnsigned("start", activity.start);
      entry.readUnsigned("end", activity.end);
      entry.finish();
      call.activities.push_back(std::move(activity));
    });
    fields.finish();
    reply.calls.push_back(std::move(call));
  });
  if (!reader.finish())
    return std::nullopt;
  return reply;
}
