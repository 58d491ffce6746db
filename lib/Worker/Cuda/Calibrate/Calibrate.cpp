//===- Calibrate.cpp - Measure the GPU of this machine --------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Worker/Calibrate.h"
#include "CalibrateKernels.h"
#include "Cuda/Telemetry.h"
#include "Timing/Statistics.h"
#include "fastk/Cuda/CompileInChild.h"
#include "fastk/Cuda/QueryDevice.h"
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <functional>

using namespace fastk;
using namespace fastk::worker;
using cuda::CUdeviceptr;

/// Of a block of 256 threads in a round, see calibrate.cu.
static constexpr double kMultiplyAdds = 256 * 64 * 2;

namespace {

class Calibrator {
public:
  explicit Calibrator(DeviceCalibration &result) : result(result) {}
  ~Calibrator();
  std::string run();
  /// Only the rates of memory and f32.
  std::string glance();

private:
  std::string create();
  std::string compile();
  void memory();
  void arithmetic();
  void emptyLaunch();
  /// Operations a second of a kernel that does so many for a block and round.
  double rate(const char *kernel, unsigned blocks, double operations,
              std::vector<void *> others) {
    return blocks * operations *
           roundsPerSecond(kernel, blocks, std::move(others));
  }

  /// Events around one launch of \p kernel, in seconds; 0 after an error.
  double time(const char *kernel, unsigned blocks, unsigned threads,
              std::vector<void *> arguments);
  /// The shortest of many.
  double best(const std::function<double()> &once);
  /// Rounds a second of a kernel that takes rounds as its first argument.
  double roundsPerSecond(const char *kernel, unsigned blocks,
                         std::vector<void *> others);
  /// Keeps the first error; what follows does nothing.
  bool check(const std::string &problem) {
    if (error.empty())
      error = problem;
    return error.empty();
  }

  DeviceCalibration &result;
  DeviceDescription device;
  GpuReport gauges;
  std::string error;
  const cuda::Driver *driver = nullptr;
  cuda::CUcontext context = nullptr;
  cuda::CUmodule module = nullptr;
  cuda::CUevent begin = nullptr, end = nullptr;
};

} // namespace

Calibrator::~Calibrator() {
  // Takes all else along.
  if (context)
    driver->cuCtxDestroy(context);
}

std::string Calibrator::create() {
  driver = cuda::Driver::get(error);
  cuda::CUdevice number = 0;
  int clock = 0;
  if (!driver || !check(cuda::queryCudaDevice(device)) ||
      !check(driver->call(driver->cuDeviceGet, &number, 0)) ||
      !check(driver->call(driver->cuDeviceGetAttribute, &clock,
                          cuda::CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE,
                          number)) ||
      !check(driver->call(driver->cuCtxCreate, &context,
                          unsigned(cuda::CU_CTX_SCHED_SPIN), number)))
    return error;
  for (cuda::CUevent *event : {&begin, &end})
    check(driver->call(driver->cuEventCreate, event,
                       unsigned(cuda::CU_EVENT_DEFAULT)));
  result.model = device.model;
  result.arch = device.arch;
  result.clockHz = device.clockHz;
  result.memoryClockHz = 1e3 * clock;
  int version = driver->version();
  result.cuda = std::to_string(version / 1000) + "." +
                std::to_string(version % 1000 / 10);
  std::ifstream("/sys/module/nvidia/version") >> result.driver;
  char day[16] = {};
  std::time_t now = std::time(nullptr);
  std::tm utc = {};
  if (gmtime_r(&now, &utc))
    std::strftime(day, sizeof(day), "%Y-%m-%d", &utc);
  result.date = day;
  return error;
}

std::string Calibrator::compile() {
  cuda::CompileRequest request;
  request.source = calibrateKernels;
  request.arch = device.arch;
  cuda::CompileLimits limits;
  limits.wallSeconds = 60;
  cuda::CompileResult compiled = cuda::compileCached(request, limits);
  if (!compiled.ok())
    return "the kernels of the calibration: " + compiled.error;
  result.compiler = compiled.nvrtcVersion;
  return cuda::loadModule(*driver, compiled.cubin, module);
}

double Calibrator::time(const char *kernel, unsigned blocks, unsigned threads,
                        std::vector<void *> arguments) {
  cuda::CUfunction function = nullptr;
  cuda::Launch launch;
  launch.grid.x = blocks;
  launch.block.x = threads;
  float milliseconds = 0;
  check(cuda::getFunction(*driver, module, kernel, function)) &&
      check(driver->call(driver->cuEventRecord, begin, launch.stream)) &&
      check(cuda::launch(*driver, function, launch, arguments.data())) &&
      check(driver->call(driver->cuEventRecord, end, launch.stream)) &&
      check(driver->call(driver->cuCtxSynchronize)) &&
      check(
          driver->call(driver->cuEventElapsedTime, &milliseconds, begin, end));
  return error.empty() ? double(milliseconds) * 1e-3 : 0;
}

double Calibrator::best(const std::function<double()> &once) {
  double shortest = once(); // Brings clocks up and code in.
  for (int i = 0; i < 20 && error.empty(); ++i)
    shortest = std::min(shortest, once());
  readTelemetry(*driver, gauges);
  return shortest;
}

double Calibrator::roundsPerSecond(const char *kernel, unsigned blocks,
                                   std::vector<void *> others) {
  uint32_t rounds = 16;
  others.insert(others.begin(), &rounds);
  auto once = [&] { return time(kernel, blocks, 256, others); };
  // Long against a launch, short against what heats up.
  constexpr double wanted = 2e-3;
  once();
  for (double spent = once();
       error.empty() && spent < wanted / 2 && rounds < (1u << 24);
       spent = once())
    rounds = uint32_t(rounds *
                      std::clamp(wanted / std::max(spent, 1e-6), 2.0, 16.0));
  double shortest = best(once);
  return shortest > 0 ? rounds / shortest : 0;
}

void Calibrator::memory() {
  size_t available = 0, total = 0;
  if (!check(driver->call(driver->cuMemGetInfo, &available, &total)))
    return;
  // Many times any L2, and a whole number of vectors.
  uint64_t bytes =
      std::min<uint64_t>(uint64_t(4) << 30, available / 4) / 16 * 16;
  CUdeviceptr from = 0, to = 0, sink = 0;
  if (!check(driver->call(driver->cuMemAlloc, &from, size_t(bytes))) ||
      !check(driver->call(driver->cuMemAlloc, &to, size_t(bytes))) ||
      !check(driver->call(driver->cuMemAlloc, &sink, size_t(4096))) ||
      !check(driver->call(driver->cuMemsetD32, from, 0x12345678u,
                          size_t(bytes / 4))))
    return;
  unsigned blocks = 4 * device.multiprocessors;
  uint64_t count = bytes / 16;
  uint32_t rounds = 1;
  // Blocks that go over all, and many that come one after another: which is
  // better depends on the memory.
  for (unsigned grid : {blocks, unsigned(count / 512 / 8),
                        unsigned(count / 512 / 4), unsigned(count / 512)}) {
    double seconds = best(
        [&] { return time("fastk_copy", grid, 512, {&from, &to, &count}); });
    if (seconds > 0)
      result.copy = std::max(result.copy, 2 * double(bytes) / seconds);
    seconds = best([&] {
      return time("fastk_read", grid, 512, {&from, &count, &rounds, &sink});
    });
    if (seconds > 0)
      result.read = std::max(result.read, double(bytes) / seconds);
  }
  // A quarter of L2: it may keep a copy in each of its parts.
  count = std::max<uint64_t>(uint64_t(device.l2Bytes) / 4, 1 << 20) / 16;
  rounds = 100;
  double seconds = best([&] {
    return time("fastk_read", blocks, 512, {&from, &count, &rounds, &sink});
  });
  result.l2 = seconds > 0 ? double(count) * 16 * rounds / seconds : 0;
  for (CUdeviceptr address : {from, to, sink})
    check(driver->call(driver->cuMemFree, address));
}

void Calibrator::arithmetic() {
  CUdeviceptr sink = 0;
  if (!check(driver->call(driver->cuMemAlloc, &sink, size_t(4096))))
    return;
  unsigned multiprocessors = device.multiprocessors;
  // Blocks of 256 threads; operations of a block in a round, see calibrate.cu.
  float scale = 0.5f;
  double wide = 0.5;
  constexpr double warps = 8;
  bool isHopper = device.arch == "sm_90a";
  unsigned blocks = 8 * multiprocessors;
  result.rates.f32 =
      rate("fastk_fma_f32", blocks, kMultiplyAdds, {&scale, &sink});
  result.rates.f64 =
      std::max(rate("fastk_fma_f64", blocks, kMultiplyAdds, {&wide, &sink}),
               rate("fastk_tensor_f64", blocks,
                    warps * 32 * 2 * 16 * 8 *
                        (device.arch.compare(0, 4, "sm_8") == 0 ? 4 : 16),
                    {&wide, &sink}));
  // Products with k of `elements`, which are 32 bytes: of two warpgroups, or of
  // warps.
  auto tensorRate = [&](const char *kernel, double elements) {
    return isHopper ? rate(kernel, multiprocessors,
                           2 * 8 * 2 * 64 * 256 * elements, {&sink})
                    : rate(kernel, 4 * multiprocessors,
                           warps * 32 * 2 * 16 * 8 * elements, {&sink});
  };
  result.rates.f16 = tensorRate("fastk_tensor_f16", 16);
  result.rates.bf16 = tensorRate("fastk_tensor_bf16", 16);
  result.rates.tf32 = tensorRate("fastk_tensor_tf32", 8);
  if (isHopper)
    result.rates.f8 = tensorRate("fastk_tensor_f8", 32);
  check(driver->call(driver->cuMemFree, sink));
}

void Calibrator::emptyLaunch() {
  std::vector<double> seconds;
  for (int i = 0; i < 220 && error.empty(); ++i) {
    double spent = time("fastk_nothing", 1, 32, {});
    if (i >= 20)
      seconds.push_back(spent);
  }
  if (error.empty())
    result.emptyLaunch = quantile(seconds, 0.5);
}

std::string Calibrator::run() {
  if (!create().empty() || !check(compile()))
    return error;
  // First what needs clocks least.
  memory();
  arithmetic();
  emptyLaunch();
  if (gauges.smClock) {
    result.lowestClockHz = 1e6 * gauges.smClock->low;
    result.highestClockHz = 1e6 * gauges.smClock->high;
  }
  return error;
}

std::string Calibrator::glance() {
  if (!create().empty() || !check(compile()))
    return error;
  CUdeviceptr from = 0, sink = 0;
  uint64_t bytes = uint64_t(1) << 30, count = bytes / 16;
  uint32_t rounds = 1;
  if (!check(driver->call(driver->cuMemAlloc, &from, size_t(bytes))) ||
      !check(driver->call(driver->cuMemAlloc, &sink, size_t(4096))) ||
      !check(driver->call(driver->cuMemsetD32, from, 0x12345678u,
                          size_t(bytes / 4))))
    return error;
  double seconds = best([&] {
    return time("fastk_read", unsigned(count / 512 / 8), 512,
                {&from, &count, &rounds, &sink});
  });
  result.read = seconds > 0 ? double(bytes) / seconds : 0;
  float scale = 0.5f;
  result.rates.f32 = rate("fastk_fma_f32", 8 * device.multiprocessors,
                          kMultiplyAdds, {&scale, &sink});
  return error;
}

std::string fastk::worker::measureGpuRates(double &readBytes, double &f32) {
  DeviceCalibration reading;
  std::string problem = Calibrator(reading).glance();
  readBytes = reading.read;
  f32 = reading.rates.f32;
  return problem;
}

std::string fastk::worker::calibrateGpu(DeviceCalibration &calibration) {
  calibration = {};
  return Calibrator(calibration).run();
}

std::string fastk::worker::describe(const DeviceCalibration &calibration,
                                    const DeviceDescription &device) {
  const DeviceRates &rates = calibration.rates, &peak = device.peak;
  std::string text = calibration.model + " (" + calibration.arch +
                     "), driver " + calibration.driver + ", CUDA " +
                     calibration.cuda + ", NVRTC " + calibration.compiler +
                     ", " + calibration.date + "\n";
  char line[160];
  auto row = [&](const char *name, double measured, double best,
                 const char *unit, double scale) {
    if (best > 0)
      snprintf(line, sizeof(line), "  %-18s %9.4g %s, peak %.4g\n", name,
               measured * scale, unit, best * scale);
    else
      snprintf(line, sizeof(line), "  %-18s %9.4g %s\n", name, measured * scale,
               unit);
    if (measured > 0)
      text += line;
  };
  row("copy", calibration.copy, peak.memory, "TB/s", 1e-12);
  row("read", calibration.read, peak.memory, "TB/s", 1e-12);
  row("read from L2", calibration.l2, 0, "TB/s", 1e-12);
  row("f32", rates.f32, peak.f32, "TFLOP/s", 1e-12);
  row("f64", rates.f64, peak.f64, "TFLOP/s", 1e-12);
  row("tf32 products", rates.tf32, peak.tf32, "TFLOP/s", 1e-12);
  row("f16 products", rates.f16, peak.f16, "TFLOP/s", 1e-12);
  row("bf16 products", rates.bf16, peak.bf16, "TFLOP/s", 1e-12);
  row("f8 products", rates.f8, peak.f8, "TFLOP/s", 1e-12);
  row("empty launch", calibration.emptyLaunch, 0, "us", 1e6);
  row("clock seen", calibration.highestClockHz, calibration.clockHz, "GHz",
      1e-9);
  return text;
}
