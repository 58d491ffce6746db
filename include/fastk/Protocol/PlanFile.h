//===- PlanFile.h - A compiled GPU model as one file ------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What `fastk-opt --emit=plan` writes, and what a library for a GPU has in it:
// signatures, plans and device code, no host code. A line that says what it is,
// JSON that people read, then the bytes of code and constants
// (docs/formats/plan-file.md). Written by the compiler and read by the runtime,
// so it is here, once.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_PROTOCOL_PLANFILE_H
#define FASTK_PROTOCOL_PLANFILE_H

#include "fastk/Protocol/LaunchPlan.h"
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fastk::worker {

/// The only format there is.
inline constexpr int64_t planFileFormat = 1;

/// How a file begins: "fastk-plan ".
extern const std::string_view planFileMagic;

/// Code and constants are views: of a file that was read, or of who writes.
struct PlanFile {
  struct Image {
    /// Launches name its entries `name::entry`.
    std::string name;
    /// A cubin, or PTX.
    std::string_view code;
  };
  struct Function {
    std::string name;
    /// JSON: {"inputs": [{"dtype", "shape"}...], "outputs": [...], ...}, as
    /// libraries have it. All shapes are static.
    std::string signature;
    LaunchPlan plan;
    /// Into the file's lists; constants are inputs of the plan behind the
    /// function's own.
    std::vector<size_t> images, constants;
    /// Of a file that was read: bytes of the tensors in the signature.
    std::vector<int64_t> inputBytes = {}, outputBytes = {};
  };

  /// As "cuda:sm_90a".
  std::string target;
  std::vector<Image> images;
  std::vector<std::string_view> constants;
  std::vector<Function> functions;
};

/// The bytes of the file: the same for the same model.
std::string writePlanFile(const PlanFile &file);

/// Reads a file and holds its plans against the rules of the format: what comes
/// back may be bound. \p bytes must outlive the result. On failure nothing, and
/// \p error is one sentence that names the place and the remedy.
std::optional<PlanFile> parsePlanFile(std::string_view bytes,
                                      std::string &error);

} // namespace fastk::worker

#endif // FASTK_PROTOCOL_PLANFILE_H
