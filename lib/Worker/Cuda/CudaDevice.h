//===- CudaDevice.h - A GPU as a device of the protocol ---------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tensors lie in the worker's memory, in a context of its own, which no program
// can address. A program works on copies in its own process, and the worker
// opens those (CudaChild).
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_WORKER_CUDA_CUDADEVICE_H
#define FASTK_LIB_WORKER_CUDA_CUDADEVICE_H

#include "../Device.h"
#include "Cuda/Inspect/Sanitizer.h"
#include "Cuda/Inspect/Schedules.h"
#include "GpuSession.h"
#include "fastk/Cuda/Driver.h"
#include "fastk/Cuda/Nvrtc.h"
#include <cstdlib>
#include <map>
#include <memory>
#include <vector>

namespace fastk::worker {

/// A tensor or workspace on the GPU, with red zones on both sides.
class DeviceMemory {
public:
  DeviceMemory() = default;
  DeviceMemory(DeviceMemory &&other) noexcept;
  DeviceMemory &operator=(DeviceMemory &&other) noexcept;
  ~DeviceMemory();

  std::string create(GpuSession &session, size_t bytes);
  /// Memory that only a program has, of the same layout.
  void describe(GpuSession &session, size_t bytes);
  /// Moves the tensor within its allocation.
  void place(Placement placement);
  /// Writes red zones that nobody has seen.
  std::string setRedZones();
  /// Red zones of a copy of the allocation were written by this key; place 0 of
  /// the pattern is where it begins.
  void noteRedZones(uint64_t key) const { zoneKey = key; }
  /// False where a red zone was written.
  bool redZonesAlive() const { return redZonesAlive(base); }
  /// The same of a copy of the allocation.
  bool redZonesAlive(cuda::CUdeviceptr copy) const;

  /// The allocation; red zones are at both of its ends.
  cuda::CUdeviceptr allocation() const { return base; }
  size_t total() const;
  cuda::CUdeviceptr address() const { return base + offset(); }
  uint64_t offset() const { return begin; }
  size_t size() const { return bytes; }

private:
  GpuSession *session = nullptr;
  const cuda::Driver *driver = nullptr;
  cuda::CUdeviceptr base = 0;
  size_t bytes = 0;
  uint64_t begin = 0;
  /// Of what is in the red zones, here or in a program's copy.
  mutable uint64_t zoneKey = 0;
};

/// Page-aligned bytes of the host.
struct FreeBytes {
  void operator()(char *data) const { std::free(data); }
};
using HostBytes = std::unique_ptr<char, FreeBytes>;

/// Operands, with the hash of what the worker made of each.
class CudaOperands : public Operands {
public:
  std::vector<DeviceMemory> memory;
  std::vector<uint64_t> hashes;
  /// What was fetched last, for bytesOf().
  std::vector<HostBytes> fetched;
};

class CudaResults : public Results {
public:
  using Results::Results;
  std::vector<DeviceMemory> memory, workspaces;
  /// What was fetched last, for bytesOf().
  std::vector<HostBytes> fetched;
  /// What calls have changed in the program's copies of operands, and around
  /// those of workspaces: the rest of a sentence each.
  mutable std::string operandDamage, workspaceDamage;
};

/// Why a candidate of such code may not be loaded; empty when nothing speaks
/// against it. CUDA C++ is checked by our compiler, as the PTX it becomes.
std::string refusalOf(Code code, const std::string &bytes);

/// Why a candidate may not be left to the driver's assembler, as PTX that the
/// worker's ptxas does not know: it would choose who assembles it by its
/// `.version`. Empty: it was assembled, or no ptxas knows this GPU.
std::string newerRefusalOf(const cuda::CompileResult &assembled);

/// Why the plan may not launch this code: its arguments are not the parameters
/// of its kernels. Empty when they are.
std::string argumentsRefusalOf(const LaunchPlan &plan,
                               const std::string &cubin);

class CudaDevice : public Device {
public:
  explicit CudaDevice(const Job &job) : Device(job) {}
  ~CudaDevice() override;

  // CudaDevice.cpp: programs and clocks.
  bool open(Verdict &verdict, Failure &failure) override;
  /// The part of open() that asks no program: the session, and that it works.
  bool openMemory(Verdict &verdict, Failure &failure);
  std::unique_ptr<ProgramInstance> start(ProgramRole part, int64_t sets,
                                         Verdict &verdict,
                                         Failure &failure) override;
  size_t rotatingSets(size_t wanted,
                      const std::vector<ProgramRole> &parts) override;
  /// Memory that a set of operands takes with those programs, and the oracle
  /// with a set of its own: here and in their processes.
  static int64_t bytesOfSet(const Job &job,
                            const std::vector<ProgramRole> &parts);
  static int64_t bytesOfOracle(const Job &job);
  /// How many sets fit into so much memory beside the oracle, 1 to \p wanted.
  static size_t fittingSets(const Job &job, size_t wanted,
                            const std::vector<ProgramRole> &parts,
                            int64_t availableBytes);
  void beginTiming() override;
  void settle() override;
  bool outlastsDisturbance(double spentNs, size_t samples) const override;
  bool isDisturbed(const CallTime &time) override;
  std::string describeDisturbance(const std::vector<CallTime> &times) override;
  void flush(const Operands &operands, const Results &results) override;
  std::string distrust(const CallTime &time) override;
  std::string distrust(const std::vector<CallTime> &times,
                       const std::vector<CallTime> &trusted,
                       double handshakeP90) override;
  // Inspect.cpp: CUPTI's clock and compute-sanitizer, then delays.
  bool inspect(Verdict &verdict, Failure &failure) override;
  /// Assembles the candidate with delays meanwhile.
  void beginAssembling();
  /// \p opinion: what racecheck says of a program that it cannot follow, unless
  /// it finds nothing.
  bool inspectByTools(Verdict &verdict, std::optional<SanitizerResult> &opinion,
                      Failure &failure);
  /// Times the kernels of the baseline and of the candidate by CUPTI. \p crash:
  /// what the candidate alone fails with. False where it is refused.
  bool traceKernels(const std::string &cupti, Verdict &verdict,
                    struct SoloCalls &calls, std::string &crash,
                    Failure &failure);
  /// False where a tool of compute-sanitizer rejects the candidate, or one that
  /// is required cannot run.
  bool sanitize(const std::string &sanitizer, Verdict &verdict,
                const struct SoloCalls &calls,
                std::optional<SanitizerResult> &opinion, Failure &failure);
  // Delays.cpp: many schedules.
  bool delay(Verdict &verdict, const std::optional<SanitizerResult> &opinion,
             Failure &failure);
  /// Operands for processes of their own, and their sizes, together \p bytes.
  std::unique_ptr<Operands> prepareSolo(struct SoloRun &run, uint64_t &bytes,
                                        Failure &failure);
  /// How often what a candidate needs fits into the memory that is free.
  int64_t timesThatFit() const;
  /// How many tools of compute-sanitizer have room side by side.
  size_t toolsAtOnce() const;
  // Profile.cpp: hardware counters of a candidate that leads.
  void profile(Verdict &verdict);

  // CudaMemory.cpp: operands and results.
  std::unique_ptr<Operands> createOperands(Failure &failure) override;
  std::unique_ptr<Results> createResults(ProgramRole part,
                                         Failure &failure) override;
  void fill(Operands &operands, const Trial &trial,
            Placement placement) override;
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
  const void *partOf(const Operands &operands, size_t index, int64_t begin,
                     int64_t end) override;
  const void *partOf(const Results &results, size_t index, int64_t begin,
                     int64_t end) override;
  uint64_t hashOf(const Results &results) override;
  /// Writes a result; for tests of the judge.
  void write(Results &results, size_t index, const void *bytes);
  Measure compare(size_t output, const Results &results,
                  const Results &reference) override;
  Shares judge(size_t output, const Results &results, const Results &reference,
               const Results *condition, const ErrorRule &rule) override;
  bool fits(size_t output, const Results &oracle) override;

private:
  /// What a part of the job is loaded from.
  struct Image {
    std::string bytes;
    /// What bytes are or were made of; empty for a cubin.
    std::string ptx;
    LaunchPlan plan;
  };

  bool prepare(ProgramRole part, Verdict &verdict, Failure &failure);
  /// Remembers the first error of our own; open() and start() report it.
  void note(const std::string &error);
  uint64_t hashOf(const DeviceMemory &memory);
  void draw(CudaOperands &operands, size_t index, const Trial &trial);
  struct Sums;
  /// Sums over an output, of what judge.cu's compare adds up.
  Sums sum(size_t output, const CudaResults &results,
           const CudaResults &reference, double tiny);
  const void *fetch(const DeviceMemory &memory, HostBytes &bytes,
                    size_t begin = 0, size_t end = SIZE_MAX);

  GpuSession *gpu = nullptr;
  /// The session's.
  const cuda::Driver *driver = nullptr;
  PlanLimits limits;
  std::map<ProgramRole, Image> images;
  /// Of a promotion; null where there are no delays.
  std::unique_ptr<DelayAssembly> assembly;
  std::string trouble;
  /// Of the job at hand; null before open().
  Verdict *verdict = nullptr;
  /// Operands were found changed that no program was called on.
  bool disturbed = false;
  /// All that disturbed the GPU while programs were timed.
  std::string disturbedBy;
};

} // namespace fastk::worker

#endif // FASTK_LIB_WORKER_CUDA_CUDADEVICE_H
