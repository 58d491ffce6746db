//===- CudaChild.h - The process of a GPU program, from outside -*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_WORKER_CUDA_CUDACHILD_H
#define FASTK_LIB_WORKER_CUDA_CUDACHILD_H

#include "../Device.h"
#include "ChildProtocol.h"
#include <memory>
#include <string>
#include <sys/types.h>
#include <vector>

namespace fastk::worker {

class CudaChild : public Running {
public:
  /// Starts a process with its own context and loads \p image (PTX or a cubin)
  /// with its plan.
  static std::unique_ptr<CudaChild> start(Part part, const std::string &image,
                                          const LaunchPlan &plan,
                                          Failure &failure);
  ~CudaChild() override;

  bool map(uint32_t slot, const Operands *operands, const Results *results,
           Failure &failure) override;
  bool unmap(uint32_t slot, Failure &failure) override;
  bool call(uint32_t slot, double timeoutSeconds, CallTime &time,
            Failure &failure, bool timed) override;
  Resources finish() override;

private:
  explicit CudaChild(Part part) : part(part) {}
  bool ask(CudaCommand command, uint32_t slot, const std::string &payload,
           double seconds, CudaReply &reply, Failure &failure,
           bool timed = false);
  void killAndReap();

  Part part;
  pid_t pid = -1;
  int socket = -1;
};

} // namespace fastk::worker

#endif // FASTK_LIB_WORKER_CUDA_CUDACHILD_H
