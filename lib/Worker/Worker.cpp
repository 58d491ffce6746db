//===- Evaluate.cpp - Evaluates jobs of this machine ----------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Worker/Worker.h"
#include "Cuda/Child/ChildProtocol.h"
#include "Cuda/Child/SoloRun.h"
#include "Cuda/CudaDevice.h"
#include "Evaluation.h"
#include "Host/HostDevice.h"
#include "Judge/CompareOracles.h"
#include "Process/ChildRegistry.h"
#include <cstring>

using namespace fastk::worker;

Verdict fastk::worker::evaluate(const Job &job) {
  auto *protocol = job.mode == Mode::Compare ? compareOracles : evaluateOn;
  if (job.device == DeviceKind::Cuda) {
    CudaDevice device(job);
    return protocol(device);
  }
  HostDevice device(job);
  return protocol(device);
}

std::string fastk::worker::checkDevice(DeviceKind device,
                                       std::vector<std::string> *missing) {
  std::string error;
  if (device == DeviceKind::Host && missing)
    return probeHost(*missing);
  if (device == DeviceKind::Cuda)
    if (GpuSession *session = GpuSession::get(error))
      error = session->probe();
  return error;
}

bool fastk::worker::childMain(int argc, char **argv, int &code) {
  if (argc == 3 && std::strcmp(argv[1], soloFlag) == 0) {
    code = runSolo(argv[2]);
    return true;
  }
  if (argc != 2)
    return false;
  bool isHost = std::strcmp(argv[1], childFlag) == 0;
  bool isCuda = std::strcmp(argv[1], cudaChildFlag) == 0;
  if (isHost || isCuda)
    code = isHost ? runChild() : runCudaChild();
  return isHost || isCuda;
}

void fastk::worker::killAllPrograms() { killAllChildren(); }
