//===- call.cpp - Calls a compiled model from C++ -------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "model.h"
#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <new>
#include <numeric>
#include <stdexcept>

// Floats in memory that is aligned as the model wants it.
struct Free {
  void operator()(float *memory) const { std::free(memory); }
};
using Floats = std::unique_ptr<float[], Free>;

static Floats allocate(std::size_t count) {
  std::size_t bytes = (count * sizeof(float) + 63) / 64 * 64;
  void *memory = std::aligned_alloc(64, bytes);
  if (!memory)
    throw std::bad_alloc();
  return Floats(static_cast<float *>(memory));
}

static void check(int code, const char *(*text)(int)) {
  if (code == FASTK_OUT_OF_MEMORY)
    throw std::bad_alloc();
  if (code != FASTK_OK)
    throw std::runtime_error(text(code));
}

int main() {
  if (!fastk_matches_forward() || !fastk_matches_head()) {
    std::cerr << "model.h describes another library\n";
    return 1;
  }
  Floats x = allocate(FASTK_ELEMENTS_forward_in0);
  Floats w = allocate(FASTK_ELEMENTS_forward_in1);
  Floats y = allocate(FASTK_ELEMENTS_forward_out0);
  std::iota(x.get(), x.get() + FASTK_ELEMENTS_forward_in0, 0.0f);
  std::fill_n(w.get(), FASTK_ELEMENTS_forward_in1, 1.0f);
  check(forward(x.get(), w.get(), y.get()), fastk_error_forward);
  std::cout << "forward: " << y[0] << " " << y[FASTK_ELEMENTS_forward_out0 - 1]
            << "\n";

  const int64_t rows[2] = {16, 2};
  int64_t shape[2];
  auto headOf = [&](int64_t n) {
    float *result = nullptr;
    check(head(x.get(), rows, &n, &result, shape), fastk_error_head);
    return Floats(result);
  };
  Floats part = headOf(3);
  std::cout << "head: " << shape[0] << " x " << shape[1] << ", last "
            << part[shape[0] * shape[1] - 1] << "\n";
  try {
    headOf(17);
  } catch (const std::runtime_error &error) {
    std::cout << "head of 17: " << error.what() << "\n";
  }
}
