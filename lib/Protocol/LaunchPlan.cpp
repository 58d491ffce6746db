//===- LaunchPlan.cpp - How a GPU program is launched ---------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Protocol/LaunchPlan.h"
#include "fastk/Protocol/Names.h"

using namespace fastk::worker;

static constexpr Name<TensorMap::Type> mapTypeNames[] = {
    {TensorMap::Type::U8, "u8"},    {TensorMap::Type::U16, "u16"},
    {TensorMap::Type::U32, "u32"},  {TensorMap::Type::I32, "i32"},
    {TensorMap::Type::U64, "u64"},  {TensorMap::Type::I64, "i64"},
    {TensorMap::Type::F16, "f16"},  {TensorMap::Type::F32, "f32"},
    {TensorMap::Type::F64, "f64"},  {TensorMap::Type::BF16, "bf16"},
    {TensorMap::Type::TF32, "tf32"}};
static constexpr Name<TensorMap::Interleave> interleaveNames[] = {
    {TensorMap::Interleave::None, "none"},
    {TensorMap::Interleave::B16, "16B"},
    {TensorMap::Interleave::B32, "32B"}};
static constexpr Name<TensorMap::Swizzle> swizzleNames[] = {
    {TensorMap::Swizzle::None, "none"},
    {TensorMap::Swizzle::B32, "32B"},
    {TensorMap::Swizzle::B64, "64B"},
    {TensorMap::Swizzle::B128, "128B"}};
static constexpr Name<TensorMap::Promotion> promotionNames[] = {
    {TensorMap::Promotion::None, "none"},
    {TensorMap::Promotion::B64, "64B"},
    {TensorMap::Promotion::B128, "128B"},
    {TensorMap::Promotion::B256, "256B"}};
static constexpr Name<TensorMap::Fill> fillNames[] = {
    {TensorMap::Fill::Zero, "zero"}, {TensorMap::Fill::NaN, "nan"}};

std::string_view fastk::worker::toString(TensorMap::Type value) {
  return nameOf(mapTypeNames, value);
}
std::optional<TensorMap::Type>
fastk::worker::parseTensorMapType(std::string_view text) {
  return valueOf(mapTypeNames, text);
}
std::string_view fastk::worker::toString(TensorMap::Interleave value) {
  return nameOf(interleaveNames, value);
}
std::optional<TensorMap::Interleave>
fastk::worker::parseInterleave(std::string_view text) {
  return valueOf(interleaveNames, text);
}
std::string_view fastk::worker::toString(TensorMap::Swizzle value) {
  return nameOf(swizzleNames, value);
}
std::optional<TensorMap::Swizzle>
fastk::worker::parseSwizzle(std::string_view text) {
  return valueOf(swizzleNames, text);
}
std::string_view fastk::worker::toString(TensorMap::Promotion value) {
  return nameOf(promotionNames, value);
}
std::optional<TensorMap::Promotion>
fastk::worker::parsePromotion(std::string_view text) {
  return valueOf(promotionNames, text);
}
std::string_view fastk::worker::toString(TensorMap::Fill value) {
  return nameOf(fillNames, value);
}
std::optional<TensorMap::Fill> fastk::worker::parseFill(std::string_view text) {
  return valueOf(fillNames, text);
}

int64_t fastk::worker::byteSize(TensorMap::Type type) {
  switch (type) {
  case TensorMap::Type::U8:
    return 1;
  case TensorMap::Type::U16:
  case TensorMap::Type::F16:
  case TensorMap::Type::BF16:
    return 2;
  case TensorMap::Type::U32:
  case TensorMap::Type::I32:
  case TensorMap::Type::F32:
  case TensorMap::Type::TF32:
    return 4;
  case TensorMap::Type::U64:
  case TensorMap::Type::I64:
  case TensorMap::Type::F64:
    return 8;
  }
  return 0;
}

std::string fastk::worker::checkKernelName(std::string_view name) {
  constexpr size_t longest = 1024;
  if (name.empty())
    return "is empty; a launch names an entry of the program";
  if (name.size() > longest)
    return "is longer than " + std::to_string(longest) + " characters";
  auto isPlain = [](std::string_view part) {
    auto isDigit = [](char c) { return c >= '0' && c <= '9'; };
    for (char c : part) {
      bool isLetter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
      if (!isDigit(c) && !isLetter && c != '_' && c != '$' && c != '.')
        return false;
    }
    return !part.empty() && !isDigit(part[0]);
  };
  size_t colons = name.find("::");
  bool plain = colons == name.npos ? isPlain(name)
                                   : isPlain(name.substr(0, colons)) &&
                                         isPlain(name.substr(colons + 2));
  return plain ? ""
               : "is no plain name; an entry's name has letters, digits, _, $ "
                 "and '.', no digit first";
}

std::vector<std::string_view>
fastk::worker::launchedKernels(const LaunchPlan &plan) {
  std::vector<std::string_view> names;
  for (const PlanStep &step : plan.steps) {
    const auto *launch = std::get_if<Launch>(&step);
    if (!launch)
      continue;
    std::string_view name = launch->kernel;
    size_t colons = name.find("::");
    names.push_back(colons == name.npos ? name : name.substr(colons + 2));
  }
  return names;
}
