//===- DeviceCodeChecker.h - Looks at all of a module's PTX -----*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_CUDA_DEVICECODECHECKER_H
#define FASTK_LIB_CUDA_DEVICECODECHECKER_H

#include "PTXTokens.h"
#include "fastk/Cuda/CheckDeviceCode.h"
#include "fastk/Cuda/PTXProgram.h"
#include <cstdint>
#include <map>
#include <optional>
#include <set>

namespace fastk::cuda {

/// Reads the tokens of \p ptx; why it cannot be checked, where it cannot.
std::optional<Refusal> readTokens(std::string_view ptx,
                                  std::vector<PTXToken> &tokens);

class DeviceCodeChecker {
public:
  using Tokens = std::vector<PTXToken>;
  using Names = std::set<std::string_view>;

  /// \p tokens are those of \p ptx.
  DeviceCodeChecker(std::string_view ptx, const Tokens &tokens)
      : ptx(ptx), tokens(tokens) {}
  /// Once. Fills in what follows.
  void run();

  /// A directive of the module, as `.target`, up to the next one.
  struct Header {
    PTXToken directive;
    Tokens values;
  };
  std::vector<Header> headers;
  std::vector<PTXEntry> entries;
  std::vector<Refusal> refusals;

  /// Adds what else is wrong; an empty \p where has no line.
  void refuseAt(PTXToken where, const char *rule, std::string text);

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

  void refuse(const char *rule, std::string text);

  // Module scope: CheckDeviceCode.cpp.
  void moduleItem();
  static bool contains(const Tokens &head, std::string_view wanted);
  void readHeader();
  void declareFunction(const Tokens &head, bool hasBody);
  size_t lineOfEntry(PTXToken name);
  void declareEntry(const Tokens &head, PTXToken name, const Sizes &parameters);
  static std::string_view functionName(const Tokens &head);
  static uint64_t declaredBytes(const Tokens &text, size_t &at);
  static uint64_t numberIn(std::string_view text);
  static Signature signatureOf(const Tokens &head);
  static bool fits(const Sizes &one, const Sizes &other);
  void refuseExternal(const std::string &name);
  void declareVariable(const Tokens &head, bool initialised);
  void checkWritable();
  static bool isName(PTXToken token);

  // Functions: CheckDeviceFunctions.cpp.
  void functionBody();
  void checkStatement(Tokens statement);
  void declareLocal(const Tokens &statement);
  Sizes passed(const Tokens &statement, size_t &at);
  void checkCall(const Tokens &statement);
  void refuseIndirect();
  void checkTarget(const Call &call);
  static std::string_view baseName(PTXToken token);
  bool checkRefusedRegister(PTXToken token);
  void checkRegister(PTXToken token);
  bool declaredRegister(PTXToken token);
  void collectRegisters();
  void checkPragmas();

  // Tables: CheckDeviceCode.cpp.
  void checkTableUses(const Function &function);
  bool uses(const Tokens &statement, size_t from, const Names &tainted) const;
  static std::string_view whole(PTXToken token);

  static constexpr size_t kMaxRefusals = 16;
  std::string_view ptx;
  const Tokens &tokens;
  size_t at = 0;
  /// Newlines in the first bytes of the text, as far as they were counted.
  size_t lines = 0, countedBytes = 0;
  /// Where what is looked at stands; empty at first.
  PTXToken place;
  std::vector<Function> functions;
  Names defined, externals, tables, writable, registers;
  bool registersKnown = false;
  std::map<std::string_view, Signature> signatures;
  std::vector<Call> calls;
  /// Bytes of the parameters that the function at hand declares.
  std::map<std::string_view, uint64_t> local;
};

} // namespace fastk::cuda

#endif // FASTK_LIB_CUDA_DEVICECODECHECKER_H
