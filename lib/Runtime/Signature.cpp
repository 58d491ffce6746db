//===- Signature.cpp - What a compiled function takes ---------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Runtime/Signature.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MathExtras.h"
#include <cstring>

using namespace fastk;
namespace json = llvm::json;

int64_t TensorType::elements() const {
  int64_t count = isComplex ? 2 : 1;
  for (int64_t dim : shape)
    count *= dim;
  return count;
}

bool TensorType::isDynamic() const { return llvm::is_contained(shape, -1); }

bool TensorType::accepts(const TensorType &other) const {
  return element == other.element && isComplex == other.isComplex &&
         shape.size() == other.shape.size() &&
         llvm::all_of(llvm::zip(shape, other.shape), [](auto pair) {
           return std::get<0>(pair) == -1 ||
                  std::get<0>(pair) == std::get<1>(pair);
         });
}

std::string TensorType::str() const {
  std::string text;
  for (int64_t dim : shape)
    text += (dim == -1 ? "?" : std::to_string(dim)) + "x";
  std::string name(worker::toString(element));
  return text + (isComplex ? "complex<" + name + ">" : name);
}

static bool fromArray(const json::Array *array,
                      std::vector<TensorType> &types) {
  if (!array)
    return false;
  for (const json::Value &value : *array) {
    const json::Object *object = value.getAsObject();
    const json::Array *shape = object ? object->getArray("shape") : nullptr;
    auto element = object ? object->getString("dtype") : std::nullopt;
    if (!shape || !element)
      return false;
    TensorType type;
    llvm::StringRef name = *element;
    type.isComplex = name.consume_front("complex<") && name.consume_back(">");
    auto parsed = worker::parseElementType(std::string_view(name));
    if (!parsed)
      return false;
    type.element = *parsed;
    int64_t count = 1;
    for (const json::Value &dim : *shape) {
      std::optional<int64_t> extent = dim.getAsInteger();
      if (!extent || *extent < -1)
        return false;
      if (*extent >= 0 && (llvm::MulOverflow(count, *extent, count) ||
                           count > int64_t(1) << 44))
        return false;
      type.shape.push_back(*extent);
    }
    types.push_back(std::move(type));
  }
  return true;
}

llvm::Expected<Signature> Signature::parse(llvm::StringRef text) {
  llvm::Expected<json::Value> value = json::parse(text);
  if (!value)
    return value.takeError();
  const json::Object *object = value->getAsObject();
  Signature signature;
  if (!object || !fromArray(object->getArray("inputs"), signature.inputs) ||
      !fromArray(object->getArray("outputs"), signature.outputs))
    return llvm::createStringError(
        "not a fastk signature: expected {\"inputs\", \"outputs\"} with a "
        "dtype and a shape for each tensor");
  if (auto target = object->getString("target"))
    signature.target = target->str();
  return signature;
}

HostTensor::HostTensor(TensorType type) : tensorType(std::move(type)) {
  size_t bytes = llvm::alignTo(std::max<int64_t>(tensorType.bytes(), 1), 64);
  void *pointer = std::aligned_alloc(64, bytes);
  if (!pointer)
    llvm::report_bad_alloc_error("a tensor does not fit in memory");
  std::memset(pointer, 0, bytes);
  memory.reset(pointer);
}
