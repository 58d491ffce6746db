//===- CommandModel.cpp - Any program as a model --------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/LLM/CommandModel.h"
#include "ChildProcess.h"
#include "fastk/Secrets/Secret.h"
#include "fastk/Support/Nesting.h"
#include "fastk/System/ProcessFolder.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/StringSaver.h"
#include <chrono>
#include <csignal>
#include <list>
#include <poll.h>
#include <unistd.h>

using namespace llvm;
using namespace fastk;

using SteadyClock = std::chrono::steady_clock;

namespace {
/// A folder for one run, removed with all that the program left in it.
class RunFolder {
public:
  /// Makes it, with `input` in a file beside the folder to run in.
  Error create(StringRef input);

  std::string work, inputFile;

private:
  ProcessFolder base;
};

struct Run {
  size_t index = 0;
  SteadyClock::time_point start;
  bool isTimedOut = false;
  RunFolder folder;
  std::unique_ptr<ChildProcess> child;
};

class CommandModel : public LanguageModel {
public:
  CommandModel(CommandModelOptions given, std::string program,
               std::vector<std::string> arguments)
      : options(std::move(given)), shownName("command:" + options.command),
        program(std::move(program)), arguments(std::move(arguments)) {}

  StringRef name() const override { return shownName; }
  Error ask(ArrayRef<Prompt> prompts, const RequestContext &context,
            OnReply onReply) override;

private:
  Error start(Run &run, const Prompt &prompt) const;
  Reply replyOf(const Run &run, const Prompt &prompt) const;

  CommandModelOptions options;
  std::string shownName, program;
  std::vector<std::string> arguments;
};
} // namespace

Error RunFolder::create(StringRef input) {
  std::error_code ec = base.create("fastk-ask");
  work = base.file("work");
  inputFile = base.file("prompt");
  if (!ec)
    ec = sys::fs::create_directory(work);
  if (!ec) {
    raw_fd_ostream os(inputFile, ec);
    if (!ec) {
      os << input;
      os.close();
      ec = os.error();
      os.clear_error();
    }
  }
  if (ec)
    return createStringError(ec, explainTemporaryFileError(ec));
  return Error::success();
}

Error CommandModel::start(Run &run, const Prompt &prompt) const {
  if (Error error = run.folder.create(wholeText(prompt)))
    return error;
  ChildCommand command;
  command.program = program;
  command.arguments = arguments;
  command.folder = run.folder.work;
  command.input = run.folder.inputFile;
  command.outputLimit = options.outputLimit;
  run.start = SteadyClock::now();
  return ChildProcess::start(command).moveInto(run.child);
}

/// The values of variables whose names say that they are secrets: the command
/// has them and may print them.
static std::vector<StringRef> environmentSecrets() {
  std::vector<StringRef> result;
  for (char **each = environ; *each; ++each) {
    auto [name, value] = StringRef(*each).split('=');
    for (StringRef end : {"_KEY", "_TOKEN", "_SECRET", "_PASSWORD"})
      if (name.ends_with_insensitive(end))
        result.push_back(value);
  }
  return result;
}

/// The last lines, fit for a message and without secrets.
static std::string lastLines(StringRef text) {
  constexpr size_t kLines = 5, kBytes = 1000;
  std::string clean = withoutPieces(text, environmentSecrets());
  SmallVector<StringRef> lines;
  StringRef(clean).split(lines, '\n', -1, /*KeepEmpty=*/false);
  std::string result;
  size_t first = lines.size() > kLines ? lines.size() - kLines : 0;
  for (StringRef line : ArrayRef(lines).drop_front(first)) {
    std::string fixed = json::fixUTF8(line.trim());
    // Colours and the like stay away from the terminal.
    for (char &c : fixed)
      if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
        c = ' ';
    result += (result.empty() ? "" : " | ") + fixed;
  }
  if (result.size() > kBytes)
    result = "..." + json::fixUTF8(StringRef(result).take_back(kBytes));
  return result;
}

static int64_t tokens(const json::Object &usage, StringRef name) {
  return std::max<int64_t>(usage.getInteger(name).value_or(0), 0);
}

/// {"text": ..., "usage": {...}} and nothing else; any other output is the text
/// itself, JSON or not.
static bool readEnvelope(StringRef output, Reply &reply) {
  if (!output.trim().starts_with("{"))
    return false;
  Expected<json::Value> value = parseShallowJSON(output);
  if (!value) {
    consumeError(value.takeError());
    return false;
  }
  const json::Object *object = value->getAsObject();
  std::optional<StringRef> text = object->getString("text");
  const json::Object *usage = object->getObject("usage");
  if (!text || object->size() != (usage ? 2u : 1u))
    return false;
  reply.text = text->str();
  if (!usage)
    return true;
  reply.usage.inputTokens = tokens(*usage, "input_tokens");
  reply.usage.cachedTokens = tokens(*usage, "cached_tokens");
  reply.usage.outputTokens = tokens(*usage, "output_tokens");
  reply.usage.reasoningTokens = tokens(*usage, "reasoning_tokens");
  if (std::optional<double> usd = usage->getNumber("usd"); usd && *usd >= 0)
    reply.usage.usd = usd;
  return true;
}

static Reply failed(ModelFailure failure, const Twine &problem) {
  Reply reply;
  reply.status = ReplyStatus::Failed;
  reply.failure = failure;
  reply.problem = problem.str();
  return reply;
}

Reply CommandModel::replyOf(const Run &run, const Prompt &prompt) const {
  const ChildProcess &child = *run.child;
  std::string said = lastLines(child.errorTail);
  if (!said.empty())
    said = "; it said: " + said;
  std::string seconds =
      std::to_string(static_cast<int64_t>(options.timeoutSeconds));
  Reply reply;
  if (run.isTimedOut)
    reply = failed(ModelFailure::Timeout,
                   "the command was killed after " + seconds + " s" + said);
  else if (child.hasTooMuchOutput)
    reply = failed(ModelFailure::Malformed,
                   "the command wrote more than " +
                       std::to_string(options.outputLimit >> 20) +
                       " MiB to standard output");
  else if (child.signal)
    reply = failed(ModelFailure::Malformed,
                   "the command died of " + Twine(::strsignal(child.signal)) +
                       said);
  else if (child.exitCode)
    reply = failed(ModelFailure::Malformed,
                   "the command ended with exit status " +
                       std::to_string(child.exitCode) + said);
  else if (!readEnvelope(child.output, reply))
    reply.text = json::fixUTF8(child.output);
  if (reply.status == ReplyStatus::Complete &&
      StringRef(reply.text).trim().empty())
    reply = failed(ModelFailure::Malformed,
                   "the command wrote no reply to standard output" + said);
  reply.text = withoutSecrets(reply.text, environmentSecrets());
  reply.model = shownName;
  Usage &usage = reply.usage;
  std::chrono::duration<double> elapsed = SteadyClock::now() - run.start;
  usage.seconds = elapsed.count();
  if (reply.status == ReplyStatus::Complete && usage.inputTokens == 0 &&
      usage.outputTokens == 0) {
    constexpr size_t kCharactersPerToken = 4;
    usage.isEstimated = true;
    usage.inputTokens =
        static_cast<int64_t>(wholeText(prompt).size() / kCharactersPerToken);
    usage.outputTokens =
        static_cast<int64_t>(reply.text.size() / kCharactersPerToken);
  }
  return reply;
}

/// Waits until one of them has written something, or a tenth of a second: the
/// end of a program that keeps its output open is seen only then.
static void waitForSome(const std::list<Run> &runs) {
  std::vector<pollfd> descriptors;
  for (const Run &run : runs)
    for (int each :
         {run.child->outputDescriptor(), run.child->errorDescriptor()})
      descriptors.push_back({each, POLLIN, 0});
  ::poll(descriptors.data(), descriptors.size(), 100);
  // An output that was closed early is always readable.
  for (const pollfd &each : descriptors)
    if (!(each.revents & POLLIN) && (each.revents & POLLHUP)) {
      ::usleep(50'000);
      break;
    }
}

Error CommandModel::ask(ArrayRef<Prompt> prompts, const RequestContext &context,
                        OnReply onReply) {
  // Lists keep their elements' places: folders and processes do not move.
  std::list<Run> runs;
  size_t next = 0;
  while (next < prompts.size() || !runs.empty()) {
    // What still runs is killed and removed with its folder.
    if (context.isStopRequested())
      return Error::success();
    while (next < prompts.size() &&
           runs.size() < static_cast<size_t>(options.concurrency)) {
      Run &run = runs.emplace_back();
      run.index = next;
      if (Error error = start(run, prompts[next++]))
        return error;
    }
    context.tick();
    waitForSome(runs);
    for (auto run = runs.begin(); run != runs.end();) {
      std::chrono::duration<double> elapsed = SteadyClock::now() - run->start;
      bool hasEnded = run->child->poll();
      if (!hasEnded && (run->child->hasTooMuchOutput ||
                        elapsed.count() >= options.timeoutSeconds)) {
        run->isTimedOut = !run->child->hasTooMuchOutput;
        run->child->kill();
      }
      if (!hasEnded) {
        ++run;
        continue;
      }
      size_t index = run->index;
      Reply reply = replyOf(*run, prompts[index]);
      run = runs.erase(run);
      if (Error error = onReply(index, std::move(reply)))
        return error;
    }
  }
  return Error::success();
}

Expected<std::unique_ptr<LanguageModel>>
fastk::createCommandModel(const CommandModelOptions &options) {
  auto wrong = [](const Twine &problem) {
    return createStringError(inconvertibleErrorCode(), "command: " + problem);
  };
  BumpPtrAllocator memory;
  StringSaver saver(memory);
  SmallVector<const char *> words;
  cl::TokenizeGNUCommandLine(options.command, saver, words);
  if (words.empty())
    return wrong("names no program: write command:PROGRAM ARGUMENTS");
  if (options.concurrency < 1 || !(options.timeoutSeconds > 0))
    return wrong("concurrency and time must be above 0");
  auto program = sys::findProgramByName(words.front());
  if (!program)
    return wrong("there is no program '" + Twine(words.front()) +
                 "' on the PATH; it is run without a shell");
  // It is started in another folder than this one.
  SmallString<128> path(*program);
  if (std::error_code ec = sys::fs::make_absolute(path))
    return wrong(path + ": " + ec.message());
  if (!sys::fs::can_execute(path))
    return wrong(path + " is no program that can be run");
  std::vector<std::string> arguments(words.begin(), words.end());
  return std::make_unique<CommandModel>(options, std::string(path),
                                        std::move(arguments));
}
