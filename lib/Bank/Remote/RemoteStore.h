//===- RemoteStore.h - Objects behind HTTP ----------------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// GET and PUT of a bank's objects, many at once. Redirects are followed
// nowhere, nothing is decompressed, nothing is larger than was asked for.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_BANK_REMOTE_REMOTESTORE_H
#define FASTK_LIB_BANK_REMOTE_REMOTESTORE_H

#include "RemotePlace.h"
#include "fastk/Bank/RemoteBank.h"
#include "fastk/Http/HttpTransport.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <memory>
#include <string>
#include <vector>

namespace fastk {

struct RemoteGet {
  std::string path;
  /// Of what is here already; empty: nothing is.
  std::string etag;
  /// Of the object, in bytes.
  size_t limit = 0;
};

struct RemotePut {
  std::string path, body;
  /// Only where the object there has this ETag, as far as the server looks.
  std::string ifMatch = {};
  /// Only where there is none, as far as the server looks.
  bool onlyNew = false;
};

struct RemoteAnswer {
  /// 200; 304: as it was; 404: there is none; 412: of a PUT, it has changed.
  /// After a PUT 200 whatever kind of success it was. 0: see `problem`.
  int status = 0;
  std::string body, etag;
  /// Why there is no answer, and what to do.
  std::string problem;
  /// The problem is this object's alone: it is larger than it may be.
  bool isTooLarge = false;
};

class RemoteStore {
public:
  RemoteStore(RemotePlace place, Patience patience);

  /// Takes the answer to one of the requests, and may move from it.
  using OnAnswer = llvm::function_ref<void(size_t index, RemoteAnswer &answer)>;

  /// The answers, in the order of the requests. After a failure that the next
  /// request would share none is sent any more.
  std::vector<RemoteAnswer> get(llvm::ArrayRef<RemoteGet> requests);
  std::vector<RemoteAnswer> put(llvm::ArrayRef<RemotePut> requests);
  /// Hands over each answer once, in the order in which they come, while others
  /// are still on their way.
  void get(llvm::ArrayRef<RemoteGet> requests, OnAnswer onAnswer);

  const RemotePlace &getPlace() const { return place; }
  /// For which the server was waited for, all requests together; what is done
  /// with answers meanwhile is not in it.
  double getSecondsWaited() const { return secondsWaited; }

private:
  HttpRequest makeRequest(HttpMethod method, const std::string &path) const;
  void run(std::vector<HttpRequest> requests, OnAnswer onAnswer);
  RemoteAnswer answerOf(const HttpRequest &request, HttpResult result) const;
  std::string findCredentials();
  std::string explain(const HttpResult &result, HttpMethod method) const;

  RemotePlace place;
  Patience patience;
  /// Seconds for a request.
  double longest;
  double secondsWaited = 0;
  std::unique_ptr<HttpTransport> transport;
  std::unique_ptr<Secret> token, awsKeys, awsSession;
  /// Why no request can be made; empty: nothing is known against it.
  std::string problem;
};

/// Waits some tenths of a second, by chance: those who change the same object
/// at once do not meet each time.
void pauseForOthers();
/// How often a change is tried that others may come before.
constexpr int kMostAttempts = 20;

} // namespace fastk

#endif // FASTK_LIB_BANK_REMOTE_REMOTESTORE_H
