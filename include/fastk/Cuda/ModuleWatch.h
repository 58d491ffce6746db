//===- ModuleWatch.h - Does a program change its module? --------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tables of a module lie in memory that device code can write, by an address
// that no reading of the code can follow. So their bytes are compared: what is
// the same after every call as when the module was loaded keeps nothing from
// one call to the next.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_CUDA_MODULEWATCH_H
#define FASTK_CUDA_MODULEWATCH_H

#include "fastk/Cuda/Cubin.h"
#include "fastk/Cuda/Driver.h"

namespace fastk::cuda {

class ModuleWatch {
public:
  explicit ModuleWatch(const Driver &driver) : driver(driver) {}

  /// Finds all data of a module that was loaded from \p cubin and keeps a copy.
  /// Before its first launch. An error is the driver's, or a section whose
  /// place it does not tell.
  std::string start(CUmodule module, std::string_view cubin);

  /// What differs, as a sentence; empty while nothing does. After a call has
  /// ended.
  std::string check() const;

  /// Copies all data anew: the worker itself has written some.
  std::string keep();

  bool isEmpty() const { return ranges.empty(); }

private:
  struct Range {
    CUdeviceptr address = 0;
    std::string bytes;
    ModuleData data;
  };
  std::string find(CUmodule module, const ModuleData &data);

  const Driver &driver;
  std::vector<Range> ranges;
};

} // namespace fastk::cuda

#endif // FASTK_CUDA_MODULEWATCH_H
