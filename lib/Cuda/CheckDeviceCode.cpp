//===- CheckDeviceCode.cpp - What device code may not do ------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Cuda/CheckDeviceCode.h"
#include "PTXTokens.h"
#include <algorithm>
#include <map>
#include <set>
#include <utility>

using namespace fastk::cuda;

using Tokens = std::vector<PTXToken>;
using Names = std::set<std::string_view>;

/// Instructions that may appear. Everything here computes, moves data between
/// registers and memory, or orders threads of one launch.
static const Names allowedInstructions = {"abs",
                                          "activemask",
                                          "add",
                                          "addc",
                                          "alloca",
                                          "and",
                                          "applypriority",
                                          "atom",
                                          "bar",
                                          "barrier",
                                          "bfe",
                                          "bfi",
                                          "bfind",
                                          "bmsk",
                                          "bra",
                                          "brev",
                                          "brx",
                                          "call",
                                          "clz",
                                          "cnot",
                                          "copysign",
                                          "cos",
                                          "cp",
                                          "createpolicy",
                                          "cvt",
                                          "cvta",
                                          "discard",
                                          "div",
                                          "dp2a",
                                          "dp4a",
                                          "elect",
                                          "ex2",
                                          "exit",
                                          "fence",
                                          "fma",
                                          "fns",
                                          "getctarank",
                                          "griddepcontrol",
                                          "isspacep",
                                          "ld",
                                          "ldmatrix",
                                          "ldu",
                                          "lg2",
                                          "lop3",
                                          "mad",
                                          "mad24",
                                          "madc",
                                          "mapa",
                                          "match",
                                          "max",
                                          "mbarrier",
                                          "membar",
                                          "min",
                                          "mma",
                                          "mov",
                                          "movmatrix",
                                          "mul",
                                          "mul24",
                                          "nanosleep",
                                          "neg",
                                          "not",
                                          "or",
                                          "popc",
                                          "prefetch",
                                          "prefetchu",
                                          "prmt",
                                          "rcp",
                                          "red",
                                          "redux",
                                          "rem",
                                          "ret",
                                          "rsqrt",
                                          "sad",
                                          "selp",
                                          "set",
                                          "setmaxnreg",
                                          "setp",
                                          "shf",
                                          "shfl",
                                          "shl",
                                          "shr",
                                          "sin",
                                          "slct",
                                          "sqrt",
                                          "st",
                                          "stackrestore",
                                          "stacksave",
                                          "stmatrix",
                                          "sub",
                                          "subc",
                                          "szext",
                                          "tanh",
                                          "testp",
                                          "vote",
                                          "wgmma",
                                          "wmma",
                                          "xor"};

/// Why some others may not.
static const std::map<std::string_view, const char *> refusedInstructions = {
    {"trap", "it would take the context down; return instead"},
    {"brkpt", "it stops the device"},
    {"pmevent", "it triggers performance counters"},
    {"tensormap", "tensor maps are made by the plan, not by device code"},
    {"multimem", "a kernel runs on one device"},
    {"tex", "textures are not part of the plan; use loads"},
    {"tld4", "textures are not part of the plan; use loads"},
    {"txq", "textures are not part of the plan"},
    {"suld", "surfaces are not part of the plan; use loads"},
    {"sust", "surfaces are not part of the plan; use stores"},
    {"sured", "surfaces are not part of the plan"},
    {"suq", "surfaces are not part of the plan"}};

/// Special registers that may be read: where a thread stands in its launch.
static const Names allowedRegisters = {"tid",
                                       "ntid",
                                       "laneid",
                                       "warpid",
                                       "nwarpid",
                                       "ctaid",
                                       "nctaid",
                                       "smid",
                                       "nsmid",
                                       "lanemask_eq",
                                       "lanemask_le",
                                       "lanemask_lt",
                                       "lanemask_ge",
                                       "lanemask_gt",
                                       "is_explicit_cluster",
                                       "clusterid",
                                       "nclusterid",
                                       "cluster_ctaid",
                                       "cluster_nctaid",
                                       "cluster_ctarank",
                                       "cluster_nctarank",
                                       "total_smem_size",
                                       "aggr_smem_size",
                                       "dynamic_smem_size"};

/// Special registers that may not, by prefix; redeclaring their names does not
/// help.
static const std::pair<std::string_view, const char *> refusedRegisters[] = {
    {"clock", "a candidate must not know the time"},
    {"globaltimer", "a candidate must not know the time"},
    {"gridid", "it counts launches: the result must not depend on it"},
    {"pm", "performance counters are the judge's"},
    {"envreg", "it is the driver's"},
    {"current_graph_exec", "it tells how the kernel was launched"},
    {"reserved_smem_offset", "it is the driver's"}};

static const Names allowedDirectives = {
    // Of functions.
    ".reg", ".local", ".shared", ".param", ".pragma", ".branchtargets",
    // Of entries.
    ".maxntid", ".minnctapersm", ".maxnctapersm", ".maxnreg", ".reqntid",
    ".explicitcluster", ".reqnctapercluster", ".maxclusterrank",
    ".blocksareclusters", ".noreturn"};

namespace {

class Checker {
public:
  explicit Checker(const Tokens &tokens) : tokens(tokens) {}

  std::vector<Refusal> run() {
    while (at < tokens.size() && refusals.size() < kMostRefusals)
      moduleItem();
    for (const Function &function : functions)
      checkTableUses(function);
    checkWritable();
    collectRegisters();
    for (const Call &call : calls)
      checkTarget(call);
    return std::move(refusals);
  }

private:
  struct Function {
    std::vector<Tokens> instructions;
  };
  /// Bytes of parameters or arguments, 0 where the text does not tell.
  using Sizes = std::vector<uint64_t>;
  struct Signature {
    Sizes results, parameters;
  };
  struct Call {
    std::string_view name;
    Signature passed;
  };

  void refuse(const char *rule, std::string text) {
    if (refusals.size() >= kMostRefusals)
      return;
    for (const Refusal &known : refusals)
      if (known.text == text)
        return;
    refusals.push_back({rule, std::move(text)});
  }

  //===--------------------------------------------------------------------===//
  // Module scope
  //===--------------------------------------------------------------------===//

  void moduleItem() {
    PTXToken token = tokens[at];
    if (token == ".version" || token == ".address_size") {
      at += 2;
      return;
    }
    if (token == ".target") {
      for (++at; at < tokens.size() && tokens[at][0] != '.'; ++at)
        ;
      return;
    }
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

  static bool contains(const Tokens &head, std::string_view wanted) {
    for (PTXToken token : head)
      if (token == wanted)
        return true;
    return false;
  }

  void declareFunction(const Tokens &head, bool hasBody) {
    std::string_view name = functionName(head);
    if (hasBody)
      defined.insert(name);
    Signature signature = signatureOf(head);
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

  /// The name after .entry, or after .func and its result list.
  static std::string_view functionName(const Tokens &head) {
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
  static uint64_t declaredBytes(const Tokens &text, size_t &at) {
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
  static uint64_t numberIn(std::string_view text) {
    uint64_t number = 0;
    for (char c : text) {
      if (c < '0' || c > '9' || number > (uint64_t(1) << 32))
        return 0;
      number = number * 10 + uint64_t(c - '0');
    }
    return number;
  }

  /// ".func (results) name (parameters)".
  static Signature signatureOf(const Tokens &head) {
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
  static bool fits(const Sizes &one, const Sizes &other) {
    return std::equal(
        one.begin(), one.end(), other.begin(), other.end(),
        [](uint64_t a, uint64_t b) { return a == b || a == 0 || b == 0; });
  }

  void refuseExternal(const std::string &name) {
    std::string why;
    if (name == "vprintf" || name == "printf")
      why = "device printf is not allowed; remove it";
    else if (name == "__assertfail")
      why = "assert traps; remove it";
    else if (name == "malloc" || name == "free" || name == "cudaMalloc")
      why =
          "the device heap outlives a launch; ask for a workspace in the plan";
    else if (name.compare(0, 4, "cuda") == 0)
      why = "the device runtime and device-side launches are not allowed; list "
            "launches in the plan";
    else
      why = "it is not defined here; device code has nothing to link with";
    refuse("external-function", "a call of '" + name + "': " + why);
  }

  void declareVariable(const Tokens &head, bool initialised) {
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
  void checkWritable() {
    Names declared;
    for (PTXToken token : tokens)
      if (writable.count(token) && !declared.insert(token).second)
        refuse("global-variable",
               "'" + std::string(token) +
                   "' is a __device__ variable that can be written: its value "
                   "would outlive the launch; use a workspace of the plan, "
                   "__shared__, or __constant__ for tables");
  }

  static bool isName(PTXToken token) {
    char c = token[0];
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           c == '$' || c == '%';
  }

  //===--------------------------------------------------------------------===//
  // Functions
  //===--------------------------------------------------------------------===//

  /// Reads statements until the '}' that closes the body.
  void functionBody() {
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

  void checkStatement(Tokens statement) {
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
      if (!allowedDirectives.count(first))
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
  void declareLocal(const Tokens &statement) {
    size_t at = 0;
    uint64_t bytes = declaredBytes(statement, at);
    for (PTXToken token : statement)
      if (isName(token))
        local[token] = bytes;
  }

  /// Sizes of a list of a call from '(' on; \p at is behind the ')' then.
  Sizes passed(const Tokens &statement, size_t &at) {
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

  void checkCall(const Tokens &statement) {
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

  void refuseIndirect() {
    refuse("indirect-call", "a call through a pointer is not allowed: "
                            "use templates or a switch");
  }

  /// Of a call, when all functions are known.
  void checkTarget(const Call &call) {
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
  static std::string_view baseName(PTXToken token) {
    std::string_view name = token.substr(1);
    return name.substr(0, name.find('.'));
  }

  bool checkRefusedRegister(PTXToken token) {
    std::string_view base = baseName(token);
    for (auto [prefix, why] : refusedRegisters) {
      if (base.compare(0, prefix.size(), prefix) != 0)
        continue;
      // "%pm0", "%clock64", "%clock_hi", "%globaltimer_lo"; "%p1" is no "%pm",
      // and a register called %pmask or %clocked is nobody's.
      std::string_view rest = base.substr(prefix.size());
      if (rest.empty() || rest[0] == '_' ||
          (rest[0] >= '0' && rest[0] <= '9')) {
        refuse("special-register",
               "'" + std::string(token) + "' is not allowed: " + why);
        return true;
      }
    }
    return false;
  }

  void checkRegister(PTXToken token) {
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
  bool declaredRegister(PTXToken token) {
    collectRegisters();
    return registers.count(token);
  }

  void collectRegisters() {
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

  //===--------------------------------------------------------------------===//
  // Tables
  //===--------------------------------------------------------------------===//

  /// Constants and initialised tables (libdevice brings some for sin and cos,
  /// constant arrays become some) live in memory that could be written. Their
  /// addresses, and all that is computed from them, may feed loads only.
  void checkTableUses(const Function &function) {
    if (tables.empty())
      return;
    static const Names passing = {"mov", "add", "sub", "mad", "cvta", "selp"};
    auto opcodeOf = [](const Tokens &statement) {
      return statement[0].substr(0, statement[0].find('.'));
    };
    // Who computes from a name, so that each is looked at once.
    std::map<std::string_view, std::vector<const Tokens *>> users;
    for (const Tokens &statement : function.instructions)
      if (passing.count(opcodeOf(statement)))
        for (size_t i = 2; i < statement.size(); ++i)
          if (isName(statement[i]))
            users[whole(statement[i])].push_back(&statement);
    Names tainted;
    std::vector<std::string_view> pending(tables.begin(), tables.end());
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
      for (const Tokens *user : found->second)
        for (size_t i = 1; i < user->size() && (*user)[i] != ","; ++i)
          if ((*user)[i] == "{")
            for (; i < user->size() && (*user)[i] != "}"; ++i)
              taint((*user)[i]);
          else
            taint((*user)[i]);
    }
    for (const Tokens &statement : function.instructions) {
      std::string_view opcode = opcodeOf(statement);
      // The carry flag is a way out that no name shows.
      bool isPassing = passing.count(opcode) &&
                       statement[0].find(".cc") == statement[0].npos;
      if (isPassing || opcode == "ld")
        continue;
      if (uses(statement, 1, tainted))
        refuse("global-variable",
               "the address of a table or constant is used by '" +
                   std::string(statement[0]) +
                   "': it may only be read, directly");
    }
  }

  bool uses(const Tokens &statement, size_t from, const Names &tainted) const {
    for (size_t i = from; i < statement.size(); ++i)
      if (tainted.count(whole(statement[i])) || tables.count(statement[i]))
        return true;
    return false;
  }

  /// The register of which "%v.x" is an element.
  static std::string_view whole(PTXToken token) {
    return token[0] == '.' ? token : token.substr(0, token.find('.'));
  }

  static constexpr size_t kMostRefusals = 16;
  const Tokens &tokens;
  size_t at = 0;
  std::vector<Refusal> refusals;
  std::vector<Function> functions;
  Names defined, externals, tables, writable, registers;
  bool registersKnown = false;
  std::map<std::string_view, Signature> signatures;
  std::vector<Call> calls;
  /// Bytes of the parameters that the function at hand declares.
  std::map<std::string_view, uint64_t> local;
};

} // namespace

std::vector<Refusal> fastk::cuda::checkDeviceCode(std::string_view ptx) {
  Tokens tokens;
  std::string error;
  if (!tokenizePTX(ptx, tokens, error))
    return {{"lexical", error}};
  if (tokens.empty())
    return {{"lexical", "there is no PTX to check"}};
  return Checker(tokens).run();
}

std::string fastk::cuda::describe(const std::vector<Refusal> &refusals) {
  std::string text;
  for (const Refusal &refusal : refusals)
    text += (text.empty() ? "" : "\n") + refusal.text + " (required by '" +
            refusal.rule + "')";
  return text;
}
