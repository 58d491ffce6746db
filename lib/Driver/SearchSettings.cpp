//===- SearchSettings.cpp - What a user says of a search ------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Driver/SearchSettings.h"
#include "fastk/Cuda/QueryDevice.h"
#include "fastk/Dialect/Fastk/PlanRegion.h"
#include "fastk/Propose/Writing.h"
#include "fastk/Support/ShippedFolder.h"
#include "fastk/Support/WatchedFolder.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include <cmath>
#include <dlfcn.h>
#include <tuple>

using namespace fastk;
using llvm::StringRef;
using llvm::Twine;

static llvm::Error reject(const Twine &message) {
  return llvm::createStringError(message);
}

llvm::Error fastk::parseTarget(StringRef text, SearchSettings &settings,
                               std::string &warning, StringRef dashes) {
  settings.target = text.str();
  if (text == "cuda") {
    settings.device.emplace();
    if (std::string problem = cuda::queryCudaDevice(*settings.device);
        !problem.empty())
      return reject(dashes +
                    "target=cuda asks the GPU of this machine: " + problem +
                    "; name the architecture to compile without one, as " +
                    dashes + "target=cuda:sm_90a");
    settings.target = "cuda:" + settings.device->arch;
    return llvm::Error::success();
  }
  if (StringRef arch = text; arch.consume_front("cuda:")) {
    if (!planLimitsOf(settings.target))
      return reject("unknown architecture '" + arch +
                    "': write sm_80 or later, as " + dashes +
                    "target=cuda:sm_90a");
    settings.device = describeDevice(arch.str(), &warning);
    return llvm::Error::success();
  }
  if (text != "host")
    return reject("unknown target '" + text +
                  "': choose host, cuda or cuda:sm_90a");
  return llvm::Error::success();
}

Machine fastk::machineOf(const SearchSettings &settings) {
  Machine machine = Machine::of(settings.target, settings.jobs.threads);
  // --target=cuda: the GPU that is here.
  if (settings.device)
    machine.model = settings.device->model;
  return machine;
}

/// Reads "ADDRESS?workers=N&wait=SECONDS&rehearse=DIR".
static llvm::Expected<RaySettings> parseRay(StringRef text) {
  RaySettings ray;
  auto [address, options] = text.split('?');
  ray.address = address.str();
  if (address.empty())
    return reject("ray: names no cluster: write ray:ADDRESS, where ADDRESS is "
                  "auto, HOST:PORT, ray://HOST:PORT or local");
  for (StringRef rest = options; !rest.empty();) {
    StringRef option;
    std::tie(option, rest) = rest.split('&');
    auto [name, value] = option.split('=');
    bool isRead = !value.empty();
    if (name == "workers")
      isRead = !value.getAsInteger(10, ray.workers) && ray.workers > 0;
    else if (name == "wait")
      isRead = !value.getAsDouble(ray.wait) && std::isfinite(ray.wait) &&
               ray.wait > 0;
    else if (name == "rehearse")
      ray.rehearsal = value.str();
    else
      isRead = false;
    if (!isRead)
      return reject("ray:" + text + ": '" + option +
                    "' is no option of it: write workers=N, wait=SECONDS or "
                    "rehearse=DIR, with & between them");
  }
  return ray;
}

llvm::Error fastk::parseEvaluator(StringRef text, SearchSettings &settings,
                                  StringRef dashes) {
  if (StringRef spool = text; spool.consume_front("spool:")) {
    llvm::Expected<WatchedFolder> folder = parseWatchedFolder("spool", spool);
    if (!folder)
      return reject(dashes + "evaluator=" + llvm::toString(folder.takeError()));
    settings.spool = folder->directory;
    settings.spoolWait = folder->waitSeconds;
  } else if (StringRef ray = text; ray.consume_front("ray:")) {
    llvm::Expected<RaySettings> parsed = parseRay(ray);
    if (!parsed)
      return reject(dashes + "evaluator=" + llvm::toString(parsed.takeError()));
    settings.ray = std::move(*parsed);
  } else if (StringRef file = text; file.consume_front("replay:")) {
    if (file.empty())
      return reject(dashes +
                    "evaluator=replay: names no file: write replay:FILE");
    settings.replayFile = file.str();
  } else if (text != "local") {
    return reject("unknown evaluator '" + text +
                  "': choose local, spool:DIR, ray:ADDRESS or replay:FILE");
  }
  return llvm::Error::success();
}

llvm::Error fastk::checkSettings(SearchSettings &settings, StringRef dashes) {
  if (settings.proposers.empty()) {
    // A program that was copied alone brings none.
    if (shippedFolder("families"))
      settings.proposers.push_back("families");
    settings.proposers.push_back("catalog");
  }
  for (StringRef proposer : settings.proposers)
    if (llvm::Error error = checkProposerName(proposer))
      return error;
  StringRef writes = settings.proposerOptions.writes;
  std::optional<Writing> writing = parseWriting(writes);
  if (!writing)
    return reject(dashes + "write=" + writes + ": choose " +
                  describeWritings());
  if (*writing == Writing::GPU && settings.target == "host")
    return reject(dashes +
                  "write=gpu: programs in the gpu dialect are for "
                  "GPUs, and the target is the host: add " +
                  dashes +
                  "target=cuda:sm_90a, or choose schedules or "
                  "programs");
  if (settings.ray && settings.target == "host")
    return reject(dashes +
                  "evaluator=ray:ADDRESS is for GPUs, and the target "
                  "is the host: add " +
                  dashes +
                  "target=cuda:sm_90a, or leave "
                  "the evaluator out");
  if (settings.boundaries &&
      (settings.ray || !(settings.spool + settings.replayFile).empty()))
    return reject(dashes + "search-boundaries needs " + dashes +
                  "evaluator=local: it goes on when the times of the whole are "
                  "known");
  if (settings.boundaries && !settings.record.empty())
    return reject(dashes + "search-boundaries and " + dashes +
                  "record do not go together: a record is of one search of a "
                  "model, and these are two");
  return llvm::Error::success();
}

/// `folder` if it has fastk-opt, else empty.
static std::string ifHasTools(StringRef folder) {
  llvm::SmallString<128> path(folder);
  llvm::sys::path::append(path, "fastk-opt");
  return llvm::sys::fs::can_execute(path) ? folder.str() : "";
}

std::string fastk::findTools() {
  void *here = reinterpret_cast<void *>(&findTools);
  std::string program = llvm::sys::fs::getMainExecutable(nullptr, here);
  if (llvm::sys::path::filename(program).starts_with("fastk-"))
    return llvm::sys::path::parent_path(program).str();
  Dl_info library = {};
  if (dladdr(here, &library) && library.dli_fname) {
    // The plugin lies in lib, its tools in bin.
    llvm::SmallString<128> path;
    if (!llvm::sys::fs::real_path(library.dli_fname, path)) {
      StringRef prefix =
          llvm::sys::path::parent_path(llvm::sys::path::parent_path(path));
      llvm::SmallString<128> bin(prefix);
      llvm::sys::path::append(bin, "bin");
      if (std::string found = ifHasTools(bin); !found.empty())
        return found;
    }
  }
  auto found = llvm::sys::findProgramByName("fastk-opt");
  return found ? llvm::sys::path::parent_path(*found).str() : "";
}
