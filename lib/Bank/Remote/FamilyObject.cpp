//===- FamilyObject.cpp - A family as one object --------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FamilyObject.h"
#include "WinnerObject.h"
#include "fastk/Support/DurableFile.h"
#include "fastk/Support/OutputPlace.h"
#include "fastk/Support/WholeFolder.h"
#include "fastk/System/ProcessFolder.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

using namespace llvm;
using namespace fastk;

/// What comes is made beside where it goes, out of the sight of readers.
static constexpr StringLiteral kIncoming = ".incoming";

static constexpr ObjectFile kDeviceFiles[] = {
    {"family.json", ObjectFile::Needed},
    {"kernel.cu", ObjectFile::Needed},
    {"plan.json", ObjectFile::Needed},
    {"evidence.json", ObjectFile::IfThere},
    {"evidence.tf32.json", ObjectFile::IfThere},
    {"evidence.half.json", ObjectFile::IfThere}};
static constexpr ObjectFile kHostFiles[] = {
    {"family.json", ObjectFile::Needed},
    {"kernel.c", ObjectFile::Needed},
    // By the bytes of vectors.
    {"evidence.16.json", ObjectFile::IfThere},
    {"evidence.32.json", ObjectFile::IfThere},
    {"evidence.64.json", ObjectFile::IfThere}};

static ArrayRef<ObjectFile> filesOf(const FamilyFolder &family) {
  if (family.target == "host")
    return kHostFiles;
  return kDeviceFiles;
}

Expected<std::string> fastk::packFamily(const FamilyFolder &family) {
  return packFiles("family", family.folder, filesOf(family));
}

/// A file or folder in a family's that is no part of it; empty: there is none.
static std::string findOther(const FamilyFolder &family) {
  std::error_code code;
  for (sys::fs::directory_iterator entry(family.folder, code), end;
       !code && entry != end; entry.increment(code)) {
    StringRef name = sys::path::filename(entry->path());
    if (none_of(filesOf(family),
                [&](const ObjectFile &file) { return file.name == name; }))
      return name.str();
  }
  return "";
}

/// Why what is there cannot go; empty: it can.
static std::string whyItStays(const FamilyFolder &family) {
  if (sys::fs::get_file_type(family.folder, /*Follow=*/false) !=
      sys::fs::file_type::directory_file)
    return family.folder + " is no folder; move it away first";
  std::string other = findOther(family);
  if (other.empty())
    return "";
  return family.folder + "/" + other +
         " is no file of a family and would be lost; move it away first";
}

/// Writes a folder of files to the disk: after a power cut there must be no
/// name without what it names.
static Error flush(const std::string &folder) {
  std::error_code code;
  for (sys::fs::directory_iterator it(folder, code), end; !code && it != end;
       it.increment(code)) {
    int file = ::open(it->path().c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (file < 0)
      return fileError(it->path(), "open", errno);
    int failed = ::fsync(file) != 0 ? errno : 0;
    ::close(file);
    if (failed)
      return fileError(it->path(), "write", failed);
  }
  if (code)
    return fileError(folder, "list", code.value());
  return syncDirectory(folder);
}

Expected<SyncOutcome>
fastk::placeFamily(StringRef object, const FamilyFolder &family, bool replaces,
                   function_ref<Error(const FamilyFolder &)> check) {
  std::string place = family.target + "/" + family.name;
  auto leaveOut = [&](const Twine &why) {
    return SyncOutcome{place, SyncOutcome::LeftOut, why.str()};
  };
  std::string parent = sys::path::parent_path(family.folder).str();
  removeDebris(parent, kIncoming);
  sys::fs::file_status status;
  (void)sys::fs::status(family.folder, status, /*follow=*/false);
  bool isThere = sys::fs::exists(status);
  if (isThere) {
    Expected<std::string> here = packFamily(family);
    if (!here)
      consumeError(here.takeError());
    else if (*here == object)
      return SyncOutcome{place, SyncOutcome::Kept, ""};
    if (!replaces)
      return leaveOut(kIsAnotherFamily);
    if (std::string why = whyItStays(family); !why.empty())
      return leaveOut(why);
  }
  ProcessFolder incoming;
  if (Error error = createDirectories(parent))
    return std::move(error);
  if (std::error_code code = incoming.create(kIncoming.str(), parent))
    return fileError(parent, "make a folder in", code.value());
  FamilyFolder unpacked{family.target, family.name, incoming.file(family.name)};
  Expected<std::string> sizes =
      unpackFiles("family", "family.json", object, unpacked.folder);
  if (!sizes) {
    std::error_code code = errorToErrorCode(sizes.takeError());
    if (code != std::errc::bad_message)
      return fileError(family.folder, "write", code.value());
    return leaveOut("what the server has of it is no family");
  }
  if (std::string other = findOther(unpacked); !other.empty())
    return leaveOut("what the server has of it is no family: it has " + other);
  // Nobody knows the folder that it is still in.
  if (Error error = check(unpacked))
    return leaveOut(
        toString(nameInstead(std::move(error), unpacked.folder + "/", "")));
  if (Error error = flush(unpacked.folder))
    return std::move(error);
  std::error_code code = isThere
                             ? placeFolder(unpacked.folder, family.folder)
                             : sys::fs::rename(unpacked.folder, family.folder);
  if (isThere && cannotExchange(code))
    return leaveOut("this file system cannot put it in the place of " +
                    family.folder + " in one step; remove that first");
  if (code)
    return fileError(family.folder, "write", code.value());
  if (Error error = syncDirectory(parent))
    return std::move(error);
  return SyncOutcome{place,
                     isThere ? SyncOutcome::Replaced : SyncOutcome::Stored, ""};
}
