//===- HeadCache.cpp - What was read of many heads ------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HeadCache.h"
#include "fastk/Support/DurableFile.h"
#include "fastk/Support/Sha256.h"
#include "fastk/System/WholeFile.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include <algorithm>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <vector>

using namespace llvm;
using namespace fastk;

/// Far above that of any bank.
static constexpr size_t kFileLimit = 256 << 20;

/// Two writes within one tick of the file system's clock leave the same times.
/// The coarsest clock is that of FAT, with two seconds.
static constexpr int64_t kSettledNs = 2'500'000'000;

static constexpr StringLiteral kFormat = "fastk heads 1";

std::optional<FileStamp> FileStamp::of(const std::string &path) {
  struct stat status;
  if (::lstat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode))
    return std::nullopt;
  auto nanoseconds = [](const timespec &time) {
    return static_cast<int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
  };
  FileStamp stamp{status.st_ino, status.st_size, nanoseconds(status.st_mtim),
                  nanoseconds(status.st_ctim)};
  timespec time;
  ::clock_gettime(CLOCK_REALTIME, &time);
  int64_t latest = std::max(stamp.modified, stamp.changed);
  if (latest > nanoseconds(time) - kSettledNs)
    return std::nullopt;
  return stamp;
}

HeadCache::HeadCache(StringRef directory) {
  SmallString<256> real;
  std::string folder = userCacheFolder();
  if (folder.empty() || sys::fs::real_path(directory, real))
    return;
  bank = real.str().str();
  path = folder + "/heads/" + sha256(bank).substr(0, 32);
  Expected<std::string> text =
      readRegularFile(AT_FDCWD, path, path, kFileLimit);
  if (text)
    heads = parse(bank, *text);
  else
    consumeError(text.takeError());
}

const HeadCache::Head *HeadCache::find(StringRef folder,
                                       const FileStamp &stamp) const {
  auto found = heads.find(folder);
  return found != heads.end() && found->second.stamp == stamp ? &found->second
                                                              : nullptr;
}

void HeadCache::replaceBy(StringMap<Head> fresh) {
  heads = std::move(fresh);
  if (path.empty())
    return;
  // Whatever stands in the way (a full disk, a folder of root's), the next
  // compile reads the heads again.
  sys::fs::create_directories(StringRef(path).rsplit('/').first);
  (void)writeWholeFile(path, print(bank, heads));
}

std::string HeadCache::print(StringRef directory,
                             const StringMap<Head> &heads) {
  std::vector<StringRef> folders(heads.keys().begin(), heads.keys().end());
  llvm::sort(folders);
  std::string text;
  raw_string_ostream os(text);
  os << kFormat << "\t" << directory << "\n";
  for (StringRef folder : folders) {
    const Head &head = heads.find(folder)->second;
    // A name with a line break in it is read again each time.
    if (folder.contains('\n') ||
        StringRef(head.target).find_first_of("\t\n") != StringRef::npos)
      continue;
    os << head.stamp.inode << "\t" << head.stamp.size << "\t"
       << head.stamp.modified << "\t" << head.stamp.changed << "\t"
       << head.reductions << "\t" << head.target << "\t" << folder << "\n";
  }
  os << sha256(text) << "\n";
  return text;
}

StringMap<HeadCache::Head> HeadCache::parse(StringRef directory,
                                            StringRef text) {
  StringMap<Head> heads;
  constexpr size_t kDigest = 64 + 1;
  if (text.size() < kDigest ||
      sha256(text.drop_back(kDigest)) + "\n" != text.take_back(kDigest))
    return heads;
  text = text.drop_back(kDigest);
  StringRef first;
  std::tie(first, text) = text.split('\n');
  if (first != (kFormat + "\t" + directory).str())
    return heads;
  while (!text.empty()) {
    StringRef line;
    std::tie(line, text) = text.split('\n');
    Head head;
    auto read = [&](auto &value) {
      StringRef field;
      std::tie(field, line) = line.split('\t');
      return !field.getAsInteger(10, value);
    };
    if (!read(head.stamp.inode) || !read(head.stamp.size) ||
        !read(head.stamp.modified) || !read(head.stamp.changed) ||
        !read(head.reductions))
      return StringMap<Head>();
    auto [target, folder] = line.split('\t');
    head.target = target.str();
    heads[folder] = std::move(head);
  }
  return heads;
}
