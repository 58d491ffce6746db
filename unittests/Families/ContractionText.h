//===- ContractionText.h - Workloads to try families on ---------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_UNITTESTS_FAMILIES_CONTRACTIONTEXT_H
#define FASTK_UNITTESTS_FAMILIES_CONTRACTIONTEXT_H

#include "../Analysis/WorkloadFixture.h"
#include "fastk/Families/Contraction.h"
#include "gtest/gtest.h"

namespace fastk::test {

/// A product of two tensors, whose dimensions are letters of "bmnk", with an
/// elementwise tail.
struct ContractionText {
  int64_t batch = 1, m = 64, n = 128, k = 32;
  std::string a = "mk", b = "nk", out = "mn";
  std::string type = "f16", result = "f16";
  /// Lines of a body that make `%v` of `%x`, a sum in f32; with `%bias`, of
  /// type `type`, one for each column.
  std::string tail = "%v = arith.addf %x, %zero : f32";
  /// Lines that make `%a1` of `%a0`, elements of `type`, before the product.
  std::string head;

  int64_t extent(char dim) const {
    return dim == 'b' ? batch : dim == 'm' ? m : dim == 'n' ? n : k;
  }
  std::string tensor(llvm::StringRef dims, llvm::StringRef element) const {
    std::string text = "tensor<";
    for (char dim : dims)
      text += std::to_string(extent(dim)) + "x";
    return text + element.str() + ">";
  }
  static std::string map(llvm::StringRef loops, llvm::StringRef dims) {
    auto list = [](llvm::StringRef each) {
      std::string text;
      for (char c : each)
        text += (text.empty() ? "" : ", ") + std::string(1, c);
      return text;
    };
    return "affine_map<(" + list(loops) + ") -> (" + list(dims) + ")>";
  }
  static std::string parallel(size_t count) {
    std::string text;
    for (size_t i = 0; i < count; ++i)
      text += (i ? ", " : "") + std::string("\"parallel\"");
    return text;
  }
  std::string widen(llvm::StringRef name, llvm::StringRef from) const {
    if (type == "f32")
      return "";
    return ("%" + name + " = arith.extf %" + from + " : " + type + " to f32\n")
        .str();
  }

  std::string str() const {
    std::string loops = out + "k", sums = tensor(out, "f32");
    std::string tA = tensor(a, type), tB = tensor(b, type),
                tOut = tensor(out, result), tBias = tensor("n", type);
    std::string ax = type == "f32" ? "%xa" : "%xw",
                bx = type == "f32" ? "%xb" : "%yw";
    std::string text = "func.func @f(%a: " + tA + ", %b: " + tB +
                       ", %bias: " + tBias + ") -> " + tOut + " {\n" +
                       "%zero = arith.constant 0.0 : f32\n"
                       "%e = tensor.empty() : " +
                       sums +
                       "\n%z = linalg.fill ins(%zero : f32) outs(%e : " + sums +
                       ") -> " + sums + "\n";
    std::string left = "%a";
    if (!head.empty()) {
      std::string same = map(a, a);
      text += "%ea = tensor.empty() : " + tA +
              "\n%ha = linalg.generic {indexing_maps = [" + same + ", " + same +
              "], iterator_types = [" + parallel(a.size()) +
              "]} ins(%a : " + tA + ") outs(%ea : " + tA +
              ") {\n^bb0(%a0: " + type + ", %o: " + type + "):\n" + head +
              "\nlinalg.yield %a1 : " + type + "\n} -> " + tA + "\n";
      left = "%ha";
    }
    text += "%s = linalg.generic {indexing_maps = [" + map(loops, a) + ", " +
            map(loops, b) + ", " + map(loops, out) + "], iterator_types = [" +
            parallel(out.size()) + ", \"reduction\"]} ins(" + left +
            ", %b : " + tA + ", " + tB + ") outs(%z : " + sums +
            ") {\n^bb0(%xa: " + type + ", %xb: " + type + ", %o: f32):\n" +
            widen("xw", "xa") + widen("yw", "xb") + "%p = arith.mulf " + ax +
            ", " + bx +
            " : f32\n%t = arith.addf %o, %p : f32\nlinalg.yield %t : f32\n} "
            "-> " +
            sums + "\n";
    std::string narrow =
        result == "f32" ? "" : "%w = arith.truncf %v : f32 to " + result + "\n";
    text +=
        "%er = tensor.empty() : " + tOut +
        "\n%r = linalg.generic {indexing_maps = [" + map(out, out) + ", " +
        map(out, "n") + ", " + map(out, out) + "], iterator_types = [" +
        parallel(out.size()) + "]} ins(%s, %bias : " + sums + ", " + tBias +
        ") outs(%er : " + tOut + ") {\n^bb0(%x: f32, %bn: " + type +
        ", %o: " + result + "):\n" +
        (type == "f32" ? ""
                       : "%bias32 = arith.extf %bn : " + type + " to f32\n") +
        tail + "\n" + narrow + "linalg.yield " +
        (narrow.empty() ? "%v" : "%w") + " : " + result + "\n} -> " + tOut +
        "\nreturn %r : " + tOut + "\n}\n";
    return text;
  }
};

/// The core of a function's text; `why` says what is none.
struct MatchedText {
  explicit MatchedText(const std::string &text) {
    Module source = wrapIntoWorkload(text);
    EXPECT_TRUE(source) << text;
    if (!source)
      return;
    auto computed = computeCanonicalForm(getWorkload(*source));
    EXPECT_TRUE(mlir::succeeded(computed));
    form.emplace(std::move(*computed));
    core = families::matchContraction(form->getPattern().front(), why);
  }
  explicit MatchedText(const ContractionText &text) : MatchedText(text.str()) {}

  std::optional<CanonicalForm> form;
  std::optional<families::Contraction> core;
  std::string why;
};

} // namespace fastk::test

#endif // FASTK_UNITTESTS_FAMILIES_CONTRACTIONTEXT_H
