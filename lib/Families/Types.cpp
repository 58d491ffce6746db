//===- Types.cpp - Element types in C -------------------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Families/Emitter.h"

using namespace mlir;
using namespace fastk;
using namespace fastk::catalog;

std::optional<Elem> catalog::elemOf(Type type) {
  if (type.isF32())
    return Elem::F32;
  if (type.isF64())
    return Elem::F64;
  if (type.isF16())
    return Elem::F16;
  if (type.isIndex() || type.isInteger(64))
    return Elem::I64;
  if (type.isInteger(32))
    return Elem::I32;
  if (type.isInteger(16))
    return Elem::I16;
  if (type.isInteger(8))
    return Elem::I8;
  if (type.isInteger(1))
    return Elem::I1;
  return std::nullopt;
}

int64_t catalog::bytesOf(Elem elem) {
  switch (elem) {
  case Elem::I1:
  case Elem::I8:
    return 1;
  case Elem::I16:
  case Elem::F16:
  case Elem::BF16:
    return 2;
  case Elem::I32:
  case Elem::F32:
    return 4;
  case Elem::I64:
  case Elem::F64:
    return 8;
  }
  return 8;
}

bool catalog::isFloat(Elem elem) {
  return elem == Elem::F16 || elem == Elem::BF16 || elem == Elem::F32 ||
         elem == Elem::F64;
}

Elem catalog::computeElem(Elem elem) {
  return elem == Elem::F16 || elem == Elem::BF16 ? Elem::F32 : elem;
}

const char *catalog::suffixOf(Elem elem) {
  switch (elem) {
  case Elem::I1:
    return "b8";
  case Elem::I8:
    return "i8";
  case Elem::I16:
    return "i16";
  case Elem::I32:
    return "i32";
  case Elem::I64:
    return "i64";
  case Elem::F16:
    return "f16";
  case Elem::BF16:
    return "bf16";
  case Elem::F32:
    return "f32";
  case Elem::F64:
    return "f64";
  }
  return "";
}

const char *catalog::cTypeOf(Elem elem) {
  switch (elem) {
  case Elem::I1:
    return "uint8_t";
  case Elem::I8:
    return "int8_t";
  case Elem::I16:
    return "int16_t";
  case Elem::I32:
    return "int32_t";
  case Elem::I64:
    return "int64_t";
  case Elem::F16:
    return "_Float16";
  case Elem::BF16:
    return "__bf16";
  case Elem::F32:
    return "float";
  case Elem::F64:
    return "double";
  }
  return "";
}

std::string catalog::registerType(Elem elem, bool vector) {
  if (elem == Elem::I1)
    return vector ? "vi32" : "int32_t";
  elem = computeElem(elem);
  return vector ? std::string("v") + suffixOf(elem) : cTypeOf(elem);
}
