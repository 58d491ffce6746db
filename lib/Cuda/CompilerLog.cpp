//===- CompilerLog.cpp - Facts out of what ptxas prints -------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Cuda/Nvrtc.h"
#include <cstdlib>
#include <sstream>

using namespace fastk::cuda;

/// The number in front of \p unit: 18 of "Used 18 registers, ..." for
/// " registers". 0 where the line does not say.
static unsigned numberBefore(const std::string &line, const char *unit) {
  size_t end = line.find(unit);
  if (end == line.npos)
    return 0;
  size_t begin = end;
  while (begin > 0 && line[begin - 1] >= '0' && line[begin - 1] <= '9')
    --begin;
  return unsigned(
      std::strtoul(line.substr(begin, end - begin).c_str(), nullptr, 10));
}

static KernelFacts &entryOf(std::vector<KernelFacts> &kernels,
                            const std::string &name) {
  for (KernelFacts &kernel : kernels)
    if (kernel.name == name)
      return kernel;
  kernels.emplace_back();
  kernels.back().name = name;
  return kernels.back();
}

/// "C7510" where the line holds "(C7510)".
static std::string warningCode(const std::string &line) {
  for (size_t at = line.find("(C"); at != line.npos;
       at = line.find("(C", at + 1)) {
    size_t end = at + 2;
    while (end < line.size() && line[end] >= '0' && line[end] <= '9')
      ++end;
    if (end > at + 2 && end < line.size() && line[end] == ')')
      return line.substr(at + 1, end - at - 1);
  }
  return "";
}

void fastk::cuda::parseCompilerLog(const std::string &log,
                                   std::vector<KernelFacts> &kernels,
                                   std::vector<CompilerWarning> &warnings) {
  std::string compiling, properties;
  std::istringstream lines(log);
  for (std::string line; std::getline(lines, line);) {
    if (std::string code = warningCode(line); !code.empty()) {
      warnings.push_back({code, line});
      continue;
    }
    if (line.find("warning") != line.npos &&
        (line.compare(0, 5, "ptxas") == 0 ||
         line.find(": warning") != line.npos)) {
      warnings.push_back({"", line});
      continue;
    }
    // The source's lines may be quoted in diagnostics: ptxas' own begin so.
    if (line.compare(0, 5, "ptxas") != 0)
      continue;
    constexpr const char *kCompiling = "Compiling entry function '";
    constexpr const char *kProperties = "Function properties for ";
    if (size_t at = line.find(kCompiling); at != line.npos) {
      at += std::string(kCompiling).size();
      compiling = line.substr(at, line.find('\'', at) - at);
      entryOf(kernels, compiling).isEntry = true;
    } else if (size_t at = line.find(kProperties); at != line.npos) {
      properties = line.substr(at + std::string(kProperties).size());
    } else if (line.find("bytes stack frame") != line.npos &&
               !properties.empty()) {
      KernelFacts &facts = entryOf(kernels, properties);
      facts.stackBytes = numberBefore(line, " bytes stack frame");
      facts.spillStoreBytes = numberBefore(line, " bytes spill stores");
      facts.spillLoadBytes = numberBefore(line, " bytes spill loads");
    } else if (line.find(": Used ") != line.npos && !compiling.empty()) {
      KernelFacts &facts = entryOf(kernels, compiling);
      facts.registers = numberBefore(line, " registers");
      facts.barriers = numberBefore(line, " barriers");
      facts.staticSharedBytes = numberBefore(line, " bytes smem");
    }
  }
}

const KernelFacts *CompileResult::kernel(const std::string &name) const {
  for (const KernelFacts &facts : kernels)
    if (facts.name == name)
      return &facts;
  return nullptr;
}
