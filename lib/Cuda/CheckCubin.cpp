//===- CheckCubin.cpp - What machine code may not bring along -------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Cuda/CheckDeviceCode.h"
#include "fastk/Cuda/Cubin.h"

using namespace fastk::cuda;

/// All of it is compared after every call.
static constexpr uint64_t mostDataBytes = uint64_t(16) << 20;

std::vector<Refusal> fastk::cuda::checkCubin(std::string_view image) {
  Cubin cubin;
  if (std::string error = readCubin(image, cubin); !error.empty())
    return {{"machine-code", "the machine code " + error}};
  std::vector<Refusal> refusals;
  for (const std::string &section : cubin.unknownSections)
    refusals.push_back(
        {"global-variable", "the machine code has a section '" + section +
                                "' that can be written and is not known"});
  uint64_t total = 0;
  for (const ModuleData &data : cubin.data) {
    total += data.bytes < mostDataBytes ? data.bytes : mostDataBytes + 1;
    if (data.holdsAddresses)
      refusals.push_back(
          {"global-variable",
           "a table in " + data.section +
               " holds an address, by which it or another could be written: "
               "keep numbers in it, as indices"});
    // Data without a name could not be found in the device's memory.
    if (data.symbols.empty())
      refusals.push_back(
          {"global-variable", "the data in " + data.section + " has no name"});
  }
  if (total > mostDataBytes)
    refusals.push_back({"global-variable",
                        "tables and constants take more than " +
                            std::to_string(mostDataBytes >> 20) +
                            " MiB: compute them into a workspace of the plan"});
  return refusals;
}
