//===- Random.h - Repeatable random choices ---------------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_UNITTESTS_ANALYSIS_RANDOM_H
#define FASTK_UNITTESTS_ANALYSIS_RANDOM_H

#include <numeric>
#include <random>
#include <vector>

namespace fastk::test {

/// The same choices for the same seed with every standard library, which the
/// distributions of <random> do not promise.
class Random {
public:
  explicit Random(unsigned seed) : engine(seed) {}
  /// A number below `limit`, which is not zero.
  unsigned below(unsigned limit) { return engine() % limit; }
  bool chance(unsigned percent) { return below(100) < percent; }

  template <typename Container>
  void shuffle(Container &items) {
    for (size_t i = items.size(); i > 1; --i)
      std::swap(items[i - 1], items[below(i)]);
  }
  std::vector<unsigned> permutation(unsigned size) {
    std::vector<unsigned> result(size);
    std::iota(result.begin(), result.end(), 0);
    shuffle(result);
    return result;
  }

private:
  std::mt19937 engine;
};

} // namespace fastk::test

#endif // FASTK_UNITTESTS_ANALYSIS_RANDOM_H
