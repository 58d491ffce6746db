//===- PlanFile.cpp - A model for a GPU as one file -----------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Protocol/PlanFile.h"
#include "fastk/Conversion/DeviceModel.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"

using namespace fastk;
using llvm::StringRef;

/// Whether a launch of `function` names the image.
static bool uses(const DeviceFunction &function, const DeviceImage &image) {
  return llvm::any_of(function.plan.steps, [&](const worker::PlanStep &step) {
    auto *launch = std::get_if<worker::Launch>(&step);
    return launch && StringRef(launch->kernel).starts_with(image.name + "::");
  });
}

std::string DeviceModel::planFile() const {
  worker::PlanFile file;
  file.target = target;
  for (const DeviceImage &image : images)
    file.images.push_back({image.name, image.code});
  for (const DeviceFunction &function : functions) {
    worker::PlanFile::Function &described = file.functions.emplace_back();
    described.name = function.name;
    described.signature = function.signature;
    described.plan = function.plan;
    for (auto [number, image] : llvm::enumerate(images))
      if (uses(function, image))
        described.images.push_back(number);
    for (const std::string &constant : function.constants) {
      described.constants.push_back(file.constants.size());
      file.constants.push_back(constant);
    }
  }
  return writePlanFile(file);
}
