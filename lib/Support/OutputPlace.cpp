//===- OutputPlace.cpp - Where a file that a user names goes --------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Support/OutputPlace.h"
#include "fastk/Support/DurableFile.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <climits>
#include <unistd.h>

using namespace llvm;
using namespace fastk;

/// Whether the links of this folder stand for open files, whatever they name:
/// /dev/stdout is one, by ways that differ from system to system.
static bool holdsOpenFiles(StringRef folder) {
  SmallString<128> real;
  return !sys::fs::real_path(folder.empty() ? "." : folder, real) &&
         real.starts_with("/proc/");
}

std::string fastk::outputPlace(StringRef path) {
  std::string place = path.str();
  // As many as the system follows; more are a circle, which it tells.
  for (int links = 0; links < 40; ++links) {
    if (holdsOpenFiles(sys::path::parent_path(place)))
      return path.str();
    char target[PATH_MAX];
    ssize_t size = ::readlink(place.c_str(), target, sizeof(target));
    if (size < 0)
      return place;
    StringRef named(target, size);
    SmallString<128> next;
    if (!sys::path::is_absolute(named))
      next = sys::path::parent_path(place);
    sys::path::append(next, named);
    place = std::string(next);
  }
  return path.str();
}

bool fastk::isWrittenInPlace(StringRef place) {
  sys::fs::file_status status;
  if (sys::fs::status(place, status, /*follow=*/false))
    return false;
  return status.type() != sys::fs::file_type::regular_file;
}

/// The file that is replaced by what is written for `path`; empty: none.
static std::string replacedPlace(StringRef path) {
  std::string place = outputPlace(path);
  if (path.empty() || path == "-" || isWrittenInPlace(place))
    return "";
  StringRef folder = sys::path::parent_path(place);
  SmallString<128> real;
  if (sys::fs::real_path(folder.empty() ? "." : folder, real))
    return place;
  sys::path::append(real, sys::path::filename(place));
  return std::string(real);
}

bool fastk::isSamePlace(StringRef path, StringRef other) {
  std::string place = replacedPlace(path);
  return !place.empty() && place == replacedPlace(other);
}

Error fastk::nameInstead(Error error, StringRef written, StringRef named) {
  if (!error || written == named)
    return error;
  std::error_code code;
  std::string text;
  handleAllErrors(std::move(error), [&](const ErrorInfoBase &info) {
    code = info.convertToErrorCode();
    text = info.message();
  });
  for (size_t at = 0; (at = text.find(written, at)) != std::string::npos;
       at += named.size())
    text.replace(at, written.size(), named);
  return createStringError(code, text);
}

static Error writeInPlace(StringRef path, StringRef content) {
  std::error_code code;
  raw_fd_ostream stream(path, code, sys::fs::OF_None);
  if (code)
    return fileError(path, "write", code.value());
  stream << content;
  stream.close();
  code = stream.error();
  stream.clear_error();
  return code ? fileError(path, "write", code.value()) : Error::success();
}

Error fastk::writeOutput(StringRef path, StringRef content) {
  std::string place = outputPlace(path);
  if (isWrittenInPlace(place))
    return writeInPlace(path, content);
  return nameInstead(writeFileAtomically(place, content), place, path);
}
