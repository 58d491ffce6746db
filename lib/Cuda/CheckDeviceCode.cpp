//===- CheckDeviceCode.cpp - What device code may not do ------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Cuda/CheckDeviceCode.h"
#include "DeviceCodeChecker.h"
#include "DeviceCodeRules.h"
#include <algorithm>

using namespace fastk::cuda;

void DeviceCodeChecker::run() {
  while (at < tokens.size() && refusals.size() < kMaxRefusals)
    moduleItem();
  checkPragmas();
  for (const Function &function : functions)
    checkTableUses(function);
  checkWritable();
  collectRegisters();
  for (const Call &call : calls)
    checkTarget(call);
}

void DeviceCodeChecker::refuse(const char *rule, std::string text) {
  if (refusals.size() >= kMaxRefusals)
    return;
  for (const Refusal &known : refusals)
    if (known.text == text)
      return;
  size_t line = place.empty() ? 0 : lineOf(ptx, place);
  refusals.push_back({rule, std::move(text), line});
}

void DeviceCodeChecker::refuseAt(PTXToken where, const char *rule,
                                 std::string text) {
  place = where;
  refuse(rule, std::move(text));
}

void DeviceCodeChecker::readHeader() {
  Header header;
  header.directive = tokens[at++];
  bool isList = header.directive == ".target";
  for (; at < tokens.size() && tokens[at][0] != '.'; ++at) {
    header.values.push_back(tokens[at]);
    if (!isList) {
      ++at;
      break;
    }
  }
  headers.push_back(std::move(header));
}

void DeviceCodeChecker::moduleItem() {
  PTXToken token = place = tokens[at];
  if (token == ".version" || token == ".address_size" || token == ".target")
    return readHeader();
  if (token == ".file" || token == ".section")
    refuse("directive",
           "'" + std::string(token) + "' is not allowed: " + debugInformation);
  if (token == ";") {
    ++at;
    return;
  }
  // A declaration, up to its ';' or the body.
  Tokens head;
  int braces = 0;
  bool initialised = false;
  for (; at < tokens.size(); ++at) {
    token = tokens[at];
    initialised |= token == "=";
    if (token == "{" && !initialised)
      break;
    braces += token == "{";
    braces -= token == "}";
    if (token == ";" && braces == 0)
      break;
    head.push_back(token);
  }
  bool hasBody = at < tokens.size() && tokens[at] == "{";
  ++at;
  if (contains(head, ".func") || contains(head, ".entry"))
    declareFunction(head, hasBody);
  else if (hasBody)
    refuse("directive", "an unknown section '" +
                            std::string(head.empty() ? "{" : head[0]) +
                            "' in the PTX");
  else
    declareVariable(head, initialised);
  if (hasBody)
    functionBody();
}

bool DeviceCodeChecker::contains(const Tokens &head, std::string_view wanted) {
  for (PTXToken token : head)
    if (token == wanted)
      return true;
  return false;
}

void DeviceCodeChecker::declareFunction(const Tokens &head, bool hasBody) {
  std::string_view name = functionName(head);
  if (hasBody)
    defined.insert(name);
  Signature signature = signatureOf(head);
  if (hasBody && contains(head, ".entry"))
    declareEntry(head, name, signature.parameters);
  auto [known, isNew] = signatures.try_emplace(name, signature);
  if (!isNew && (!fits(known->second.parameters, signature.parameters) ||
                 !fits(known->second.results, signature.results)))
    refuse("call", "'" + std::string(name) +
                       "' is declared with other parameters elsewhere");
  if (contains(head, ".extern")) {
    externals.insert(name);
    refuseExternal(std::string(name));
  }
  if (contains(head, ".alias") || contains(head, ".attribute"))
    refuse("directive", "an attribute or alias on '" + std::string(name) +
                            "' is not allowed");
}

/// Up to three numbers behind \p directive; nothing without it.
static std::optional<fastk::worker::Dim3>
extentsIn(const DeviceCodeChecker::Tokens &head, std::string_view directive,
          uint64_t (*numberIn)(std::string_view)) {
  auto found = std::find(head.begin(), head.end(), directive);
  if (found == head.end())
    return std::nullopt;
  fastk::worker::Dim3 extents = {1, 1, 1};
  // More than any launch has, and their product is a number.
  constexpr uint64_t most = uint64_t(1) << 20;
  for (int64_t &extent : extents) {
    if (++found == head.end())
      break;
    extent = int64_t(std::min(numberIn(*found), most));
    if (++found == head.end() || *found != ",")
      break;
  }
  return extents;
}

void DeviceCodeChecker::declareEntry(const Tokens &head, PTXToken name,
                                     const Sizes &parameters) {
  PTXEntry entry;
  entry.name = name;
  entry.line = name.empty() ? 0 : lineOfEntry(name);
  entry.parameters = parameters;
  entry.block = extentsIn(head, ".reqntid", numberIn);
  entry.cluster = extentsIn(head, ".reqnctapercluster", numberIn);
  if (auto most = extentsIn(head, ".maxntid", numberIn))
    entry.maxThreads = (*most)[0] * (*most)[1] * (*most)[2];
  entries.push_back(std::move(entry));
}

/// lineOf() of \p name. Entries come in the order of the text, which is read
/// once for all of them.
size_t DeviceCodeChecker::lineOfEntry(PTXToken name) {
  auto begin = ptx.begin();
  size_t end = size_t(name.data() - ptx.data());
  lines += size_t(std::count(begin + countedBytes, begin + end, '\n'));
  countedBytes = end;
  return 1 + lines;
}

/// The name after .entry, or after .func and its result list.
std::string_view DeviceCodeChecker::functionName(const Tokens &head) {
  size_t i = 0;
  while (i < head.size() && head[i] != ".func" && head[i] != ".entry")
    ++i;
  ++i;
  if (i < head.size() && head[i] == "(")
    while (i < head.size() && head[i++] != ")")
      ;
  while (i < head.size() && head[i][0] == '.')
    ++i; // .noreturn
  return i < head.size() ? head[i] : std::string_view();
}

/// Bytes of what is declared from \p at to the next ',' or ')', which is
/// where \p at is then: ".param .align 8 .b8 x[16]".
uint64_t DeviceCodeChecker::declaredBytes(const Tokens &text, size_t &at) {
  uint64_t bytes = 0, count = 1;
  for (; at < text.size() && text[at] != "," && text[at] != ")" &&
         text[at] != ";";
       ++at) {
    PTXToken token = text[at];
    if (token == ".align") {
      ++at;
    } else if (token == "[") {
      count = at + 1 < text.size() ? numberIn(text[at + 1]) : 0;
    } else if (token == ".v2" || token == ".v4") {
      count = token == ".v2" ? 2 : 4;
    } else if (token == ".pred") {
      bytes = 1;
    } else if (token.size() > 2 && token[0] == '.' &&
               std::string_view("bsuf").find(token[1]) != token.npos) {
      bytes = numberIn(token.substr(2)) / 8;
    }
  }
  return bytes * count;
}

/// 0 where it is none.
uint64_t DeviceCodeChecker::numberIn(std::string_view text) {
  uint64_t number = 0;
  for (char c : text) {
    if (c < '0' || c > '9' || number > (uint64_t(1) << 32))
      return 0;
    number = number * 10 + uint64_t(c - '0');
  }
  return number;
}

/// ".func (results) name (parameters)".
DeviceCodeChecker::Signature
DeviceCodeChecker::signatureOf(const Tokens &head) {
  Signature signature;
  bool named = false;
  for (size_t i = 0; i < head.size(); ++i) {
    named |= isName(head[i]);
    if (head[i] != "(")
      continue;
    Sizes &sizes = named ? signature.parameters : signature.results;
    for (++i; i < head.size() && head[i] != ")" && head[i] != ";";) {
      sizes.push_back(declaredBytes(head, i));
      i += i < head.size() && head[i] == ",";
    }
    if (named)
      break;
  }
  return signature;
}

/// Whether both may be the sizes of the same list.
bool DeviceCodeChecker::fits(const Sizes &one, const Sizes &other) {
  return std::equal(
      one.begin(), one.end(), other.begin(), other.end(),
      [](uint64_t a, uint64_t b) { return a == b || a == 0 || b == 0; });
}

void DeviceCodeChecker::refuseExternal(const std::string &name) {
  std::string why;
  if (name == "vprintf" || name == "printf")
    why = "device printf is not allowed; remove it";
  else if (name == "__assertfail")
    why = "assert traps; remove it";
  else if (name == "malloc" || name == "free" || name == "cudaMalloc")
    why = "the device heap outlives a launch; ask for a workspace in the plan";
  else if (name.compare(0, 4, "cuda") == 0)
    why = "the device runtime and device-side launches are not allowed; list "
          "launches in the plan";
  else
    why = "it is not defined here; device code has nothing to link with";
  refuse("external-function", "a call of '" + name + "': " + why);
}

void DeviceCodeChecker::declareVariable(const Tokens &head, bool initialised) {
  if (head.empty())
    return;
  // One declaration may name several.
  Names names;
  std::string_view name;
  bool global = false, constant = false, shared = false;
  for (size_t i = 0; i < head.size() && head[i] != "="; ++i) {
    global |= head[i] == ".global";
    constant |= head[i] == ".const";
    shared |= head[i] == ".shared";
    if (head[i] == ".attribute") {
      refuse("global-variable",
             "managed memory is not allowed; pass a buffer in the plan");
      return;
    }
    if (isName(head[i]))
      names.insert(name = head[i]);
  }
  if (shared)
    return;
  if (!global && !constant) {
    refuse("directive",
           "'" + std::string(head[0]) + "' at module scope is not allowed");
    return;
  }
  bool values = false, addresses = false;
  for (PTXToken token : head) {
    addresses |= values && isName(token);
    values |= token == "=";
  }
  if (addresses)
    return refuse("global-variable",
                  "'" + std::string(name) +
                      "' is a table that holds an address, by which it or "
                      "another could be written: keep numbers in it, as "
                      "indices");
  // Constant memory is device memory behind a cache: through a generic
  // address it could be written.
  (initialised || constant ? tables : writable)
      .insert(names.begin(), names.end());
}

/// Nobody can write what nobody names: NVRTC 13.0 leaves such a variable
/// where atomicCAS or atomicExch is used.
void DeviceCodeChecker::checkWritable() {
  Names declared;
  for (PTXToken token : tokens)
    if (writable.count(token) && !declared.insert(token).second) {
      place = token;
      refuse("global-variable",
             "'" + std::string(token) +
                 "' is a __device__ variable that can be written: its value "
                 "would outlive the launch; use a workspace of the plan, "
                 "__shared__, or __constant__ for tables");
    }
}

bool DeviceCodeChecker::isName(PTXToken token) {
  char c = token[0];
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         c == '$' || c == '%';
}

//===----------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------===//

/// Constants and initialised tables (libdevice brings some for sin and cos,
/// constant arrays become some) live in memory that could be written. Their
/// addresses, and all that is computed from them, may feed loads only.
void DeviceCodeChecker::checkTableUses(const Function &function) {
  if (tables.empty() || function.instructions.empty())
    return;
  static const Names passing = {"mov", "add", "sub", "mad", "cvta", "selp"};
  auto opcodeOf = [](const Tokens &statement) {
    return statement[0].substr(0, statement[0].find('.'));
  };
  // Who computes from a name, so that each is looked at once. A function costs
  // no more than its own text, however many tables there are.
  std::map<std::string_view, std::vector<size_t>> users;
  for (size_t each = 0; each < function.instructions.size(); ++each) {
    const Tokens &statement = function.instructions[each];
    if (passing.count(opcodeOf(statement)))
      for (size_t i = 2; i < statement.size(); ++i)
        if (isName(statement[i]))
          users[whole(statement[i])].push_back(each);
  }
  Names tainted;
  std::vector<bool> isPassedOn(function.instructions.size());
  std::vector<std::string_view> pending;
  for (const auto &[name, unused] : users)
    if (tables.count(name))
      pending.push_back(name);
  auto taint = [&](PTXToken token) {
    if (isName(token) && tainted.insert(whole(token)).second)
      pending.push_back(whole(token));
  };
  while (!pending.empty()) {
    auto found = users.find(pending.back());
    pending.pop_back();
    if (found == users.end())
      continue;
    // The destination: one register, or several in braces.
    for (size_t each : found->second) {
      if (isPassedOn[each])
        continue;
      isPassedOn[each] = true;
      const Tokens &user = function.instructions[each];
      for (size_t i = 1; i < user.size() && user[i] != ","; ++i)
        if (user[i] == "{")
          for (; i < user.size() && user[i] != "}"; ++i)
            taint(user[i]);
        else
          taint(user[i]);
    }
  }
  for (const Tokens &statement : function.instructions) {
    std::string_view opcode = opcodeOf(statement);
    // The carry flag is a way out that no name shows.
    bool isPassing =
        passing.count(opcode) && statement[0].find(".cc") == statement[0].npos;
    if (isPassing || opcode == "ld")
      continue;
    place = statement[0];
    if (uses(statement, 1, tainted))
      refuse("global-variable",
             "the address of a table or constant is used by '" +
                 std::string(statement[0]) +
                 "': it may only be read, directly");
  }
}

bool DeviceCodeChecker::uses(const Tokens &statement, size_t from,
                             const Names &tainted) const {
  for (size_t i = from; i < statement.size(); ++i)
    if (tainted.count(whole(statement[i])) || tables.count(statement[i]))
      return true;
  return false;
}

/// The register of which "%v.x" is an element.
std::string_view DeviceCodeChecker::whole(PTXToken token) {
  return token[0] == '.' ? token : token.substr(0, token.find('.'));
}

//===----------------------------------------------------------------------===//
// All of it
//===----------------------------------------------------------------------===//

std::optional<Refusal> fastk::cuda::readTokens(std::string_view ptx,
                                               std::vector<PTXToken> &tokens) {
  std::string error;
  if (!tokenizePTX(ptx, tokens, error))
    return Refusal{"lexical", error};
  if (tokens.empty())
    return Refusal{"lexical", "there is no PTX to check"};
  return std::nullopt;
}

std::vector<Refusal> fastk::cuda::checkDeviceCode(std::string_view ptx) {
  std::vector<PTXToken> tokens;
  if (std::optional<Refusal> problem = readTokens(ptx, tokens))
    return {*problem};
  DeviceCodeChecker checker(ptx, tokens);
  checker.run();
  return std::move(checker.refusals);
}

std::string fastk::cuda::describe(const std::vector<Refusal> &refusals) {
  std::string text;
  for (const Refusal &refusal : refusals)
    text += (text.empty() ? "" : "\n") + refusal.text + " (required by '" +
            refusal.rule + "')";
  return text;
}

std::string fastk::cuda::describe(const std::vector<Refusal> &refusals,
                                  std::string_view file) {
  std::string text;
  for (const Refusal &refusal : refusals)
    text += (text.empty() ? "" : "\n") + std::string(file) + ":" +
            (refusal.line ? std::to_string(refusal.line) + ":" : "") + " " +
            describe({refusal});
  return text;
}
