//===- Contract.h - The numbers of the contract -----------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What docs/validation.md asks of an element, as numbers. The judge and the
// prompts take them from here, so that neither says what the other does not.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_PROTOCOL_CONTRACT_H
#define FASTK_PROTOCOL_CONTRACT_H

namespace fastk::worker::contract {

/// Class `ieee`: so many round-offs of the arithmetic, times the condition.
constexpr double ieeeRoundoffs = 8;
/// The condition of a product of two exact operands, over its magnitude: what
/// one round-off in each operand does to it, and two of its own.
constexpr double productCondition = 4;
/// Class `tf32` adds as much of the condition: what an operand of 10 bits
/// loses.
constexpr double tf32Operands = 0x1p-11;
/// Class `half`: of an element's magnitude and the mean of its row.
constexpr double half = 0.01;
/// Rows of so many elements, in `ieee`, stay within this share of their bounds
/// in the root mean square.
constexpr int rowLength = 32;
constexpr double rowShare = 0.7;

} // namespace fastk::worker::contract

#endif // FASTK_PROTOCOL_CONTRACT_H
