//===- RemoteStore.cpp - Objects behind HTTP ------------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RemoteStore.h"
#include "fastk/Support/Sha256.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <chrono>
#include <cstdlib>
#include <deque>
#include <random>
#include <thread>

using namespace llvm;
using namespace fastk;

/// Requests in flight: a hundred small objects take one round trip. Servers of
/// HTTP/2 let one connection have about as many.
static constexpr size_t kMostAtOnce = 128;
/// Connections by TLS, where the server speaks no HTTP/2. Each costs both sides
/// a millisecond or two of processor: more of them would not be faster.
static constexpr int kMostByTLS = 64;
/// Answers that are dealt with before the network is looked after again.
static constexpr size_t kMostInARow = 4;

/// For one request. A compile that waits is worse than a winner that is missed.
static double secondsFor(Patience patience) {
  return patience == Patience::Compile ? 2 : 60;
}

RemoteStore::RemoteStore(RemotePlace where, Patience patience)
    : place(std::move(where)), patience(patience),
      longest(secondsFor(patience)) {
  TransportOptions options;
  options.timeoutSeconds = longest;
  options.connectSeconds = std::min(longest, 10.);
  options.userAgent = "fastk";
  options.decompresses = false;
  options.readsNetrc = true;
  if (place.url.isEncrypted()) {
    options.mostConnections = kMostByTLS;
    // S3 speaks no HTTP/2.
    options.waitsToShare = place.s3Region.empty();
  }
  // As curl and other clients do.
  if (const char *file = std::getenv("CURL_CA_BUNDLE"))
    options.caFile = file;
  else if (const char *file = std::getenv("SSL_CERT_FILE"))
    options.caFile = file;
  transport = createCurlTransport(std::move(options));
  problem = findCredentials();
}

/// What an environment variable holds, if it can be in a header.
static std::unique_ptr<Secret> secretOf(const std::string &variable,
                                        std::string &problem) {
  const char *value = std::getenv(variable.c_str());
  StringRef text = StringRef(value ? value : "").trim();
  if (text.empty())
    problem = "the environment variable " + variable + " is not set";
  else if (!all_of(text, [](char c) { return c > 0x20 && c < 0x7f; }))
    problem = "the environment variable " + variable +
              " holds blanks, line breaks or characters outside ASCII";
  else
    return std::make_unique<Secret>(text.str());
  return nullptr;
}

std::string RemoteStore::findCredentials() {
  std::string wrong;
  if (!place.tokenVariable.empty())
    token = secretOf(place.tokenVariable, wrong);
  if (place.s3Region.empty())
    return wrong;
  std::unique_ptr<Secret> id = secretOf("AWS_ACCESS_KEY_ID", wrong);
  std::unique_ptr<Secret> key = secretOf("AWS_SECRET_ACCESS_KEY", wrong);
  if (!id || !key)
    return wrong;
  std::string both = (id->reveal() + ":" + key->reveal()).str();
  awsKeys = std::make_unique<Secret>(std::move(both));
  // Of credentials that end by themselves.
  if (std::getenv("AWS_SESSION_TOKEN"))
    awsSession = secretOf("AWS_SESSION_TOKEN", wrong);
  return wrong;
}

HttpRequest RemoteStore::makeRequest(HttpMethod method,
                                     const std::string &path) const {
  HttpRequest request;
  request.method = method;
  request.url = place.url.withPath(path);
  if (awsKeys) {
    request.awsKeys = awsKeys.get();
    request.awsRegion = place.s3Region;
    request.secretHeader = "x-amz-security-token";
    request.secret = awsSession.get();
  } else if (token) {
    request.secretHeader = "Authorization";
    request.secretPrefix = "Bearer ";
    request.secret = token.get();
  }
  return request;
}

std::string RemoteStore::explain(const HttpResult &result,
                                 HttpMethod method) const {
  if (result.failure == TransportFailure::Timeout)
    return formatv("no answer within {0:f0} s", longest);
  if (result.failure == TransportFailure::TooLarge)
    return "sends more than it should; is the URL that of a bank?";
  if (result.failure != TransportFailure::None)
    return result.problem;
  std::string status = std::to_string(result.status);
  bool isPut = method == HttpMethod::Put;
  if (result.status >= 300 && result.status < 400)
    return "redirects to another place (" + status +
           "), which is not followed; name that place itself";
  if (result.status == 401 || result.status == 403)
    return "refuses (" + status + "): give a credential that may " +
           (isPut ? "write" : "read") +
           ", by ~/.netrc, #token=NAME or #s3=REGION";
  if (result.status == 413)
    return "takes no object of this size (413); see docs/remote-bank.md for "
           "its limit";
  if (isPut && (result.status == 404 || result.status == 405))
    return "takes no PUT here (" + status +
           "); see docs/remote-bank.md for how to set it up";
  return "answers with status " + status;
}

RemoteAnswer RemoteStore::answerOf(const HttpRequest &request,
                                   HttpResult result) const {
  RemoteAnswer answer;
  int status = result.failure == TransportFailure::None ? result.status : 0;
  bool isKnown = status == 200 || status == 304 || status == 404;
  if (request.method == HttpMethod::Put)
    isKnown = (status >= 200 && status < 300) || status == 412;
  // Two writers of one object of S3 at the same time.
  if (request.method == HttpMethod::Put && status == 409) {
    isKnown = true;
    status = 412;
  }
  if (!isKnown) {
    answer.problem = explain(result, request.method);
    answer.isTooLarge = result.failure == TransportFailure::TooLarge;
    return answer;
  }
  answer.status = status >= 200 && status < 300 ? 200 : status;
  StringRef etag = result.header("etag");
  constexpr size_t kLongestEtag = 256;
  if (etag.size() <= kLongestEtag && all_of(etag, isPrint))
    answer.etag = etag.str();
  answer.body = std::move(result.body);
  return answer;
}

void RemoteStore::run(std::vector<HttpRequest> requests, OnAnswer onAnswer) {
  // S3 wants to know what is signed.
  if (awsKeys)
    for (HttpRequest &request : requests)
      request.headers.push_back("x-amz-content-sha256: " +
                                sha256(request.body));
  // Answers that nobody has looked at yet.
  std::deque<std::pair<size_t, RemoteAnswer>> here;
  size_t next = 0, inFlight = 0;
  // A compile waits so long for all of them, a command for each.
  double waited = 0;
  auto wait = [&](double seconds) {
    using Steady = std::chrono::steady_clock;
    auto start = Steady::now();
    auto results = transport->wait(seconds);
    std::chrono::duration<double> taken = Steady::now() - start;
    waited += taken.count();
    secondsWaited += taken.count();
    return results;
  };
  while (true) {
    bool isOver = !problem.empty() || waited > longest;
    for (; !isOver && next < requests.size() && inFlight < kMostAtOnce;
         ++next, ++inFlight)
      transport->start(next, requests[next]);
    size_t before = here.size();
    if (inFlight > 0)
      for (auto &[index, result] : wait(here.empty() ? longest : 0)) {
        --inFlight;
        if (patience != Patience::Compile)
          waited = 0;
        RemoteAnswer answer = answerOf(requests[index], std::move(result));
        // One object that is too large says nothing of the next.
        if (!answer.isTooLarge && problem.empty())
          problem = answer.problem;
        here.emplace_back(index, std::move(answer));
        // It may be large, and there may be thousands.
        requests[index].body = std::string();
      }
    // The network goes first: while it has something to do for us answers lie.
    if (inFlight > 0 && here.size() > before)
      continue;
    for (size_t i = 0; i < kMostInARow && !here.empty(); ++i) {
      onAnswer(here.front().first, here.front().second);
      here.pop_front();
    }
    if (inFlight == 0 && here.empty() && (isOver || next == requests.size()))
      break;
  }
  for (; next < requests.size(); ++next) {
    RemoteAnswer answer;
    answer.problem =
        problem.empty()
            ? formatv("not all objects came within {0:f0} s", longest).str()
            : problem;
    onAnswer(next, answer);
  }
}

void RemoteStore::get(ArrayRef<RemoteGet> requests, OnAnswer onAnswer) {
  std::vector<HttpRequest> all;
  for (const RemoteGet &each : requests) {
    HttpRequest &request =
        all.emplace_back(makeRequest(HttpMethod::Get, each.path));
    request.responseLimit = each.limit;
    if (!each.etag.empty())
      request.headers.push_back("If-None-Match: " + each.etag);
  }
  run(std::move(all), onAnswer);
}

std::vector<RemoteAnswer> RemoteStore::get(ArrayRef<RemoteGet> requests) {
  std::vector<RemoteAnswer> answers(requests.size());
  get(requests, [&](size_t index, RemoteAnswer &answer) {
    answers[index] = std::move(answer);
  });
  return answers;
}

std::vector<RemoteAnswer> RemoteStore::put(ArrayRef<RemotePut> requests) {
  std::vector<HttpRequest> all;
  for (const RemotePut &each : requests) {
    HttpRequest &request =
        all.emplace_back(makeRequest(HttpMethod::Put, each.path));
    // Not that of JSON: bazel-remote would read an action's result in it.
    request.headers.push_back("Content-Type: application/octet-stream");
    if (!each.ifMatch.empty())
      request.headers.push_back("If-Match: " + each.ifMatch);
    if (each.onlyNew)
      request.headers.push_back("If-None-Match: *");
    request.body = each.body;
  }
  std::vector<RemoteAnswer> answers(requests.size());
  run(std::move(all), [&](size_t index, RemoteAnswer &answer) {
    answers[index] = std::move(answer);
  });
  return answers;
}

void fastk::pauseForOthers() {
  std::random_device device;
  std::uniform_real_distribution<double> seconds(0.1, 0.4);
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds(device)));
}
