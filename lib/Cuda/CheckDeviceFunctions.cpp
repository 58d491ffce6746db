//===- CheckDeviceFunctions.cpp - What device functions may not do --------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceCodeChecker.h"
#include "DeviceCodeRules.h"
#include <algorithm>
#include <utility>

using namespace fastk::cuda;

/// Reads statements until the '}' that closes the body.
void DeviceCodeChecker::functionBody() {
  functions.emplace_back();
  local.clear();
  int depth = 1;
  Tokens statement;
  int braces = 0;
  for (; at < tokens.size(); ++at) {
    PTXToken token = tokens[at];
    if (statement.empty()) {
      if (token == "{" || token == "}") {
        depth += token == "{" ? 1 : -1;
        if (depth == 0) {
          ++at;
          return;
        }
        continue;
      }
      if (token == ";")
        continue;
      if (isName(token) && at + 1 < tokens.size() && tokens[at + 1] == ":") {
        ++at; // A label.
        continue;
      }
    }
    braces += token == "{";
    braces -= token == "}";
    if (token != ";" || braces > 0) {
      statement.push_back(token);
      continue;
    }
    checkStatement(statement);
    statement.clear();
    braces = 0;
  }
  refuse("lexical", "a function in the PTX has no end");
}

void DeviceCodeChecker::checkStatement(Tokens statement) {
  place = statement[0];
  if (statement[0] == "@") {
    size_t skip = statement.size() > 1 && statement[1] == "!" ? 3 : 2;
    checkRegister(statement[std::min(skip, statement.size()) - 1]);
    statement.erase(statement.begin(),
                    statement.begin() + std::min(skip, statement.size()));
    if (statement.empty())
      return refuse("lexical", "a guard without an instruction");
  }
  PTXToken first = statement[0];
  if (first[0] == '.') {
    if (first == ".loc")
      refuse("directive",
             std::string("'.loc' is not allowed: ") + debugInformation);
    else if (!allowedDirectives.count(first))
      refuse("directive", "the directive '" + std::string(first) +
                              "' is not allowed in a function");
    if (first == ".param")
      declareLocal(statement);
    if (first == ".reg")
      for (size_t i = 1; i < statement.size(); ++i)
        if (statement[i][0] == '%')
          checkRefusedRegister(statement[i]);
    return;
  }
  std::string_view opcode = first.substr(0, first.find('.'));
  if (auto known = refusedInstructions.find(opcode);
      known != refusedInstructions.end())
    return refuse("instruction", "'" + std::string(first) +
                                     "' is not allowed: " + known->second);
  if (!allowedInstructions.count(opcode))
    return refuse("instruction", "'" + std::string(first) +
                                     "' is not in the list of allowed "
                                     "instructions (docs/cuda.md)");
  for (size_t i = 1; i < statement.size(); ++i) {
    if (statement[i][0] == '%')
      checkRegister(statement[i]);
    // Suffixes apart from their instruction, which PTX never prints.
    if (statement[i][0] == '.')
      refuse("lexical", "'" + std::string(statement[i]) +
                            "' stands apart from its instruction '" +
                            std::string(first) + "'; write them together");
  }
  if (opcode == "call")
    checkCall(statement);
  functions.back().instructions.push_back(std::move(statement));
}

/// ".param .align 8 .b8 x[16];": what a call is given.
void DeviceCodeChecker::declareLocal(const Tokens &statement) {
  size_t at = 0;
  uint64_t bytes = declaredBytes(statement, at);
  for (PTXToken token : statement)
    if (isName(token))
      local[token] = bytes;
}

/// Sizes of a list of a call from '(' on; \p at is behind the ')' then.
DeviceCodeChecker::Sizes DeviceCodeChecker::passed(const Tokens &statement,
                                                   size_t &at) {
  Sizes sizes;
  for (++at; at < statement.size() && statement[at] != ")";
       at += statement[at] == ",") {
    auto known = local.find(statement[at]);
    sizes.push_back(known == local.end() ? 0 : known->second);
    while (at < statement.size() && statement[at] != "," &&
           statement[at] != ")")
      ++at;
    if (at >= statement.size())
      break;
  }
  ++at;
  return sizes;
}

void DeviceCodeChecker::checkCall(const Tokens &statement) {
  // call [(results),] target [, (arguments)]: a prototype or a list of
  // targets after that makes it indirect.
  size_t i = 1;
  Call call;
  if (i < statement.size() && statement[i] == "(") {
    call.passed.results = passed(statement, i);
    if (i < statement.size() && statement[i] == ",")
      ++i;
  }
  if (i < statement.size())
    call.name = statement[i++];
  if (i + 1 < statement.size() && statement[i] == "," &&
      statement[i + 1] == "(")
    call.passed.parameters = passed(statement, ++i);
  if (call.name.empty() || call.name[0] == '%' || i < statement.size())
    return refuseIndirect();
  calls.push_back(std::move(call));
}

void DeviceCodeChecker::refuseIndirect() {
  refuse("indirect-call", "a call through a pointer is not allowed: "
                          "use templates or a switch");
}

/// Of a call, when all functions are known.
void DeviceCodeChecker::checkTarget(const Call &call) {
  place = call.name;
  // A register may have the name of a function.
  if (registers.count(call.name))
    return refuseIndirect();
  std::string name = "'" + std::string(call.name) + "'";
  if (!defined.count(call.name)) {
    if (!externals.count(call.name))
      refuse("external-function",
             "a call of " + name + ", which the module does not define");
    return;
  }
  const Signature &callee = signatures[call.name];
  auto compare = [&](const Sizes &given, const Sizes &wanted,
                     const std::string &what) {
    if (given.size() != wanted.size())
      return refuse("call", "a call of " + name + " has " +
                                std::to_string(given.size()) + " " + what +
                                "s, but the function has " +
                                std::to_string(wanted.size()));
    for (size_t i = 0; i < given.size(); ++i)
      if (given[i] && wanted[i] && given[i] != wanted[i])
        return refuse("call", "a call of " + name + ": " + what + " " +
                                  std::to_string(i) + " has " +
                                  std::to_string(given[i]) +
                                  " bytes, but the function's has " +
                                  std::to_string(wanted[i]));
  };
  compare(call.passed.parameters, callee.parameters, "parameter");
  compare(call.passed.results, callee.results, "result");
}

/// "%tid.x" -> "tid".
std::string_view DeviceCodeChecker::baseName(PTXToken token) {
  std::string_view name = token.substr(1);
  return name.substr(0, name.find('.'));
}

bool DeviceCodeChecker::checkRefusedRegister(PTXToken token) {
  std::string_view base = baseName(token);
  for (auto [prefix, why] : refusedRegisters) {
    if (base.compare(0, prefix.size(), prefix) != 0)
      continue;
    // "%pm0", "%clock64", "%clock_hi", "%globaltimer_lo"; "%p1" is no "%pm",
    // and a register called %pmask or %clocked is nobody's.
    std::string_view rest = base.substr(prefix.size());
    if (rest.empty() || rest[0] == '_' || (rest[0] >= '0' && rest[0] <= '9')) {
      refuse("special-register",
             "'" + std::string(token) + "' is not allowed: " + why);
      return true;
    }
  }
  return false;
}

void DeviceCodeChecker::checkRegister(PTXToken token) {
  if (token.empty() || token[0] != '%' || checkRefusedRegister(token))
    return;
  std::string_view base = baseName(token);
  if (allowedRegisters.count(base))
    return;
  // Declared registers: %r12 out of ".reg .b32 %r<40>", or by full name. The
  // assembler refuses what is neither declared nor special, so this need only
  // know the special ones: their names are words, not numbered letters.
  size_t digits = base.size();
  while (digits > 0 && base[digits - 1] >= '0' && base[digits - 1] <= '9')
    --digits;
  if (digits < base.size() && digits <= 3)
    return;
  if (base == "SP" || base == "SPL")
    return;
  if (!declaredRegister(token))
    refuse("special-register",
           "'" + std::string(token) +
               "' is not in the list of allowed special registers");
}

/// Whether `.reg` names it somewhere: asm texts may declare their own.
bool DeviceCodeChecker::declaredRegister(PTXToken token) {
  collectRegisters();
  return registers.count(token);
}

void DeviceCodeChecker::collectRegisters() {
  if (std::exchange(registersKnown, true))
    return;
  // Parameters of a function end at a parenthesis.
  for (size_t i = 0; i < tokens.size(); ++i)
    if (tokens[i] == ".reg")
      for (; i < tokens.size() && tokens[i] != ";" && tokens[i] != ")" &&
             tokens[i] != "{";
           ++i)
        if (isName(tokens[i]))
          registers.insert(tokens[i]);
}

/// "used_bytes_mask 0xf": a pragma that compilers write or that people need.
static bool isKnownPragma(std::string_view text) {
  for (std::string_view word : {"nounroll", "enable_smem_spilling"})
    if (text == word)
      return true;
  for (std::string_view word : {"used_bytes_mask ", "frequency "}) {
    if (text.substr(0, word.size()) != word)
      continue;
    std::string_view number = text.substr(word.size());
    bool isHex = number.substr(0, 2) == "0x";
    number.remove_prefix(isHex ? 2 : 0);
    constexpr size_t most = 20;
    return !number.empty() && number.size() <= most &&
           number.find_first_not_of(isHex ? "0123456789abcdefABCDEF"
                                          : "0123456789") == number.npos;
  }
  return false;
}

/// Wherever they are: the assembler prints those that it does not know, and has
/// some that nobody tells of.
void DeviceCodeChecker::checkPragmas() {
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i] != ".pragma")
      continue;
    for (++i; i < tokens.size() && tokens[i] != ";"; ++i) {
      place = tokens[i];
      if (place == ",")
        continue;
      bool isString = place.size() >= 2 && place[0] == '"';
      if (!isString || !isKnownPragma(place.substr(1, place.size() - 2)))
        return refuse("directive",
                      "the pragma " + std::string(place) +
                          " is not allowed: nounroll, used_bytes_mask, "
                          "frequency and enable_smem_spilling are");
    }
  }
}
