//===- PreludeReferenceTest.cpp - prelude.md says what the prelude has ----===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Cuda/Nvrtc.h"
#include "fastk/Propose/LLM/PromptTemplates.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"
#include "gtest/gtest.h"
#include <map>
#include <regex>
#include <set>

using namespace fastk;

namespace {

/// A function as its types: "void(u32,u32)"; a type is all but the last name.
std::string typesOf(const std::string &result, const std::string &parameters,
                    bool &hasTypes) {
  llvm::SmallVector<llvm::StringRef> parts;
  llvm::StringRef(parameters).split(parts, ',', -1, false);
  std::string text = result + "(";
  hasTypes = !result.empty();
  for (llvm::StringRef part : parts) {
    part = part.split('=').first.trim();
    std::string type;
    // u32 (&r)[4]: the name is within; float (&d)[N / 2]: so is any extent.
    std::smatch match;
    std::string whole = part.str();
    if (std::regex_match(
            whole, match,
            std::regex("((?:const )?\\w+) \\(&\\w+\\)\\[([^\\]]*)\\]"))) {
      bool isNumber =
          llvm::all_of(llvm::StringRef(match[2].str()), llvm::isDigit);
      type = match[1].str() + "(&)[" + (isNumber ? match[2].str() : "N") + "]";
    } else {
      size_t end = whole.find_last_not_of(
          "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
      if (end == std::string::npos)
        hasTypes = false;
      else
        type = llvm::StringRef(whole).take_front(end + 1).trim().str();
    }
    text += type + ",";
  }
  return text + ")";
}

/// Functions of the prelude: name to types, several of one name.
std::multimap<std::string, std::string> preludeFunctions() {
  std::multimap<std::string, std::string> functions;
  const std::string &text = cuda::preludeText();
  bool hasTypes;
  std::regex function(
      "FASTK_DEVICE (\\w+) (\\w+)\\(((?:[^()]|\\(&\\w+\\))*)\\) \\{");
  for (std::sregex_iterator it(text.begin(), text.end(), function), end;
       it != end; ++it)
    if ((*it)[2] != "name")
      functions.emplace((*it)[2], typesOf((*it)[1], (*it)[3], hasTypes));
  // Those that macros make; FASTK_WGMMA_16(wgmmaF16, 32, ...).
  std::regex made(
      "\\n(FASTK_MMA_M16N8K16|FASTK_WGMMA_16RS|FASTK_WGMMA_16|FASTK_"
      "WGMMA_K)\\((\\w+), [^\\\\\\n]*\\)\\n");
  std::string doubled = std::regex_replace(text, std::regex("\\n"), "\n\n");
  for (std::sregex_iterator it(doubled.begin(), doubled.end(), made), end;
       it != end; ++it) {
    std::string macro = (*it)[1];
    functions.emplace((*it)[2],
                      macro == "FASTK_MMA_M16N8K16"
                          ? "void(float(&)[4],const u32(&)[4],const u32(&)[2],)"
                      : macro == "FASTK_WGMMA_16RS"
                          ? "void(float(&)[N],const u32(&)[4],u64,u32,)"
                          : "void(float(&)[N],u64,u64,u32,)");
  }
  return functions;
}

std::string reference() {
  std::string text =
      llvm::cantFail(PromptTemplates::load()).text("prelude").str();
  for (char &c : text)
    if (c == '\n')
      c = ' ';
  return text;
}

/// What stands in backticks.
std::vector<std::string> quoted(const std::string &text) {
  llvm::SmallVector<llvm::StringRef> parts;
  llvm::StringRef(text).split(parts, '`');
  std::vector<std::string> result;
  for (size_t i = 1; i < parts.size(); i += 2)
    result.push_back(parts[i].str());
  return result;
}

TEST(PreludeReferenceTest, ThePreludeIsUnderstood) {
  auto functions = preludeFunctions();
  EXPECT_GT(functions.size(), 100u);
  EXPECT_EQ(functions.find("cpAsync16Fill")->second,
            "void(void *,const void *,u32,)");
  EXPECT_EQ(functions.find("ldmatrix4")->second,
            "void(u32(&)[4],const void *,)");
  EXPECT_EQ(functions.count("wgmmaF16"), 4u);
}

TEST(PreludeReferenceTest, EveryFunctionIsInTheReference) {
  std::string text = reference();
  std::set<std::string> words;
  std::regex word("\\w+");
  for (std::sregex_iterator it(text.begin(), text.end(), word), end; it != end;
       ++it)
    words.insert(it->str());
  for (auto &[name, types] : preludeFunctions())
    EXPECT_TRUE(words.count(name)) << name << " is not in prelude.md";
  for (const char *name : {"FASTK_INFINITY", "FASTK_DEVICE", "u8", "i64"})
    EXPECT_TRUE(words.count(name)) << name;
}

TEST(PreludeReferenceTest, EverySignatureIsThePreludes) {
  auto functions = preludeFunctions();
  // CUDA's own, which the reference mentions.
  const std::set<std::string> others = {"__syncthreads", "__syncwarp",
                                        "__launch_bounds__"};
  int checked = 0;
  std::regex call("(?:(\\w+) )?(\\w+)(?:<[\\w, ]*>)?\\((.*)\\)");
  for (const std::string &each : quoted(reference())) {
    std::smatch match;
    if (!std::regex_match(each, match, call) || others.count(match[2]))
      continue;
    std::string name = match[2], parameters = match[3];
    ASSERT_TRUE(functions.count(name)) << each << ": no such function";
    bool hasTypes;
    std::string types = typesOf(match[1], parameters, hasTypes);
    auto [first, last] = functions.equal_range(name);
    bool hasSame = false, hasCount = false;
    for (auto it = first; it != last; ++it) {
      hasSame |= it->second == types;
      hasCount |= llvm::StringRef(it->second).count(',') ==
                  llvm::StringRef(types).count(',');
    }
    // Those with "..." or without types leave something out.
    if (parameters.find("...") != std::string::npos)
      continue;
    if (hasTypes)
      EXPECT_TRUE(hasSame) << each << " is " << types << ", the prelude has "
                           << first->second;
    else if (!parameters.empty() && match[1].length())
      EXPECT_TRUE(hasCount) << each;
    ++checked;
  }
  EXPECT_GT(checked, 60);
}

TEST(PreludeReferenceTest, EveryNameInBackticksExists) {
  auto functions = preludeFunctions();
  const std::string &text = cuda::preludeText();
  // CUDA's own.
  const std::set<std::string> others = {"atomicAdd", "float4"};
  for (const std::string &each : quoted(reference()))
    if (std::regex_match(each, std::regex("[a-z]+[A-Z0-9]\\w*")) &&
        !others.count(each))
      EXPECT_TRUE(functions.count(each) ||
                  text.find(" " + each + ";") != std::string::npos)
          << each << " is in prelude.md and not in the prelude";
}

} // namespace
