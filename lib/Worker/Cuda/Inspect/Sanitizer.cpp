//===- Sanitizer.cpp - compute-sanitizer at promotion ---------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Sanitizer.h"
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>
#include <thread>

using namespace fastk::worker;
namespace fs = std::filesystem;

std::vector<std::string>
fastk::worker::sanitizerCommand(const std::string &sanitizer,
                                const std::string &tool, const std::string &log,
                                const std::string &worker,
                                const std::string &file) {
  std::vector<std::string> command = {sanitizer,
                                      "--tool",
                                      tool,
                                      "--show-backtrace",
                                      "no",
                                      "--error-exitcode",
                                      std::to_string(findingExit),
                                      "--print-limit",
                                      "4",
                                      "--log-file",
                                      log};
  // What the driver refuses is in the reply, and no finding.
  // Padding: behind a tensor is nothing, not the next one.
  if (tool == "memcheck")
    command.insert(command.end(),
                   {"--report-api-errors", "no", "--padding", "4096"});
  // By default it has room for about one barrier a block, and pipelines have
  // several.
  if (tool == "synccheck")
    command.insert(command.end(), {"--num-cuda-barriers", "131072"});
  command.insert(command.end(), {worker, soloFlag, file});
  return command;
}

/// A warning, in front of the findings.
static constexpr std::string_view hazardLimit =
    "Maximum number of hazards reached";

std::string fastk::worker::summaryOf(const std::string &log) {
  std::istringstream lines(log);
  std::string text;
  int taken = 0;
  for (std::string line; std::getline(lines, line) && taken < 3;) {
    size_t at = line.find_first_not_of("= \t");
    if (at == line.npos || line.find("COMPUTE-SANITIZER") != line.npos ||
        line.find(hazardLimit) != line.npos)
      continue;
    text += taken++ ? "; " : "";
    for (char c : line.substr(at))
      text += c >= ' ' && c <= '~' ? c : '?';
  }
  constexpr size_t longest = 300;
  if (text.size() > longest)
    text.replace(longest - 3, text.npos, "...");
  return text.empty() ? "it left no report" : text;
}

/// Whether a report has a finding. A candidate has no word at the beginning of
/// a line; if it had, it could only accuse itself.
static bool hasFinding(const std::string &log) {
  std::istringstream lines(log);
  for (std::string line; std::getline(lines, line);)
    for (const char *begin : {"========= Invalid ", "========= Misaligned ",
                              "========= Uninitialized ",
                              "========= Barrier error", "========= Error: "})
      if (line.rfind(begin, 0) == 0)
        return true;
  return false;
}

/// The tool ran out of room for what it tracks, which it counts as an error.
static bool lostTrack(const std::string &log) {
  return log.find("overflow of tracked") != log.npos && !hasFinding(log);
}

SanitizerResult fastk::worker::interpret(const ToolEnd &end,
                                         const std::optional<SoloReply> &reply,
                                         const std::string &log,
                                         double seconds) {
  char text[64];
  if (!end.error.empty())
    return {SanitizerResult::Failed, "not run: " + end.error};
  if (end.timedOut) {
    snprintf(text, sizeof(text), "stopped after %.3g s", seconds);
    // So many findings that it did not get through them.
    if (hasFinding(log))
      return {SanitizerResult::Finding, "found, before it was " +
                                            std::string(text) + ": " +
                                            summaryOf(log)};
    return {SanitizerResult::Stopped,
            "not run to its end: " + std::string(text)};
  }
  if (end.exitCode == findingExit && lostTrack(log))
    return {SanitizerResult::Failed, "not run: " + summaryOf(log)};
  if (end.exitCode == findingExit)
    return {SanitizerResult::Finding, "found: " + summaryOf(log)};
  if (end.exitCode != 0) {
    snprintf(text, sizeof(text), "not run: exit code %d: ", end.exitCode);
    return {SanitizerResult::Failed, text + summaryOf(log)};
  }
  if (log.find(hazardLimit) != log.npos)
    return {SanitizerResult::Failed, "not run: " + std::string(hazardLimit)};
  // It found nothing, but did the program run?
  if (!reply)
    return {SanitizerResult::Failed,
            "not run: the program was not called: " + summaryOf(log)};
  if (!reply->error.empty())
    return {SanitizerResult::Failed, "not run: " + reply->error};
  return {SanitizerResult::Clean, "ok"};
}

void fastk::worker::noteSanitizer(Verdict &verdict, const std::string &tool,
                                  const SanitizerResult &result) {
  verdict.gpu->sanitizer.push_back({tool, result.text});
  (result.kind == SanitizerResult::Clean ? verdict.protections
                                         : verdict.missingProtections)
      .push_back("compute-sanitizer-" + tool);
}

SanitizerResult fastk::worker::runSanitizer(const std::string &sanitizer,
                                            const std::string &tool,
                                            const ScratchFolder &folder,
                                            const std::string &file,
                                            double seconds,
                                            ToolControl *control) {
  std::error_code error;
  std::string self = fs::read_symlink("/proc/self/exe", error).string();
  std::string log = folder.path() + "/" + tool + ".log";
  // A name of its own, for the reply beside it is of this run.
  std::string own = file + "-" + tool;
  fs::remove(own, error);
  fs::remove(replyPath(own), error);
  fs::create_hard_link(file, own, error);
  // Not every file system has them.
  if (error)
    fs::create_symlink(file, own, error);
  if (error)
    return {SanitizerResult::Failed,
            "not run: " + own + ": " + error.message()};
  // Some hazards say as much as all that racecheck would collect, which took it
  // 17 s for one program.
  std::vector<std::string> variables;
  if (tool == "racecheck")
    variables.push_back("NV_COMPUTE_SANITIZER_MAX_RACECHECK_HAZARDS=256");
  ToolEnd end = runTool(sanitizerCommand(sanitizer, tool, log, self, own),
                        folder.path(), seconds, {}, 0, control, variables);
  std::string text(size_t(64) << 10, '\0');
  std::ifstream report(log, std::ios::binary);
  report.read(text.data(), std::streamsize(text.size()));
  text.resize(report.is_open() ? size_t(report.gcount()) : 0);
  return interpret(end, readSoloReply(own), text, seconds);
}

std::vector<std::optional<SanitizerResult>> fastk::worker::runSanitizers(
    const std::string &sanitizer, const ScratchFolder &folder,
    const std::string &file, const std::vector<SanitizerTask> &tasks,
    size_t atOnce) {
  std::vector<std::optional<SanitizerResult>> results(tasks.size());
  std::atomic<bool> decided = false;
  auto run = [&](size_t i, ToolControl &control) {
    const SanitizerTask &task = tasks[i];
    SanitizerResult result = runSanitizer(sanitizer, task.tool, folder, file,
                                          task.seconds, &control);
    bool isDecisive = task.decides && result.kind == SanitizerResult::Finding;
    // What was ended because of another has nothing to say.
    if (isDecisive || !decided)
      results[i] = std::move(result);
    if (isDecisive) {
      decided = true;
      control.end();
    }
  };
  for (size_t first = 0; first < tasks.size() && !decided; first += atOnce) {
    ToolControl control;
    std::vector<std::thread> threads;
    for (size_t i = first; i < std::min(first + atOnce, tasks.size()); ++i)
      threads.emplace_back([&, i] { run(i, control); });
    for (std::thread &thread : threads)
      thread.join();
  }
  for (size_t i = 0; i < tasks.size() && atOnce > 1 && !decided; ++i) {
    SanitizerResult::Kind kind = results[i]->kind;
    bool wasAlone = i % atOnce == 0 && i + 1 == tasks.size();
    if (tasks[i].decides && !wasAlone &&
        (kind == SanitizerResult::Stopped || kind == SanitizerResult::Failed)) {
      ToolControl control;
      run(i, control);
    }
  }
  return results;
}
