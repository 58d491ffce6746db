//===- WinnerObject.cpp - A winner as one object --------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WinnerObject.h"
#include "fastk/Support/DurableFile.h"
#include "fastk/Support/Nesting.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include <cerrno>
#include <fcntl.h>

using namespace llvm;
using namespace fastk;

static constexpr int64_t kFormat = 1;
/// A program, how it is used, how it was found; more later.
static constexpr size_t kMostFiles = 8;

/// Their sizes: of what was not on the disk when the power went nothing is left
/// but names.
static constexpr StringLiteral kSizes = ".sizes";
static constexpr size_t kSizesLimit = 4096;

static Error refuse(const Twine &why) {
  return createStringError(std::make_error_code(std::errc::bad_message), why);
}

Expected<std::string> fastk::packFiles(StringRef kind, StringRef folder,
                                       ArrayRef<ObjectFile> wanted) {
  json::Object files;
  for (const ObjectFile &file : wanted) {
    std::string path = (folder + "/" + file.name).str();
    Expected<std::string> text =
        readRegularFile(AT_FDCWD, path, path, kRemoteWinnerLimit);
    if (!text) {
      if (Error error = handleErrors(
              text.takeError(),
              [&](std::unique_ptr<ErrorInfoBase> why) -> Error {
                bool isMissing = why->convertToErrorCode() ==
                                 std::errc::no_such_file_or_directory;
                if (file.need == ObjectFile::IfReadable ||
                    (file.need == ObjectFile::IfThere && isMissing))
                  return Error::success();
                return Error(std::move(why));
              }))
        return std::move(error);
      continue;
    }
    if (!json::isUTF8(*text))
      return refuse(path + ": is not UTF-8, as all in remote banks is");
    files[file.name] = std::move(*text);
  }
  std::string text;
  raw_string_ostream(text) << json::Value(
                                  json::Object{{"fastk", kind},
                                               {"format", kFormat},
                                               {"files", std::move(files)}})
                           << "\n";
  if (text.size() > kRemoteWinnerLimit)
    return refuse(folder + ": is larger than the " +
                  Twine(kRemoteWinnerLimit >> 20) + " MiB that a " + kind +
                  " in a remote bank has at most");
  return text;
}

Expected<std::string> fastk::packWinner(StringRef folder, StringRef program) {
  std::vector<ObjectFile> files = {{"lowering.mlir", ObjectFile::Needed}};
  if (!program.empty())
    files.push_back({program, ObjectFile::Needed});
  // How it was found is no part of what it is.
  files.push_back({"trajectory.json", ObjectFile::IfReadable});
  return packFiles("winner", folder, files);
}

bool fastk::isPlainName(StringRef name) {
  return !name.empty() && name.size() <= 100 && name.front() != '.' &&
         all_of(name, [](char c) {
           return isAlnum(c) || c == '.' || c == '_' || c == '-';
         });
}

static Error writeFile(const std::string &path, StringRef text) {
  std::error_code code;
  raw_fd_ostream stream(path, code);
  if (code)
    return fileError(path, "write", code.value());
  stream << text;
  stream.close();
  code = stream.error();
  stream.clear_error();
  return code ? fileError(path, "write", code.value()) : Error::success();
}

Expected<std::string> fastk::unpackFiles(StringRef kind, StringRef needed,
                                         StringRef text, StringRef folder) {
  Expected<json::Value> value = parseShallowJSON(text);
  if (!value)
    return refuse("is no JSON: " + toString(value.takeError()));
  const json::Object *object = value->getAsObject();
  if (!object || object->getString("fastk") != kind)
    return refuse("is no " + kind);
  if (object->getInteger("format") != kFormat)
    return refuse("has another format than " + Twine(kFormat) +
                  ", the one that this fastk reads");
  const json::Object *files = object->getObject("files");
  if (!files || !files->getString(needed))
    return refuse("has no " + needed);
  if (files->size() > kMostFiles)
    return refuse("has more than " + Twine(kMostFiles) + " files");
  for (const auto &[name, content] : *files)
    if (!isPlainName(name) || !content.getAsString())
      return refuse("has a file whose name is not plain, or which is no text");
  if (std::error_code code =
          sys::fs::create_directory(folder, /*IgnoreExisting=*/false))
    return fileError(folder, "make", code.value());
  std::string sizes;
  for (const auto &[name, content] : *files) {
    StringRef text = *content.getAsString();
    sizes += std::to_string(text.size()) + " " + StringRef(name).str() + "\n";
    if (Error error = writeFile((folder + "/" + StringRef(name)).str(), text))
      return std::move(error);
  }
  return sizes;
}

Error fastk::unpackWinner(StringRef text, StringRef folder) {
  Expected<std::string> sizes =
      unpackFiles("winner", "lowering.mlir", text, folder);
  if (!sizes)
    return sizes.takeError();
  return writeFile((folder + "/" + kSizes).str(), *sizes);
}

bool fastk::isWholeWinner(StringRef folder) {
  std::string path = (folder + "/" + kSizes).str();
  Expected<std::string> sizes =
      readRegularFile(AT_FDCWD, path, path, kSizesLimit);
  if (!sizes) {
    consumeError(sizes.takeError());
    return false;
  }
  size_t files = 0;
  for (StringRef rest = *sizes; !rest.empty(); ++files) {
    StringRef line;
    std::tie(line, rest) = rest.split('\n');
    auto [size, name] = line.split(' ');
    uint64_t wanted = 0, found = 0;
    if (size.getAsInteger(10, wanted) ||
        sys::fs::file_size(folder + "/" + name, found) || found != wanted)
      return false;
  }
  return files > 0;
}
