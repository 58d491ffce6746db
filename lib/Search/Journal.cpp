//===- Journal.cpp - The append-only log of one search --------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Search/Journal.h"
#include "fastk/Bank/Winner.h"
#include "fastk/LLM/UsageFields.h"
#include "fastk/Support/Nesting.h"
#include "fastk/Support/Sha256.h"
#include "fastk/Target/TargetFields.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CRC.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <cerrno>
#include <fcntl.h>
#include <limits>
#include <sys/stat.h>
#include <unistd.h>

using namespace llvm;
using namespace fastk;

static constexpr int64_t kFormatVersion = 1;
/// Far above what any search writes; a bound for a stray file.
static constexpr size_t kFileLimit = size_t(1) << 30;

static constexpr StringLiteral kLineStart = "{\"check\":\"";
static constexpr StringLiteral kLineMiddle = "\",\"event\":";
static constexpr StringLiteral kVerdictField = ",\"verdict\":";

static Error damaged(const Twine &what) {
  return createStringError(std::make_error_code(std::errc::invalid_argument),
                           what);
}

static std::string checksum(StringRef body) {
  return utohexstr(crc32(arrayRefFromStringRef(body)), /*LowerCase=*/true, 8);
}

static std::string text(json::Object object) {
  std::string result;
  raw_string_ostream os(result);
  os << json::Value(std::move(object));
  return result;
}

/// The event's body if the line is whole, else nothing.
static std::optional<StringRef> bodyOf(StringRef line) {
  if (!line.consume_front(kLineStart) || line.size() < 8)
    return std::nullopt;
  StringRef check = line.take_front(8);
  line = line.drop_front(8);
  if (!line.consume_front(kLineMiddle) || !line.consume_back("}"))
    return std::nullopt;
  if (checksum(line) != check)
    return std::nullopt;
  return line;
}

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

/// A number of a file as the field's type. Outside of it the conversion would
/// be undefined; a journal that was edited may say anything.
template <typename Type>
static Type numberAs(double value) {
  if constexpr (std::is_floating_point_v<Type>)
    return value;
  else if (!(value > static_cast<double>(std::numeric_limits<Type>::min())))
    return std::numeric_limits<Type>::min();
  else if (!(value < static_cast<double>(std::numeric_limits<Type>::max())))
    return std::numeric_limits<Type>::max();
  else
    return static_cast<Type>(value);
}

/// No reply takes more, and no sum over a journal overflows.
static constexpr int64_t kMostTokens = int64_t(1) << 40;

/// What the reply of an exchange cost.
static Usage usageOf(const json::Object &reply) {
  Usage usage;
  const json::Object *cost = reply.getObject("usage");
  if (!cost)
    return usage;
  forEachUsageField(usage, [&](StringRef name, auto &value) {
    using Type = std::remove_reference_t<decltype(value)>;
    if constexpr (std::is_same_v<Type, bool>)
      value = cost->getBoolean(name).value_or(false);
    else if constexpr (std::is_same_v<Type, double>)
      value = cost->getNumber(name).value_or(0);
    else
      value = numberAs<Type>(static_cast<double>(std::clamp<int64_t>(
          cost->getInteger(name).value_or(0), 0, kMostTokens)));
  });
  usage.usd = cost->getNumber("usd");
  return usage;
}

static ReplyStatus statusOf(const json::Object &reply) {
  return parseReplyStatus(reply.getString("status").value_or(""))
      .value_or(ReplyStatus::Failed);
}

Journal::Spent Journal::spentIn(StringRef directory) {
  Spent spent;
  std::string path = (directory + "/journal.jsonl").str();
  Expected<std::string> content =
      readRegularFile(AT_FDCWD, path, path, kFileLimit);
  if (!content) {
    consumeError(content.takeError());
    return spent;
  }
  SmallVector<StringRef> lines;
  StringRef(*content).split(lines, '\n', -1, /*KeepEmpty=*/false);
  for (StringRef line : lines) {
    std::optional<StringRef> body = bodyOf(line);
    if (!body)
      continue;
    Expected<json::Value> value = parseShallowJSON(*body);
    if (!value) {
      consumeError(value.takeError());
      continue;
    }
    if (const json::Object *event = value->getAsObject()) {
      spent.evaluations += event->getString("type") == StringRef("evaluation");
      const json::Object *reply = event->getObject("reply");
      if (reply && statusOf(*reply) != ReplyStatus::Unreadable) {
        Usage usage = usageOf(*reply);
        spent.tokens += usage.inputTokens + usage.outputTokens;
        spent.usd += usage.usd.value_or(0);
      }
      spent.seconds =
          std::max(spent.seconds, event->getNumber("elapsed").value_or(0));
    }
  }
  return spent;
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

/// The type, the name and the field of an event.
static constexpr StringLiteral kUnjudged = "unjudged";

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
  event.elapsed = *when;
  if (*type == "evaluation") {
    std::string error;
    event.verdict = worker::parseVerdict(verdict, error);
    if (!event.verdict)
      return problem("its verdict cannot be read: " + error);
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
  std::string line =
      (kLineStart + checksum(body) + kLineMiddle + body + "}\n").str();
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
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Ideas
//===----------------------------------------------------------------------===//

Error Journal::recordIdeas(StringRef name, ArrayRef<Idea> ideas,
                           double elapsed) {
  json::Array list;
  for (const Idea &idea : ideas)
    list.push_back(json::Object{{"id", json::fixUTF8(idea.id)},
                                {"category", stringify(idea.category)},
                                {"title", json::fixUTF8(idea.title)},
                                {"text", json::fixUTF8(idea.text)},
                                {"parent", idea.parent}});
  return append(text(json::Object{{"type", "ideas"},
                                  {"name", name},
                                  {"elapsed", elapsed},
                                  {"ideas", std::move(list)}}));
}

std::optional<Journal::Recorded<std::vector<Idea>>>
Journal::findIdeas(StringRef name) {
  const Event *event = find("ideas", name);
  if (!event)
    return std::nullopt;
  Recorded<std::vector<Idea>> result{{}, event->elapsed};
  if (const json::Array *list = event->fields.getArray("ideas"))
    for (const json::Value &value : *list)
      if (const json::Object *object = value.getAsObject()) {
        auto field = [&](StringRef key) {
          return object->getString(key).value_or("").str();
        };
        Idea idea;
        idea.id = field("id");
        idea.category =
            parseIdeaCategory(field("category")).value_or(idea.category);
        idea.title = field("title");
        idea.text = field("text");
        idea.parent = field("parent");
        result.value.push_back(std::move(idea));
      }
  return result;
}

//===----------------------------------------------------------------------===//
// Variants
//===----------------------------------------------------------------------===//

static std::string programPath(StringRef directory, Language language,
                               StringRef digest) {
  StringRef extension = sys::path::extension(programFileName(language));
  return (directory + "/programs/" + digest + extension).str();
}

Expected<std::string> Journal::storeProgram(const Variant &variant) {
  std::string digest = sha256(variant.program);
  std::string path = programPath(directory, variant.language, digest);
  if (Error error = storeFile(path, variant.program))
    return std::move(error);
  return digest;
}

Error Journal::storeFile(const std::string &path, StringRef content) {
  return sys::fs::exists(path) ? Error::success()
                               : writeFileAtomically(path, content);
}

Expected<std::string> Journal::loadFile(const std::string &path,
                                        StringRef digest) {
  Expected<std::string> content =
      readRegularFile(AT_FDCWD, path, path, kFileLimit);
  if (!content)
    return content;
  if (sha256(*content) != digest)
    return damaged(Twine(path) +
                   ": was changed: its content no longer has the digest in "
                   "its name; restore it, or start another journal with "
                   "--journal=DIR");
  return content;
}

Error Journal::recordVariants(StringRef name, ArrayRef<Variant> variants,
                              double elapsed) {
  json::Array list;
  for (const Variant &variant : variants) {
    // The program first: an event never names a file that is not there.
    Expected<std::string> digest = storeProgram(variant);
    if (!digest)
      return digest.takeError();
    json::Object parameters;
    for (auto &[parameter, value] : variant.parameters)
      parameters[json::fixUTF8(parameter)] = value;
    json::Object fields{{"idea", json::fixUTF8(variant.ideaId)},
                        {"language", stringifyLanguage(variant.language)},
                        {"program", *digest},
                        {"workspace_bytes", variant.workspaceBytes},
                        {"parameters", std::move(parameters)},
                        {"parent", variant.parent},
                        {"problem", json::fixUTF8(variant.problem)}};
    // As text: its numbers and their types are the plan's own business.
    if (variant.plan)
      fields["plan"] = worker::toJSON(*variant.plan);
    list.push_back(std::move(fields));
  }
  return append(text(json::Object{{"type", "variants"},
                                  {"name", name},
                                  {"elapsed", elapsed},
                                  {"variants", std::move(list)}}));
}

Expected<std::optional<Journal::Recorded<std::vector<Variant>>>>
Journal::findVariants(StringRef name) {
  const Event *event = find("variants", name);
  if (!event)
    return std::nullopt;
  Recorded<std::vector<Variant>> result{{}, event->elapsed};
  const json::Array *list = event->fields.getArray("variants");
  if (!list)
    return result;
  for (const json::Value &value : *list) {
    const json::Object *object = value.getAsObject();
    if (!object)
      continue;
    Variant variant;
    variant.ideaId = object->getString("idea").value_or("").str();
    variant.language =
        symbolizeLanguage(object->getString("language").value_or(""))
            .value_or(Language::c);
    variant.workspaceBytes = object->getInteger("workspace_bytes").value_or(0);
    variant.parent = object->getString("parent").value_or("").str();
    variant.problem = object->getString("problem").value_or("").str();
    if (const json::Object *parameters = object->getObject("parameters"))
      for (auto &[parameter, number] : *parameters)
        variant.parameters[parameter.str()] = number.getAsInteger().value_or(0);
    if (std::optional<StringRef> plan = object->getString("plan")) {
      std::string problem;
      variant.plan = worker::parseLaunchPlan(plan->str(), problem);
      if (!variant.plan)
        return damaged(Twine(filePath()) + ": the plan of a variant of '" +
                       name + "' cannot be read: " + problem +
                       "; start another journal with --journal=DIR");
    }
    StringRef digest = object->getString("program").value_or("");
    Expected<std::string> program =
        loadFile(programPath(directory, variant.language, digest), digest);
    if (!program)
      return program.takeError();
    variant.program = std::move(*program);
    result.value.push_back(std::move(variant));
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Verdicts
//===----------------------------------------------------------------------===//

Error Journal::recordVerdict(StringRef name, const worker::Verdict &verdict,
                             double elapsed) {
  std::string body = text(json::Object{
      {"type", "evaluation"}, {"name", name}, {"elapsed", elapsed}});
  body.pop_back();
  body += kVerdictField.str() + worker::toJSON(verdict) + "}";
  return append(body);
}

std::optional<Journal::Recorded<worker::Verdict>>
Journal::findVerdict(StringRef name) {
  const Event *event = find("evaluation", name);
  if (!event || !event->verdict)
    return std::nullopt;
  if (event->verdict->status == worker::Status::Error &&
      unjudged.contains(name))
    return std::nullopt;
  return Recorded<worker::Verdict>{*event->verdict, event->elapsed};
}

Error Journal::recordUnjudged(ArrayRef<std::string> names, double elapsed) {
  return append(text(json::Object{{"type", kUnjudged},
                                  {"name", kUnjudged},
                                  {"elapsed", elapsed},
                                  {kUnjudged, json::Array(names)}}));
}

int Journal::failedEvaluations(StringRef name) const {
  const Event *event = find("evaluation", name);
  return event ? event->failures : 0;
}

//===----------------------------------------------------------------------===//
// Exchanges with language models
//===----------------------------------------------------------------------===//

static std::string textPath(StringRef directory, StringRef digest) {
  return (directory + "/texts/" + digest + ".md").str();
}

Error Journal::recordExchange(StringRef name, const Prompt &prompt,
                              const Reply &reply, double elapsed) {
  const StringRef contents[] = {prompt.system, prompt.user, prompt.schema,
                                reply.text};
  std::string digests[4];
  for (auto [digest, content] : zip_equal(digests, contents)) {
    if (content.empty())
      continue;
    digest = sha256(content);
    if (Error error = storeFile(textPath(directory, digest), content))
      return error;
  }
  const Usage &usage = reply.usage;
  json::Object cost;
  forEachUsageField(usage,
                    [&](StringRef name, auto value) { cost[name] = value; });
  if (usage.usd)
    cost["usd"] = *usage.usd;
  return append(text(json::Object{
      {"type", "exchange"},
      {"name", json::fixUTF8(name)},
      {"elapsed", elapsed},
      {"prompt", json::Object{{"kind", stringify(prompt.kind)},
                              {"name", json::fixUTF8(prompt.name)},
                              {"system", digests[0]},
                              {"user", digests[1]},
                              {"schema", digests[2]},
                              {"templates", prompt.templates},
                              {"sample", prompt.sample}}},
      {"reply", json::Object{{"model", json::fixUTF8(reply.model)},
                             {"status", stringify(reply.status)},
                             {"failure", stringify(reply.failure)},
                             {"problem", json::fixUTF8(reply.problem)},
                             {"text", digests[3]},
                             {"usage", std::move(cost)}}}}));
}

static constexpr StringLiteral kExchange = "exchange:";

std::vector<std::pair<std::string, Usage>> Journal::exchangeUsages() const {
  std::vector<std::pair<std::string, Usage>> usages = earlierUsages;
  for (const auto &entry : events)
    if (StringRef name = entry.getKey(); name.consume_front(kExchange))
      if (const json::Object *reply = entry.second.fields.getObject("reply"))
        usages.emplace_back(name.str(), usageOf(*reply));
  return usages;
}

std::vector<std::pair<std::string, FailedExchange>>
Journal::failedExchanges() const {
  std::vector<std::pair<std::string, FailedExchange>> failed;
  for (const auto &entry : events) {
    StringRef name = entry.getKey();
    const json::Object *reply = entry.second.fields.getObject("reply");
    if (!name.consume_front(kExchange) || !reply || isUsable(statusOf(*reply)))
      continue;
    FailedExchange each;
    if (const json::Object *prompt = entry.second.fields.getObject("prompt"))
      each.prompt = prompt->getString("name").value_or("").str();
    each.model = name.split(' ').second.str();
    each.status = statusOf(*reply);
    each.failure = parseModelFailure(reply->getString("failure").value_or(""))
                       .value_or(ModelFailure::None);
    each.problem = reply->getString("problem").value_or("").str();
    failed.emplace_back(name.str(), std::move(each));
  }
  return failed;
}

std::vector<std::string> Journal::usableExchanges() const {
  std::vector<std::string> names;
  for (const auto &entry : events)
    if (StringRef name = entry.getKey(); name.consume_front(kExchange))
      if (const json::Object *reply = entry.second.fields.getObject("reply");
          reply && isUsable(statusOf(*reply)))
        names.push_back(name.str());
  return names;
}

Expected<std::optional<Journal::Recorded<Reply>>>
Journal::findExchange(StringRef name) {
  const Event *event = find("exchange", json::fixUTF8(name));
  const json::Object *fields =
      event ? event->fields.getObject("reply") : nullptr;
  if (!fields)
    return std::nullopt;
  Recorded<Reply> result{{}, event->elapsed};
  Reply &reply = result.value;
  auto field = [&](StringRef key) {
    return fields->getString(key).value_or("");
  };
  reply.model = field("model").str();
  reply.problem = field("problem").str();
  reply.status =
      parseReplyStatus(field("status")).value_or(ReplyStatus::Failed);
  reply.failure =
      parseModelFailure(field("failure")).value_or(ModelFailure::Malformed);
  reply.usage = usageOf(*fields);
  if (StringRef digest = field("text"); !digest.empty()) {
    Expected<std::string> content =
        loadFile(textPath(directory, digest), digest);
    if (!content)
      return content.takeError();
    reply.text = std::move(*content);
  }
  return result;
}

//===----------------------------------------------------------------------===//
// The device
//===----------------------------------------------------------------------===//

static constexpr StringLiteral kDevice = "device";

std::optional<TargetDescription> Journal::findDevice() const {
  const Event *event = find(kDevice, kDevice);
  const json::Object *fields =
      event ? event->fields.getObject(kDevice) : nullptr;
  if (!fields)
    return std::nullopt;
  TargetDescription device;
  device.target = fields->getString("target").value_or("").str();
  forEachTargetField(device, [&](StringRef name, auto &value) {
    using Type = std::remove_reference_t<decltype(value)>;
    if constexpr (std::is_same_v<Type, std::string>)
      value = fields->getString(name).value_or("").str();
    else if constexpr (std::is_same_v<Type, bool>)
      value = fields->getBoolean(name).value_or(value);
    else
      value = numberAs<Type>(fields->getNumber(name).value_or(0));
  });
  return device;
}

Error Journal::recallDevice(TargetDescription &device) {
  if (std::optional<TargetDescription> recorded = findDevice()) {
    device = std::move(*recorded);
    return Error::success();
  }
  json::Object fields{{"target", device.target}};
  forEachTargetField(device, [&](StringRef name, const auto &value) {
    if constexpr (std::is_same_v<decltype(value), const std::string &>)
      fields[name] = json::fixUTF8(value);
    else
      fields[name] = value;
  });
  return append(text(json::Object{{"type", kDevice},
                                  {"name", kDevice},
                                  {"elapsed", elapsed},
                                  {kDevice, std::move(fields)}}));
}

//===----------------------------------------------------------------------===//
// Choices
//===----------------------------------------------------------------------===//

Error Journal::recallCounts(StringRef name, std::vector<int> &counts,
                            double elapsed) {
  constexpr StringLiteral kCounts = "counts";
  if (const Event *event = find(kCounts, name)) {
    counts.clear();
    if (const json::Array *list = event->fields.getArray(kCounts))
      for (const json::Value &value : *list)
        counts.push_back(static_cast<int>(value.getAsInteger().value_or(0)));
    return Error::success();
  }
  return append(text(json::Object{{"type", kCounts},
                                  {"name", name},
                                  {"elapsed", elapsed},
                                  {kCounts, json::Array(counts)}}));
}

//===----------------------------------------------------------------------===//
// All of it
//===----------------------------------------------------------------------===//

Expected<std::optional<RecordedSearch>>
Journal::recordedIn(StringRef directory) {
  Journal journal(directory.str(), std::nullopt);
  if (!sys::fs::exists(journal.filePath()))
    return std::nullopt;
  if (Error error = journal.read(/*binding=*/nullptr))
    return std::move(error);
  RecordedSearch search;
  search.binding = std::move(journal.bound);
  if (std::optional<TargetDescription> device = journal.findDevice())
    search.device = std::move(*device);
  auto variants = journal.findVariants(kSeeds);
  if (!variants)
    return variants.takeError();
  if (auto ideas = journal.findIdeas(kSeeds); ideas && *variants)
    for (auto [idea, variant] : zip(ideas->value, (*variants)->value))
      search.seeds.push_back({idea, variant});
  if (auto known = journal.findIdeas(kKnownIdeas))
    search.known = std::move(known->value);
  for (const auto &entry : journal.events) {
    const Event &event = entry.second;
    auto [type, name] = entry.getKey().split(':');
    if (event.verdict)
      search.verdicts.push_back({name.str(), event.elapsed, *event.verdict});
    const json::Object *fields = event.fields.getObject("prompt");
    if (type != "exchange" || !fields)
      continue;
    RecordedExchange exchange;
    std::tie(exchange.digest, exchange.model) = name.split(' ');
    exchange.elapsed = event.elapsed;
    Prompt &prompt = exchange.prompt;
    prompt.kind = parsePromptKind(fields->getString("kind").value_or(""))
                      .value_or(prompt.kind);
    prompt.name = fields->getString("name").value_or("").str();
    prompt.templates = fields->getString("templates").value_or("").str();
    prompt.sample = fields->getInteger("sample").value_or(0);
    for (auto [field, text] :
         {std::pair<StringRef, std::string &>{"system", prompt.system},
          {"user", prompt.user},
          {"schema", prompt.schema}})
      if (StringRef digest = fields->getString(field).value_or("");
          !digest.empty())
        if (Error error = journal.loadFile(textPath(directory, digest), digest)
                              .moveInto(text))
          return std::move(error);
    auto reply = journal.findExchange(name);
    if (!reply)
      return reply.takeError();
    exchange.reply = std::move((*reply)->value);
    search.exchanges.push_back(std::move(exchange));
  }
  llvm::sort(search.exchanges, [](const auto &a, const auto &b) {
    return std::tuple(a.elapsed, a.name()) < std::tuple(b.elapsed, b.name());
  });
  llvm::sort(search.verdicts, [](const auto &a, const auto &b) {
    return std::tie(a.elapsed, a.name) < std::tie(b.elapsed, b.name);
  });
  return std::move(search);
}
