//===- ScriptedServer.cpp - The server of the tests, as a child process ---===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScriptedServer.h"
#include "gtest/gtest.h"
#include <csignal>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

using namespace fastk::test;

ScriptedServer::ScriptedServer(const std::string &certificate)
    : scheme(certificate.empty() ? "http" : "https") {
  int to[2], from[2];
  if (::pipe2(to, O_CLOEXEC) != 0 || ::pipe2(from, O_CLOEXEC) != 0) {
    ADD_FAILURE() << "no pipes";
    return;
  }
  std::vector<const char *> argv = {"python3",
                                    FASTK_TEST_INPUTS "/scripted_server.py",
                                    nullptr, nullptr, nullptr};
  if (!certificate.empty()) {
    argv[2] = "--certificate";
    argv[3] = certificate.c_str();
  }
  pid = ::fork();
  if (pid == 0) {
    ::dup2(to[0], 0);
    ::dup2(from[1], 1);
    ::execvp("python3", const_cast<char *const *>(argv.data()));
    ::_exit(127);
  }
  ::close(to[0]);
  ::close(from[1]);
  in = to[1];
  out = from[0];
  port = readLine();
  EXPECT_FALSE(port.empty()) << "the scripted server did not start";
}

ScriptedServer::~ScriptedServer() {
  ::close(in);
  ::close(out);
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
}

std::string ScriptedServer::readLine() {
  std::string line;
  for (char c; ::read(out, &c, 1) == 1 && c != '\n';)
    line += c;
  return line;
}

std::string ScriptedServer::exchange(const std::string &line) {
  std::string whole = line + "\n";
  EXPECT_EQ(::write(in, whole.data(), whole.size()),
            static_cast<ssize_t>(whole.size()));
  return readLine();
}

void ScriptedServer::set(const std::string &steps) {
  nlohmann::json parsed = nlohmann::json::parse(steps, nullptr, false);
  ASSERT_TRUE(parsed.is_array()) << steps;
  exchange(nlohmann::json{{"steps", parsed}}.dump());
}

nlohmann::json ScriptedServer::log() {
  return nlohmann::json::parse(exchange("{\"log\": true}"), nullptr, false);
}

std::string ScriptedServer::url(llvm::StringRef path) const {
  return scheme + "://127.0.0.1:" + port + path.str();
}
