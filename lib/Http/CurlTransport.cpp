//===- CurlTransport.cpp - Requests in flight, by libcurl -----------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CurlLibrary.h"
#include "fastk/Http/HttpTransport.h"
#include "fastk/System/PipeSignal.h"
#include <algorithm>
#include <chrono>
#include <cmath>
#include <fcntl.h>
#include <map>

using namespace llvm;
using namespace fastk;

/// Of all headers of a response together.
static constexpr size_t kHeaderLimit = 256 << 10;
/// The first with CURLOPT_PROTOCOLS_STR, and with CURLOPT_QUICK_EXIT.
static constexpr unsigned kProtocolsByName = 0x075500, kQuickExit = 0x075700;
/// CURLOPT_PROTOCOLS, which the header warns of.
static constexpr auto kProtocolsByBits =
    static_cast<CURLoption>(CURLOPTTYPE_LONG + 181);

HttpTransport::~HttpTransport() = default;

StringRef HttpResult::header(StringRef name) const {
  for (const auto &[key, value] : headers)
    if (key == name)
      return value;
  return "";
}

namespace {
/// One request and all that libcurl refers to until it is done.
struct Transfer {
  const CurlLibrary &curl;
  CURL *easy = nullptr;
  curl_slist *headers = nullptr;
  size_t id = 0, responseLimit = 0, headerBytes = 0;
  bool isTooLarge = false;
  char message[CURL_ERROR_SIZE] = {};
  HttpResult result;

  explicit Transfer(const CurlLibrary &curl) : curl(curl) {}
  Transfer(const Transfer &) = delete;
  Transfer &operator=(const Transfer &) = delete;
  ~Transfer() {
    if (easy)
      curl.curl_easy_cleanup(easy);
    curl.curl_slist_free_all(headers);
  }
};

class CurlTransport : public HttpTransport {
public:
  explicit CurlTransport(TransportOptions options)
      : options(std::move(options)) {
    Expected<const CurlLibrary &> loaded = CurlLibrary::shared();
    if (!loaded) {
      whyNot = toString(loaded.takeError());
      return;
    }
    curl = &*loaded;
    multi = curl->curl_multi_init();
    if (multi && this->options.mostConnections > 0)
      curl->curl_multi_setopt(multi, CURLMOPT_MAX_HOST_CONNECTIONS,
                              long(this->options.mostConnections));
  }
  ~CurlTransport() override {
    NoPipeSignal quiet;
    cancelAll();
    if (multi)
      curl->curl_multi_cleanup(multi);
  }

  void start(size_t id, const HttpRequest &request) override;
  std::vector<std::pair<size_t, HttpResult>> wait(double seconds) override;
  void cancelAll() override;

private:
  bool prepare(Transfer &transfer, const HttpRequest &request);
  void failAtOnce(size_t id, std::string problem);

  TransportOptions options;
  const CurlLibrary *curl = nullptr;
  /// Where there is no `multi`.
  std::string whyNot = "libcurl could not be initialised";
  CURLM *multi = nullptr;
  std::map<CURL *, std::unique_ptr<Transfer>> transfers;
  std::vector<std::pair<size_t, HttpResult>> done;
};
} // namespace

static size_t onBody(char *data, size_t size, size_t count, void *user) {
  auto &transfer = *static_cast<Transfer *>(user);
  size_t bytes = size * count;
  if (transfer.result.body.size() + bytes > transfer.responseLimit) {
    transfer.isTooLarge = true;
    return 0;
  }
  transfer.result.body.append(data, bytes);
  return bytes;
}

static size_t onHeader(char *data, size_t size, size_t count, void *user) {
  auto &transfer = *static_cast<Transfer *>(user);
  size_t bytes = size * count;
  transfer.headerBytes += bytes;
  if (transfer.headerBytes > kHeaderLimit) {
    transfer.isTooLarge = true;
    return 0;
  }
  StringRef line(data, bytes);
  // After "100 Continue" or a proxy's reply, those of the response count.
  if (line.starts_with("HTTP/"))
    transfer.result.headers.clear();
  auto [name, value] = line.split(':');
  if (value.data() && name.size() < line.size())
    transfer.result.headers.emplace_back(name.trim().lower(),
                                         value.trim().str());
  return bytes;
}

/// What this process starts must not inherit a connection.
static int onSocket(void *, curl_socket_t socket, curlsocktype) {
  ::fcntl(socket, F_SETFD, FD_CLOEXEC);
  return CURL_SOCKOPT_OK;
}

static bool append(Transfer &transfer, const std::string &line) {
  curl_slist *longer =
      transfer.curl.curl_slist_append(transfer.headers, line.c_str());
  if (longer)
    transfer.headers = longer;
  return longer != nullptr;
}

static long milliseconds(double seconds) {
  return static_cast<long>(std::ceil(std::clamp(seconds, 0.001, 1e6) * 1000));
}

std::string fastk::explainNoHttp() {
  Expected<const CurlLibrary &> loaded = CurlLibrary::shared();
  return loaded ? std::string() : toString(loaded.takeError());
}

/// What is sent, and who vouches for it. False where libcurl refuses.
static bool setContent(CURL *easy, const CurlLibrary &curl,
                       const HttpRequest &request, bool readsNetrc) {
  bool isGood = true;
  auto set = [&](CURLoption option, auto value) {
    isGood &= curl.curl_easy_setopt(easy, option, value) == CURLE_OK;
  };
  if (request.method == HttpMethod::Get) {
    set(CURLOPT_HTTPGET, 1L);
  } else {
    set(CURLOPT_POST, 1L);
    set(CURLOPT_POSTFIELDSIZE_LARGE,
        static_cast<curl_off_t>(request.body.size()));
    set(CURLOPT_POSTFIELDS, request.body.data());
    // Not CURLOPT_UPLOAD: of what is read piece by piece no signature is made.
    if (request.method == HttpMethod::Put)
      set(CURLOPT_CUSTOMREQUEST, "PUT");
  }
  if (request.awsKeys) {
    std::string provider = "aws:amz:" + request.awsRegion + ":s3";
    set(CURLOPT_AWS_SIGV4, provider.c_str());
    std::string keys = request.awsKeys->reveal().str();
    set(CURLOPT_USERPWD, keys.c_str());
    wipe(keys);
  } else if (readsNetrc && !request.secret &&
             (request.url.isEncrypted() || request.url.isLoopback())) {
    set(CURLOPT_NETRC, long(CURL_NETRC_OPTIONAL));
  }
  return isGood;
}

bool CurlTransport::prepare(Transfer &transfer, const HttpRequest &request) {
  transfer.easy = curl->curl_easy_init();
  if (!transfer.easy)
    return false;
  bool isGood = true;
  for (const std::string &header : request.headers)
    isGood &= append(transfer, header);
  // Else libcurl waits for "100 Continue", which few servers send. S3 does, and
  // libcurl would sign the header that it leaves out.
  if (!request.awsKeys)
    isGood &= append(transfer, "Expect:");
  if (request.secret) {
    std::string line;
    line.reserve(request.secretHeader.size() + request.secretPrefix.size() +
                 request.secret->reveal().size() + 2);
    line += request.secretHeader;
    line += ": ";
    line += request.secretPrefix;
    line += request.secret->reveal();
    isGood &= append(transfer, line);
    wipe(line);
  }
  auto set = [&](CURLoption option, auto value) {
    isGood &= curl->curl_easy_setopt(transfer.easy, option, value) == CURLE_OK;
  };
  set(CURLOPT_PRIVATE, &transfer);
  set(CURLOPT_ERRORBUFFER, transfer.message);
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_URL, request.url.str().c_str());
  if (curl->version >= kProtocolsByName)
    set(CURLOPT_PROTOCOLS_STR, "https,http");
  else
    set(kProtocolsByBits, long(CURLPROTO_HTTPS | CURLPROTO_HTTP));
  // Followed nowhere: a key goes to the host that the user named.
  set(CURLOPT_FOLLOWLOCATION, 0L);
  isGood &= setContent(transfer.easy, *curl, request, options.readsNetrc);
  set(CURLOPT_HTTPHEADER, transfer.headers);
  if (!options.userAgent.empty())
    set(CURLOPT_USERAGENT, options.userAgent.c_str());
  if (options.decompresses)
    set(CURLOPT_ACCEPT_ENCODING, "");
  set(CURLOPT_WRITEFUNCTION, &onBody);
  set(CURLOPT_WRITEDATA, &transfer);
  set(CURLOPT_HEADERFUNCTION, &onHeader);
  set(CURLOPT_HEADERDATA, &transfer);
  set(CURLOPT_SOCKOPTFUNCTION, &onSocket);
  set(CURLOPT_TIMEOUT_MS, milliseconds(options.timeoutSeconds));
  set(CURLOPT_CONNECTTIMEOUT_MS, milliseconds(options.connectSeconds));
  // Reasoning is silent for minutes: no low-speed limit, but a sign of life for
  // what stands in between.
  set(CURLOPT_TCP_KEEPALIVE, 1L);
  set(CURLOPT_TCP_KEEPIDLE, 30L);
  set(CURLOPT_TCP_KEEPINTVL, 30L);
  if (options.waitsToShare)
    set(CURLOPT_PIPEWAIT, 1L);
  // Do not wait for a name server when all is over.
  if (curl->version >= kQuickExit)
    set(CURLOPT_QUICK_EXIT, 1L);
  // libcurl reads the proxies' variables. What is on this machine is never
  // asked by way of another one: its requests are in the clear.
  if (request.url.isLoopback())
    set(CURLOPT_NOPROXY, "*");
  if (!options.caFile.empty())
    set(CURLOPT_CAINFO, options.caFile.c_str());
  if (!options.caFolder.empty())
    set(CURLOPT_CAPATH, options.caFolder.c_str());
  return isGood;
}

void CurlTransport::failAtOnce(size_t id, std::string problem) {
  HttpResult result;
  result.failure = TransportFailure::Setup;
  result.problem = std::move(problem);
  done.emplace_back(id, std::move(result));
}

void CurlTransport::start(size_t id, const HttpRequest &request) {
  if (!multi)
    return failAtOnce(id, whyNot);
  auto transfer = std::make_unique<Transfer>(*curl);
  transfer->id = id;
  transfer->responseLimit =
      request.responseLimit ? request.responseLimit : options.responseLimit;
  if (!prepare(*transfer, request))
    return failAtOnce(id, "libcurl refuses the request's settings");
  CURL *easy = transfer->easy;
  if (CURLMcode code = curl->curl_multi_add_handle(multi, easy))
    return failAtOnce(id, curl->curl_multi_strerror(code));
  transfers[easy] = std::move(transfer);
}

static TransportFailure failureOf(CURLcode code, bool isTooLarge) {
  if (isTooLarge)
    return TransportFailure::TooLarge;
  switch (code) {
  case CURLE_OK:
    return TransportFailure::None;
  case CURLE_OPERATION_TIMEDOUT:
    return TransportFailure::Timeout;
  case CURLE_PEER_FAILED_VERIFICATION:
  case CURLE_SSL_ISSUER_ERROR:
    return TransportFailure::Certificate;
  case CURLE_SSL_CACERT_BADFILE:
  case CURLE_UNSUPPORTED_PROTOCOL:
  case CURLE_URL_MALFORMAT:
  case CURLE_OUT_OF_MEMORY:
  case CURLE_BAD_FUNCTION_ARGUMENT:
    return TransportFailure::Setup;
  default:
    return TransportFailure::Network;
  }
}

std::vector<std::pair<size_t, HttpResult>> CurlTransport::wait(double seconds) {
  NoPipeSignal quiet;
  int running = 0, left = 0;
  if (multi) {
    using Steady = std::chrono::steady_clock;
    auto end = Steady::now() + std::chrono::duration<double>(seconds);
    curl->curl_multi_perform(multi, &running);
    while (done.empty() && running == static_cast<int>(transfers.size())) {
      std::chrono::duration<double> rest = end - Steady::now();
      if (rest.count() <= 0)
        break;
      curl->curl_multi_poll(multi, nullptr, 0,
                            static_cast<int>(milliseconds(rest.count())),
                            nullptr);
      curl->curl_multi_perform(multi, &running);
    }
    while (CURLMsg *message = curl->curl_multi_info_read(multi, &left)) {
      if (message->msg != CURLMSG_DONE)
        continue;
      CURL *easy = message->easy_handle;
      CURLcode code = message->data.result;
      auto found = transfers.find(easy);
      Transfer &transfer = *found->second;
      HttpResult &result = transfer.result;
      long status = 0;
      curl->curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
      result.status = static_cast<int>(status);
      result.failure = failureOf(code, transfer.isTooLarge);
      // Nothing was sent to anyone yet.
      curl_off_t connected = 0;
      curl->curl_easy_getinfo(easy, CURLINFO_PRETRANSFER_TIME_T, &connected);
      if (result.failure == TransportFailure::Timeout && connected == 0)
        result.failure = TransportFailure::Network;
      if (result.failure != TransportFailure::None)
        result.problem = transfer.message[0] ? transfer.message
                                             : curl->curl_easy_strerror(code);
      done.emplace_back(transfer.id, std::move(result));
      curl->curl_multi_remove_handle(multi, easy);
      transfers.erase(found);
    }
  }
  return std::exchange(done, {});
}

void CurlTransport::cancelAll() {
  NoPipeSignal quiet;
  for (auto &[easy, transfer] : transfers)
    curl->curl_multi_remove_handle(multi, easy);
  transfers.clear();
  done.clear();
}

std::unique_ptr<HttpTransport>
fastk::createCurlTransport(TransportOptions options) {
  return std::make_unique<CurlTransport>(std::move(options));
}
