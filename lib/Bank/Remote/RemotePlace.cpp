//===- RemotePlace.cpp - Where a remote bank is ---------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RemotePlace.h"
#include "fastk/Bank/RemoteBank.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace fastk;

bool fastk::isRemoteBank(StringRef text) {
  return text.starts_with_insensitive("https://") ||
         text.starts_with_insensitive("http://");
}

bool fastk::isTrustedBank(StringRef text) {
  SmallVector<StringRef> options;
  text.split('#').second.split(options, ',');
  return is_contained(options, "trusted");
}

/// A name that an environment variable or a region has.
static bool isName(StringRef text) {
  return !text.empty() && all_of(text, [](char c) {
    return isAlnum(c) || c == '_' || c == '-';
  });
}

static Error readOption(StringRef option, RemotePlace &place,
                        bool &isInsecure) {
  auto [name, value] = option.split('=');
  auto refuse = [&](const Twine &why) {
    return createStringError(std::make_error_code(std::errc::invalid_argument),
                             why);
  };
  if (option == "trusted") {
    place.isTrusted = true;
  } else if (option == "insecure") {
    isInsecure = true;
  } else if (name == "token") {
    if (!isName(value))
      return refuse("token=NAME names the environment variable that holds the "
                    "token; the token itself belongs on no command line");
    place.tokenVariable = value.str();
  } else if (name == "s3") {
    if (!isName(value))
      return refuse("s3=REGION names the bucket's region, as s3=eu-central-1");
    place.s3Region = value.str();
  } else if (name == "max-age") {
    if (value.getAsDouble(place.maxAgeSeconds) || !(place.maxAgeSeconds >= 0))
      return refuse("max-age=SECONDS takes a number that is not negative");
  } else {
    return refuse("unknown option '" + option.take_front(40) +
                  "' after '#': known are trusted, token=NAME, s3=REGION, "
                  "max-age=SECONDS, insecure");
  }
  return Error::success();
}

Expected<RemotePlace> fastk::parseRemotePlace(StringRef text) {
  RemotePlace place;
  place.text = text.str();
  auto refuse = [](const Twine &why) {
    return createStringError(std::make_error_code(std::errc::invalid_argument),
                             "remote bank: " + why);
  };
  auto [address, options] = text.split('#');
  Expected<Url> url = parseUrl(address);
  if (!url)
    return refuse(toString(url.takeError()));
  place.url = std::move(*url);
  // A signature in a URL is a secret on a command line.
  if (!place.url.query.empty())
    return refuse("the URL of " + place.shown() +
                  " ends in a query (?...): what is in it may be a secret, and "
                  "where it is a signature (a presigned URL) it is for one "
                  "object and one method, while a bank has many objects; sign "
                  "requests with #s3=REGION, by keys that may only read or "
                  "that end by themselves, or use #token=NAME or ~/.netrc");
  SmallVector<StringRef> parts;
  options.split(parts, ',', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  bool isInsecure = false;
  for (StringRef part : parts)
    if (Error error = readOption(part, place, isInsecure))
      return refuse(place.shown() + ": " + toString(std::move(error)));
  if (place.url.isEncrypted() || place.url.isLoopback())
    return place;
  if (!isInsecure)
    return refuse(place.shown() +
                  ": http:// goes over the network in the clear; use https://, "
                  "or add #insecure");
  if (!place.tokenVariable.empty() || !place.s3Region.empty())
    return refuse(place.shown() +
                  ": a credential would travel in the clear; use https://");
  return place;
}
