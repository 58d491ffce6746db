//===- HttpTransport.h - Requests in flight ---------------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_HTTP_HTTPTRANSPORT_H
#define FASTK_HTTP_HTTPTRANSPORT_H

#include "fastk/Http/Url.h"
#include "fastk/Secrets/Secret.h"
#include <memory>
#include <utility>
#include <vector>

namespace fastk {

enum class HttpMethod { Get, Put, Post };

struct HttpRequest {
  HttpMethod method = HttpMethod::Post;
  Url url;
  /// "name: value", without any secret.
  std::vector<std::string> headers;
  /// A header whose value is a secret, with what stands before it
  /// ("Bearer "). No secret: no header.
  std::string secretHeader, secretPrefix;
  const Secret *secret = nullptr;
  /// Signs the request for S3 (Signature Version 4): "ACCESS_KEY:SECRET_KEY",
  /// and for which region.
  const Secret *awsKeys = nullptr;
  std::string awsRegion;
  /// Of a PUT or a POST.
  std::string body;
  /// Of the response's body; 0: the transport's.
  size_t responseLimit = 0;
};

/// Why there is no response.
enum class TransportFailure {
  None,
  Network,     ///< No connection, or one that broke.
  Timeout,     ///< Connected, but no whole response in time.
  TooLarge,    ///< The response was cut off at the limit.
  Certificate, ///< The server could not prove who it is.
  Setup        ///< Nothing was sent: this machine's settings are wrong.
};

struct HttpResult {
  TransportFailure failure = TransportFailure::None;
  /// libcurl's words for it.
  std::string problem;
  /// 0 without a response.
  int status = 0;
  /// Names in lower case.
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;

  /// The first header of that name, or nothing.
  llvm::StringRef header(llvm::StringRef name) const;
};

struct TransportOptions {
  double timeoutSeconds = 1200;
  double connectSeconds = 15;
  /// Of a response's body, decompressed.
  size_t responseLimit = size_t(32) << 20;
  /// Files of certificate authorities; empty: libcurl's own.
  std::string caFile, caFolder;
  /// What servers are told who asks; empty: nothing. No header of a request,
  /// for it is never signed.
  std::string userAgent;
  /// Whether compressed responses are asked for; else they come as they are.
  bool decompresses = true;
  /// Whether users and passwords are looked up in ~/.netrc, by the host's name.
  /// Never for requests that go in the clear to another machine, or that have
  /// a secret.
  bool readsNetrc = false;
  /// Connections to one server; what has none waits for one. 0: as many as
  /// there are requests.
  int mostConnections = 0;
  /// Whether a request waits to see if a connection that is being made takes
  /// many at once (HTTP/2), before it makes one of its own.
  bool waitsToShare = false;
};

class HttpTransport {
public:
  virtual ~HttpTransport();
  /// Sends `request`, which has to stay until it is done. Failures of any kind
  /// come as results.
  virtual void start(size_t id, const HttpRequest &request) = 0;
  /// Waits at most so long and returns what is done, by its id.
  virtual std::vector<std::pair<size_t, HttpResult>> wait(double seconds) = 0;
  /// Drops all that is in flight.
  virtual void cancelAll() = 0;
};

/// Why nothing can be sent from here, as libcurl cannot be loaded; empty where
/// it can.
std::string explainNoHttp();

/// libcurl, all requests in the calling thread.
std::unique_ptr<HttpTransport> createCurlTransport(TransportOptions options);

} // namespace fastk

#endif // FASTK_HTTP_HTTPTRANSPORT_H
