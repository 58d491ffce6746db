//===- CudaDevice.cpp - Programs and clocks of a GPU ----------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaDevice.h"
#include "../Phases.h"
#include "Cuda/Child/ChildPool.h"
#include "Cuda/Child/CudaChild.h"
#include "Telemetry.h"
#include "Timing/Statistics.h"
#include "Values/Hash.h"
#include "fastk/Cuda/CheckDeviceCode.h"
#include "fastk/Cuda/CompileInChild.h"
#include "fastk/Cuda/Cubin.h"
#include "fastk/Cuda/DelayPTX.h"
#include <algorithm>
#include <fstream>
#include <iterator>

using namespace fastk;
using namespace fastk::worker;

/// Launches nothing: what calling a program costs.
static const char *const emptyPTX = ".version 8.0\n.target sm_80\n"
                                    ".address_size 64\n"
                                    ".visible .entry nothing() { ret; }\n";

CudaDevice::~CudaDevice() {
  if (!trouble.empty())
    GpuSession::drop();
}

void CudaDevice::note(const std::string &error) {
  if (trouble.empty())
    trouble = error;
}

static bool readFile(const std::string &path, std::string &bytes) {
  std::ifstream file(path, std::ios::binary);
  bytes.assign(std::istreambuf_iterator<char>(file), {});
  return file.good() || file.eof();
}

std::string fastk::worker::refusalOf(Code code, const std::string &bytes) {
  if (code == Code::Cubin)
    return "a cubin cannot be checked for what device code may not do (clocks, "
           "global variables, calls of the system); give its PTX, or its "
           "source in CUDA C++";
  if (code == Code::PTX)
    return cuda::describe(cuda::checkDeviceCode(bytes));
  return {};
}

std::string fastk::worker::argumentsRefusalOf(const LaunchPlan &plan,
                                              const std::string &cubin) {
  cuda::Cubin code;
  if (std::string error = cuda::readCubin(cubin, code); !error.empty())
    return "the machine code " + error;
  std::string problem = cuda::compareArguments(plan, code);
  return problem.empty()
             ? problem
             : problem + ": a buffer is a pointer, a map a "
                         "__grid_constant__ CUtensorMap, {\"i32\": n} an int "
                         "(required by 'arguments')";
}

std::string
fastk::worker::newerRefusalOf(const cuda::CompileResult &assembled) {
  if (!assembled.isTooNew)
    return {};
  return "is in PTX that is newer than the worker's ptxas (" + assembled.error +
         "): make it for an older .version, or give the worker a newer CUDA";
}

/// Reads, compiles and verifies one program.
bool CudaDevice::prepare(ProgramRole part, Verdict &verdict, Failure &failure) {
  const Program *program = programOf(job, part);
  if (!program)
    return true;
  const char *name = nameOf(part);
  Image &image = images[part];
  auto fail = [&](Status status, const std::string &reason) {
    // Only the candidate is to blame for what it asks.
    bool isCandidate = part == ProgramRole::Candidate;
    failure = {isCandidate ? status : Status::Error,
               std::string("the ") + name + " " + reason};
    return false;
  };
  if (!readFile(program->path, image.bytes) || image.bytes.empty())
    return fail(Status::Error, "cannot be read: " + program->path);
  if (!program->plan || program->code == Code::SharedObject)
    return fail(Status::Error, "is no program for a GPU: it needs 'code' (ptx, "
                               "cubin or cuda) and a 'plan'");
  image.plan = *program->plan;
  std::vector<int64_t> inputBytes, outputBytes;
  for (const Tensor &tensor : job.inputs)
    inputBytes.push_back(tensor.bytes());
  for (const Tensor &tensor : job.outputs)
    outputBytes.push_back(storesDoubles(part) && isFloat(tensor.type)
                              ? tensor.elements() * 8
                              : tensor.bytes());
  std::vector<std::string> problems =
      verifyLaunchPlan(image.plan, inputBytes, outputBytes, limits);
  if (!problems.empty())
    return fail(Status::Refused,
                "has a plan that may not run: " + problems.front());
  if (part == ProgramRole::Candidate)
    verdict.audit.candidateHash =
        hashBytes(image.bytes.data(), image.bytes.size());
  if (part == ProgramRole::Candidate)
    if (std::string why = refusalOf(program->code, image.bytes); !why.empty())
      return fail(Status::Refused, "may not run: refused: " + why);
  auto checkRules = [&] {
    if (part != ProgramRole::Candidate || !job.delays.rules)
      return true;
    std::vector<std::string> findings = cuda::findUnfenced(image.ptx);
    return findings.empty() ||
           fail(Status::Wrong,
                "lacks synchronisation: kernel " + findings.front());
  };
  if (program->code == Code::PTX)
    image.ptx = image.bytes;
  // What fastk made itself the driver may assemble.
  bool isOurs = storesDoubles(part) || part == ProgramRole::Baseline;
  if (program->code == Code::Cubin || (program->code == Code::PTX && isOurs))
    return checkRules();
  Phase phase("compile");
  cuda::CompileRequest request;
  request.source = image.bytes;
  request.arch = gpu->device.arch;
  cuda::CompileResult result =
      program->code == Code::CUDA
          ? cuda::compileCached(request)
          : cuda::assembleCached({request.source, request.arch});
  if (part == ProgramRole::Candidate)
    if (std::string why = newerRefusalOf(result); !why.empty())
      return fail(Status::Refused, why);
  if (result.missingTool) {
    // The driver does it, in the program's process and its limits.
    if (part == ProgramRole::Candidate)
      verdict.missingProtections.push_back("confined-assembler");
    return checkRules();
  }
  if (part == ProgramRole::Candidate) {
    GpuReport &report = *verdict.gpu;
    report.compiler = result.nvrtcVersion;
    if (program->code == Code::CUDA)
      report.prelude = cuda::preludeDigest();
    report.compileMs = result.milliseconds;
    for (const cuda::KernelFacts &kernel : result.kernels)
      if (kernel.isEntry)
        report.kernels.push_back({kernel.name, kernel.registers,
                                  kernel.spillStoreBytes, kernel.spillLoadBytes,
                                  kernel.stackBytes, kernel.staticSharedBytes});
    for (const cuda::CompilerWarning &warning : result.warnings)
      report.warnings.push_back(
          (warning.code.empty() ? "" : warning.code + ": ") + warning.text);
  }
  // This worker's trouble. The driver, which nothing confines, does not help.
  if (result.toolFailed)
    return fail(Status::Error, "could not be assembled: " + result.error);
  if (!result.ok())
    return fail(Status::Refused, "does not compile: " + result.error);
  if (std::string why = argumentsRefusalOf(image.plan, result.cubin);
      !why.empty())
    return fail(Status::Refused, "may not run: refused: " + why);
  image.bytes = result.cubin;
  if (program->code == Code::CUDA)
    image.ptx = result.ptx;
  return checkRules();
}

bool CudaDevice::openMemory(Verdict &verdict, Failure &failure) {
  Phase phase("open");
  verdict.timing.cache = job.time.cache;
  std::string error;
  gpu = GpuSession::get(error);
  // What the last job did to the device is not this one's fault.
  if (gpu && !gpu->probe().empty()) {
    GpuSession::drop();
    gpu = GpuSession::get(error);
    if (gpu)
      error = gpu->probe();
  }
  if (!gpu || !error.empty()) {
    failure = {Status::Error, error};
    return false;
  }
  ChildPool::get().endRetired();
  driver = gpu->driver;
  limits.sharedBytes = gpu->device.sharedBytesPerBlockOptIn;
  limits.multiprocessors = gpu->device.multiprocessors;
  limits.workspaceBytes = workspaceLimit(gpu->device.memoryBytes);
  if (gpu->device.arch.size() > 3)
    limits.capability = std::atoi(gpu->device.arch.c_str() + 3);
  std::string shape;
  for (const std::vector<Tensor> *tensors : {&job.inputs, &job.outputs})
    for (const Tensor &tensor : *tensors)
      shape += std::to_string(tensor.bytes()) + " ";
  gpu->begin(shape);
  this->verdict = &verdict;
  GpuReport &report = verdict.gpu.emplace();
  report.name = gpu->device.model;
  report.arch = gpu->device.arch;
  report.driver = std::to_string(driver->version() / 1000) + "." +
                  std::to_string(driver->version() % 1000 / 10);
  report.clocks = {"events", "host"};
  if (job.mode != Mode::Promote)
    report.missingClocks = {"cupti: only in jobs of mode promote"};
  ChildPool::get().replenish();
  return true;
}

bool CudaDevice::open(Verdict &verdict, Failure &failure) {
  if (!openMemory(verdict, failure))
    return false;
  for (ProgramRole part :
       {ProgramRole::Oracle, ProgramRole::Condition, ProgramRole::Baseline,
        ProgramRole::Incumbent, ProgramRole::Candidate})
    if (!prepare(part, verdict, failure))
      return false;
  for (const char *always :
       {"device-code-only", "own-process", "own-context", "red-zones",
        "poisoned-outputs", "poisoned-workspaces", "watchdog", "verified-plan"})
    verdict.protections.push_back(always);
  verdict.missingProtections.push_back("kernel-trace");
  if (job.mode == Mode::Promote)
    beginAssembling();
  return true;
}

std::unique_ptr<ProgramInstance>
CudaDevice::start(ProgramRole part, int64_t, Verdict &, Failure &failure) {
  // A device that does not do what it did is no instrument.
  if (!trouble.empty()) {
    failure = {Status::Error, "the GPU failed the worker: " + trouble};
    return nullptr;
  }
  if (part == ProgramRole::Empty) {
    LaunchPlan plan;
    Launch launch;
    launch.kernel = "nothing";
    plan.steps = {launch};
    return CudaChild::start(*gpu, part, emptyPTX, plan, failure);
  }
  const Image &image =
      images[part == ProgramRole::Control ? ProgramRole::Baseline : part];
  return CudaChild::start(*gpu, part, image.bytes, image.plan, failure);
}

void CudaDevice::beginTiming() {
  // Events do not see the host's processors, but the host's own clock does,
  // which is compared with them.
  if (assembly)
    assembly->pause();
}

void CudaDevice::settle() {
  Phase phase("settle");
  ChildPool::get().settle();
}

bool CudaDevice::outlastsDisturbance(double, size_t samples) const {
  // Events do not see the host's scheduler.
  return samples >= 3;
}

/// The worker's, and the copy of each program's process.
int64_t CudaDevice::bytesOfSet(const Job &job,
                               const std::vector<ProgramRole> &parts) {
  int64_t operands = 0, results = 0;
  for (const Tensor &tensor : job.inputs)
    operands += tensor.bytes();
  for (const Tensor &tensor : job.outputs)
    results += tensor.bytes();
  int64_t bytes = operands;
  for (ProgramRole part : parts)
    bytes += operands + 2 * results + workspaceBytesOf(job, part);
  return bytes;
}

int64_t CudaDevice::bytesOfOracle(const Job &job) {
  int64_t bytes = std::max(workspaceBytesOf(job, ProgramRole::Oracle),
                           workspaceBytesOf(job, ProgramRole::Condition));
  for (const Tensor &tensor : job.inputs)
    bytes += tensor.bytes();
  for (const Tensor &tensor : job.outputs)
    bytes += (job.condition ? 3 : 2) *
             (isFloat(tensor.type) ? tensor.elements() * 8 : tensor.bytes());
  return bytes;
}

size_t CudaDevice::fittingSets(const Job &job, size_t wanted,
                               const std::vector<ProgramRole> &parts,
                               int64_t availableBytes) {
  // Contexts, red zones and whole pages take some as well.
  int64_t room = availableBytes - availableBytes / 8 - bytesOfOracle(job);
  int64_t each = std::max<int64_t>(bytesOfSet(job, parts), 1);
  return size_t(std::clamp<int64_t>(room / each, 1, int64_t(wanted)));
}

size_t CudaDevice::rotatingSets(size_t wanted,
                                const std::vector<ProgramRole> &parts) {
  auto fitting = [&] {
    size_t available = 0, total = 0;
    if (driver->cuMemGetInfo(&available, &total))
      return size_t(1);
    return fittingSets(job, wanted, parts,
                       int64_t(available + gpu->idleBytes()));
  };
  size_t sets = fitting();
  // What is only kept for later is no reason for less.
  if (sets < wanted && gpu->makeRoom())
    sets = fitting();
  return sets;
}

void CudaDevice::flush(const Operands &, const Results &) {
  if (job.time.cache != Cache::Cold)
    return;
  Phase phase("flush");
  note(driver->call(driver->cuMemsetD8, gpu->flushed,
                    static_cast<unsigned char>(0), gpu->flushBytes));
  note(driver->call(driver->cuCtxSynchronize));
}

bool CudaDevice::isDisturbed(const CallTime &) {
  // As read after the call, by distrust().
  const std::string &by = gpuDisturbance();
  if (!by.empty() && disturbedBy.find(by) == std::string::npos)
    disturbedBy += (disturbedBy.empty() ? "" : ", ") + by;
  return !by.empty();
}

std::string CudaDevice::describeDisturbance(const std::vector<CallTime> &) {
  return disturbedBy;
}

std::string CudaDevice::distrust(const CallTime &time) {
  // Asked after every timed call.
  Phase phase("gauges");
  readTelemetry(*driver, *verdict->gpu);
  // Events are stamped within what the host waits for.
  if (time.ns <= time.otherNs * 1.02 + 2000)
    return {};
  return "'s events show more time than the host waited";
}

std::string CudaDevice::distrust(const std::vector<CallTime> &times,
                                 const std::vector<CallTime> &trusted,
                                 double handshakeP90) {
  std::vector<double> host;
  for (const CallTime &time : times)
    host.push_back(time.otherNs);
  verdict->gpu->host = summarize(host);
  auto gapOf = [](const std::vector<CallTime> &calls) {
    std::vector<double> gaps;
    for (const CallTime &time : calls)
      gaps.push_back(time.otherNs - time.ns);
    return quantile(gaps, 0.5);
  };
  // What runs on after the last event is waited for by the host.
  double gap = gapOf(times);
  double allowed = 3 * gapOf(trusted) + 10 * handshakeP90 + 50e3;
  if (gap <= allowed)
    return {};
  char text[200];
  snprintf(text, sizeof(text),
           " keeps the device busy for %.4g us after its last event (%.4g us "
           "allowed): work that no clock saw",
           gap * 1e-3, allowed * 1e-3);
  return text;
}
