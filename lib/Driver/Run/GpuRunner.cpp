//===- GpuRunner.cpp - Models on the GPU of this machine ------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Driver/GpuRunner.h"
#include "fastk/Cuda/QueryDevice.h"
#include "fastk/Runtime/fastk_runtime.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <chrono>
#include <optional>

using namespace fastk;
using cuda::CUdeviceptr;

static llvm::Error toError(const std::string &text) {
  return text.empty() ? llvm::Error::success() : llvm::createStringError(text);
}

class GpuRunner::Buffers {
public:
  explicit Buffers(const cuda::Driver &driver) : driver(driver) {}
  Buffers(const Buffers &) = delete;
  Buffers &operator=(const Buffers &) = delete;
  ~Buffers() {
    for (void *pointer : pointers)
      driver.cuMemFree(address(pointer));
  }

  /// Memory for a tensor; with `value`, a copy of it.
  std::string add(const TensorType &type, const HostTensor *value) {
    CUdeviceptr memory = 0;
    size_t bytes = size_t(type.bytes());
    std::string error =
        driver.call(driver.cuMemAlloc, &memory, std::max<size_t>(bytes, 1));
    if (!error.empty())
      return error;
    pointers.push_back(reinterpret_cast<void *>(uintptr_t(memory)));
    if (bytes == 0)
      return {};
    // NaN where nothing is written.
    return value ? driver.call(driver.cuMemcpyHtoD, CUdeviceptr(memory),
                               static_cast<const void *>(value->data()), bytes)
                 : driver.call(driver.cuMemsetD8, CUdeviceptr(memory),
                               static_cast<unsigned char>(0xff), bytes);
  }
  std::string add(const Signature &signature,
                  const std::vector<HostTensor> &inputs) {
    std::string error;
    for (auto [type, value] : llvm::zip_equal(signature.inputs, inputs))
      if (error.empty())
        error = add(type, &value);
    for (const TensorType &type : signature.outputs)
      if (error.empty())
        error = add(type, nullptr);
    return error;
  }
  std::string fetch(size_t number, const HostTensor &target) {
    size_t bytes = size_t(target.type().bytes());
    return bytes == 0 ? std::string()
                      : driver.call(driver.cuMemcpyDtoH, target.data(),
                                    address(pointers[number]), bytes);
  }
  void **data() { return pointers.data(); }

private:
  static CUdeviceptr address(void *pointer) {
    return CUdeviceptr(reinterpret_cast<uintptr_t>(pointer));
  }
  const cuda::Driver &driver;
  std::vector<void *> pointers;
};

std::string GpuRunner::start() {
  std::string error;
  driver = cuda::Driver::get(error);
  if (!driver)
    return error;
  error = cuda::queryCudaDevice(description);
  // The context of everyone else in a process: PyTorch, the CUDA runtime.
  cuda::CUdevice number = 0;
  cuda::CUcontext context = nullptr;
  if (error.empty())
    error = driver->call(driver->cuDeviceGet, &number, 0);
  if (error.empty())
    error = driver->call(driver->cuDevicePrimaryCtxRetain, &context, number);
  if (error.empty())
    error = driver->call(driver->cuCtxSetCurrent, context);
  if (error.empty())
    error = driver->call(driver->cuStreamCreate, &stream,
                         unsigned(cuda::CU_STREAM_NON_BLOCKING));
  for (cuda::CUevent *event : {&begin, &end})
    if (error.empty())
      error = driver->call(driver->cuEventCreate, event,
                           unsigned(cuda::CU_EVENT_DEFAULT));
  flushBytes =
      std::max<size_t>(size_t(2 * description.l2Bytes), size_t(256) << 20);
  if (error.empty())
    error = driver->call(driver->cuMemAlloc, &flushed, flushBytes);
  if (error.empty())
    fastk_set_stream(stream);
  return error;
}

llvm::Expected<std::unique_ptr<GpuRunner>> GpuRunner::create() {
  std::unique_ptr<GpuRunner> runner(new GpuRunner());
  if (std::string error = runner->start(); !error.empty())
    return llvm::createStringError(error);
  return runner;
}

GpuRunner::~GpuRunner() {
  if (flushed)
    driver->cuMemFree(flushed);
  for (cuda::CUevent event : {begin, end})
    if (event)
      driver->cuEventDestroy(event);
  if (stream) {
    fastk_set_stream(nullptr);
    driver->cuStreamDestroy(stream);
  }
}

namespace {
/// A plan file as the runtime has it, and its bytes where it is none on disk.
struct OpenedPlan {
  OpenedPlan() = default;
  OpenedPlan(const OpenedPlan &) = delete;
  ~OpenedPlan() { fastk_close(model); }

  std::string bytes;
  fastk_model *model = nullptr;
};
} // namespace

/// What the runtime has kept.
static llvm::Error takeError() {
  std::string text = fastk_last_error();
  fastk_clear_error();
  return llvm::createStringError(text);
}

static llvm::Expected<GpuFunction>
findFunction(const std::shared_ptr<OpenedPlan> &plan, llvm::StringRef name) {
  fastk_function *found =
      plan->model ? fastk_find(plan->model, name.str().c_str()) : nullptr;
  if (!found)
    return takeError();
  llvm::Expected<Signature> signature =
      Signature::parse(fastk_signature(found));
  if (!signature)
    return signature.takeError();
  return GpuFunction{
      found->name, std::move(*signature),
      [plan, found](void **buffers) { return fastk_call(found, buffers); },
      [plan, found] { return fastk_prepare(found); }};
}

llvm::Expected<GpuFunction> GpuRunner::find(const DeviceModel &model,
                                            llvm::StringRef name) {
  std::vector<std::string> known;
  for (const DeviceFunction &each : model.functions)
    known.push_back(each.name);
  if (name.empty() ? known.size() != 1 : !llvm::is_contained(known, name))
    return llvm::createStringError("the model " +
                                   explainNoFunction(name, known));
  auto plan = std::make_shared<OpenedPlan>();
  plan->bytes = model.planFile();
  plan->model = fastk_open_memory(plan->bytes.data(), plan->bytes.size());
  return findFunction(plan, name);
}

llvm::Expected<GpuFunction> fastk::openPlanFile(llvm::StringRef path,
                                                llvm::StringRef name) {
  auto plan = std::make_shared<OpenedPlan>();
  plan->model = fastk_open(path.str().c_str());
  return findFunction(plan, name);
}

GpuFunction GpuRunner::of(const CompiledFunction &function) {
  return {function.name, function.signature, function.gpuEntry,
          function.gpuPrepare};
}

class GpuRunner::Call {
public:
  Call(const GpuRunner &runner, const GpuFunction &function, Buffers &buffers)
      : runner(runner), function(function), buffers(buffers) {}
  Call(const Call &) = delete;
  Call &operator=(const Call &) = delete;
  ~Call() {
    if (graph)
      runner.driver->cuGraphExecDestroy(graph);
  }

  /// Before the first run.
  std::string prepare() {
    std::string error = check(function.prepare());
    return error.empty() && runner.graphs ? capture() : error;
  }
  std::string enqueue() {
    return graph ? runner.driver->call(runner.driver->cuGraphLaunch, graph,
                                       runner.stream)
                 : check(function.call(buffers.data()));
  }

private:
  static std::string check(int status) {
    std::string error = status == 0 ? "" : fastk_last_error();
    fastk_clear_error();
    return error;
  }
  std::string capture() {
    const cuda::Driver &driver = *runner.driver;
    std::string error = driver.call(driver.cuStreamBeginCapture, runner.stream,
                                    cuda::CU_STREAM_CAPTURE_MODE_GLOBAL);
    if (!error.empty())
      return error;
    std::string failure = check(function.call(buffers.data()));
    cuda::CUgraph captured = nullptr;
    error = driver.call(driver.cuStreamEndCapture, runner.stream, &captured);
    if (!failure.empty())
      error = failure;
    if (error.empty())
      error = driver.call(driver.cuGraphInstantiate, &graph, captured, 0ull);
    if (captured)
      driver.cuGraphDestroy(captured);
    return error;
  }

  const GpuRunner &runner;
  const GpuFunction &function;
  Buffers &buffers;
  cuda::CUgraphExec graph = nullptr;
};

llvm::Expected<std::vector<HostTensor>>
GpuRunner::run(const GpuFunction &function,
               const std::vector<HostTensor> &inputs) {
  Buffers buffers(*driver);
  std::string error = buffers.add(function.signature, inputs);
  Call call(*this, function, buffers);
  if (error.empty())
    error = call.prepare();
  // The default stream, which fills them, is not ordered with ours.
  if (error.empty())
    error = driver->call(driver->cuCtxSynchronize);
  if (error.empty())
    error = call.enqueue();
  if (error.empty())
    error = driver->call(driver->cuStreamSynchronize, stream);
  std::vector<HostTensor> outputs;
  for (const TensorType &type : function.signature.outputs) {
    outputs.emplace_back(type);
    if (error.empty())
      error = buffers.fetch(inputs.size() + outputs.size() - 1, outputs.back());
  }
  if (llvm::Error failure = toError(error))
    return failure;
  return outputs;
}

std::string GpuRunner::timeOnce(Call &call, double &milliseconds) {
  std::string error =
      driver->call(driver->cuMemsetD8Async, flushed,
                   static_cast<unsigned char>(0), flushBytes, stream);
  if (error.empty())
    error = driver->call(driver->cuEventRecord, begin, stream);
  if (error.empty())
    error = call.enqueue();
  if (error.empty())
    error = driver->call(driver->cuEventRecord, end, stream);
  if (error.empty())
    error = driver->call(driver->cuEventSynchronize, end);
  float elapsed = 0;
  if (error.empty())
    error = driver->call(driver->cuEventElapsedTime, &elapsed, begin, end);
  milliseconds = elapsed;
  return error;
}

llvm::Expected<GpuTimes> GpuRunner::time(const GpuFunction &function,
                                         const GpuFunction *baseline,
                                         const std::vector<HostTensor> &inputs,
                                         double seconds) {
  using Clock = std::chrono::steady_clock;
  Buffers buffers(*driver);
  std::string error = buffers.add(function.signature, inputs);
  Call model(*this, function, buffers);
  std::optional<Call> other;
  if (baseline)
    other.emplace(*this, *baseline, buffers);
  if (error.empty())
    error = model.prepare();
  if (error.empty() && other)
    error = other->prepare();
  if (error.empty())
    error = driver->call(driver->cuCtxSynchronize);
  GpuTimes times;
  double milliseconds = 0;
  // Loads code, wakes clocks.
  for (int i = 0; i < 3 && error.empty(); ++i) {
    error = timeOnce(model, milliseconds);
    if (other && error.empty())
      error = timeOnce(*other, milliseconds);
  }
  Clock::time_point last =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(
                         std::chrono::duration<double>(seconds));
  while (error.empty() && (times.model.size() < 5 || Clock::now() < last)) {
    error = timeOnce(model, milliseconds);
    times.model.push_back(milliseconds);
    if (other && error.empty()) {
      error = timeOnce(*other, milliseconds);
      times.baseline.push_back(milliseconds);
    }
  }
  if (llvm::Error failure = toError(error))
    return failure;
  return times;
}
