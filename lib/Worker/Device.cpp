//===- Device.cpp - What the protocol asks of a device --------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Device.h"
#include "Phases.h"

using namespace fastk::worker;

const char *fastk::worker::nameOf(ProgramRole part) {
  switch (part) {
  case ProgramRole::Oracle:
    return "oracle";
  case ProgramRole::Condition:
    return "condition";
  case ProgramRole::Baseline:
    return "baseline";
  case ProgramRole::Incumbent:
    return "incumbent";
  case ProgramRole::Candidate:
    return "candidate";
  case ProgramRole::Control:
    return "control";
  case ProgramRole::Empty:
    return "empty kernel";
  }
  return "?";
}

const Program *fastk::worker::programOf(const Job &job, ProgramRole part) {
  switch (part) {
  case ProgramRole::Oracle:
    return &job.oracle;
  case ProgramRole::Condition:
    return job.condition ? &*job.condition : nullptr;
  case ProgramRole::Baseline:
  case ProgramRole::Control:
    return job.mode == Mode::Compare ? nullptr : &job.baseline;
  case ProgramRole::Incumbent:
    return job.incumbent ? &*job.incumbent : nullptr;
  case ProgramRole::Candidate:
    return job.mode == Mode::Compare ? nullptr : &job.candidate;
  case ProgramRole::Empty:
    return nullptr;
  }
  return nullptr;
}

int64_t fastk::worker::workspaceBytesOf(const Job &job, ProgramRole part) {
  const Program *program = programOf(job, part);
  int64_t bytes = program ? program->workspaceBytes : 0;
  if (program && program->plan)
    for (const Workspace &workspace : program->plan->workspaces)
      bytes += workspace.bytes;
  return bytes;
}

bool Device::outlastsDisturbance(double spentNs, size_t samples) const {
  // A scheduler's tick (4 ms) hits all samples of a short kernel, and must not
  // have it dropped as slow.
  return spentNs >= 20e6 || samples >= 64;
}

Measure Device::compare(size_t output, const Results &results,
                        const Results &reference) {
  Phase phase("judge");
  const Tensor &tensor = job.outputs[output];
  const void *y = bytesOf(results, output);
  const void *r = bytesOf(reference, output);
  if (!isFloat(tensor.type))
    return compareExact(tensor, y, r);
  auto typeIn = [&](const Results &set) {
    return set.ofOracle ? ElementType::F64 : tensor.type;
  };
  return measure(tensor, readerOf(typeIn(results), y),
                 readerOf(typeIn(reference), r));
}

Shares Device::judge(size_t output, const Results &results,
                     const Results &reference, const Results *condition,
                     const ErrorRule &rule) {
  Phase phase("judge");
  const Tensor &tensor = job.outputs[output];
  auto reader = [&](const Results &set) {
    return readerOf(set.ofOracle ? ElementType::F64 : tensor.type,
                    bytesOf(set, output));
  };
  return judgeElements(tensor, reader(results), reader(reference),
                       condition ? reader(*condition) : Reader(), rule);
}

bool Device::fits(size_t output, const Results &oracle) {
  Phase phase("judge");
  const Tensor &tensor = job.outputs[output];
  return !isFloat(tensor.type) ||
         worker::fits(tensor,
                      readerOf(ElementType::F64, bytesOf(oracle, output)));
}
