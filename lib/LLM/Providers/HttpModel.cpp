//===- HttpModel.cpp - Models behind an HTTP service ----------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/LLM/HttpModel.h"
#include "Classify.h"
#include "HttpModelWith.h"
#include "JSONValues.h"
#include "Prices.h"
#include "fastk/Http/RequestRunner.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include <random>

using namespace llvm;
using namespace fastk;

namespace {
class HttpModel : public LanguageModel {
public:
  HttpModel(const Provider &provider, ModelOptions options, Endpoint endpoint,
            std::optional<Price> price, HttpModelSurroundings surroundings)
      : wire(*provider.wire), options(std::move(options)),
        shownName(nameOf(this->options)), endpoint(std::move(endpoint)),
        price(price), clock(surroundings.clock),
        runner(makeRunner(std::move(surroundings))) {}

  StringRef name() const override { return shownName; }
  Error ask(ArrayRef<Prompt> prompts, const RequestContext &context,
            OnReply onReply) override;

private:
  RequestRunner makeRunner(HttpModelSurroundings surroundings) const;
  HttpRequest requestFor(const Prompt &prompt) const;
  Reply finish(const Prompt &prompt, WireReply read, StringRef requestId,
               const RequestEffort &effort) const;
  /// What to say of a problem: whose it is.
  std::string told(StringRef problem) const {
    return (options.provider + " (" + endpoint.base.shown() + "): " + problem)
        .str();
  }
  /// Says why the answer is late.
  std::string describeWait(const Reply &reply, int attempts,
                           double seconds) const;

  const Wire &wire;
  ModelOptions options;
  std::string shownName;
  Endpoint endpoint;
  std::optional<Price> price;
  Clock clock;
  RequestRunner runner;
};
} // namespace

RequestRunner HttpModel::makeRunner(HttpModelSurroundings surroundings) const {
  TransportOptions transport;
  transport.timeoutSeconds = options.timeoutSeconds;
  transport.connectSeconds =
      std::min(options.connectSeconds, options.timeoutSeconds);
  transport.responseLimit = surroundings.responseLimit;
  transport.caFile = endpoint.caFile;
  transport.caFolder = endpoint.caFolder;
  RetryPolicy retries = surroundings.retries;
  retries.attempts = options.attempts;
  return RequestRunner(createCurlTransport(std::move(transport)),
                       limitOf(endpoint.base.shown(), options.concurrency),
                       retries, std::move(surroundings.clock),
                       surroundings.seed);
}

HttpRequest HttpModel::requestFor(const Prompt &prompt) const {
  HttpRequest request;
  request.url = endpoint.base.withPath(wire.path(options));
  request.headers = endpoint.headers;
  request.secretHeader = endpoint.keyHeader;
  request.secretPrefix = endpoint.keyPrefix;
  request.secret = endpoint.key.get();
  Json body = wire.makeBody(prompt, options);
  if (!options.extraBody.empty())
    body.merge_patch(Json::parse(options.extraBody, nullptr, false));
  request.body = printJSON(body);
  return request;
}

static Judgement judge(const Reply &reply, const HttpResult &result,
                       bool isLoopback) {
  std::optional<bool> told = shouldRetry(result);
  if (told == false)
    return Judgement::Final;
  switch (reply.failure) {
  case ModelFailure::RateLimited:
  case ModelFailure::Overloaded:
    return Judgement::Busy;
  case ModelFailure::Network:
    // A server of one's own that does not answer is not running.
    return isLoopback ? Judgement::TryOnceMore : Judgement::TryAgain;
  case ModelFailure::Timeout:
  case ModelFailure::Malformed:
    // Each of these may have been paid for, and takes as long as a reply does.
    return result.failure == TransportFailure::TooLarge
               ? Judgement::Final
               : Judgement::TryOnceMore;
  case ModelFailure::Quota:
    return Judgement::Final;
  case ModelFailure::None:
  case ModelFailure::Auth:
  case ModelFailure::BadRequest:
  case ModelFailure::ContextTooLong:
    return told == true ? Judgement::TryAgain : Judgement::Final;
  }
  llvm_unreachable("all failures are judged above");
}

/// The provider's name for the last request; its support asks for it.
static std::string requestId(const HttpResult &result) {
  for (StringRef name : {"x-request-id", "request-id", "x-generation-id"})
    if (StringRef id = result.header(name); !id.empty())
      return oneLine(id, 80);
  return "";
}

Reply HttpModel::finish(const Prompt &prompt, WireReply read,
                        StringRef requestId,
                        const RequestEffort &effort) const {
  Reply reply = std::move(read.reply);
  reply.model = shownName;
  Usage &usage = reply.usage;
  usage.attempts = effort.attempts;
  usage.seconds = effort.seconds;
  bool isAnswer = reply.status != ReplyStatus::Failed;
  if (isAnswer && usage.inputTokens == 0 && usage.outputTokens == 0) {
    constexpr size_t kCharactersPerToken = 4;
    usage.isEstimated = true;
    usage.inputTokens = static_cast<int64_t>(
        (prompt.system.size() + prompt.user.size()) / kCharactersPerToken);
    usage.outputTokens =
        static_cast<int64_t>(reply.text.size() / kCharactersPerToken);
  }
  if (!usage.usd && price && isAnswer)
    usage.usd = costOf(*price, usage, read.cacheWriteTokens);
  if (!reply.problem.empty()) {
    std::string more;
    if (reply.failure == ModelFailure::Network && endpoint.base.isLoopback())
      more += "; is the server running?";
    if (effort.refusedWait > 0)
      more += "; the provider asks for a wait of " +
              std::to_string(static_cast<int64_t>(effort.refusedWait)) + " s";
    if (effort.attempts > 1)
      more += "; asked " + std::to_string(effort.attempts) + " times";
    if (!requestId.empty())
      more += ("; request " + requestId).str();
    reply.problem = told(reply.problem + more);
  }
  if (endpoint.key) {
    StringRef key = endpoint.key->reveal();
    reply.text = withoutSecrets(reply.text, key);
    reply.problem = withoutPieces(reply.problem, key);
  }
  return reply;
}

std::string HttpModel::describeWait(const Reply &reply, int attempts,
                                    double seconds) const {
  std::string why = told(reply.problem.empty() ? stringify(reply.failure)
                                               : StringRef(reply.problem));
  if (endpoint.key)
    why = withoutPieces(why, endpoint.key->reveal());
  return formatv("no answer yet: {0}; request {1} of {2} follows in {3:f0} s",
                 why, attempts + 1, options.attempts, seconds)
      .str();
}

Error HttpModel::ask(ArrayRef<Prompt> prompts, const RequestContext &context,
                     OnReply onReply) {
  std::vector<HttpRequest> requests;
  for (const Prompt &prompt : prompts)
    requests.push_back(requestFor(prompt));
  std::vector<WireReply> replies(prompts.size());
  std::vector<std::string> ids(prompts.size());
  return runner.run(
      requests,
      [&](size_t index, HttpResult &result) {
        const Prompt &prompt = prompts[index];
        replies[index] = wire.readReply(result, outputLimitOf(prompt, options));
        Judgement judgement =
            judge(replies[index].reply, result, endpoint.base.isLoopback());
        ids[index] = requestId(result);
        return judgement;
      },
      [&](size_t index, RequestEffort effort) {
        return onReply(index, finish(prompts[index], std::move(replies[index]),
                                     ids[index], effort));
      },
      {context.whileWaiting, context.stopRequested,
       [&](size_t index, int attempts, double seconds) {
         context.say(describeWait(replies[index].reply, attempts, seconds));
       }});
}

static Error wrong(const ModelOptions &options, const Twine &problem) {
  return createStringError(inconvertibleErrorCode(), options.provider + ":" +
                                                         options.model + ": " +
                                                         problem);
}

/// What parseModelOptions() cannot know, or a caller that filled the struct has
/// not checked.
static Error check(const Provider &provider, const ModelOptions &options) {
  if (options.seed && !provider.wire->takesSeed)
    return wrong(options, "this provider takes no seed: leave it out");
  if (!options.extraBody.empty() &&
      !Json::parse(options.extraBody, nullptr, false).is_object())
    return wrong(options, "body: must be a JSON object");
  if (options.concurrency < 1 || options.attempts < 1 ||
      !(options.timeoutSeconds > 0) || !(options.connectSeconds > 0))
    return wrong(options, "concurrency, attempts and times must be above 0");
  return Error::success();
}

static Expected<std::optional<Price>> priceOf(const ModelOptions &options,
                                              const Environment &environment) {
  std::string path = options.priceTable;
  if (path.empty())
    path = environment("FASTK_LLM_PRICES").value_or("");
  if (path.empty())
    return std::nullopt;
  auto buffer = MemoryBuffer::getFile(path);
  if (!buffer)
    return createStringError(buffer.getError(),
                             "the price table " + path + " cannot be read: " +
                                 buffer.getError().message());
  return findPrice((*buffer)->getBuffer(), path,
                   options.provider + ":" + options.model);
}

Expected<std::unique_ptr<LanguageModel>>
fastk::createHttpModelWith(const ModelOptions &given,
                           HttpModelSurroundings surroundings) {
  const Provider *provider = findProvider(given.provider);
  if (!provider)
    return wrong(given, "there is no such provider");
  if (Error error = check(*provider, given))
    return std::move(error);
  Expected<Endpoint> endpoint =
      findEndpoint(*provider, given, surroundings.environment);
  if (!endpoint)
    return wrong(given, toString(endpoint.takeError()));
  Expected<std::optional<Price>> price =
      priceOf(given, surroundings.environment);
  if (!price)
    return price.takeError();
  ModelOptions options = given;
  if (options.limitField.empty())
    options.limitField = provider->limitField.str();
  return std::make_unique<HttpModel>(*provider, std::move(options),
                                     std::move(*endpoint), *price,
                                     std::move(surroundings));
}

Expected<std::unique_ptr<LanguageModel>>
fastk::createHttpModel(const ModelOptions &options) {
  HttpModelSurroundings surroundings;
  surroundings.seed = std::random_device()();
  return createHttpModelWith(options, std::move(surroundings));
}
