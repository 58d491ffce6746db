//===- ScriptedServer.h - The server of the tests, as a child process -*- C++
//-*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_UNITTESTS_LLM_SCRIPTEDSERVER_H
#define FASTK_UNITTESTS_LLM_SCRIPTEDSERVER_H

#include "llvm/ADT/StringRef.h"
#include <nlohmann/json.hpp>
#include <string>
#include <sys/types.h>

namespace fastk::test {

/// Inputs/scripted_server.py on a free port; it ends with this object, or with
/// this process.
class ScriptedServer {
public:
  /// With a certificate (a .pem) it speaks TLS.
  explicit ScriptedServer(const std::string &certificate = "");
  ScriptedServer(const ScriptedServer &) = delete;
  ScriptedServer &operator=(const ScriptedServer &) = delete;
  ~ScriptedServer();

  /// What the next requests get: a JSON array of steps.
  void set(const std::string &steps);
  /// {"requests": [{"path", "headers", "body"}...], "most_in_flight": n}
  nlohmann::json log();
  /// "http://127.0.0.1:PORT" and `path`.
  std::string url(llvm::StringRef path = "") const;

private:
  std::string readLine();
  std::string exchange(const std::string &line);

  pid_t pid = -1;
  int in = -1, out = -1;
  std::string scheme, port;
};

} // namespace fastk::test

#endif // FASTK_UNITTESTS_LLM_SCRIPTEDSERVER_H
