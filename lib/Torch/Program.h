//===- Program.h - What an op of PyTorch calls ------------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_TORCH_PROGRAM_H
#define FASTK_LIB_TORCH_PROGRAM_H

#include "TorchFunctions.h"
#include "fastk/Torch/fastk_torch.h"
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace fastk::torch {

/// A tensor of torch that is owned here.
class OwnedTensor {
public:
  OwnedTensor(const TorchFunctions &torch, Tensor tensor = nullptr)
      : torch(&torch), tensor(tensor) {}
  OwnedTensor(OwnedTensor &&other)
      : torch(other.torch), tensor(std::exchange(other.tensor, nullptr)) {}
  OwnedTensor &operator=(OwnedTensor &&other) {
    std::swap(tensor, other.tensor);
    return *this;
  }
  ~OwnedTensor() {
    if (tensor)
      torch->aoti_torch_delete_tensor_object(tensor);
  }
  Tensor get() const { return tensor; }
  Tensor release() { return std::exchange(tensor, nullptr); }

private:
  const TorchFunctions *torch;
  Tensor tensor;
};

/// A compiled program. What it returns on failure is the error's text.
class Program {
public:
  virtual ~Program() = default;

  /// The program of an op; null, with a reason, where it has none.
  static std::unique_ptr<Program> make(const TorchFunctions &torch,
                                       const fastk_torch_op &op,
                                       std::string &error);

  /// Calls it. \p buffers are inputs and outputs on the device of that number.
  virtual std::string call(void *const *buffers, int32_t device) const = 0;

  /// Torch's kind of device, and its dispatch key for it.
  int32_t deviceType;
  const char *key;
  /// Inputs and outputs begin at a multiple of this many bytes.
  uintptr_t alignment;

protected:
  Program(int32_t deviceType, const char *key, uintptr_t alignment)
      : deviceType(deviceType), key(key), alignment(alignment) {}
};

} // namespace fastk::torch

#endif // FASTK_LIB_TORCH_PROGRAM_H
