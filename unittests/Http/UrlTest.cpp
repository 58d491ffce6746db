//===- UrlTest.cpp - Where a provider is ----------------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Http/Url.h"
#include "gmock/gmock.h"

using namespace fastk;
using testing::HasSubstr;

namespace {

std::string shown(llvm::StringRef text) {
  llvm::Expected<Url> url = parseUrl(text);
  return url ? url->shown() : llvm::toString(url.takeError());
}

bool isLoopback(llvm::StringRef text) {
  llvm::Expected<Url> url = parseUrl(text);
  if (!url) {
    ADD_FAILURE() << llvm::toString(url.takeError());
    return false;
  }
  return url->isLoopback();
}

TEST(Url, KeepsWhatItIsMadeOf) {
  EXPECT_EQ(shown("https://api.example.com/v1/"), "https://api.example.com/v1");
  EXPECT_EQ(shown("http://localhost:8000"), "http://localhost:8000");
  EXPECT_EQ(shown(" http://[::1]:80/x "), "http://[::1]:80/x");
}

TEST(Url, AQueryStaysBehindThePath) {
  llvm::Expected<Url> url = parseUrl("https://a.example/x?version=3");
  ASSERT_TRUE(static_cast<bool>(url));
  EXPECT_EQ(url->withPath("/chat").str(), "https://a.example/x/chat?version=3");
  EXPECT_EQ(url->shown(), "https://a.example/x");
}

TEST(Url, KnowsThisMachine) {
  for (const char *text :
       {"http://localhost", "http://LOCALHOST:1/x", "http://localhost.",
        "http://127.0.0.1:9", "http://127.9.9.9", "http://127.1",
        "http://2130706433", "http://[::1]/"})
    EXPECT_TRUE(isLoopback(text)) << text;
}

TEST(Url, IsNotTakenIn) {
  for (const char *text :
       {"http://localhost.evil.example", "http://127.0.0.1.evil.example",
        "http://128.0.0.1", "http://0.0.0.0", "http://10.0.0.1", "http://[::2]",
        "http://evil.example/localhost", "http://evil.example?127.0.0.1"})
    EXPECT_FALSE(isLoopback(text)) << text;
}

TEST(Url, Errors) {
  EXPECT_THAT(shown("ftp://a.example"), HasSubstr("the scheme 'ftp'"));
  EXPECT_THAT(shown("file:///etc/passwd"), HasSubstr("the scheme 'file'"));
  EXPECT_THAT(shown(""), HasSubstr("cannot be read"));
  EXPECT_THAT(shown("a.example/v1"), HasSubstr("https://HOST"));
  EXPECT_THAT(shown("https://a.example/#x"), HasSubstr("fragment"));
  EXPECT_THAT(shown("https://a.example/\r\nx: y"), HasSubstr("cannot be read"));
  // What was written there may be a password.
  std::string message = shown("https://me:sk-verysecret@a.example/");
  EXPECT_THAT(message, HasSubstr("environment variable"));
  EXPECT_THAT(message, testing::Not(HasSubstr("sk-very")));
  EXPECT_THAT(shown("http://127.0.0.1@evil.example"), HasSubstr("a user"));
}

TEST(Url, PercentEncoding) {
  EXPECT_EQ(percentEncoded("qwen3:8b"), "qwen3:8b");
  EXPECT_EQ(percentEncoded("tunedModels/x"), "tunedModels/x");
  EXPECT_EQ(percentEncoded("a b?c#d%"), "a%20b%3Fc%23d%25");
}

} // namespace
