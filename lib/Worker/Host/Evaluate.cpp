//===- Evaluate.cpp - Evaluates jobs of this machine ----------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../Evaluation.h"
#include "ChildRegistry.h"
#include "HostDevice.h"
#include "fastk/Worker/Worker.h"
#include <cstring>

using namespace fastk::worker;

Verdict fastk::worker::evaluate(const Job &job) {
  HostDevice device(job);
  return evaluateOn(device);
}

bool fastk::worker::childMain(int argc, char **argv, int &code) {
  if (argc != 2 || std::strcmp(argv[1], childFlag) != 0)
    return false;
  code = runChild();
  return true;
}

void fastk::worker::killAllPrograms() { killAllChildren(); }
