//===- Url.cpp - Where a server is ----------------------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Http/Url.h"
#include "CurlLibrary.h"
#include "llvm/ADT/StringExtras.h"
#include <arpa/inet.h>
#include <memory>

using namespace llvm;
using namespace fastk;

Expected<Url> fastk::parseUrl(StringRef text) {
  auto refuse = [](const Twine &why) {
    return createStringError(inconvertibleErrorCode(),
                             "the base URL " + why +
                                 "; write it as https://HOST[:PORT][/PATH]");
  };
  Expected<const CurlLibrary &> curl = CurlLibrary::shared();
  if (!curl)
    return curl.takeError();
  std::unique_ptr<CURLU, decltype(curl->curl_url_cleanup)> handle(
      curl->curl_url(), curl->curl_url_cleanup);
  std::string copy = text.trim().str();
  if (CURLUcode code = curl->curl_url_set(
          handle.get(), CURLUPART_URL, copy.c_str(), CURLU_NON_SUPPORT_SCHEME))
    return refuse("cannot be read: " + Twine(curl->curl_url_strerror
                                                 ? curl->curl_url_strerror(code)
                                                 : "it is malformed"));
  auto part = [&](CURLUPart which) -> std::string {
    char *text = nullptr;
    if (curl->curl_url_get(handle.get(), which, &text, 0) != CURLUE_OK)
      return "";
    std::string result = text;
    curl->curl_free(text);
    return result;
  };
  // What is in it may be a password: nothing of the URL is shown.
  if (!part(CURLUPART_USER).empty() || !part(CURLUPART_PASSWORD).empty())
    return refuse("holds a user or a password: a key belongs into an "
                  "environment variable");
  Url url;
  url.scheme = part(CURLUPART_SCHEME);
  url.host = part(CURLUPART_HOST);
  url.port = part(CURLUPART_PORT);
  url.path = part(CURLUPART_PATH);
  url.query = part(CURLUPART_QUERY);
  if (url.scheme != "http" && url.scheme != "https")
    return refuse("has the scheme '" + url.scheme + "'");
  if (!part(CURLUPART_FRAGMENT).empty())
    return refuse("ends in a fragment (#)");
  while (StringRef(url.path).ends_with("/"))
    url.path.pop_back();
  return url;
}

Url Url::withPath(StringRef more) const {
  Url result = *this;
  result.path += more;
  return result;
}

std::string Url::shown() const {
  return scheme + "://" + host + (port.empty() ? "" : ":" + port) + path;
}

std::string Url::str() const {
  return shown() + (query.empty() ? "" : "?" + query);
}

bool Url::isLoopback() const {
  StringRef name = StringRef(host).trim('.');
  if (name.equals_insensitive("localhost"))
    return true;
  in_addr four;
  if (::inet_pton(AF_INET, host.c_str(), &four) == 1)
    return (ntohl(four.s_addr) >> 24) == 127;
  std::string bare = StringRef(host).trim("[]").str();
  in6_addr six;
  return ::inet_pton(AF_INET6, bare.c_str(), &six) == 1 &&
         IN6_IS_ADDR_LOOPBACK(&six);
}

std::string fastk::percentEncoded(StringRef text) {
  std::string result;
  for (unsigned char c : text)
    if (isAlnum(c) || StringRef("-._~/:").contains(c))
      result += static_cast<char>(c);
    else
      result += "%" + toHex(StringRef(reinterpret_cast<char *>(&c), 1));
  return result;
}
