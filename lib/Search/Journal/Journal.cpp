//===- Journal.cpp - The append-only log of one search --------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Search/Journal.h"
#include "JournalFormat.h"
#include "fastk/Support/Nesting.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace llvm;
using namespace fastk;
using namespace fastk::journal;

Journal::~Journal() {
  if (descriptor >= 0)
    ::close(descriptor);
}

Expected<std::unique_ptr<Journal>>
Journal::open(StringRef directory, const JournalBinding &binding) {
  for (StringRef folder : {"/programs", "/texts"})
    if (Error error = createDirectories((directory + folder).str()))
      return error;
  Expected<FileLock> lock = FileLock::acquire(
      (directory + "/.lock").str(), ("the journal " + directory).str(),
      /*timeoutSeconds=*/1);
  if (!lock)
    return lock.takeError();
  std::unique_ptr<Journal> journal(
      new Journal(directory.str(), std::move(*lock)));
  if (Error error = journal->openFile())
    return error;
  if (Error error = journal->read(&binding))
    return error;
  if (!journal->madeByOthers.empty())
    if (Error error = journal->setAside())
      return error;
  if (!journal->hasHeader) {
    json::Object header{{"type", "header"}, {"format", kFormatVersion}};
    json::Array bound;
    for (const JournalBinding::Values *values :
         {&binding.search, &binding.madeBy, &binding.unused})
      for (const auto &[name, value] : *values)
        bound.push_back(json::Array{name, value});
    header["binding"] = std::move(bound);
    const JournalBinding::About &about = binding.about;
    header["about"] = json::Object{{"name", json::fixUTF8(about.name)},
                                   {"shapes", json::fixUTF8(about.shapes)},
                                   {"floor_seconds", about.floorSeconds},
                                   {"ir", json::fixUTF8(about.ir)}};
    if (Error error = journal->append(text(std::move(header))))
      return error;
    journal->hasHeader = true;
    // The names of the file and of the folder, too, must survive.
    if (Error error = syncDirectory(directory))
      return error;
  }
  return journal;
}

Error Journal::openFile() {
  std::string path = filePath();
  descriptor = ::open(
      path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0644);
  if (descriptor < 0)
    return fileError(path, "open", errno);
  return Error::success();
}

Error Journal::setAside() {
  std::string kept;
  for (int number = 1; kept.empty() || sys::fs::exists(kept); ++number)
    kept = directory + "/journal." + std::to_string(number) + ".jsonl";
  // The lock keeps other searches out; a kill after this leaves a folder
  // without a journal, which is where a search begins.
  if (::rename(filePath().c_str(), kept.c_str()) != 0)
    return fileError(filePath(), "rename", errno);
  ::close(descriptor);
  noteText = filePath() + " was made by another fastk (" + madeByOthers +
             "); its verdicts do not count here: kept as " + kept +
             ", searching afresh";
  return openFile();
}

Error Journal::read(const JournalBinding *binding) {
  Expected<std::string> content =
      readRegularFile(AT_FDCWD, filePath(), filePath(), kFileLimit);
  if (!content)
    return content.takeError();
  StringRef rest = *content;
  for (size_t number = 1; !rest.empty(); ++number) {
    size_t end = rest.find('\n');
    bool whole = end != StringRef::npos;
    StringRef line = rest.take_front(end);
    StringRef after = whole ? rest.drop_front(end + 1) : StringRef();
    std::optional<StringRef> body =
        whole ? bodyOf(line) : std::optional<StringRef>();
    if (!body) {
      // A crash can cut only what was written last.
      if (!after.empty())
        return damaged(
            Twine(filePath()) + ":" + Twine(number) +
            ": the line was changed or damaged (its checksum does not match); "
            "restore the file, or keep only the " +
            Twine(number - 1) +
            " lines before it to lose what came later, or start another "
            "journal with --journal=DIR");
      noteText = (Twine(filePath()) + ":" + Twine(number) +
                  ": the last line was cut by a crash and is dropped")
                     .str();
      break;
    }
    if (Error error = readLine(*body, number, binding))
      return error;
    // Whatever comes after is not this search's business.
    if (!madeByOthers.empty())
      return Error::success();
    length += end + 1;
    rest = after;
  }
  // New events must follow a whole line.
  if (binding && length < content->size() &&
      ::ftruncate(descriptor, length) != 0)
    return fileError(filePath(), "cut the damaged last line", errno);
  return Error::success();
}

/// Digests are shortened: people compare them by eye.
static std::string shown(const std::string &value) {
  bool isDigest = value.size() == 64 && all_of(value, isHexDigit);
  return isDigest ? value.substr(0, 12) : value;
}

Error Journal::readHeader(const json::Object &header,
                          const JournalBinding *binding) {
  bound.clear();
  if (const json::Array *pairs = header.getArray("binding"))
    for (const json::Value &pair : *pairs)
      if (const json::Array *both = pair.getAsArray();
          both && both->size() == 2)
        bound.emplace_back((*both)[0].getAsString().value_or("").str(),
                           (*both)[1].getAsString().value_or("").str());
  if (!binding)
    return Error::success();
  std::map<std::string, std::string> was(bound.begin(), bound.end());
  std::string otherSearch;
  auto differ = [](std::string &list, const std::string &name,
                   const std::string &before, const std::string &now) {
    list += (list.empty() ? "" : ", ") + name + " was " + shown(before) +
            " and is now " + shown(now);
  };
  auto compare = [&](const JournalBinding::Values &values, std::string &list) {
    for (const auto &[name, now] : values) {
      auto before = was.find(name);
      if (before == was.end())
        differ(list, name, "absent", now);
      else if (before->second != now)
        differ(list, name, before->second, now);
      if (before != was.end())
        was.erase(before);
    }
  };
  compare(binding->search, otherSearch);
  compare(binding->madeBy, madeByOthers);
  for (const auto &part : binding->unused)
    was.erase(part.first);
  for (const auto &[name, before] : was)
    differ(madeByOthers, name, before, "absent");
  if (!otherSearch.empty())
    return createStringError(
        std::make_error_code(std::errc::invalid_argument),
        Twine(filePath()) + ": belongs to another search: " + otherSearch +
            "; search as before to resume it, or start another journal with "
            "--journal=DIR");
  hasHeader = madeByOthers.empty();
  return Error::success();
}

Error Journal::readLine(StringRef body, size_t number,
                        const JournalBinding *binding) {
  auto problem = [&](const Twine &what) {
    return damaged(Twine(filePath()) + ":" + Twine(number) + ": " + what);
  };
  // A verdict is kept in the worker's own words.
  std::string verdict;
  std::string shortened;
  if (size_t at = body.find(kVerdictField); at != StringRef::npos) {
    StringRef rest = body.drop_front(at + kVerdictField.size());
    if (!rest.consume_back("}"))
      return problem("an event that ends within its verdict");
    verdict = rest.str();
    shortened = (body.take_front(at) + "}").str();
    body = shortened;
  }
  Expected<json::Value> value = parseShallowJSON(body);
  if (!value)
    return problem("not JSON: " + toString(value.takeError()));
  json::Object *object = value->getAsObject();
  std::optional<StringRef> type =
      object ? object->getString("type") : std::nullopt;
  if (!type)
    return problem("not an event");

  if (number == 1) {
    if (*type != "header")
      return problem("a journal begins with its header");
    std::optional<int64_t> format = object->getInteger("format");
    if (format != kFormatVersion)
      return problem("has format " + Twine(format.value_or(0)) +
                     ", this fastk reads format " + Twine(kFormatVersion) +
                     "; start another journal with --journal=DIR");
    return readHeader(*object, binding);
  }

  std::optional<StringRef> name = object->getString("name");
  std::optional<double> when = object->getNumber("elapsed");
  if (!name || !when)
    return problem("an event without name or time");
  elapsed = std::max(elapsed, *when);
  ++resumed;
  begun |= *type != "device" && *name != kSeeds && *name != kKnownIdeas;
  std::string key = (*type + ":" + *name).str();
  if (auto earlier = events.find(key); earlier != events.end()) {
    if (!replaces(*object, earlier->second))
      return problem("records '" + Twine(key) + "' a second time");
    const json::Object *reply = object->getObject("reply");
    // Told once more as unreadable it is the same exchange.
    if (reply && statusOf(*reply) != ReplyStatus::Unreadable)
      if (const json::Object *was = earlier->second.fields.getObject("reply"))
        earlierUsages.emplace_back(name->str(), usageOf(*was));
  }
  int round;
  if (*type == "ideas" && !name->split('/').first.getAsInteger(10, round))
    lastRound = std::max(lastRound, round);
  Event &event = events[key];
  lastRead = &event;
  event.elapsed = *when;
  if (*type == "evaluation") {
    std::string error;
    event.verdict = worker::parseVerdict(verdict, error);
    if (!event.verdict)
      return problem("its verdict cannot be read: " + error +
                     "; or start another journal with --journal=DIR");
    event.failures += event.verdict->status == worker::Status::Error;
    // It was made again. Failed once more, it may be the next run's again: that
    // is said anew.
    unjudged.erase(*name);
  }
  if (*type == kUnjudged)
    if (const json::Array *names = object->getArray(kUnjudged))
      for (const json::Value &each : *names)
        unjudged.insert(each.getAsString().value_or(""));
  event.fields = std::move(*object);
  return Error::success();
}

Error Journal::goOn() {
  // What is told of earlier runs stays as it was.
  size_t before = resumed;
  bool hadBegun = begun;
  int lastBefore = lastRound;
  for (const std::string &body : std::exchange(added, {})) {
    if (Error error = readLine(body, resumed + 2, /*binding=*/nullptr))
      return error;
    lastRead->isOfThisRun = true;
  }
  resumed = before;
  begun = hadBegun;
  lastRound = lastBefore;
  return Error::success();
}

bool Journal::isOfThisRun(EventType type, StringRef name) const {
  constexpr StringLiteral names[] = {"ideas", "variants", "evaluation",
                                     "exchange"};
  const Event *event = find(names[static_cast<int>(type)], name);
  return event && event->isOfThisRun;
}

bool Journal::replaces(const json::Object &later, const Event &earlier) {
  if (earlier.verdict)
    return earlier.verdict->status == worker::Status::Error;
  if (later.getArray(kUnjudged))
    return true;
  const json::Object *now = later.getObject("reply");
  const json::Object *before = earlier.fields.getObject("reply");
  if (now && before)
    return !isUsable(statusOf(*before)) ||
           statusOf(*now) == ReplyStatus::Unreadable;
  for (StringRef list : {"ideas", "variants"}) {
    const json::Array *more = later.getArray(list);
    const json::Array *fewer = earlier.fields.getArray(list);
    if (more && fewer)
      return more->size() > fewer->size();
  }
  return false;
}

bool Journal::hasRoundAfter(int number) const { return lastRound > number; }

const Journal::Event *Journal::find(StringRef type, StringRef name) const {
  auto it = events.find((type + ":" + name).str());
  return it == events.end() ? nullptr : &it->second;
}

Error Journal::append(StringRef body) {
  std::string line = lineOf(body);
  size_t done = 0;
  int errnum = 0;
  while (done < line.size()) {
    ssize_t n = ::write(descriptor, line.data() + done, line.size() - done);
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0) {
      errnum = errno;
      break;
    }
    done += n;
  }
  if (errnum == 0 && ::fsync(descriptor) != 0)
    errnum = errno;
  if (errnum != 0) {
    // Take back what got through. Should that fail too, the next run finds a
    // cut last line.
    (void)!::ftruncate(descriptor, length);
    return fileError(filePath(), "append to the journal", errnum);
  }
  length += line.size();
  if (hasHeader)
    added.push_back(body.str());
  return Error::success();
}
