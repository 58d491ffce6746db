//===- CudaChild.h - The process of a GPU program, from outside -*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_WORKER_CUDA_CHILD_CUDACHILD_H
#define FASTK_LIB_WORKER_CUDA_CHILD_CUDACHILD_H

#include "ChildPool.h"
#include "ChildProtocol.h"
#include "Cuda/CudaDevice.h"
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace fastk::worker {

class CudaChild : public ProgramInstance {
public:
  /// Loads \p image (PTX or a cubin) with its plan in a process with a context
  /// of its own.
  static std::unique_ptr<CudaChild> start(GpuSession &session, ProgramRole part,
                                          const std::string &image,
                                          const LaunchPlan &plan,
                                          Failure &failure);
  ~CudaChild() override;

  bool map(uint32_t slot, const Operands *operands, const Results *results,
           Failure &failure) override;
  bool unmap(uint32_t slot, Failure &failure) override;
  bool call(uint32_t slot, double timeoutSeconds, CallTime &time,
            Failure &failure, bool timed) override;
  Resources finish() override;
  /// Writes a variable of the program: one that we put into it.
  bool set(const std::string &variable, std::string_view bytes,
           Failure &failure);

private:
  /// A buffer in the program's process, as it is opened here.
  struct Copy {
    enum Kind { Operand, Result, Workspace };
    Kind kind;
    /// What it is a copy of.
    const DeviceMemory *memory;
    /// Of the allocation, red zones included.
    cuda::CUdeviceptr begin = 0;
  };
  struct Slot {
    const CudaOperands *operands = nullptr;
    const CudaResults *results = nullptr;
    /// Operands, then results, then workspaces.
    std::vector<Copy> copies;
  };

  CudaChild(GpuSession &session, ProgramRole part, std::string key)
      : session(session), part(part), key(std::move(key)) {}
  bool ask(CudaCommand command, uint32_t slot, const std::string &payload,
           double seconds, CudaReply &reply, Failure &failure,
           bool timed = false, std::string *answer = nullptr);
  /// Our own failure, not the program's.
  bool fail(Failure &failure, const std::string &error);
  std::string fill(const Slot &slot);
  std::string fetch(const Slot &slot);
  /// Back to the pool where it is a trusted program's, else the end of it.
  void release();

  GpuSession &session;
  ProgramRole part;
  /// Of a trusted program; else empty.
  std::string key;
  std::unique_ptr<ChildProcess> process;
  /// What a trusted program's process had used when this one got it.
  double cpuSecondsBefore = 0;
  std::map<uint32_t, Slot> slots;
  /// Of the call at hand.
  uint64_t callKey = 0;
};

} // namespace fastk::worker

#endif // FASTK_LIB_WORKER_CUDA_CHILD_CUDACHILD_H
