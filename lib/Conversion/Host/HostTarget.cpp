//===- HostTarget.cpp - The processor that code is made for ---------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Conversion/HostCodegen.h"
#include "fastk/System/VectorLimit.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"

using namespace fastk;

HostTarget HostTarget::detect() {
  HostTarget target;
  target.triple = llvm::sys::getDefaultTargetTriple();
  target.cpu = llvm::sys::getHostCPUName().str();
  llvm::StringMap<bool> features = llvm::sys::getHostCPUFeatures();
  // A string map has no order; the text must not depend on its hash.
  std::vector<std::string> names;
  for (auto &feature : features)
    names.push_back((feature.second ? "+" : "-") + feature.first().str());
  llvm::sort(names, [](const std::string &a, const std::string &b) {
    return llvm::StringRef(a).drop_front() < llvm::StringRef(b).drop_front();
  });
  target.features = llvm::join(names, ",");
  if (features.lookup("avx512f"))
    target.vectorBytes = 64;
  else if (features.lookup("avx2"))
    target.vectorBytes = 32;
  if (target.vectorBytes > vectorLimit()) {
    target.vectorBytes = 32;
    // AVX2 and what every processor with it has.
    target.cpu = "x86-64-v3";
    target.features.clear();
  }
  return target;
}

HostTarget HostTarget::baseline() {
  HostTarget target;
  target.triple = llvm::sys::getDefaultTargetTriple();
  target.cpu = llvm::Triple(target.triple).getArch() == llvm::Triple::x86_64
                   ? "x86-64"
                   : "generic";
  return target;
}
