//===- Cubin.h - What machine code says of itself ---------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A cubin is an ELF file. Its sections tell what no reading of PTX can be
// mistaken about: which memory a module brings along, whether that holds
// addresses, and which parameters a kernel takes.
//
// The format is not documented as a whole; the numbers here are those that
// NVIDIA's cuobjdump prints and readelf shows of cubins for sm_80 to sm_90a.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_CUDA_CUBIN_H
#define FASTK_CUDA_CUBIN_H

#include "fastk/Protocol/LaunchPlan.h"
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fastk::cuda {

/// Memory that is there when a module is loaded and stays until it is unloaded:
/// a section of globals or of constants.
struct ModuleData {
  struct Symbol {
    std::string name;
    /// In bytes, from the section's start.
    uint64_t offset = 0, bytes = 0;
  };
  /// As ".nv.global.init".
  std::string section;
  uint64_t bytes = 0;
  /// Whether the loader writes addresses into it (relocations).
  bool holdsAddresses = false;
  std::vector<Symbol> symbols;
};

struct Cubin {
  /// Bytes of each parameter of an entry, in order; nothing where the file does
  /// not say in a form that is known here.
  std::map<std::string, std::optional<std::vector<uint64_t>>, std::less<>>
      kernels;
  std::vector<ModuleData> data;
  /// Sections that device code can write and that are none of the above nor
  /// shared memory.
  std::vector<std::string> unknownSections;
};

/// Whether \p image begins like an ELF file: PTX does not.
bool isCubin(std::string_view image);

/// Reads the sections. Whatever the bytes, returns a text, empty for success.
std::string readCubin(std::string_view image, Cubin &cubin);

/// Why these arguments are not what a kernel with parameters of \p sizes bytes
/// takes, as the rest of a sentence that begins with the kernel; empty when
/// they are. The driver would read beyond an argument that is too small.
std::string compareArguments(const worker::Launch &launch,
                             const std::vector<uint64_t> &sizes);

/// The same for all launches of a plan; kernels that the file does not know or
/// does not describe are the driver's to judge.
std::string compareArguments(const worker::LaunchPlan &plan,
                             const Cubin &cubin);

} // namespace fastk::cuda

#endif // FASTK_CUDA_CUBIN_H
