//===- Claim.cpp - The right to answer a job ------------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Over NFS (version 3 and later) as on a disk: creating a file with O_EXCL is
// atomic there, opening one asks the server for its times, and the server sets
// them. Locks of files are not relied on: they need a service of their own, and
// a client that is cut off keeps them.
//
//===----------------------------------------------------------------------===//

#include "Claim.h"
#include "ProcessIdentity.h"
#include "fastk/System/BlockedSignals.h"
#include "fastk/System/ProcessFolder.h"
#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <mutex>
#include <string_view>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

using namespace fastk;
using namespace fastk::worker;
namespace fs = std::filesystem;
using std::chrono::nanoseconds;

/// Renews a claim until it is destroyed.
class Claim::Renewal {
public:
  Renewal(std::string path, const ClaimTimes &times)
      : path(std::move(path)), every(times.renewal), thread([this] { run(); }) {
  }
  ~Renewal() {
    {
      std::lock_guard<std::mutex> guard(lock);
      hasEnded = true;
    }
    ended.notify_all();
    thread.join();
  }

private:
  void run() {
    BlockedSignals always;
    std::unique_lock<std::mutex> guard(lock);
    // Null: the file's machine sets its own time. What fails now may succeed
    // the next time; if it never does, the claim is void, as it should be.
    while (!ended.wait_for(guard, every, [this] { return hasEnded; }))
      (void)utimensat(AT_FDCWD, path.c_str(), nullptr, 0);
  }

  std::string path;
  std::chrono::milliseconds every;
  std::mutex lock;
  std::condition_variable ended;
  bool hasEnded = false;
  std::thread thread;
};

static fs::path claimFile(const fs::path &folder, int number) {
  return folder / ("claim-" + std::to_string(number));
}

static nanoseconds modified(const struct stat &of) {
  return std::chrono::seconds(of.st_mtim.tv_sec) +
         nanoseconds(of.st_mtim.tv_nsec);
}

/// What time it is for the files of \p folder; nothing where none can be
/// written there.
static std::optional<nanoseconds> timeAt(const fs::path &folder,
                                         const ProcessIdentity &self) {
  std::string path = folder / (".time-" + self.host + "-" +
                               std::to_string(self.pid) + "-" + self.started);
  int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (fd < 0)
    return std::nullopt;
  struct stat of = {};
  bool isKnown = futimens(fd, nullptr) == 0 && fstat(fd, &of) == 0;
  ::close(fd);
  ::unlink(path.c_str());
  return isKnown ? std::optional(modified(of)) : std::nullopt;
}

namespace {
enum class Held { ByLiving, ByDead };
} // namespace

/// Whether the claim in the file \p path was last renewed then for as long as
/// it takes to say that nobody renews it.
static bool isLeft(const fs::path &path, nanoseconds renewed,
                   UnrenewedClaims &unrenewed, const ClaimTimes &times) {
  auto now = std::chrono::steady_clock::now();
  auto [at, isNew] =
      unrenewed.try_emplace(path.string(), UnrenewedClaim{renewed, now});
  if (at->second.renewed != renewed)
    at->second = {renewed, now};
  if (now - at->second.seen < times.look)
    return false;
  unrenewed.erase(at);
  return true;
}

/// Who has the claim in the file \p path.
static Held holderOf(const fs::path &path, const ProcessIdentity &self,
                     UnrenewedClaims &unrenewed, const ClaimTimes &times,
                     std::string &problem) {
  // Opening asks the server anew: what stat says may be of long ago.
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return Held::ByLiving;
  struct stat of = {};
  char text[4096];
  ssize_t size = ::read(fd, text, sizeof text);
  bool isKnown = fstat(fd, &of) == 0 && size >= 0;
  ::close(fd);
  if (!isKnown)
    return Held::ByLiving;
  // One that is not written yet, or was not to its end, counts by its time.
  std::optional<ProcessIdentity> holder =
      ProcessIdentity::parse({text, size_t(size)});
  if (holder)
    if (std::optional<bool> isAlive = holder->isAlive())
      return *isAlive ? Held::ByLiving : Held::ByDead;
  std::optional<nanoseconds> now = timeAt(path.parent_path(), self);
  if (!now)
    problem = "cannot write a file beside the job, to see what time it is "
              "there: is the disk full, or the folder read-only?";
  if (!now || *now - modified(of) <= times.lease) {
    unrenewed.erase(path.string());
    return Held::ByLiving;
  }
  return isLeft(path, modified(of), unrenewed, times) ? Held::ByDead
                                                      : Held::ByLiving;
}

/// The highest number of a claim on the job; 0: there is none.
static int highestClaim(const fs::path &folder) {
  constexpr std::string_view kPrefix = "claim-";
  int highest = 0;
  std::error_code none;
  for (fs::directory_iterator at(folder, none), end; !none && at != end;
       at.increment(none)) {
    std::string name = at->path().filename().string();
    if (name.rfind(kPrefix, 0) == 0)
      highest = std::max(highest, std::atoi(name.c_str() + kPrefix.size()));
  }
  return highest;
}

/// Creates the file, which is not there. Returns 0 or the error.
static int create(const fs::path &path, const std::string &text) {
  int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd < 0)
    return errno;
  ssize_t size = ::write(fd, text.data(), text.size());
  int problem = size == ssize_t(text.size()) ? 0 : size < 0 ? errno : ENOSPC;
  if (::close(fd) != 0 && problem == 0)
    problem = errno;
  if (problem != 0)
    ::unlink(path.c_str());
  return problem;
}

Claim::Claim(fs::path given, int number, const ClaimTimes &times)
    : folder(std::move(given)), number(number) {
  removeAtEnd(file());
  renewal = std::make_unique<Renewal>(file(), times);
}

Claim::~Claim() {
  renewal.reset();
  BlockedSignals undisturbed;
  std::string path = file();
  ::unlink(path.c_str());
  keepAtEnd(path);
}

fs::path Claim::file() const { return claimFile(folder, number); }

void Claim::settle() {
  for (int earlier = 1; earlier < number; ++earlier)
    ::unlink(claimFile(folder, earlier).c_str());
}

std::unique_ptr<Claim> Claim::take(const fs::path &folder,
                                   UnrenewedClaims &unrenewed,
                                   std::string &problem,
                                   const ClaimTimes &times) {
  ProcessIdentity self = ProcessIdentity::ofThisProcess();
  // The last one counts: those before it were void when it was made, though
  // their workers may come back and remove them.
  int number = highestClaim(folder);
  if (number > 0 && holderOf(claimFile(folder, number), self, unrenewed, times,
                             problem) == Held::ByLiving)
    return nullptr;
  ++number;
  BlockedSignals undisturbed;
  if (int error = create(claimFile(folder, number), self.toJSON() + "\n")) {
    // Somebody else was faster.
    if (error != EEXIST)
      problem = "cannot claim the job: " + std::string(std::strerror(error)) +
                "; it is left until its folder can be written to";
    return nullptr;
  }
  std::unique_ptr<Claim> claim(new Claim(folder, number, times));
  // Its worker may have answered between the look at its claim and this one.
  if (std::error_code none; fs::exists(folder / "verdict.json", none)) {
    claim->settle();
    return nullptr;
  }
  return claim;
}
