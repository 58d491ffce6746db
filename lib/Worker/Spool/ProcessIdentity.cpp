//===- ProcessIdentity.cpp - A process, on whatever machine ---------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProcessIdentity.h"
#include <cerrno>
#include <climits>
#include <csignal>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <unistd.h>

using namespace fastk::worker;

static constexpr char kDead[] = "dead";

static std::string textOf(const std::string &path) {
  std::ifstream file(path);
  std::string text((std::istreambuf_iterator<char>(file)), {});
  while (!text.empty() && text.back() == '\n')
    text.pop_back();
  return text;
}

/// The 22nd field of /proc/PID/stat; empty where it cannot be read, kDead of
/// one that only waits to be reaped.
static std::string startOf(int64_t pid) {
  std::string stat = textOf("/proc/" + std::to_string(pid) + "/stat");
  // The second field is a name in brackets, which may hold anything.
  size_t name = stat.rfind(')');
  if (name == std::string::npos || name + 2 >= stat.size())
    return "";
  char state = stat[name + 2];
  if (state == 'Z' || state == 'X')
    return kDead;
  constexpr int kFieldsBetween = 20;
  size_t at = name + 2;
  for (int i = 3; i < 2 + kFieldsBetween && at != std::string::npos; ++i)
    if (at = stat.find(' ', at); at != std::string::npos)
      ++at;
  return at == std::string::npos ? ""
                                 : stat.substr(at, stat.find(' ', at) - at);
}

static std::string processNames() {
  char target[256] = {};
  ssize_t size = readlink("/proc/self/ns/pid", target, sizeof(target) - 1);
  return size > 0 ? std::string(target, size_t(size)) : "";
}

ProcessIdentity ProcessIdentity::ofThisProcess() {
  ProcessIdentity self;
  char name[HOST_NAME_MAX + 1] = {};
  if (gethostname(name, HOST_NAME_MAX) == 0)
    self.host = name;
  self.boot = textOf("/proc/sys/kernel/random/boot_id");
  self.processes = processNames();
  self.pid = getpid();
  self.started = startOf(self.pid);
  return self;
}

std::optional<bool> ProcessIdentity::isAlive() const {
  ProcessIdentity here = ofThisProcess();
  if (boot.empty() || processes.empty() || started.empty() ||
      here.started.empty() || boot != here.boot || processes != here.processes)
    return std::nullopt;
  if (std::string since = startOf(pid); !since.empty())
    return since == started;
  // The kernel may hide processes of others, and those that hide themselves.
  return kill(pid_t(pid), 0) != 0 && errno == ESRCH ? std::optional(false)
                                                    : std::nullopt;
}

std::string ProcessIdentity::toJSON() const {
  return nlohmann::ordered_json{{"format", 1},  {"host", host},
                                {"pid", pid},   {"started", started},
                                {"boot", boot}, {"processes", processes}}
      .dump(-1, ' ', /*ensure_ascii=*/true,
            nlohmann::json::error_handler_t::replace);
}

std::optional<ProcessIdentity> ProcessIdentity::parse(std::string_view text) {
  auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || json.value("format", nlohmann::json()) != 1)
    return std::nullopt;
  ProcessIdentity read;
  auto take = [&](const char *name, std::string &into) {
    if (json.contains(name) && json[name].is_string())
      into = json[name].get<std::string>();
  };
  take("host", read.host);
  take("boot", read.boot);
  take("processes", read.processes);
  take("started", read.started);
  if (json.contains("pid") && json["pid"].is_number_integer())
    read.pid = json["pid"].get<int64_t>();
  return read;
}
