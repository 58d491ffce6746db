//===- SpoolCommand.cpp - What is said of a spool -------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SpoolCommand.h"
#include <charconv>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <string_view>

using namespace fastk::worker;

static constexpr char kWantsFolder[] =
    "--spool wants one folder: that which fastk-opt --evaluator=spool:DIR "
    "wrote";

bool fastk::worker::isSpoolCommand(int argc, char **argv) {
  for (int i = 1; i < argc; ++i)
    if (!std::strcmp(argv[i], "--spool") ||
        !std::strncmp(argv[i], "--spool=", 8))
      return true;
  return false;
}

template <typename Number>
static bool readNumber(std::string_view text, Number &number) {
  auto [end, code] =
      std::from_chars(text.data(), text.data() + text.size(), number);
  return code == std::errc() && end == text.data() + text.size();
}

/// "I/N" with I < N.
static bool readShare(std::string_view text, SpoolOptions &spool) {
  size_t slash = text.find('/');
  return slash != std::string_view::npos &&
         readNumber(text.substr(0, slash), spool.share) &&
         readNumber(text.substr(slash + 1), spool.shares) &&
         spool.share < spool.shares;
}

static bool isListOfGpus(std::string_view text) {
  if (text == "all")
    return true;
  for (;;) {
    size_t comma = text.find(',');
    unsigned number = 0;
    if (!readNumber(text.substr(0, comma), number))
      return false;
    if (comma == std::string_view::npos)
      return true;
    text.remove_prefix(comma + 1);
  }
}

static bool isFolder(const std::string &path) {
  std::error_code none;
  return std::filesystem::is_directory(path, none);
}

/// Takes one argument but --spool; returns what is wrong with it.
static std::string takeOption(std::string_view option, SpoolCommand &command) {
  SpoolOptions &spool = command.spool;
  auto consume = [&](std::string_view name) {
    bool isIt = option.substr(0, name.size()) == name;
    if (isIt)
      option.remove_prefix(name.size());
    return isIt;
  };
  if (option == "--follow") {
    spool.follows = true;
    return "";
  }
  if (option == "--serve") {
    spool.serves = true;
    return "";
  }
  if (consume("--idle="))
    return readNumber(option, spool.idleSeconds) && spool.idleSeconds > 0 &&
                   std::isfinite(spool.idleSeconds)
               ? ""
               : "--idle wants seconds above 0: --idle=600";
  if (consume("--share="))
    return readShare(option, spool)
               ? ""
               : "--share wants which share of how many, counted from 0: "
                 "--share=0/4";
  if (consume("--gpus=")) {
    command.gpus = option;
    return isListOfGpus(option)
               ? ""
               : "--gpus wants all, or numbers of GPUs: --gpus=0,2";
  }
  if (consume("--log-format=")) {
    spool.logsJSON = option == "json";
    return spool.logsJSON || option == "text"
               ? ""
               : "--log-format wants text or json";
  }
  if (consume("--metrics=")) {
    spool.metrics = option;
    return spool.metrics.empty() || spool.metrics == "-" ||
                   isFolder(spool.metrics)
               ? "--metrics wants a file: --metrics=/var/lib/node_exporter/"
                 "fastk-worker.prom"
               : "";
  }
  if (consume("--rehearse=")) {
    spool.rehearsal = option;
    return isFolder(spool.rehearsal)
               ? ""
               : "--rehearse wants the folder of an answered spool, and '" +
                     spool.rehearsal + "' is none";
  }
  return "unknown option '" + std::string(option) +
         "' beside --spool; see --help";
}

std::optional<SpoolCommand>
fastk::worker::parseSpoolCommand(const std::vector<std::string> &arguments,
                                 std::string &problem) {
  SpoolCommand command;
  auto fail = [&](std::string why) {
    problem = std::move(why);
    return std::nullopt;
  };
  for (size_t i = 0; i < arguments.size(); ++i) {
    std::string_view option = arguments[i];
    if (option == "--spool" || option.substr(0, 8) == "--spool=") {
      bool isNext = option.size() == 7;
      if (!command.spool.folder.empty() ||
          (isNext && i + 1 == arguments.size()))
        return fail(kWantsFolder);
      command.spool.folder = isNext ? arguments[++i] : option.substr(8);
      if (command.spool.folder.empty() || command.spool.folder[0] == '-')
        return fail(kWantsFolder);
      continue;
    }
    if (std::string wrong = takeOption(option, command); !wrong.empty())
      return fail(std::move(wrong));
  }
  if (command.spool.idleSeconds > 0 && !command.spool.follows)
    return fail("--idle ends a worker that stays: add --follow");
  if (command.spool.serves &&
      (command.spool.follows || !command.spool.metrics.empty() ||
       command.spool.shares > 1 || !command.gpus.empty()))
    return fail(
        "--serve answers what stdin names: leave out --follow, --share, "
        "--gpus and --metrics");
  if (command.spool.shares > 1 && !command.gpus.empty())
    return fail("--gpus deals the jobs out among its workers; --share is for "
                "workers that are started one by one");
  return command;
}

std::vector<std::string>
fastk::worker::workerArguments(const SpoolCommand &command, unsigned share,
                               unsigned shares) {
  const SpoolOptions &spool = command.spool;
  std::vector<std::string> arguments = {"--spool=" + spool.folder,
                                        "--share=" + std::to_string(share) +
                                            "/" + std::to_string(shares)};
  if (spool.follows)
    arguments.emplace_back("--follow");
  if (spool.idleSeconds > 0)
    arguments.push_back("--idle=" + std::to_string(spool.idleSeconds));
  if (!spool.rehearsal.empty())
    arguments.push_back("--rehearse=" + spool.rehearsal);
  if (spool.logsJSON)
    arguments.emplace_back("--log-format=json");
  // Each has a file of its own.
  if (std::filesystem::path file = spool.metrics; !spool.metrics.empty())
    arguments.push_back("--metrics=" +
                        (file.parent_path() /
                         (file.stem().string() + "-" + std::to_string(share) +
                          file.extension().string()))
                            .string());
  return arguments;
}
