//===- WireTest.h - What the tests of wires share ---------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_UNITTESTS_LLM_WIRETEST_H
#define FASTK_UNITTESTS_LLM_WIRETEST_H

#include "Providers/JSONValues.h"
#include "gmock/gmock.h"

namespace fastk::test {

inline Prompt prompt() {
  Prompt result;
  result.name = "p";
  result.system = "S";
  result.user = "U";
  return result;
}

inline ModelOptions options() {
  ModelOptions result;
  result.model = "m";
  return result;
}

/// A response as it came.
inline HttpResult response(int status, std::string body) {
  HttpResult result;
  result.status = status;
  result.body = std::move(body);
  return result;
}

/// The request's body as text.
inline std::string bodyOf(const Wire &wire, const Prompt &prompt,
                          const ModelOptions &options) {
  return printJSON(wire.makeBody(prompt, options));
}

inline Reply replyOf(const Wire &wire, std::string body, int status = 200,
                     int64_t outputLimit = 0) {
  return wire.readReply(response(status, std::move(body)), outputLimit).reply;
}

constexpr llvm::StringLiteral kSchema =
    R"({"type":"object","properties":{"b":{"type":"string"},"a":{"type":"null"}}})";

/// Bodies that say nothing, each wrong in another way: none may crash a reader
/// or pass for an answer.
inline std::vector<std::string> nonsense() {
  std::vector<std::string> result = {"",
                                     "null",
                                     "[]",
                                     "3",
                                     "\"text\"",
                                     "{}",
                                     "{\"a\"",
                                     "[[[[",
                                     "\xff\xfe",
                                     "{\"error\":null}",
                                     "<html></html>"};
  for (const char *key :
       {"choices", "output", "content", "candidates", "usage", "usageMetadata",
        "status", "stop_reason", "promptFeedback", "incomplete_details"})
    for (const char *value :
         {"null", "3", "\"x\"", "[]", "{}", "[null]", "[[]]", "[{}]",
          "[{\"message\":3}]", "[{\"message\":{\"content\":4}}]",
          "[{\"type\":\"message\",\"content\":[null,3,{\"text\":5}]}]",
          "[{\"type\":\"text\",\"text\":{}}]",
          "[{\"content\":{\"parts\":[null,{\"text\":[]}]}}]", "-1e308"})
      result.push_back("{\"" + std::string(key) + "\":" + value + "}");
  return result;
}

} // namespace fastk::test

#endif // FASTK_UNITTESTS_LLM_WIRETEST_H
