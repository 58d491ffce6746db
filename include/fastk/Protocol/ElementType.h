//===- ElementType.h - The element types of a job's tensors -----*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The element types that cross the border between fastk and a program, and the
// conversions between them and double. Conversions round to nearest even, as
// the hardware's do, and go through no library: the worker must give the same
// inputs on every machine.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_PROTOCOL_ELEMENTTYPE_H
#define FASTK_PROTOCOL_ELEMENTTYPE_H

#include <cstdint>
#include <optional>
#include <string_view>

namespace fastk::worker {

/// Programs that are judged have no I16: jobs refuse it. Models may.
enum class ElementType { F64, F32, F16, BF16, I64, I32, I8, I1, I16 };

/// The spelling used in job files: "f64", "f32", ...
std::string_view toString(ElementType type);
std::optional<ElementType> parseElementType(std::string_view text);

/// Bytes of one element in memory. i1 takes one byte holding 0 or 1.
int64_t byteSize(ElementType type);

bool isFloat(ElementType type);

/// Unit round-off: half the distance between 1 and the next value. 0 for
/// integers.
double unitRoundoff(ElementType type);

/// Largest finite value of a float type; largest value of an integer type.
double largestValue(ElementType type);

/// Smallest positive normal value of a float type; 0 for integers.
double smallestNormal(ElementType type);

/// Reads element \p index of \p data. i64 beyond 2^53 loses its low bits.
double loadElement(ElementType type, const void *data, int64_t index);

/// Rounds \p value to \p type and stores it as element \p index of \p data.
/// Integers saturate; i1 stores value != 0.
void storeElement(ElementType type, void *data, int64_t index, double value);

/// Stores \p count values from element \p index on, as storeElement does.
void storeElements(ElementType type, void *data, int64_t index,
                   const double *values, int64_t count);

/// Reads \p count elements from element \p index on, as loadElement does.
void loadElements(ElementType type, const void *data, int64_t index,
                  double *values, int64_t count);

/// \p value rounded to \p type and read back.
double roundTo(ElementType type, double value);

uint16_t toHalfBits(double value);
double fromHalfBits(uint16_t bits);
uint16_t toBFloatBits(double value);
double fromBFloatBits(uint16_t bits);

} // namespace fastk::worker

#endif // FASTK_PROTOCOL_ELEMENTTYPE_H
