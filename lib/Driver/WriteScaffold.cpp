//===- WriteScaffold.cpp - A folder for a kernel author -------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Driver/WriteScaffold.h"
#include "DistinctWorkloads.h"
#include "fastk/Cuda/Nvrtc.h"
#include "fastk/Propose/Scaffold.h"
#include "fastk/Support/DurableFile.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace fastk;
namespace path = llvm::sys::path;

static std::string shapesOf(DistinctWorkload &workload) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  llvm::interleaveComma(
      workload.form->getLowering().getWorkloadType().getResults(), stream);
  return text;
}

/// A line for each: "  00c07b50  softmax  tensor<23x157xf32>".
static std::string list(ArrayRef<DistinctWorkload> workloads) {
  size_t width = 0;
  for (DistinctWorkload each : workloads)
    width = std::max(width, each.workload.getName().size());
  std::string text;
  llvm::raw_string_ostream stream(text);
  for (DistinctWorkload each : workloads)
    stream << "\n  " << each.form->key.substr(0, 8) << "  "
           << llvm::left_justify(each.workload.getName(), width) << "  "
           << shapesOf(each);
  return text;
}

/// The one that is meant. An error lists what there is.
static llvm::Expected<DistinctWorkload>
choose(ArrayRef<DistinctWorkload> workloads, StringRef wanted) {
  if (workloads.empty())
    return llvm::createStringError(
        "--scaffold: the model has no workload of static shapes, and only "
        "these "
        "have kernels; --list-workloads=FILE.json says what became of its ops");
  SmallVector<DistinctWorkload> found;
  for (DistinctWorkload each : workloads)
    if (StringRef(each.form->key).starts_with(wanted))
      found.push_back(each);
  // A name may look like the beginning of a key.
  if (found.empty())
    for (DistinctWorkload each : workloads)
      if (each.workload.getName() == wanted)
        found.push_back(each);
  if (found.size() == 1)
    return found.front();
  if (found.empty())
    return llvm::createStringError(
        "--scaffold=" + wanted +
        ": the model has no such workload; name one "
        "by the beginning of its key, or by its name:" +
        list(workloads));
  return llvm::createStringError("--scaffold=" + wanted +
                                 ": several workloads are called so; name one "
                                 "by the beginning of its key:" +
                                 list(found));
}

/// The folder that a folder is made in.
static std::string parentOf(StringRef folder) {
  StringRef parent = path::parent_path(folder);
  return parent.empty() ? "." : parent.str();
}

llvm::Error fastk::checkScaffoldFolder(StringRef folder) {
  std::error_code ec;
  if (llvm::sys::fs::is_directory(folder)) {
    llvm::sys::fs::directory_iterator first(folder, ec);
    if (!ec && first != llvm::sys::fs::directory_iterator())
      return llvm::createStringError(
          folder +
          ": the folder is not empty, and what is in it may be work of "
          "yours: name another one with -o, or remove it");
    return llvm::Error::success();
  }
  if (llvm::sys::fs::exists(folder))
    return llvm::createStringError(folder +
                                   ": not a folder; a scaffold is one: name "
                                   "another with -o");
  return createDirectories(parentOf(folder));
}

/// Writes all files, then gives them their place.
static llvm::Error writeFiles(StringRef folder,
                              const std::map<std::string, std::string> &files) {
  llvm::SmallString<128> prefix(parentOf(folder)), place;
  // What is relative is made in the folder of temporary files.
  std::error_code ec = llvm::sys::fs::make_absolute(prefix);
  path::append(prefix, "." + path::filename(folder));
  if (!ec)
    ec = llvm::sys::fs::createUniqueDirectory(prefix, place);
  if (ec)
    return fileError(parentOf(folder), "make a folder", ec.value());
  auto removed =
      llvm::scope_exit([&] { llvm::sys::fs::remove_directories(place); });
  for (const auto &[name, text] : files) {
    std::string file = (place + "/" + name).str();
    if (llvm::Error error = createDirectories(parentOf(file)))
      return error;
    if (llvm::Error error = writeNewFile(file, text))
      return error;
  }
  // An empty folder gives way.
  if (std::error_code ec = llvm::sys::fs::rename(place, folder))
    return fileError(folder, "make", ec.value());
  removed.release();
  return syncDirectory(parentOf(folder));
}

llvm::Expected<std::string>
fastk::writeScaffoldFolder(ModuleOp formed, WorkloadMatcher &matcher,
                           const ScaffoldOptions &options) {
  llvm::Expected<std::vector<DistinctWorkload>> workloads =
      distinctWorkloads(formed, matcher);
  if (!workloads)
    return workloads.takeError();
  llvm::Expected<DistinctWorkload> chosen =
      choose(*workloads, options.workload);
  if (!chosen)
    return chosen.takeError();
  const WinnerFilter filter = matcher.filterFor(chosen->form->key);
  scaffold::ScaffoldRequest request;
  request.workload = chosen->form->getLowering();
  request.name = chosen->workload.getName().str();
  request.target = filter.target;
  request.precision = stringifyPrecision(filter.loosest).str();
  request.folder = options.folder;
  request.prelude = cuda::preludeText();
  auto files = scaffold::writeScaffold(request);
  if (!files)
    return files.takeError();
  if (llvm::Error error = writeFiles(options.folder, *files))
    return std::move(error);
  std::string text = llvm::formatv(
      "{0}: a scaffold for {1} (key {2}, {3})", options.folder, request.name,
      chosen->form->key.substr(0, 8), request.target);
  bool hasPlain = files->count("plain/idea.md") != 0;
  return text + (hasPlain ? ", with a plain program" : ", without a program") +
         "; begin with " + options.folder + "/README.md";
}
