//===- Classify.cpp - What an error of a provider means -------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Classify.h"
#include "JSONValues.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"

using namespace llvm;
using namespace fastk;

std::string fastk::oneLine(StringRef text, size_t limit) {
  std::string fixed = llvm::json::fixUTF8(text.take_front(limit + 1));
  std::string result;
  for (unsigned char c : fixed) {
    bool isBlank = c < 0x20 || c == 0x7f || c == ' ';
    if (!isBlank)
      result += static_cast<char>(c);
    else if (!result.empty() && result.back() != ' ')
      result += ' ';
  }
  // What terminals take for control characters, in two bytes.
  for (size_t at = 0; at + 1 < result.size();)
    if (result[at] == '\xc2' &&
        static_cast<unsigned char>(result[at + 1]) < 0xa0)
      result.erase(at, 2);
    else
      ++at;
  StringRef line = StringRef(result).trim();
  if (text.size() <= limit)
    return line.str();
  return llvm::json::fixUTF8(line.take_front(limit)) + "...";
}

Reply fastk::failed(ModelFailure failure, const Twine &problem) {
  Reply reply;
  reply.status = ReplyStatus::Failed;
  reply.failure = failure;
  reply.problem = problem.str();
  return reply;
}

Reply fastk::refused(const Twine &problem) {
  Reply reply;
  reply.status = ReplyStatus::Refused;
  reply.problem = problem.str();
  return reply;
}

/// A code of HTTP's range for errors, else 0.
static int statusIn(const Json &value) {
  int64_t number = countOf(value);
  return number >= 400 && number < 600 ? static_cast<int>(number) : 0;
}

std::optional<ProviderError> fastk::errorIn(const Json &document) {
  const Json *top = &document;
  if (top->is_array())
    top = &element(*top, 0);
  const Json *error = &field(*top, "error");
  // vLLM before 0.10 and others: {"object": "error", "message": ...}.
  if (error->is_null() && (textOf(field(*top, "object")) == "error" ||
                           field(*top, "detail").is_string()))
    error = top;
  if (error->is_null())
    return std::nullopt;
  ProviderError result;
  if (error->is_string()) {
    result.message = textOf(*error).str();
    result.words = " ";
    return result;
  }
  std::vector<StringRef> words;
  for (const char *key : {"type", "code", "status"})
    words.push_back(textOf(field(*error, key)));
  words.push_back(textOf(field(*error, "details", "error_code")));
  if (const Json &details = field(*error, "details"); details.is_array())
    for (const Json &detail : details) {
      words.push_back(textOf(field(detail, "reason")));
      if (const Json &violations = field(detail, "violations");
          violations.is_array())
        for (const Json &violation : violations)
          words.push_back(textOf(field(violation, "quotaId")));
    }
  // OpenRouter: why a moderator stopped the prompt.
  if (!field(*error, "metadata", "flagged_input").is_null())
    words.push_back("flagged_input");
  erase_if(words, [](StringRef word) { return word.empty(); });
  result.words = " " + join(words, " ") + " ";
  result.status = statusIn(field(*error, "code"));
  if (result.status == 0)
    result.status = statusIn(field(*error, "status"));
  StringRef message = textOf(field(*error, "message"));
  if (message.empty())
    message = textOf(field(*error, "detail"));
  result.message = message.empty() ? printJSON(*error) : message.str();
  return result;
}

namespace {
struct Sign {
  StringLiteral text;
  ModelFailure failure;
};
} // namespace

/// Words by which providers name an error, the telling ones first.
static constexpr Sign kWords[] = {
    {"insufficient_quota", ModelFailure::Quota},
    {"billing_hard_limit_reached", ModelFailure::Quota},
    {"billing_not_active", ModelFailure::Quota},
    {"enforced_spend_limit_reached", ModelFailure::Quota},
    {"billing_error", ModelFailure::Quota},
    {"PerDay", ModelFailure::Quota},
    {"context_length_exceeded", ModelFailure::ContextTooLong},
    {"exceed_context_size_error", ModelFailure::ContextTooLong},
    {"request_too_large", ModelFailure::ContextTooLong},
    {"API_KEY_INVALID", ModelFailure::Auth},
    {"invalid_api_key", ModelFailure::Auth},
    {"authentication_error", ModelFailure::Auth},
    {"permission_error", ModelFailure::Auth},
    {"UNAUTHENTICATED", ModelFailure::Auth},
    {"PERMISSION_DENIED", ModelFailure::Auth},
    {"rate_limit_error", ModelFailure::RateLimited},
    {"rate_limit_exceeded", ModelFailure::RateLimited},
    {"RESOURCE_EXHAUSTED", ModelFailure::RateLimited},
    {"overloaded_error", ModelFailure::Overloaded},
    {"api_error", ModelFailure::Overloaded},
    {"server_error", ModelFailure::Overloaded},
    {"UNAVAILABLE", ModelFailure::Overloaded},
    {"INTERNAL", ModelFailure::Overloaded},
    {"timeout_error", ModelFailure::Timeout},
    {"DEADLINE_EXCEEDED", ModelFailure::Timeout},
    {"not_found_error", ModelFailure::BadRequest},
    {"model_not_found", ModelFailure::BadRequest},
    {"invalid_request_error", ModelFailure::BadRequest},
    {"INVALID_ARGUMENT", ModelFailure::BadRequest},
    {"NOT_FOUND", ModelFailure::BadRequest},
};

/// What a message of status 400 may say, in lower case, where no word names it.
static constexpr Sign kPhrases[] = {
    {"context length", ModelFailure::ContextTooLong},
    {"context window", ModelFailure::ContextTooLong},
    {"context size", ModelFailure::ContextTooLong},
    {"maximum context", ModelFailure::ContextTooLong},
    {"prompt is too long", ModelFailure::ContextTooLong},
    {"input token count", ModelFailure::ContextTooLong},
    {"exceeds the maximum number of tokens", ModelFailure::ContextTooLong},
    {"credit balance", ModelFailure::Quota},
    {"spend limit", ModelFailure::Quota},
    {"usage limits", ModelFailure::Quota},
    {"api key not valid", ModelFailure::Auth},
    {"api key expired", ModelFailure::Auth},
};

static constexpr StringLiteral kRefusals[] = {"content_policy_violation",
                                              "content_filter", "flagged_input",
                                              "invalid_prompt"};

static ModelFailure byWords(const ProviderError &error) {
  for (const Sign &sign : kWords)
    if (StringRef(error.words).contains(sign.text))
      return sign.failure;
  return ModelFailure::None;
}

static ModelFailure byPhrase(const ProviderError &error) {
  std::string message = StringRef(error.message).lower();
  for (const Sign &sign : kPhrases)
    if (StringRef(message).contains(sign.text))
      return sign.failure;
  return ModelFailure::None;
}

static ModelFailure byStatus(int status, const HttpResult &result) {
  switch (status) {
  case 401:
  case 403:
    return ModelFailure::Auth;
  case 402:
    // With a time to wait it is about requests in flight, not about credit.
    return result.header("retry-after").empty() ? ModelFailure::Quota
                                                : ModelFailure::RateLimited;
  case 408:
    return ModelFailure::Timeout;
  case 409:
  case 425:
    return ModelFailure::Overloaded;
  case 413:
    return ModelFailure::ContextTooLong;
  case 429:
    return ModelFailure::RateLimited;
  default:
    return status >= 500 ? ModelFailure::Overloaded : ModelFailure::BadRequest;
  }
}

static ModelFailure classify(int status, const HttpResult &result,
                             const ProviderError &error) {
  ModelFailure named = byWords(error);
  // A response of status 200 has nothing but words.
  if (status < 400)
    return named != ModelFailure::None ? named : ModelFailure::Overloaded;
  ModelFailure coarse = byStatus(status, result);
  bool isAboutRequest = status == 400 || status == 413 || status == 422;
  if (isAboutRequest)
    if (ModelFailure told = byPhrase(error); told != ModelFailure::None &&
                                             named != ModelFailure::Auth &&
                                             named != ModelFailure::Quota)
      return told;
  // Quota among 429, context, keys and credit among 400: the words know more.
  if ((isAboutRequest || status == 429 || status == 403) &&
      named != ModelFailure::None) {
    if (status == 429 && named != ModelFailure::Quota)
      return coarse;
    return named;
  }
  // Some gateways and llama.cpp answer 500 to an overlong prompt.
  if (status == 500 && named == ModelFailure::ContextTooLong)
    return named;
  return coarse;
}

static StringRef remedy(ModelFailure failure) {
  switch (failure) {
  case ModelFailure::Auth:
    return "check the key and what it may be used for";
  case ModelFailure::Quota:
    return "the account has no credit or reached a limit of its own: see the "
           "provider's billing page";
  case ModelFailure::BadRequest:
    return "check the model's name, the base URL and the options";
  case ModelFailure::ContextTooLong:
    return "the prompt is longer than the model's context: choose another "
           "model, or start the server with a larger one";
  default:
    return "";
  }
}

Reply fastk::failureOf(const HttpResult &result,
                       const std::optional<ProviderError> &error) {
  ProviderError told = error.value_or(ProviderError());
  int status = result.status;
  if (status < 400 && told.status)
    status = told.status;
  std::string message = oneLine(told.message);
  for (StringLiteral sign : kRefusals)
    if (StringRef(told.words).contains(sign) && status != 401 && status != 429)
      return refused("refused by the provider: " + message);
  ModelFailure failure = classify(status, result, told);
  std::string problem = status >= 300 ? "HTTP status " + std::to_string(status)
                                      : "an error in the response";
  if (status >= 300 && status < 400)
    return failed(ModelFailure::BadRequest,
                  problem + ": the server redirects to '" +
                      oneLine(result.header("location").split('?').first, 200) +
                      "', which is not followed: give the right base URL");
  if (!message.empty())
    problem += ": " + message;
  StringRef what = remedy(failure);
  if (failure == ModelFailure::BadRequest &&
      (StringRef(told.message).contains_insensitive("schema") ||
       StringRef(told.message).contains_insensitive("response_format")))
    what = "if the server takes no JSON schema, write ?schema=off after the "
           "model's name";
  if (!what.empty())
    problem += "; " + what.str();
  return failed(failure, problem);
}

static Reply transportFailure(const HttpResult &result) {
  std::string problem = oneLine(result.problem);
  switch (result.failure) {
  case TransportFailure::Timeout:
    return failed(ModelFailure::Timeout,
                  "no reply in time: " + problem +
                      "; a longer time is ?timeout=SECONDS");
  case TransportFailure::TooLarge:
    return failed(ModelFailure::Malformed,
                  "the response is larger than any reply: is the base URL that "
                  "of a model?");
  case TransportFailure::Certificate:
    return failed(ModelFailure::BadRequest,
                  "the server's certificate is not trusted: " + problem +
                      "; a certificate authority of your own goes into the "
                      "file that SSL_CERT_FILE names");
  case TransportFailure::Setup:
    return failed(ModelFailure::BadRequest, "nothing was sent: " + problem);
  case TransportFailure::Network:
  case TransportFailure::None:
    break;
  }
  return failed(ModelFailure::Network, "no connection: " + problem);
}

std::optional<Reply> fastk::readFailure(const HttpResult &result,
                                        Json &document) {
  if (result.failure != TransportFailure::None)
    return transportFailure(result);
  document = parseJSON(result.body);
  std::optional<ProviderError> error;
  if (!document.is_discarded())
    error = errorIn(document);
  if (result.status >= 300) {
    if (!error) {
      error.emplace();
      error->message = result.body;
    }
    return failureOf(result, error);
  }
  if (error)
    return failureOf(result, error);
  if (!document.is_object())
    return failed(ModelFailure::Malformed,
                  StringRef(result.body).trim().empty()
                      ? Twine("the response is empty")
                      : "the response is no JSON object: '" +
                            Twine(oneLine(result.body, 200)) + "'");
  return std::nullopt;
}
