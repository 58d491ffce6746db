//===- RemoteCache.cpp - What this machine has of remote banks ------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RemoteCache.h"
#include "WinnerObject.h"
#include "fastk/Support/DurableFile.h"
#include "fastk/Support/Sha256.h"
#include "fastk/Support/WholeFolder.h"
#include "fastk/System/WholeFile.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <fcntl.h>
#include <limits>
#include <stdio.h>
#include <unistd.h>

using namespace llvm;
using namespace fastk;

/// A server that did not answer is left alone for so long.
static constexpr double kDownSeconds = 30;
/// Far above any root or shard.
static constexpr size_t kFileLimit = size_t(64) << 20;

RemoteCache::RemoteCache(StringRef url) {
  std::string cache = userCacheFolder();
  if (cache.empty())
    return;
  SmallString<256> absolute(cache + "/banks");
  (void)sys::fs::make_absolute(absolute);
  folder = absolute.str().str();
  own = folder + "/" + sha256(url).substr(0, 32);
}

/// Seconds since the file was written; nothing where it is not there, infinite
/// where that was in the future.
static std::optional<double> ageOf(const std::string &path) {
  sys::fs::file_status status;
  if (sys::fs::status(path, status))
    return std::nullopt;
  std::chrono::duration<double> age =
      std::chrono::system_clock::now() - status.getLastModificationTime();
  return age.count() < 0 ? std::numeric_limits<double>::infinity()
                         : age.count();
}

static std::optional<std::string> readText(const std::string &path) {
  Expected<std::string> text =
      readRegularFile(AT_FDCWD, path, path, kFileLimit);
  if (text)
    return std::move(*text);
  consumeError(text.takeError());
  return std::nullopt;
}

/// Whether it could be written.
static bool writeText(const std::string &path, StringRef text) {
  (void)sys::fs::create_directories(sys::path::parent_path(path));
  return !writeWholeFile(path, text);
}

/// Beside each other, not in folders by their first digits: to make a folder is
/// what takes longest of storing a small winner.
static std::string placeOf(StringRef folder, StringRef kind, StringRef digest) {
  return (folder + "/" + kind + "/" + digest).str();
}

std::optional<RemoteCache::Root> RemoteCache::readRoot() const {
  std::optional<double> age = ageOf(own + "/root");
  std::optional<std::string> text = readText(own + "/root");
  if (folder.empty() || !age || !text)
    return std::nullopt;
  auto [etag, rest] = StringRef(*text).split('\n');
  return Root{etag.str(), rest.str(), *age};
}

void RemoteCache::writeRoot(StringRef etag, StringRef text) {
  if (!folder.empty())
    writeText(own + "/root", (etag + "\n" + text).str());
}

std::optional<std::string> RemoteCache::whyDown() const {
  std::optional<double> age = ageOf(own + "/down");
  if (folder.empty() || !age || *age > kDownSeconds)
    return std::nullopt;
  return readText(own + "/down");
}

void RemoteCache::setDown(StringRef problem) {
  if (!folder.empty())
    writeText(own + "/down", problem);
}

std::optional<std::string> RemoteCache::readObject(StringRef digest) const {
  if (folder.empty())
    return std::nullopt;
  std::optional<std::string> text =
      readText(placeOf(folder, "objects", digest));
  if (text && sha256(*text) != digest)
    return std::nullopt;
  return text;
}

void RemoteCache::writeObject(StringRef digest, StringRef text) {
  if (!folder.empty())
    writeText(placeOf(folder, "objects", digest), text);
}

std::string RemoteCache::winnerFolder(StringRef digest) const {
  return placeOf(folder, "winners", digest);
}

bool RemoteCache::hasWinner(StringRef digest) {
  if (folder.empty() || here.contains(digest))
    return !folder.empty();
  std::string place = winnerFolder(digest);
  if (!sys::fs::exists(place))
    return false;
  if (!isWholeWinner(place)) {
    sys::fs::remove_directories(place);
    return false;
  }
  here.insert(digest);
  return true;
}

Error RemoteCache::makeTemporary() {
  if (!temporary.empty())
    return Error::success();
  if (folder.empty())
    return createStringError("there is no folder for caches: set HOME or "
                             "FASTK_CACHE_DIR");
  std::string winners = folder + "/winners";
  if (Error error = createDirectories(winners))
    return error;
  removeDebris(winners, ".tmp-");
  SmallString<256> made;
  if (std::error_code code = sys::fs::createUniqueDirectory(
          winners + "/.tmp-" + Twine(::getpid()), made))
    return fileError(winners, "make a folder in", code.value());
  temporary = made.str().str();
  return Error::success();
}

RemoteCache::~RemoteCache() {
  if (!temporary.empty())
    sys::fs::remove_directories(temporary);
}

Error RemoteCache::storeWinner(StringRef digest, StringRef object) {
  if (Error error = makeTemporary())
    return error;
  std::string inside = temporary + "/" + digest.str();
  std::string final = winnerFolder(digest);
  if (Error error = unpackWinner(object, inside))
    return error;
  if (::rename(inside.c_str(), final.c_str()) != 0 && !hasWinner(digest))
    return fileError(final, "store the winner", errno);
  here.insert(digest);
  return Error::success();
}

std::string RemoteCache::judgementPath(StringRef digest,
                                       StringRef machine) const {
  return placeOf(folder, "judged", digest) + "-" +
         sha256(machine).substr(0, 16);
}

std::optional<std::string> RemoteCache::readJudgement(StringRef digest,
                                                      StringRef machine) const {
  if (folder.empty())
    return std::nullopt;
  return readText(judgementPath(digest, machine));
}

Error RemoteCache::writeJudgement(StringRef digest, StringRef machine,
                                  StringRef problem) {
  std::string path = judgementPath(digest, machine);
  if (Error error = createDirectories(sys::path::parent_path(path)))
    return error;
  if (std::error_code code = writeWholeFile(path, problem, /*flush=*/true))
    return fileError(path, "write", code.value());
  return Error::success();
}

std::string RemoteCache::wantedPath(StringRef digest) const {
  return own + "/wanted/" + digest.str();
}

void RemoteCache::markWanted(StringRef digest) {
  if (!folder.empty() && !isWanted(digest))
    writeText(wantedPath(digest), "");
}

bool RemoteCache::isWanted(StringRef digest) const {
  return !folder.empty() && sys::fs::exists(wantedPath(digest));
}
