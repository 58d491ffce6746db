//===- Machine.h - Where a time was measured --------------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel that beats the default lowering on one CPU may lose to it on the
// next. So a winner for the host counts only where it was measured: on the same
// CPU model, kind of core and vector width, with as many threads. Clock rates
// do not count: both sides of a comparison go with them. A winner for a GPU
// counts on the GPUs of its model.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_BANK_MACHINE_H
#define FASTK_BANK_MACHINE_H

#include <cstdint>
#include <string>

namespace fastk {

struct Machine {
  /// CPU model, as the system names it: "AMD EPYC 9654"; or a GPU's, as its
  /// driver does: "NVIDIA H200".
  std::string model;
  /// Kind of core and vector width: "znver4, 512-bit vectors". A virtual
  /// machine may call different CPUs by one model, and hide their vectors.
  /// Empty in records of the first release.
  std::string cpu;
  /// How many threads kernels run with; 0 on a GPU.
  int64_t threads = 0;

  /// This machine, with `threads`, or 0 for all processors that this process
  /// may run on. Takes a millisecond; measures nothing.
  static Machine host(unsigned threads = 0);

  /// What a target is compiled for: this machine for "host", for "cuda:sm_90a"
  /// the GPU that lib/Target describes. Without a description nothing is known
  /// of it, and no winner is comparable.
  static Machine of(const std::string &target, unsigned threads = 0);

  /// True when a time of one says what to expect on the other. What one of them
  /// does not know of its CPU is not compared; a machine without model is none.
  bool isComparable(const Machine &other) const;

  /// "AMD EPYC 9654 (znver4, 512-bit vectors) with 8 threads"
  std::string str() const;
};

/// The `cpu` of this machine.
std::string hostCpu();

} // namespace fastk

#endif // FASTK_BANK_MACHINE_H
