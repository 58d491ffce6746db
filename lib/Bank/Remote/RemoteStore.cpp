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
#include <random>
#include <thread>

using namespace llvm;
using namespace fastk;

/// Connections at a time, where the server speaks no HTTP/2: a hundred small
/// objects take two round trips.
static constexpr size_t kMostAtOnce = 64;

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

std::vector<RemoteAnswer> RemoteStore::run(std::vector<HttpRequest> requests) {
  // S3 wants to know what is signed.
  if (awsKeys)
    for (HttpRequest &request : requests)
      request.headers.push_back("x-amz-content-sha256: " +
                                sha256(request.body));
  std::vector<RemoteAnswer> answers(requests.size());
  size_t next = 0, inFlight = 0;
  using Steady = std::chrono::steady_clock;
  // A compile waits so long for all of them, a command for each.
  auto start = Steady::now();
  auto give = [&](size_t index, const HttpResult &result) {
    RemoteAnswer &answer = answers[index];
    HttpMethod method = requests[index].method;
    int status = result.failure == TransportFailure::None ? result.status : 0;
    bool isKnown = status == 200 || status == 304 || status == 404;
    if (method == HttpMethod::Put)
      isKnown = (status >= 200 && status < 300) || status == 412;
    // Two writers of one object of S3 at the same time.
    if (method == HttpMethod::Put && status == 409) {
      isKnown = true;
      status = 412;
    }
    if (!isKnown) {
      answer.problem = explain(result, method);
      answer.isTooLarge = result.failure == TransportFailure::TooLarge;
      // One object that is too large says nothing of the next.
      if (!answer.isTooLarge && problem.empty())
        problem = answer.problem;
      return;
    }
    answer.status = status >= 200 && status < 300 ? 200 : status;
    answer.body = result.body;
    StringRef etag = result.header("etag");
    constexpr size_t kLongestEtag = 256;
    if (etag.size() <= kLongestEtag && all_of(etag, isPrint))
      answer.etag = etag.str();
  };
  while (next < requests.size() || inFlight > 0) {
    std::chrono::duration<double> spent = Steady::now() - start;
    bool isOver = !problem.empty() || spent.count() > longest;
    while (!isOver && next < requests.size() && inFlight < kMostAtOnce) {
      transport->start(next, requests[next]);
      ++next;
      ++inFlight;
    }
    if (inFlight == 0)
      break;
    for (auto &[index, result] : transport->wait(longest)) {
      --inFlight;
      if (patience != Patience::Compile)
        start = Steady::now();
      give(index, result);
      // It may be large, and there may be thousands.
      requests[index].body = std::string();
    }
  }
  for (; next < requests.size(); ++next)
    answers[next].problem =
        problem.empty()
            ? formatv("not all objects came within {0:f0} s", longest).str()
            : problem;
  return answers;
}

std::vector<RemoteAnswer> RemoteStore::get(ArrayRef<RemoteGet> requests) {
  std::vector<HttpRequest> all;
  for (const RemoteGet &each : requests) {
    HttpRequest &request =
        all.emplace_back(makeRequest(HttpMethod::Get, each.path));
    request.responseLimit = each.limit;
    if (!each.etag.empty())
      request.headers.push_back("If-None-Match: " + each.etag);
  }
  return run(std::move(all));
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
  return run(std::move(all));
}

void fastk::pauseForOthers() {
  std::random_device device;
  std::uniform_real_distribution<double> seconds(0.1, 0.4);
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds(device)));
}
