//===- CurlLibrary.cpp - libcurl, loaded when it is needed ----------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CurlLibrary.h"
#include <dlfcn.h>

using namespace llvm;
using namespace fastk;

/// What curl_multi_poll came with.
static constexpr unsigned kOldest = 0x074200;

/// Says what is wrong, and how a library comes to be there.
static Error cannotUse(const Twine &what) {
  return createStringError("requests are made by libcurl " +
                           Twine("7.66 or later, and ") + what +
                           "; install it: the package libcurl4 of Debian and "
                           "Ubuntu, libcurl of Fedora and Red Hat");
}

Expected<CurlLibrary> CurlLibrary::load(ArrayRef<StringLiteral> names) {
  void *handle = nullptr;
  std::string problem;
  for (StringLiteral name : names) {
    // It stays: it may have threads, and handlers for the end of the process.
    handle = ::dlopen(name.data(), RTLD_NOW | RTLD_LOCAL);
    if (handle)
      break;
    if (problem.empty())
      problem = ::dlerror();
  }
  if (!handle)
    return cannotUse("it cannot be loaded: " + problem);
  CurlLibrary curl;
  auto find = [&](const char *name, auto &function) {
    function = reinterpret_cast<std::decay_t<decltype(function)>>(
        ::dlsym(handle, name));
    return function != nullptr;
  };
#define FASTK_CURL_NEWER_FUNCTION(name) (void)find(#name, curl.name);
#define FASTK_CURL_FUNCTION(name)                                              \
  if (!find(#name, curl.name))                                                 \
    return cannotUse("the one that is installed has no " #name);
#include "CurlFunctions.def"
  const curl_version_info_data *info = curl.curl_version_info(CURLVERSION_NOW);
  curl.version = info->version_num;
  if (curl.version < kOldest)
    return cannotUse("the one that is installed is " + Twine(info->version));
  // Not thread-safe in every libcurl: it is loaded once.
  if (curl.curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
    return cannotUse("the one that is installed could not be initialised");
  return curl;
}

Expected<const CurlLibrary &> CurlLibrary::shared() {
  static Expected<CurlLibrary> loaded = load();
  static const std::string problem = loaded ? "" : toString(loaded.takeError());
  if (!problem.empty())
    return createStringError(problem);
  return *loaded;
}
