//===- Signature.h - What a compiled function takes -------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_RUNTIME_SIGNATURE_H
#define FASTK_RUNTIME_SIGNATURE_H

#include "fastk/Protocol/ElementType.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

namespace fastk {

/// Element type and shape of an argument or a result. All are contiguous and
/// row-major; a scalar has no dimensions.
struct TensorType {
  worker::ElementType element = worker::ElementType::F32;
  /// -1 for a dimension that is known at run time only.
  std::vector<int64_t> shape;
  /// Each element is two of `element`: the real and the imaginary part.
  bool isComplex = false;

  /// How many numbers there are: two for each complex one.
  int64_t elements() const;
  int64_t bytes() const { return elements() * worker::byteSize(element); }
  bool isDynamic() const;
  /// "4x128xf32", "?x3xcomplex<f64>"
  std::string str() const;
  bool operator==(const TensorType &other) const {
    return element == other.element && shape == other.shape &&
           isComplex == other.isComplex;
  }
  /// True for the same type, and for another that has some size where this has
  /// none.
  bool accepts(const TensorType &other) const;
};

/// What the string constant `fastk_signature_<function>` of a compiled library
/// says: {"inputs": [{"dtype": "f32", "shape": [4, 128]}], "outputs": [...]},
/// with -1 for dimensions that are known at run time only.
/// That of a library for a GPU also has "target" ("cuda:sm_90a"), and in
/// "workspace" the bytes that a call needs besides.
struct Signature {
  std::vector<TensorType> inputs, outputs;
  std::string target = "host";

  static llvm::Expected<Signature> parse(llvm::StringRef json);
};

/// A tensor that owns 64-byte aligned memory, as compiled code wants it.
class HostTensor {
public:
  HostTensor() = default;
  /// Memory is zeroed. The type is static.
  explicit HostTensor(TensorType type);
  /// Takes memory that malloc or aligned_alloc has made.
  HostTensor(TensorType type, void *owned)
      : tensorType(std::move(type)), memory(owned) {}

  const TensorType &type() const { return tensorType; }
  void *data() const { return memory.get(); }
  double load(int64_t index) const {
    return worker::loadElement(tensorType.element, memory.get(), index);
  }
  void store(int64_t index, double value) {
    worker::storeElement(tensorType.element, memory.get(), index, value);
  }

private:
  struct Free {
    void operator()(void *pointer) const { std::free(pointer); }
  };
  TensorType tensorType;
  std::unique_ptr<void, Free> memory;
};

} // namespace fastk

#endif // FASTK_RUNTIME_SIGNATURE_H
