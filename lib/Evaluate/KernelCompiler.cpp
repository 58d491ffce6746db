//===- KernelCompiler.cpp - Kernels compiled by child processes -----------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Evaluate/KernelCompiler.h"
#include "CompilerMessages.h"
#include "fastk/Evaluate/Subprocess.h"
#include "fastk/Support/Sha256.h"
#include "fastk/System/AvailableMemory.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>
#include <chrono>
#include <limits>

using namespace mlir;
using namespace fastk;

/// How often whoever waits hears that time passes.
static constexpr std::chrono::milliseconds kTick{200};

std::shared_ptr<Compilation> Compilation::ended(CompiledKernel kernel) {
  auto compilation = std::make_shared<Compilation>();
  compilation->end(std::move(kernel));
  return compilation;
}

bool Compilation::hasEnded() const {
  std::lock_guard<std::mutex> guard(mutex);
  return isEnded;
}

llvm::Expected<CompiledKernel>
Compilation::wait(const RequestContext &context) const {
  std::unique_lock<std::mutex> lock(mutex);
  while (!isEnded) {
    // Whoever is asked may take its time.
    lock.unlock();
    context.tick();
    if (context.isStopRequested())
      return llvm::createStringError(
          std::make_error_code(std::errc::interrupted), "interrupted");
    lock.lock();
    isOver.wait_for(lock, kTick, [&] { return isEnded; });
  }
  if (!error.empty())
    return llvm::createStringError(code, error);
  return kernel;
}

void Compilation::end(llvm::Expected<CompiledKernel> result) {
  std::lock_guard<std::mutex> guard(mutex);
  if (result)
    kernel = std::move(*result);
  else
    llvm::handleAllErrors(result.takeError(),
                          [&](const llvm::ErrorInfoBase &info) {
                            code = info.convertToErrorCode();
                            error = info.message();
                          });
  isEnded = true;
  isOver.notify_all();
}

/// What a child process is told.
struct KernelCompiler::Task {
  std::string text, role, target, path;
  bool onHost = false, isC = false;
  uint64_t workspaceBytes = 0;
  unsigned seconds = 0;
};

/// A compiler seldom takes more memory than this, far below its limit.
static constexpr int64_t kUsualBytes = int64_t(2) << 30;
/// Beyond it they only wait for each other's files, or for processors that a
/// container may have fewer of than it sees.
static constexpr unsigned kMostSideBySide = 16;

/// How many compilers run at once, of as many as there are processors.
static unsigned sideBySide() {
  int64_t bytes = availableMemory();
  int64_t fit = bytes > 0 ? bytes / kUsualBytes : kMostSideBySide;
  unsigned processors = llvm::hardware_concurrency().compute_thread_count();
  return unsigned(
      std::clamp<int64_t>(fit, 1, std::min(processors, kMostSideBySide)));
}

KernelCompiler::KernelCompiler(std::string compiler, std::string folder)
    : compiler(std::move(compiler)), folder(std::move(folder)),
      pool(llvm::hardware_concurrency(sideBySide())) {}

KernelCompiler::~KernelCompiler() {
  isOver = true;
  pool.wait();
}

static llvm::Expected<std::string> readWhole(const Twine &path) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  if (!buffer)
    return llvm::createStringError(buffer.getError(),
                                   "cannot read " + path + ": " +
                                       buffer.getError().message());
  return (*buffer)->getBuffer().str();
}

/// Reads what the child wrote for a GPU.
static llvm::Error readDeviceProgram(StringRef folder, CompiledKernel &kernel) {
  // What fastk's own compiler wrote: both files, one of two kinds of code.
  bool isPtx = llvm::sys::fs::exists(folder + "/kernel.ptx");
  kernel.program.code = isPtx ? worker::Code::PTX : worker::Code::CUDA;
  kernel.program.path = (folder + (isPtx ? "/kernel.ptx" : "/kernel.cu")).str();
  llvm::Expected<std::string> plan = readWhole(folder + "/plan.json");
  if (!plan)
    return plan.takeError();
  std::string problem;
  kernel.program.plan = worker::parseLaunchPlan(*plan, problem);
  if (!kernel.program.plan)
    return llvm::createStringError(folder + "/plan.json: " + problem);
  llvm::Expected<std::string> code = readWhole(kernel.program.path);
  if (!code)
    return code.takeError();
  kernel.digest = sha256(*plan + "\n" + *code);
  return llvm::Error::success();
}

static std::string textOf(LoweringOp lowering) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "module {\n";
  // In full, whatever the command line asks of printing: an elided constant
  // would be another program.
  constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();
  lowering->print(os, OpPrintingFlags()
                          .useLocalScope()
                          .enableDebugInfo(false)
                          .elideLargeElementsAttrs(kNoLimit)
                          .elideLargeResourceString(kNoLimit)
                          .skipRegions(false));
  os << "\n}\n";
  return text;
}

std::shared_ptr<Compilation>
KernelCompiler::begin(LoweringOp lowering, StringRef role, unsigned seconds) {
  Task task;
  task.text = textOf(lowering);
  std::string name = sha256(role.str() + task.text);
  std::shared_ptr<Compilation> &compilation = known[name];
  // What failed through no fault of the kernel is tried again.
  if (compilation && (!compilation->hasEnded() || compilation->error.empty()))
    return compilation;
  task.role = role.str();
  task.target = lowering.getTarget().str();
  task.onHost = task.target == "host";
  task.isC = lowering.getLanguage() == Language::c;
  task.workspaceBytes = lowering.getWorkspace();
  task.seconds = seconds;
  llvm::SmallString<128> path(folder);
  llvm::sys::path::append(path, StringRef(name).take_front(16) +
                                    (task.onHost ? ".so" : ""));
  task.path = std::string(path);
  compilation = std::make_shared<Compilation>();
  pool.async([this, task = std::move(task), compilation] {
    compilation->end(run(task));
  });
  return compilation;
}

llvm::Expected<CompiledKernel> KernelCompiler::run(const Task &task) const {
  CompiledKernel kernel;
  kernel.program.path = task.path;
  kernel.program.workspaceBytes = task.workspaceBytes;
  ProcessLimits limits;
  limits.seconds = task.seconds;
  limits.memoryMegabytes = 8192;
  limits.cancelled = [this] { return isOver.load(); };
  // It runs the C compiler and the linker, which must not outlive it either.
  limits.parentDeathSignal = SIGTERM;
  std::vector<std::string> arguments = {"--compile-kernel=" + task.role, "-",
                                        "-o", task.path};
  if (!task.onHost)
    arguments.push_back("--target=" + task.target);
  llvm::Expected<ProcessResult> result =
      runProcess(compiler, arguments, task.text, limits, folder);
  if (!result)
    return result.takeError();
  kernel.timedOut = result->timedOut;
  if (result->timedOut) {
    kernel.problem =
        "compiling took longer than " + std::to_string(task.seconds) + " s";
  } else if (result->exitCode == kCompilerToolMissing) {
    return llvm::createStringError((task.isC ? "C programs" : "programs") +
                                   llvm::Twine(" cannot be compiled here: ") +
                                   firstError(result->diagnostics));
  } else if (result->exitCode != 0) {
    kernel.problem = (result->exitCode < 0 ? "the compiler crashed: " : "") +
                     firstError(result->diagnostics);
    kernel.isCompilersWord = true;
  } else if (task.onHost) {
    // That of the object: equal code, equal bytes, whatever links it here.
    StringRef said = StringRef(result->output).trim();
    if (!said.consume_front("object "))
      return llvm::createStringError(
          compiler + " is not this fastk's: it does not say the digest of what "
                     "it compiled; build it with this library");
    kernel.digest = said.str();
  } else if (llvm::Error error = readDeviceProgram(task.path, kernel)) {
    return std::move(error);
  }
  return kernel;
}
