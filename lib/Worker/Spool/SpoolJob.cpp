//===- SpoolJob.cpp - A job of a spool ------------------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SpoolJob.h"
#include "fastk/Cuda/QueryDevice.h"
#include "fastk/Worker/Worker.h"
#include <fstream>
#include <functional>
#include <iterator>

using namespace fastk::worker;
namespace fs = std::filesystem;

std::string fastk::worker::textOf(const fs::path &path, bool &isRead) {
  std::ifstream file(path, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), {});
  isRead = bool(file);
  return text;
}

std::optional<Job> fastk::worker::readJob(const fs::path &folder,
                                          std::string &error) {
  bool isRead = false;
  std::string text = textOf(folder / "job.json", isRead);
  if (!isRead) {
    error = "cannot be read";
    return std::nullopt;
  }
  std::optional<Job> job = parseJob(text, error);
  if (!job)
    return std::nullopt;
  auto resolve = [&](Program &program) {
    if (!program.path.empty())
      program.path = (folder / program.path).lexically_normal().string();
  };
  resolve(job->oracle);
  resolve(job->baseline);
  resolve(job->candidate);
  for (std::optional<Program> *program :
       {&job->incumbent, &job->condition, &job->hostOracle,
        &job->hostCondition})
    if (*program)
      resolve(**program);
  return job;
}

bool fastk::worker::isAnswered(const fs::path &folder) {
  std::error_code none;
  return fs::exists(folder / "verdict.json", none);
}

std::string fastk::worker::workloadOf(const fs::path &folder) {
  std::string ignored;
  std::optional<Job> job = readJob(folder, ignored);
  if (!job || job->mode == Mode::Compare)
    return "";
  job->id.clear();
  job->incumbent.reset();
  job->candidate = {};
  job->validate.competitors = false;
  job->floorNs = 0;
  std::string code;
  for (Program *program : {&job->oracle, &job->baseline,
                           job->condition ? &*job->condition : &job->oracle}) {
    if (program->path.empty())
      continue;
    bool isRead = false;
    code += textOf(program->path, isRead) + '\0';
    program->path.clear();
  }
  return std::to_string(std::hash<std::string>()(toJSON(*job) + code));
}

std::string fastk::worker::unableToRun(const Job &job) {
  std::string here;
  if (job.device == DeviceKind::Cuda) {
    static fastk::DeviceDescription device;
    // What failed may go the next time.
    if (device.model.empty())
      if (std::string problem = fastk::cuda::queryCudaDevice(device);
          !problem.empty())
        return problem;
    if (std::string error = checkDevice(job.device); !error.empty())
      return error;
    here = device.model;
  } else {
    static const std::string model = fastk::identifyHost().model;
    here = model;
  }
  if (job.machine.empty() || job.machine == here)
    return "";
  return "is for " + job.machine + ", this is " + here +
         "; answer it on such a machine, or search for this one";
}
