//===- HostDevice.h - The machine the worker runs on ------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_WORKER_HOST_HOSTDEVICE_H
#define FASTK_LIB_WORKER_HOST_HOSTDEVICE_H

#include "../Device.h"
#include "Child.h"
#include "HostLoad.h"
#include "ProgramImage.h"
#include "SharedBuffer.h"
#include "Values/Hash.h"
#include <functional>

namespace fastk::worker {

/// Operands in memory files, with a hash of each as the worker wrote it.
class HostOperands : public Operands {
public:
  std::vector<SharedBuffer> buffers;
  std::vector<uint64_t> hashes;
};

class HostResults : public Results {
public:
  using Results::Results;
  std::vector<SharedBuffer> buffers;
  SharedBuffer workspace;
};

/// Starts a process as programs have one, with nothing in it. Why there is
/// none, or empty; \p missing gets the protections that it lacks.
std::string probeHost(std::vector<std::string> &missing);

/// Programs are shared objects, each in a sandboxed process of its own.
class HostDevice : public Device {
public:
  explicit HostDevice(const Job &job) : Device(job) {}

  // HostDevice.cpp: programs and clocks.
  bool open(Verdict &verdict, Failure &failure) override;
  std::unique_ptr<ProgramInstance> start(ProgramRole part, int64_t sets,
                                         Verdict &verdict,
                                         Failure &failure) override;
  void beginTiming() override { isTiming = true; }
  size_t rotatingSets(size_t wanted,
                      const std::vector<ProgramRole> &parts) override;
  void settle() override;
  bool isDisturbed(const CallTime &time) override;
  std::string describeDisturbance(const std::vector<CallTime> &times) override;
  void flush(const Operands &operands, const Results &results) override;
  std::string distrust(const CallTime &time) override;
  std::string distrust(const std::vector<CallTime> &times,
                       const std::vector<CallTime> &trusted,
                       double handshakeP90) override;

  // HostMemory.cpp: operands and results.
  std::unique_ptr<Operands> createOperands(Failure &failure) override;
  std::unique_ptr<Results> createResults(ProgramRole part,
                                         Failure &failure) override;
  void fill(Operands &operands, const Trial &trial,
            Placement placement) override;
  /// The operands of another device: \p bytesOf returns those of each.
  void copy(Operands &operands, Placement placement,
            const std::function<const void *(size_t index)> &bytesOf);
  void redraw(Operands &operands, size_t index, const Trial &trial) override;
  void mutate(Operands &operands, const Trial &trial, uint64_t seed) override;
  void perturb(const Operands &from, Operands &to, const Trial &trial,
               uint64_t draw, double delta, Placement placement) override;
  bool roundToHalf(Operands &operands) override;
  void place(Results &results, Placement placement) override;
  void poison(Results &results) override;
  std::string damage(const Operands &operands, const Results &results) override;
  const void *bytesOf(const Operands &operands, size_t index) override;
  const void *bytesOf(const Results &results, size_t index) override;
  uint64_t hashOf(const Results &results) override;

private:
  const ProgramImage *imageOf(ProgramRole part) const;

  uint64_t hashOf(const SharedBuffer &buffer) const;
  void rehash(HostOperands &set) const;

  /// Of operands and results; nobody can keep it while changing them.
  const KeyedHash hash;
  ProgramImage oracle, condition, baseline, incumbent, candidate;
  int64_t threads = 1;
  /// Programs are started to be timed.
  bool isTiming = false;
  /// Since settle().
  HostLoad load;
};

} // namespace fastk::worker

#endif // FASTK_LIB_WORKER_HOST_HOSTDEVICE_H
