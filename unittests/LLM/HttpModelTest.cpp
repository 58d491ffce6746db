//===- HttpModelTest.cpp - A model behind a server that misbehaves --------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../FakeTime.h"
#include "Providers/HttpModelWith.h"
#include "ScriptedServer.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"
#include "gmock/gmock.h"
#include <atomic>
#include <chrono>
#include <fcntl.h>
#include <map>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

using namespace fastk;
using namespace fastk::test;
using testing::HasSubstr;
using testing::Not;

namespace {

constexpr llvm::StringLiteral kKey = "sk-Vr7qLx0ZkT3mWb9yPd5c";

struct WireCase {
  const char *provider;
  /// After the server's address.
  const char *base;
  const char *keyHeader;
};

void PrintTo(const WireCase &wire, std::ostream *os) { *os << wire.provider; }

const WireCase kWires[] = {
    {"openai-chat", "/v1", "authorization"},
    {"openai", "/v1", "authorization"},
    {"anthropic", "", "x-api-key"},
    {"gemini", "", "x-goog-api-key"},
    {"openrouter", "/api/v1", "authorization"},
    {"ollama", "/v1", "authorization"},
};

/// A model at the scripted server, a clock that jumps, and a key in the
/// variable KEY. Nothing that is shown may hold the key.
class HttpModelTest : public testing::TestWithParam<WireCase> {
protected:
  HttpModelTest() : wire({"openai-chat", "/v1", "authorization"}) {}
  void use(const WireCase &other) { wire = other; }

  ModelOptions options() const {
    ModelOptions result;
    result.provider = wire.provider;
    result.model = "m";
    result.baseUrl = server.url(wire.base);
    result.keyVariable = "KEY";
    result.timeoutSeconds = 20;
    return result;
  }
  HttpModelSurroundings surroundings() {
    HttpModelSurroundings result;
    result.environment =
        [this](llvm::StringRef name) -> std::optional<std::string> {
      auto found = variables.find(name.str());
      if (found == variables.end())
        return std::nullopt;
      return found->second;
    };
    result.clock = time.clock();
    result.seed = 1;
    result.responseLimit = 1 << 20;
    return result;
  }
  std::unique_ptr<LanguageModel> model(const ModelOptions &options) {
    auto model = createHttpModelWith(options, surroundings());
    if (model)
      return std::move(*model);
    ADD_FAILURE() << llvm::toString(model.takeError());
    return nullptr;
  }
  static Prompt prompt(std::string user = "U") {
    Prompt result;
    result.name = "p";
    result.system = "S";
    result.user = std::move(user);
    return result;
  }
  /// The reply to one prompt.
  Reply ask(const ModelOptions &options) {
    std::optional<Reply> reply;
    std::unique_ptr<LanguageModel> asked = model(options);
    if (!asked)
      return {};
    Prompt one = prompt();
    llvm::Error error = asked->ask(one, {}, [&](size_t index, Reply given) {
      EXPECT_EQ(index, 0u);
      EXPECT_FALSE(reply);
      reply = std::move(given);
      return llvm::Error::success();
    });
    EXPECT_FALSE(static_cast<bool>(error));
    EXPECT_TRUE(reply.has_value());
    Reply result = reply.value_or(Reply());
    for (const std::string &text : {result.text, result.problem, result.model})
      EXPECT_THAT(text, Not(HasSubstr(kKey.str())));
    return result;
  }
  Reply ask(const std::string &steps) {
    server.set(steps);
    return ask(options());
  }
  size_t requests() { return server.log()["requests"].size(); }

  ScriptedServer server;
  FakeTime time;
  std::map<std::string, std::string> variables = {{"KEY", kKey.str()}};
  WireCase wire;
};

class EveryWire : public HttpModelTest {
protected:
  EveryWire() { use(GetParam()); }
};

TEST_P(EveryWire, AReplyWithItsUsage) {
  Reply reply = ask("[{\"text\": \"T\"}]");
  EXPECT_EQ(reply.status, ReplyStatus::Complete) << reply.problem;
  EXPECT_EQ(reply.text, "T");
  EXPECT_EQ(reply.model, std::string(wire.provider) + ":m");
  EXPECT_EQ(reply.usage.inputTokens, 120);
  EXPECT_EQ(reply.usage.cachedTokens, 100);
  EXPECT_EQ(reply.usage.outputTokens, 40);
  EXPECT_EQ(reply.usage.attempts, 1);
  EXPECT_FALSE(reply.usage.isEstimated);
  EXPECT_FALSE(reply.usage.usd);
}

TEST_P(EveryWire, TheKeyIsInItsHeaderAndNowhereElse) {
  ask("[]");
  nlohmann::json request = server.log()["requests"][0];
  std::string value = request["headers"][wire.keyHeader];
  EXPECT_TRUE(llvm::StringRef(value).ends_with(kKey)) << value;
  request["headers"].erase(wire.keyHeader);
  EXPECT_THAT(request.dump(), Not(HasSubstr(kKey.str())));
}

TEST_P(EveryWire, AnEchoedKeyGoesNoFurther) {
  Reply reply = ask("[{\"cue\": \"echo\"}]");
  EXPECT_THAT(reply.text, HasSubstr("[key]"));
  reply = ask("[{\"cue\": \"auth\"}]");
  EXPECT_EQ(reply.failure, ModelFailure::Auth);
  EXPECT_THAT(reply.problem, HasSubstr("[key]"));
  reply = ask("[{\"status\": 400, \"body\": \"bad key " + kKey.str() + "\"}]");
  EXPECT_THAT(reply.problem, HasSubstr("bad key [key]"));
  // In a form that only reading it reveals, and cut at the end.
  reply = ask(R"([{"status": 400, "body": "{\"error\": \"\\u0073k-)" +
              kKey.drop_front(3).str() + " " + kKey.drop_back(4).str() +
              "***\\\"}\"}]");
  EXPECT_THAT(reply.problem, HasSubstr("[key] [key]***"));
}

TEST_P(EveryWire, Endings) {
  EXPECT_EQ(ask("[{\"cue\": \"truncated\", \"text\": \"half\"}]").status,
            ReplyStatus::Truncated);
  EXPECT_EQ(ask("[{\"cue\": \"refusal\"}]").status, ReplyStatus::Refused);
  EXPECT_EQ(ask("[{\"cue\": \"content_filter\"}]").status,
            ReplyStatus::Refused);
}

TEST_P(EveryWire, WhatWouldComeAgainIsNotAskedAgain) {
  std::pair<const char *, ModelFailure> cases[] = {
      {"auth", ModelFailure::Auth},
      {"quota", ModelFailure::Quota},
      {"bad_request", ModelFailure::BadRequest},
      {"not_found", ModelFailure::BadRequest},
      {"context", ModelFailure::ContextTooLong}};
  for (auto [cue, failure] : cases) {
    Reply reply = ask("[{\"cue\": \"" + std::string(cue) + "\"}]");
    EXPECT_EQ(reply.failure, failure) << cue << ": " << reply.problem;
    EXPECT_EQ(reply.usage.attempts, 1) << cue;
    EXPECT_EQ(requests(), 1u) << cue;
    EXPECT_THAT(reply.problem, HasSubstr("request req_scripted"));
  }
}

TEST_P(EveryWire, WhatPassesIsAskedAgain) {
  for (const char *cue : {"rate_limit", "overloaded", "server_error",
                          "malformed", "cut", "reset"}) {
    double before = time.now;
    Reply reply = ask("[{\"cue\": \"" + std::string(cue) + "\"}]");
    EXPECT_EQ(reply.text, "Hello.") << cue << ": " << reply.problem;
    EXPECT_EQ(reply.usage.attempts, 2) << cue;
    EXPECT_EQ(requests(), 2u) << cue;
    // The first wait, with its jitter.
    EXPECT_GE(time.now - before, 1.5 - 1e-6) << cue;
    EXPECT_LE(time.now - before, 2.0 + 0.01) << cue;
    EXPECT_NEAR(reply.usage.seconds, time.now - before, 1e-6) << cue;
  }
}

TEST_P(EveryWire, AnErrorInAGoodResponse) {
  Reply reply = ask(R"([{"cue": "error_in_200", "error": "overloaded"}])");
  EXPECT_EQ(reply.text, "Hello.");
  EXPECT_EQ(reply.usage.attempts, 2);
  reply = ask(R"([{"cue": "error_in_200", "error": "quota"}])");
  EXPECT_EQ(reply.failure, ModelFailure::Quota);
  EXPECT_EQ(reply.usage.attempts, 1);
}

TEST_P(EveryWire, WithoutUsageItIsEstimated) {
  Reply reply = ask(R"([{"text": "12345678", "usage": null}])");
  EXPECT_TRUE(reply.usage.isEstimated);
  EXPECT_EQ(reply.usage.outputTokens, 2);
}

INSTANTIATE_TEST_SUITE_P(Wires, EveryWire, testing::ValuesIn(kWires),
                         [](const auto &info) {
                           std::string name = info.param.provider;
                           for (char &c : name)
                             if (c == '-')
                               c = '_';
                           return name;
                         });

TEST_F(HttpModelTest, TheProvidersWaitIsKept) {
  double before = time.now;
  Reply reply = ask(R"([{"cue": "rate_limit", "headers": {"retry-after": "17"}},
    {"cue": "overloaded", "headers": {"retry-after-ms": "2500"}}])");
  EXPECT_EQ(reply.usage.attempts, 3);
  EXPECT_NEAR(time.now - before, 19.5, 0.05);
}

TEST_F(HttpModelTest, ADateThatIsOverLeavesOurOwnWait) {
  double before = time.now;
  ask(R"([{"cue": "rate_limit", "headers": {
    "retry-after": "Mon, 21 Sep 2020 10:00:20 GMT"}}])");
  EXPECT_GE(time.now - before, 1.5 - 1e-6);
  EXPECT_LE(time.now - before, 2.1);
}

TEST_F(HttpModelTest, GivesUpAndSaysHowOften) {
  std::string steps = "[{\"cue\": \"overloaded\"}";
  for (int i = 0; i < 9; ++i)
    steps += ", {\"cue\": \"overloaded\"}";
  double before = time.now;
  Reply reply = ask(steps + "]");
  EXPECT_EQ(reply.failure, ModelFailure::Overloaded);
  EXPECT_EQ(reply.usage.attempts, 6);
  EXPECT_EQ(requests(), 6u);
  EXPECT_THAT(reply.problem, HasSubstr("asked 6 times"));
  // 2 + 4 + 8 + 16 + 32, less up to a quarter.
  EXPECT_GE(time.now - before, 62 * 0.75);
  EXPECT_LE(time.now - before, 62.1);
}

TEST_F(HttpModelTest, TheProviderMayForbidAnotherTry) {
  Reply reply =
      ask(R"([{"cue": "overloaded", "headers": {"x-should-retry": "false"}}])");
  EXPECT_EQ(reply.failure, ModelFailure::Overloaded);
  EXPECT_EQ(requests(), 1u);
  reply =
      ask(R"([{"cue": "bad_request", "headers": {"x-should-retry": "true"}}])");
  EXPECT_EQ(reply.status, ReplyStatus::Complete);
  EXPECT_EQ(requests(), 2u);
}

TEST_F(HttpModelTest, MalformedTwiceIsEnough) {
  Reply reply = ask(R"([{"cue": "malformed"}, {"cue": "malformed"}])");
  EXPECT_EQ(reply.failure, ModelFailure::Malformed);
  EXPECT_THAT(reply.problem, HasSubstr("<html>Everything is fine</html>"));
  EXPECT_EQ(requests(), 2u);
}

TEST_F(HttpModelTest, AHugeReplyIsCutOff) {
  Reply reply = ask(R"([{"cue": "huge", "bytes": 20000000}])");
  EXPECT_EQ(reply.failure, ModelFailure::Malformed);
  EXPECT_THAT(reply.problem, HasSubstr("larger than any reply"));
  EXPECT_EQ(requests(), 1u);
  EXPECT_EQ(ask(R"([{"cue": "huge", "bytes": 900000}])").text.size(), 900000u);
}

TEST_F(HttpModelTest, ASlowReplyInTimeAndOneThatIsNot) {
  ModelOptions quick = options();
  quick.timeoutSeconds = 0.3;
  server.set(R"([{"cue": "slow", "seconds": 0.1}])");
  EXPECT_EQ(ask(quick).text, "Hello.");
  server.set(R"([{"cue": "hang"}, {"cue": "hang"}])");
  Reply reply = ask(quick);
  EXPECT_EQ(reply.failure, ModelFailure::Timeout);
  EXPECT_THAT(reply.problem, HasSubstr("?timeout=SECONDS"));
  // Each may have been paid for.
  EXPECT_EQ(reply.usage.attempts, 2);
}

TEST_F(HttpModelTest, ARedirectIsNotFollowed) {
  ScriptedServer other;
  Reply reply = ask(R"([{"cue": "redirect", "location": ")" +
                    other.url("/v1/chat/completions") + "\"}]");
  EXPECT_EQ(reply.failure, ModelFailure::BadRequest);
  EXPECT_THAT(reply.problem, HasSubstr(other.url()));
  EXPECT_TRUE(other.log()["requests"].empty());
}

// A server of one's own that does not answer is not running: no use to wait for
// it as for a provider.
TEST_F(HttpModelTest, NobodyListens) {
  ModelOptions nowhere = options();
  nowhere.baseUrl = "http://127.0.0.1:9/v1";
  Reply reply = ask(nowhere);
  EXPECT_EQ(reply.failure, ModelFailure::Network);
  EXPECT_THAT(reply.problem, HasSubstr("openai-chat (http://127.0.0.1:9/v1): "
                                       "no connection"));
  EXPECT_THAT(reply.problem, HasSubstr("is the server running?"));
  EXPECT_EQ(reply.usage.attempts, 2);
}

/// A port where connections are neither taken nor refused.
struct SilentPort {
  SilentPort() : descriptor(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    ::bind(descriptor, reinterpret_cast<sockaddr *>(&address), size);
    ::listen(descriptor, 8);
    ::getsockname(descriptor, reinterpret_cast<sockaddr *>(&address), &size);
    port = ntohs(address.sin_port);
  }
  ~SilentPort() { ::close(descriptor); }
  int descriptor, port = 0;
};

// No request was sent: nothing can have been paid for.
TEST_F(HttpModelTest, AConnectionThatIsNotMadeIsNoSlowReply) {
  SilentPort silent;
  ModelOptions mute = options();
  mute.baseUrl = "https://127.0.0.1:" + std::to_string(silent.port) + "/v1";
  mute.connectSeconds = 0.2;
  Reply reply = ask(mute);
  EXPECT_EQ(reply.failure, ModelFailure::Network) << reply.problem;
}

// What is compiled and judged in other processes has no way to the provider.
TEST_F(HttpModelTest, ConnectionsAreNotInherited) {
  server.set("[]");
  std::unique_ptr<LanguageModel> asked = model(options());
  Prompt one = prompt();
  llvm::Error error = asked->ask(
      one, {}, [](size_t, const Reply &) { return llvm::Error::success(); });
  EXPECT_FALSE(static_cast<bool>(error));
  int connections = 0;
  for (int descriptor = 3; descriptor < 256; ++descriptor) {
    sockaddr_storage address = {};
    socklen_t size = sizeof(address);
    if (::getpeername(descriptor, reinterpret_cast<sockaddr *>(&address),
                      &size) != 0 ||
        address.ss_family != AF_INET)
      continue;
    ++connections;
    EXPECT_TRUE(::fcntl(descriptor, F_GETFD) & FD_CLOEXEC);
  }
  EXPECT_GE(connections, 1);
}

/// Asks `count` prompts at once; the texts by index.
std::map<size_t, std::string> askMany(LanguageModel &model, size_t count,
                                      const RequestContext &context = {}) {
  std::vector<Prompt> prompts(count);
  for (size_t i = 0; i < count; ++i)
    prompts[i].user = "prompt " + std::to_string(i);
  std::map<size_t, std::string> texts;
  llvm::Error error =
      model.ask(prompts, context, [&](size_t index, const Reply &reply) {
        EXPECT_FALSE(texts.count(index));
        texts[index] = reply.text + reply.problem;
        return llvm::Error::success();
      });
  EXPECT_FALSE(static_cast<bool>(error));
  return texts;
}

TEST_F(HttpModelTest, ManyAtOnceButNotMoreThanAllowed) {
  std::string steps = "[";
  for (int i = 0; i < 12; ++i)
    steps += std::string(i ? "," : "") + R"({"cue": "slow", "seconds": 0.1})";
  server.set(steps + "]");
  ModelOptions three = options();
  three.concurrency = 3;
  EXPECT_EQ(askMany(*model(three), 12).size(), 12u);
  nlohmann::json log = server.log();
  EXPECT_EQ(log["requests"].size(), 12u);
  EXPECT_EQ(log["most_in_flight"], 3);
}

TEST_F(HttpModelTest, RepliesBelongToTheirPrompts) {
  std::string steps = "[";
  for (int i = 0; i < 20; ++i)
    steps += std::string(i ? "," : "") +
             (i % 3 ? R"({"cue": "echo"})" : R"({"cue": "server_error"})");
  for (int i = 0; i < 20; ++i)
    steps += R"(,{"cue": "echo"})";
  server.set(steps + "]");
  std::map<size_t, std::string> texts = askMany(*model(options()), 20);
  ASSERT_EQ(texts.size(), 20u);
  for (auto &[index, text] : texts)
    EXPECT_THAT(text, HasSubstr("\"prompt " + std::to_string(index) + "\""));
}

TEST_F(HttpModelTest, StopIsPromptAndLeavesTheRestPending) {
  server.set(R"([{"text": "T"}, {"cue": "hang"}, {"cue": "hang"}])");
  ModelOptions few = options();
  few.concurrency = 1;
  std::unique_ptr<LanguageModel> asked = model(few);
  int waits = 0;
  std::atomic<bool> stop = false;
  RequestContext context;
  context.whileWaiting = [&] { stop = ++waits > 5; };
  context.stopRequested = [&] { return stop.load(); };
  auto before = std::chrono::steady_clock::now();
  EXPECT_EQ(askMany(*asked, 3, context).size(), 1u);
  // The server keeps it waiting for a minute.
  EXPECT_LT(std::chrono::steady_clock::now() - before,
            std::chrono::seconds(30));
  // The next question finds nothing of it.
  server.set("[]");
  EXPECT_EQ(askMany(*asked, 2).size(), 2u);
}

/// While it waits to ask again, it says why.
TEST_F(HttpModelTest, LongWaitsAreToldWithTheirReason) {
  std::unique_ptr<LanguageModel> asked = model(options());
  std::vector<std::string> notes;
  RequestContext context;
  context.note = [&](const std::string &text) { notes.push_back(text); };
  server.set(
      R"([{"cue": "server_error"}, {"cue": "server_error"}, {"text": "T"}])");
  EXPECT_EQ(askMany(*asked, 1, context).size(), 1u);
  ASSERT_EQ(notes.size(), 1u) << "the first wait is short";
  EXPECT_THAT(notes[0], HasSubstr("no answer yet: openai-chat (" +
                                  server.url(wire.base) + "): "));
  EXPECT_THAT(notes[0], HasSubstr("Something went wrong."));
  EXPECT_THAT(notes[0], HasSubstr("; request 3 of 6 follows in "));
  EXPECT_THAT(notes[0], Not(HasSubstr(kKey.str())));
}

TEST_F(HttpModelTest, ExtraFieldsAreMergedIn) {
  ModelOptions more = options();
  more.maxOutputTokens = 9;
  more.extraBody =
      R"({"top_k": 4, "max_completion_tokens": null, "user": {"a": [1]}})";
  server.set("[]");
  ask(more);
  nlohmann::json body = server.log()["requests"][0]["body"];
  EXPECT_EQ(body["top_k"], 4);
  EXPECT_EQ(body["user"]["a"][0], 1);
  EXPECT_FALSE(body.contains("max_completion_tokens"));
  EXPECT_EQ(body["model"], "m");
}

TEST_F(HttpModelTest, EachProvidersFieldForTheLimit) {
  for (auto [provider, name] :
       {std::pair{"openai-chat", "max_completion_tokens"},
        {"openrouter", "max_tokens"},
        {"ollama", "max_tokens"}}) {
    use({provider, "/v1", "authorization"});
    ModelOptions limited = options();
    limited.maxOutputTokens = 77;
    server.set("[]");
    ask(limited);
    EXPECT_EQ(server.log()["requests"][0]["body"][name], 77) << provider;
  }
}

TEST_F(HttpModelTest, TheVersionsHeader) {
  use({"anthropic", "", "x-api-key"});
  ask("[]");
  EXPECT_EQ(server.log()["requests"][0]["headers"]["anthropic-version"],
            "2023-06-01");
  ModelOptions bearer = options();
  bearer.keyStyle = "bearer";
  bearer.apiVersion = "2026-10-21";
  server.set("[]");
  ask(bearer);
  nlohmann::json headers = server.log()["requests"][0]["headers"];
  EXPECT_EQ(headers["anthropic-version"], "2026-10-21");
  EXPECT_EQ(headers["authorization"], "Bearer " + kKey.str());
  EXPECT_FALSE(headers.contains("x-api-key"));
}

/// A file of the test's, removed with it.
struct TemporaryFile {
  explicit TemporaryFile(llvm::StringRef text = "") {
    int descriptor = -1;
    llvm::sys::fs::createTemporaryFile("fastk-test", "tmp", descriptor, path);
    llvm::raw_fd_ostream(descriptor, /*shouldClose=*/true) << text;
  }
  ~TemporaryFile() { llvm::sys::fs::remove(path); }
  std::string str() const { return std::string(path); }
  llvm::SmallString<128> path;
};

TEST_F(HttpModelTest, CostsByTheUsersTable) {
  TemporaryFile table(R"({"format": 1, "models": {
    "openai-chat:m": {"input": 1000, "cached_input": 100, "output": 10000}}})");
  ModelOptions priced = options();
  priced.priceTable = table.str();
  server.set("[]");
  // 20 new, 100 cached, 40 out.
  EXPECT_DOUBLE_EQ(ask(priced).usage.usd.value_or(-1), 0.02 + 0.01 + 0.4);
  priced.model = "other";
  EXPECT_FALSE(ask(priced).usage.usd);
  priced.priceTable.clear();
  priced.model = "m";
  variables["FASTK_LLM_PRICES"] = table.str();
  EXPECT_TRUE(ask(priced).usage.usd);
}

TEST_F(HttpModelTest, WhatCannotBeIsSaidAtOnce) {
  auto failure = [&](const ModelOptions &options) {
    auto model = createHttpModelWith(options, surroundings());
    return model ? "" : llvm::toString(model.takeError());
  };
  ModelOptions o = options();
  o.priceTable = "/nowhere/prices.json";
  EXPECT_THAT(failure(o), HasSubstr("/nowhere/prices.json cannot be read"));
  o = options();
  o.provider = "nobody";
  EXPECT_THAT(failure(o), HasSubstr("nobody:m: there is no such provider"));
  o = options();
  o.provider = "anthropic";
  o.seed = 3;
  EXPECT_THAT(failure(o), HasSubstr("takes no seed"));
  o = options();
  o.extraBody = "[]";
  EXPECT_THAT(failure(o), HasSubstr("must be a JSON object"));
  o = options();
  o.concurrency = 0;
  EXPECT_THAT(failure(o), HasSubstr("above 0"));
  variables.clear();
  o = options();
  o.baseUrl = "https://a.example/v1";
  EXPECT_THAT(failure(o), HasSubstr("openai-chat:m: openai-chat needs a key: "
                                    "set the environment variable KEY"));
}

// Nothing that a proxy's variable says may lead a key off this machine.
TEST_F(HttpModelTest, ThisMachineIsAskedWithoutAProxy) {
  ScriptedServer proxy;
  ::setenv("http_proxy", proxy.url().c_str(), 1);
  ::setenv("ALL_PROXY", proxy.url().c_str(), 1);
  EXPECT_EQ(ask("[]").text, "Hello.");
  ::unsetenv("http_proxy");
  ::unsetenv("ALL_PROXY");
  EXPECT_TRUE(proxy.log()["requests"].empty());
}

class TlsTest : public HttpModelTest {
protected:
  void SetUp() override {
    std::string command =
        "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=test "
        "-addext subjectAltName=IP:127.0.0.1 -keyout '" +
        key.str() + "' -out '" + certificate.str() + "' 2>/dev/null && cat '" +
        key.str() + "' '" + certificate.str() + "' > '" + both.str() + "'";
    ASSERT_EQ(std::system(command.c_str()), 0) << "openssl is missing";
    secure = std::make_unique<ScriptedServer>(both.str());
  }
  ModelOptions secureOptions() const {
    ModelOptions result = options();
    result.baseUrl = secure->url("/v1");
    return result;
  }

  TemporaryFile key, certificate, both;
  std::unique_ptr<ScriptedServer> secure;
};

TEST_F(TlsTest, AStrangersCertificateIsFatal) {
  Reply reply = ask(secureOptions());
  EXPECT_EQ(reply.failure, ModelFailure::BadRequest) << reply.problem;
  EXPECT_THAT(reply.problem, HasSubstr("certificate is not trusted"));
  EXPECT_EQ(reply.usage.attempts, 1);
  EXPECT_TRUE(secure->log()["requests"].empty());
}

TEST_F(TlsTest, TheUsersOwnAuthorityIsTrusted) {
  variables["SSL_CERT_FILE"] = certificate.str();
  Reply reply = ask(secureOptions());
  EXPECT_EQ(reply.text, "Hello.") << reply.problem;
}

} // namespace
