//===- CredentialsTest.cpp - Where a model is, and by what key ------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Providers/Credentials.h"
#include "gmock/gmock.h"
#include <cstdio>
#include <fstream>
#include <map>

using namespace fastk;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

namespace {

constexpr llvm::StringLiteral kKey = "sk-0123456789abcdef";

class CredentialsTest : public testing::Test {
protected:
  Environment environment() {
    return [this](llvm::StringRef name) -> std::optional<std::string> {
      auto found = variables.find(name.str());
      if (found == variables.end())
        return std::nullopt;
      return found->second;
    };
  }
  llvm::Expected<Endpoint> find(llvm::StringRef spec) {
    llvm::Expected<ModelOptions> options = parseModelOptions(spec);
    if (!options)
      return options.takeError();
    return findEndpoint(*findProvider(options->provider), *options,
                        environment());
  }
  Endpoint found(llvm::StringRef spec) {
    llvm::Expected<Endpoint> endpoint = find(spec);
    if (endpoint)
      return std::move(*endpoint);
    ADD_FAILURE() << llvm::toString(endpoint.takeError());
    return {};
  }
  std::string failure(llvm::StringRef spec) {
    llvm::Expected<Endpoint> endpoint = find(spec);
    return endpoint ? "" : llvm::toString(endpoint.takeError());
  }
  std::string keyOf(const Endpoint &endpoint) {
    return endpoint.key ? endpoint.keyHeader + ": " + endpoint.keyPrefix +
                              endpoint.key->reveal().str()
                        : "";
  }

  std::map<std::string, std::string> variables;
};

TEST_F(CredentialsTest, EachProvidersOwnVariables) {
  std::pair<const char *, const char *> headers[] = {
      {"OPENAI_API_KEY", "authorization: Bearer "},
      {"ANTHROPIC_API_KEY", "x-api-key: "},
      {"GOOGLE_API_KEY", "x-goog-api-key: "},
      {"GEMINI_API_KEY", "x-goog-api-key: "},
      {"ANTHROPIC_AUTH_TOKEN", "authorization: Bearer "},
      {"OPENROUTER_API_KEY", "authorization: Bearer "}};
  const char *specs[] = {"openai:m", "anthropic:m", "gemini:m",
                         "gemini:m", "anthropic:m", "openrouter:m"};
  for (auto [header, spec] : llvm::zip(headers, specs)) {
    variables = {{header.first, kKey.str()}};
    EXPECT_EQ(keyOf(found(spec)), header.second + kKey.str());
  }
}

TEST_F(CredentialsTest, TheFirstVariableCounts) {
  variables = {{"GOOGLE_API_KEY", "google-key"}, {"GEMINI_API_KEY", "other"}};
  EXPECT_EQ(keyOf(found("gemini:m")), "x-goog-api-key: google-key");
  variables = {{"ANTHROPIC_API_KEY", "key"}, {"ANTHROPIC_AUTH_TOKEN", "token"}};
  EXPECT_EQ(keyOf(found("anthropic:m")), "x-api-key: key");
}

TEST_F(CredentialsTest, OtherVariablesMayBeNamed) {
  variables = {{"OPENAI_API_KEY", "usual"}, {"MINE", "mine"}};
  EXPECT_EQ(keyOf(found("openai:m?key_env=MINE")),
            "authorization: Bearer mine");
  variables["FASTK_LLM_API_KEY_ENV"] = "MINE";
  EXPECT_EQ(keyOf(found("openai:m")), "authorization: Bearer mine");
  EXPECT_EQ(keyOf(found("openai:m?key_env=OPENAI_API_KEY")),
            "authorization: Bearer usual");
  EXPECT_EQ(keyOf(found("openai:m?key_env=-")), "");
}

TEST_F(CredentialsTest, TheHeaderMayBeChosen) {
  variables = {{"ANTHROPIC_API_KEY", "k"}};
  EXPECT_EQ(keyOf(found("anthropic:m?auth=bearer")), "authorization: Bearer k");
  EXPECT_THAT(found("anthropic:m").headers,
              Contains("anthropic-version: 2023-06-01"));
  EXPECT_THAT(found("anthropic:m?api_version=2026-10-21").headers,
              Contains("anthropic-version: 2026-10-21"));
}

TEST_F(CredentialsTest, AMissingKeyNamesItsVariable) {
  EXPECT_THAT(failure("openai:m"),
              HasSubstr("set the environment variable OPENAI_API_KEY"));
  EXPECT_THAT(failure("gemini:m"),
              HasSubstr("GOOGLE_API_KEY or GEMINI_API_KEY"));
  EXPECT_THAT(failure("anthropic:m"),
              HasSubstr("ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN"));
  EXPECT_THAT(failure("openrouter:m?key_env=MINE"), HasSubstr("variable MINE"));
}

TEST_F(CredentialsTest, ThisMachineWantsNoKey) {
  for (const char *base : {"http://localhost:8000/v1", "http://127.0.0.1:1/v1",
                           "http://[::1]:8080/v1", "https://localhost/v1"})
    EXPECT_EQ(keyOf(found(std::string("openai-chat:m?base_url=") + base)), "");
  variables = {{"OPENAI_API_KEY", "EMPTY"}};
  EXPECT_EQ(keyOf(found("openai:m?base_url=http://localhost:8000/v1")),
            "authorization: Bearer EMPTY");
}

TEST_F(CredentialsTest, NoKeyTravelsInTheClear) {
  variables = {{"OPENAI_API_KEY", kKey.str()}};
  EXPECT_THAT(failure("openai:m?base_url=http://10.0.0.5:8000/v1"),
              AllOf(HasSubstr("base_url: the key would travel in the clear to "
                              "http://10.0.0.5:8000/v1"),
                    Not(HasSubstr(kKey.str()))));
  // Without a key nothing can be overheard.
  EXPECT_EQ(keyOf(found("openai:m?base_url=http://10.0.0.5/v1&key_env=-")), "");
}

TEST_F(CredentialsTest, PlacesByOptionThenVariablesThenDefault) {
  variables = {{"OPENAI_API_KEY", "k"}};
  auto place = [&](const char *spec) { return found(spec).base.shown(); };
  EXPECT_EQ(place("openai:m"), "https://api.openai.com/v1");
  variables["OPENAI_BASE_URL"] = "https://a.example/v1/";
  EXPECT_EQ(place("openai:m"), "https://a.example/v1");
  EXPECT_EQ(place("openai-chat:m"), "https://a.example/v1");
  variables["FASTK_LLM_BASE_URL"] = "https://b.example/v1";
  EXPECT_EQ(place("openai:m"), "https://b.example/v1");
  EXPECT_EQ(place("openai:m?base_url=https://c.example"), "https://c.example");
}

TEST_F(CredentialsTest, OllamasOwnVariable) {
  std::pair<const char *, const char *> cases[] = {
      {"0.0.0.0", "http://127.0.0.1:11434/v1"},
      {"0.0.0.0:8080", "http://127.0.0.1:8080/v1"},
      {":8080", "http://127.0.0.1:8080/v1"},
      {"localhost", "http://localhost:11434/v1"},
      {"http://localhost:5000/", "http://localhost:5000/v1"},
      {"10.0.0.5:1", "http://10.0.0.5:1/v1"},
      {"https://ollama.example", "https://ollama.example/v1"},
      {"https://ollama.example/v1", "https://ollama.example/v1"}};
  EXPECT_EQ(found("ollama:m").base.shown(), "http://127.0.0.1:11434/v1");
  for (auto [host, base] : cases) {
    variables["OLLAMA_HOST"] = host;
    EXPECT_EQ(found("ollama:m?key_env=-").base.shown(), base) << host;
  }
}

TEST_F(CredentialsTest, OrganisationAndProject) {
  variables = {{"OPENAI_API_KEY", "k"},
               {"OPENAI_ORG_ID", "org-1"},
               {"OPENAI_PROJECT_ID", "proj-1"}};
  EXPECT_THAT(found("openai:m").headers,
              AllOf(Contains("OpenAI-Organization: org-1"),
                    Contains("OpenAI-Project: proj-1")));
  variables["OPENAI_ORG_ID"] = "a\r\nb: c";
  EXPECT_THAT(failure("openai:m"), HasSubstr("OPENAI_ORG_ID must be one word"));
}

TEST_F(CredentialsTest, AKeyIsTrimmedAndChecked) {
  variables = {{"OPENAI_API_KEY", " sk-abc\n"}};
  EXPECT_EQ(keyOf(found("openai:m")), "authorization: Bearer sk-abc");
  for (const char *value :
       {"sk-ab cdefgh", "sk-ab\r\nx: cdefgh", "\n", "sk-ä"}) {
    variables["OPENAI_API_KEY"] = value;
    EXPECT_THAT(failure("openai:m"),
                AllOf(HasSubstr("OPENAI_API_KEY holds no key"),
                      Not(HasSubstr("cdefgh"))));
  }
}

TEST_F(CredentialsTest, CertificatesByTheUsualVariables) {
  variables = {{"OPENAI_API_KEY", "k"}, {"SSL_CERT_FILE", "/nowhere/ca.pem"}};
  EXPECT_THAT(failure("openai:m"),
              HasSubstr("SSL_CERT_FILE names '/nowhere/ca.pem'"));
  // Not of the system: a bare one has few files.
  std::string folder = testing::TempDir();
  std::string general = folder + "fastk-ca.pem", own = folder + "curl-ca.pem";
  std::ofstream(general) << "certificates\n";
  std::ofstream(own) << "certificates\n";
  variables["SSL_CERT_FILE"] = general;
  EXPECT_EQ(found("openai:m").caFile, general);
  variables["CURL_CA_BUNDLE"] = own;
  EXPECT_EQ(found("openai:m").caFile, own);
  variables["SSL_CERT_DIR"] = folder;
  EXPECT_EQ(found("openai:m").caFolder, folder);
  variables["SSL_CERT_DIR"] = "/nowhere";
  EXPECT_THAT(failure("openai:m"), HasSubstr("which is no folder"));
  std::remove(general.c_str());
  std::remove(own.c_str());
}

TEST_F(CredentialsTest, AWrongPlaceNamesWhatSaidIt) {
  variables = {{"OPENAI_API_KEY", "k"}, {"OPENAI_BASE_URL", "ftp://x"}};
  EXPECT_THAT(failure("openai:m"), HasSubstr("OPENAI_BASE_URL: the base URL"));
}

} // namespace
