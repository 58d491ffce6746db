//===- Npy.h - Tensors in NumPy's file format -------------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads and writes .npy files, format 1.0 to 3.0, as numpy.lib.format describes
// them: little-endian, C order, the element types a kernel can take.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_RUNTIME_NPY_H
#define FASTK_RUNTIME_NPY_H

#include "fastk/Runtime/Signature.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace fastk {

/// Reads the tensor in `path`. The error names the file and what is wrong: not
/// a .npy file, big-endian, Fortran order, an unknown type, cut short.
llvm::Expected<HostTensor> readNpy(llvm::StringRef path);

/// Writes a tensor; a half-written file is removed. bf16 has no NumPy type and
/// is written as f32.
llvm::Error writeNpy(llvm::StringRef path, const HostTensor &tensor);

} // namespace fastk

#endif // FASTK_RUNTIME_NPY_H
