//===- ElementType.cpp - The element types of a job's tensors -------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Protocol/ElementType.h"
#include "fastk/Protocol/FloatFormulas.h"
#include "fastk/Protocol/Names.h"
#include <cfloat>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

using namespace fastk::worker;

static constexpr Name<ElementType> typeNames[] = {
    {ElementType::F64, "f64"}, {ElementType::F32, "f32"},
    {ElementType::F16, "f16"}, {ElementType::BF16, "bf16"},
    {ElementType::I64, "i64"}, {ElementType::I32, "i32"},
    {ElementType::I8, "i8"},   {ElementType::I1, "i1"},
    {ElementType::I16, "i16"}};

std::string_view fastk::worker::toString(ElementType type) {
  return nameOf(typeNames, type);
}

std::optional<ElementType>
fastk::worker::parseElementType(std::string_view text) {
  return valueOf(typeNames, text);
}

int64_t fastk::worker::byteSize(ElementType type) {
  switch (type) {
  case ElementType::F64:
  case ElementType::I64:
    return 8;
  case ElementType::F32:
  case ElementType::I32:
    return 4;
  case ElementType::F16:
  case ElementType::BF16:
  case ElementType::I16:
    return 2;
  case ElementType::I8:
  case ElementType::I1:
    return 1;
  }
  return 0;
}

bool fastk::worker::isFloat(ElementType type) {
  return type == ElementType::F64 || type == ElementType::F32 ||
         type == ElementType::F16 || type == ElementType::BF16;
}

double fastk::worker::unitRoundoff(ElementType type) {
  switch (type) {
  case ElementType::F64:
    return 0x1p-53;
  case ElementType::F32:
    return 0x1p-24;
  case ElementType::F16:
    return 0x1p-11;
  case ElementType::BF16:
    return 0x1p-8;
  default:
    return 0;
  }
}

double fastk::worker::largestValue(ElementType type) {
  switch (type) {
  case ElementType::F64:
    return DBL_MAX;
  case ElementType::F32:
    return FLT_MAX;
  case ElementType::F16:
    return 65504;
  case ElementType::BF16:
    return 0x1.FEp127;
  case ElementType::I64:
    return 0x1p63 - 1024;
  case ElementType::I32:
    return 2147483647;
  case ElementType::I16:
    return 32767;
  case ElementType::I8:
    return 127;
  case ElementType::I1:
    return 1;
  }
  return 0;
}

double fastk::worker::smallestNormal(ElementType type) {
  switch (type) {
  case ElementType::F64:
    return DBL_MIN;
  case ElementType::F32:
  case ElementType::BF16:
    return FLT_MIN;
  case ElementType::F16:
    return 0x1p-14;
  default:
    return 0;
  }
}

/// All values of a 16-bit format: judging reads millions.
static std::vector<double> valuesOf16(int mantissa, int minExponent) {
  std::vector<double> values(65536);
  for (uint32_t bits = 0; bits < 65536; ++bits)
    values[bits] = fromBits16(uint16_t(bits), mantissa, minExponent);
  return values;
}

uint16_t fastk::worker::toHalfBits(double value) {
  return toBits16(value, 10, -14, 15);
}
double fastk::worker::fromHalfBits(uint16_t bits) {
  static const std::vector<double> values = valuesOf16(10, -14);
  return values[bits];
}
uint16_t fastk::worker::toBFloatBits(double value) {
  return toBits16(value, 7, -126, 127);
}
double fastk::worker::fromBFloatBits(uint16_t bits) {
  static const std::vector<double> values = valuesOf16(7, -126);
  return values[bits];
}

template <typename T>
static T loadAs(const void *data, int64_t index) {
  T value;
  std::memcpy(&value, static_cast<const char *>(data) + index * sizeof(T),
              sizeof(T));
  return value;
}

template <typename T>
static void storeAs(void *data, int64_t index, T value) {
  std::memcpy(static_cast<char *>(data) + index * sizeof(T), &value, sizeof(T));
}

template <typename T>
static T saturate(double value) {
  if (!(value > double(std::numeric_limits<T>::min())))
    return std::numeric_limits<T>::min();
  if (value >= double(std::numeric_limits<T>::max()))
    return std::numeric_limits<T>::max();
  return T(value);
}

double fastk::worker::loadElement(ElementType type, const void *data,
                                  int64_t index) {
  switch (type) {
  case ElementType::F64:
    return loadAs<double>(data, index);
  case ElementType::F32:
    return loadAs<float>(data, index);
  case ElementType::F16:
    return fromHalfBits(loadAs<uint16_t>(data, index));
  case ElementType::BF16:
    return fromBFloatBits(loadAs<uint16_t>(data, index));
  case ElementType::I64:
    return double(loadAs<int64_t>(data, index));
  case ElementType::I32:
    return loadAs<int32_t>(data, index);
  case ElementType::I16:
    return loadAs<int16_t>(data, index);
  case ElementType::I8:
    return loadAs<int8_t>(data, index);
  case ElementType::I1:
    return loadAs<uint8_t>(data, index);
  }
  return 0;
}

void fastk::worker::storeElement(ElementType type, void *data, int64_t index,
                                 double value) {
  switch (type) {
  case ElementType::F64:
    return storeAs<double>(data, index, value);
  case ElementType::F32:
    return storeAs<float>(data, index, float(value));
  case ElementType::F16:
    return storeAs<uint16_t>(data, index, toHalfBits(value));
  case ElementType::BF16:
    return storeAs<uint16_t>(data, index, toBFloatBits(value));
  case ElementType::I64:
    return storeAs<int64_t>(data, index, saturate<int64_t>(value));
  case ElementType::I32:
    return storeAs<int32_t>(data, index, saturate<int32_t>(value));
  case ElementType::I16:
    return storeAs<int16_t>(data, index, saturate<int16_t>(value));
  case ElementType::I8:
    return storeAs<int8_t>(data, index, saturate<int8_t>(value));
  case ElementType::I1:
    return storeAs<uint8_t>(data, index, value != 0);
  }
}

// The type is looked at once; the loops know it.

void fastk::worker::storeElements(ElementType type, void *data, int64_t index,
                                  const double *values, int64_t count) {
  auto loop = [&](auto store) {
    for (int64_t i = 0; i < count; ++i)
      store(index + i, values[i]);
  };
  switch (type) {
  case ElementType::F64:
    return loop([=](int64_t i, double v) { storeAs<double>(data, i, v); });
  case ElementType::F32:
    return loop(
        [=](int64_t i, double v) { storeAs<float>(data, i, float(v)); });
  case ElementType::F16:
    return loop([=](int64_t i, double v) {
      storeAs<uint16_t>(data, i, toHalfBits(v));
    });
  case ElementType::BF16:
    return loop([=](int64_t i, double v) {
      storeAs<uint16_t>(data, i, toBFloatBits(v));
    });
  default:
    return loop([=](int64_t i, double v) { storeElement(type, data, i, v); });
  }
}

void fastk::worker::loadElements(ElementType type, const void *data,
                                 int64_t index, double *values, int64_t count) {
  auto loop = [&](auto load) {
    for (int64_t i = 0; i < count; ++i)
      values[i] = load(index + i);
  };
  switch (type) {
  case ElementType::F64:
    return loop([=](int64_t i) { return loadAs<double>(data, i); });
  case ElementType::F32:
    return loop([=](int64_t i) { return double(loadAs<float>(data, i)); });
  default:
    return loop([=](int64_t i) { return loadElement(type, data, i); });
  }
}

double fastk::worker::roundTo(ElementType type, double value) {
  char bytes[8] = {};
  storeElement(type, bytes, 0, value);
  return loadElement(type, bytes, 0);
}
