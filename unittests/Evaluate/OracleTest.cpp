//===- OracleTest.cpp - The oracle of a GPU against that of the host ------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every verdict rests on an oracle: the workload in f64, lowered by fastk for
// the device of the job. For every workload of every small golden input both
// are made as a job has them and get the same operands, drawn as the worker
// draws them: they share the promotion to f64 and nothing behind it. That the
// host's is right torch says (python/tests/test_oracle.py).
//
//===----------------------------------------------------------------------===//

#include "../Analysis/WorkloadFixture.h"
#include "../LibdeviceNeed.h"
#include "Values/Inputs.h"
#include "fastk/Analysis/SmallWorkload.h"
#include "fastk/Analysis/WorkloadKind.h"
#include "fastk/Conversion/CudaCodegen.h"
#include "fastk/Conversion/HostCodegen.h"
#include "fastk/Cuda/LoadedProgram.h"
#include "fastk/Cuda/Nvrtc.h"
#include "fastk/Cuda/QueryDevice.h"
#include "fastk/Dialect/Fastk/PlanRegion.h"
#include "fastk/Evaluate/JobBuilder.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include <cmath>
#include <cstring>
#include <dlfcn.h>
#include <set>

using namespace fastk;
using namespace fastk::test;
using cuda::CUdeviceptr;

/// Of the largest element of a result.
static constexpr double kBound = 1e-12;

static Need gpuNeed() {
  Need need = {"a GPU", "", "FASTK_REQUIRE_GPU"};
  if (cuda::Driver::get(need.missing))
    need.missing = libdeviceNeed().missing;
  return need;
}

namespace {

/// 64-byte aligned memory of the host, NaN at first.
class HostBuffer {
public:
  explicit HostBuffer(int64_t size)
      : bytes(size_t(size)),
        memory(static_cast<char *>(std::aligned_alloc(64, (bytes + 63) & ~63)),
               std::free) {
    std::memset(memory.get(), 0xff, bytes);
  }
  char *data() const { return memory.get(); }
  size_t size() const { return bytes; }

private:
  size_t bytes;
  std::unique_ptr<char, decltype(&std::free)> memory;
};

/// A workload, with what a job of it holds.
struct Oracles {
  explicit Oracles(mlir::ModuleOp source, llvm::StringRef chip) {
    auto computed = computeCanonicalForm(getWorkload(source));
    EXPECT_TRUE(mlir::succeeded(computed));
    form = std::move(*computed);
    for (auto [holder, lowering, target] :
         {std::tuple(&hostHolder, &host, llvm::StringRef("host")),
          std::tuple(&deviceHolder, &device, chip)}) {
      mlir::OpBuilder builder(&context());
      *holder = mlir::ModuleOp::create(builder.getUnknownLoc());
      builder.setInsertionPointToEnd((*holder)->getBody());
      *lowering = *buildDefaultLowering(builder, form, target);
    }
    WorkloadFeatures features = analyzeWorkload(form.getPattern());
    name = features.name;
    llvm::Expected<worker::Job> built = buildJob(host, features);
    if (built)
      job = std::move(*built);
    else
      ADD_FAILURE() << llvm::toString(built.takeError());
  }

  static int64_t resultBytes(const worker::Tensor &tensor) {
    return worker::isFloat(tensor.type) ? tensor.elements() * 8
                                        : tensor.bytes();
  }
  std::vector<HostBuffer> draw(const worker::Trial &trial) const {
    std::vector<HostBuffer> inputs;
    for (auto [i, tensor] : llvm::enumerate(job.inputs)) {
      inputs.emplace_back(tensor.bytes());
      worker::fillInput(job, i, trial, inputs.back().data());
    }
    return inputs;
  }
  std::vector<HostBuffer> makeResults() const {
    std::vector<HostBuffer> results;
    for (const worker::Tensor &tensor : job.outputs)
      results.emplace_back(resultBytes(tensor));
    return results;
  }

  CanonicalForm form;
  Module hostHolder, deviceHolder;
  LoweringOp host, device;
  std::string name;
  worker::Job job;
};

/// What both oracles are compared on.
static std::vector<worker::Trial> trials() {
  return {{worker::Distribution::Normal, 0, 1, 1},
          {worker::Distribution::Normal, 1, 2, 1},
          {worker::Distribution::Shifted, 0, 3, 1}};
}

struct OracleTest : testing::Test {
  static void SetUpTestSuite() {
    mlir::DialectRegistry registry;
    registerHostCodegen(registry);
    registerCudaCodegen(registry);
    context().appendDialectRegistry(registry);
    context().loadAllAvailableDialects();
  }

  /// Calls \p each with every workload of the small golden inputs, each key
  /// once. Returns how many there are.
  static size_t
  forEachWorkload(llvm::StringRef chip,
                  llvm::function_ref<void(Oracles &oracles)> each) {
    std::vector<std::string> paths;
    std::error_code error;
    for (llvm::sys::fs::directory_iterator it(FASTK_GOLDEN_DIR, error), end;
         it != end && !error; it.increment(error))
      if (llvm::StringRef(it->path()).ends_with("_small.mlir"))
        paths.push_back(it->path());
    llvm::sort(paths);
    std::set<std::string> seen;
    for (const std::string &path : paths)
      for (Module &module : formWorkloads(path)) {
        Oracles oracles(*module, chip);
        SCOPED_TRACE(llvm::sys::path::filename(path).str() + ", " +
                     oracles.name);
        // Constants alone are nothing that is searched.
        if (!oracles.job.inputs.empty() && seen.insert(oracles.form.key).second)
          each(oracles);
      }
    return seen.size();
  }

  static mlir::FailureOr<DeviceProgram> compileForDevice(Oracles &oracles) {
    return compileDeviceKernel(oracles.device, KernelRole::Oracle,
                               *CudaTarget::parse(oracles.device.getTarget()));
  }
};

/// The host's oracle, loaded.
class HostOracle {
public:
  explicit HostOracle(Oracles &oracles) {
    llvm::SmallString<128> path;
    EXPECT_FALSE(llvm::sys::fs::createTemporaryFile("oracle", "so", path));
    llvm::LLVMContext llvmContext;
    HostTarget target = HostTarget::detect();
    auto module = compileKernel(oracles.host, KernelRole::Oracle,
                                "fastk_kernel", llvmContext, target);
    if (mlir::failed(module) ||
        mlir::failed(
            emitSharedLibrary(oracles.host.getLoc(), **module, target, path)))
      ADD_FAILURE() << "the host's oracle does not compile";
    else if ((library = dlopen(path.c_str(), RTLD_NOW)))
      entry = dlsym(library, "fastk_kernel");
    else
      ADD_FAILURE() << dlerror();
    llvm::sys::fs::remove(path);
  }
  ~HostOracle() {
    if (library)
      dlclose(library);
  }
  explicit operator bool() const { return entry; }

  void call(const std::vector<HostBuffer> &inputs,
            const std::vector<HostBuffer> &results) const {
    std::vector<void *> p;
    for (const auto *group : {&inputs, &results})
      for (const HostBuffer &buffer : *group)
        p.push_back(buffer.data());
    // What stands behind the last parameter is not looked at.
    constexpr size_t most = 16;
    ASSERT_LT(p.size(), most);
    p.resize(most, nullptr);
    using V = void *;
    reinterpret_cast<void (*)(V, V, V, V, V, V, V, V, V, V, V, V, V, V, V, V)>(
        entry)(p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7], p[8], p[9],
               p[10], p[11], p[12], p[13], p[14], p[15]);
  }

private:
  void *library = nullptr, *entry = nullptr;
};

/// The device's, loaded, with buffers of its own.
class DeviceOracle {
public:
  DeviceOracle(const cuda::Driver &driver, const Oracles &oracles,
               const DeviceProgram &code)
      : driver(driver), program(driver) {
    check(program.load(code.code, code.plan));
    for (const worker::Tensor &tensor : oracles.job.inputs)
      allocate(buffers.inputs, tensor.bytes());
    for (const worker::Tensor &tensor : oracles.job.outputs)
      allocate(buffers.outputs, Oracles::resultBytes(tensor));
    for (const worker::Workspace &workspace : code.plan.workspaces)
      allocate(buffers.workspaces, workspace.bytes);
    check(program.bind(buffers, bound));
  }
  ~DeviceOracle() {
    for (const auto &group :
         {buffers.inputs, buffers.outputs, buffers.workspaces})
      for (CUdeviceptr address : group)
        driver.cuMemFree(address);
  }

  void call(const std::vector<HostBuffer> &inputs,
            const std::vector<HostBuffer> &results) {
    for (auto [address, buffer] : llvm::zip_equal(buffers.inputs, inputs))
      check(driver.call(driver.cuMemcpyHtoD, CUdeviceptr(address),
                        static_cast<const void *>(buffer.data()),
                        buffer.size()));
    check(driver.call(driver.cuCtxSynchronize));
    check(program.enqueue(bound, nullptr));
    check(driver.call(driver.cuCtxSynchronize));
    for (auto [address, buffer] : llvm::zip_equal(buffers.outputs, results))
      check(driver.call(driver.cuMemcpyDtoH, static_cast<void *>(buffer.data()),
                        CUdeviceptr(address), buffer.size()));
  }

private:
  static void check(const std::string &error) { ASSERT_EQ(error, ""); }
  /// NaN at first.
  void allocate(std::vector<CUdeviceptr> &group, int64_t bytes) {
    group.push_back(0);
    check(driver.call(driver.cuMemAlloc, &group.back(), size_t(bytes)));
    check(driver.call(driver.cuMemsetD8, CUdeviceptr(group.back()),
                      static_cast<unsigned char>(0xff), size_t(bytes)));
  }

  const cuda::Driver &driver;
  cuda::LoadedProgram program;
  cuda::DeviceBuffers buffers;
  cuda::BoundProgram bound;
};

} // namespace

/// The largest difference of two float results relative to the largest element;
/// infinity where they differ in NaN or infinities, or hold nothing else.
static double largestError(const HostBuffer &got, const HostBuffer &want) {
  double scale = 0, worst = 0;
  for (size_t i = 0; i < want.size() / sizeof(double); ++i) {
    double a, b;
    std::memcpy(&a, got.data() + i * sizeof(double), sizeof(double));
    std::memcpy(&b, want.data() + i * sizeof(double), sizeof(double));
    bool isSame = a == b || (std::isnan(a) && std::isnan(b));
    if (!isSame && !(std::isfinite(a) && std::isfinite(b)))
      return INFINITY;
    if (std::isfinite(b))
      scale = std::max(scale, std::fabs(b));
    if (!isSame)
      worst = std::max(worst, std::fabs(a - b));
  }
  return scale > 0 ? worst / scale : INFINITY;
}

TEST(OracleComparison, TellsWhatDiffers) {
  auto bufferOf = [](std::vector<double> values) {
    HostBuffer buffer(int64_t(values.size() * sizeof(double)));
    std::memcpy(buffer.data(), values.data(), buffer.size());
    return buffer;
  };
  auto error = [&](std::vector<double> got, std::vector<double> want) {
    return largestError(bufferOf(std::move(got)), bufferOf(std::move(want)));
  };
  EXPECT_EQ(error({1, -4, NAN, INFINITY}, {1, -4, NAN, INFINITY}), 0);
  EXPECT_EQ(error({1, -3}, {2, -4}), 0.25);
  EXPECT_EQ(error({1, NAN}, {1, 1}), INFINITY);
  EXPECT_EQ(error({1, 1}, {1, NAN}), INFINITY);
  EXPECT_EQ(error({1, INFINITY}, {1, -INFINITY}), INFINITY);
  // Proves nothing.
  EXPECT_EQ(error({0, 0}, {0, 0}), INFINITY);
  EXPECT_EQ(error({NAN, NAN}, {NAN, NAN}), INFINITY);
}

FASTK_TEST_F_IF(libdeviceNeed(), OracleTest, DevicesCompileForEveryWorkload) {
  size_t workloads = forEachWorkload("cuda:sm_90a", [](Oracles &oracles) {
    auto program = compileForDevice(oracles);
    ASSERT_TRUE(mlir::succeeded(program));
    std::vector<int64_t> inputs, outputs;
    for (const worker::Tensor &tensor : oracles.job.inputs)
      inputs.push_back(tensor.bytes());
    for (const worker::Tensor &tensor : oracles.job.outputs)
      outputs.push_back(Oracles::resultBytes(tensor));
    EXPECT_EQ(
        worker::verifyLaunchPlan(program->plan, inputs, outputs,
                                 CudaTarget::parse("cuda:sm_90a")->limits),
        std::vector<std::string>());
    if (worker::isFloat(oracles.job.outputs.front().type))
      EXPECT_NE(program->code.find(".f64"), std::string::npos);
  });
  EXPECT_GE(workloads, 50u);
}

/// What is compared with has numbers in it, and the same ones each time.
TEST_F(OracleTest, HostsGiveTheSameNumbersTwice) {
  size_t workloads = forEachWorkload("cuda:sm_90a", [](Oracles &oracles) {
    HostOracle host(oracles);
    ASSERT_TRUE(bool(host));
    for (const worker::Trial &trial : trials()) {
      SCOPED_TRACE(std::string(worker::toString(trial.law)));
      std::vector<HostBuffer> inputs = oracles.draw(trial),
                              one = oracles.makeResults(),
                              two = oracles.makeResults();
      host.call(inputs, one);
      host.call(inputs, two);
      for (auto [o, tensor] : llvm::enumerate(oracles.job.outputs))
        if (worker::isFloat(tensor.type))
          EXPECT_EQ(largestError(one[o], two[o]), 0) << "result " << o;
        else
          EXPECT_EQ(std::memcmp(one[o].data(), two[o].data(), one[o].size()), 0)
              << "result " << o;
    }
  });
  EXPECT_GE(workloads, 50u);
}

/// What a search compares of workloads that are too large for the host's
/// oracle: the same ops on less.
TEST_F(OracleTest, LargeWorkloadsHaveSmallerSizes) {
  constexpr WorkloadSize largest = {int64_t(1) << 22, int64_t(1) << 20};
  size_t shrunk = 0;
  std::error_code error;
  for (llvm::sys::fs::directory_iterator it(FASTK_GOLDEN_DIR, error), end;
       it != end && !error; it.increment(error)) {
    if (!llvm::StringRef(it->path()).ends_with(".mlir"))
      continue;
    for (Module &module : formWorkloads(it->path())) {
      WorkloadOp workload = getWorkload(*module);
      SCOPED_TRACE(it->path() + ", " + workload.getName().str());
      WorkloadSize size = sizeOf(workload.getBody());
      if (size.iterations <= largest.iterations &&
          size.elements <= largest.elements)
        continue;
      mlir::OpBuilder builder(&context());
      Module holder = mlir::ModuleOp::create(builder.getUnknownLoc());
      builder.setInsertionPointToEnd(holder->getBody());
      auto func =
          buildSmallWorkload(builder, workload.getBody(), "small", largest);
      if (!func) {
        ADD_FAILURE() << "no smaller sizes";
        continue;
      }
      WorkloadOp small = getWorkload(*holder);
      EXPECT_LE(sizeOf(small.getBody()).iterations, largest.iterations);
      EXPECT_LE(sizeOf(small.getBody()).elements, largest.elements);
      EXPECT_EQ(small.getBody().front().getOperations().size(),
                workload.getBody().front().getOperations().size());
      // What is drawn for it is drawn as for the large one.
      WorkloadFeatures features = analyzeWorkload(workload.getBody()),
                       own = analyzeWorkload(small.getBody());
      EXPECT_EQ(own.kind, features.kind);
      ASSERT_EQ(own.inputs.size(), features.inputs.size());
      for (auto [mine, theirs] : llvm::zip(own.inputs, features.inputs))
        EXPECT_EQ(mine.role, theirs.role);
      ++shrunk;
    }
  }
  EXPECT_GE(shrunk, 20u);
}

FASTK_TEST_F_IF(gpuNeed(), OracleTest, DevicesAgreeWithTheHosts) {
  std::string error;
  const cuda::Driver *driver = cuda::Driver::get(error);
  ASSERT_TRUE(driver) << error;
  DeviceDescription gpu;
  ASSERT_EQ(cuda::queryCudaDevice(gpu), "");
  cuda::CUcontext primary = nullptr;
  ASSERT_EQ(driver->call(driver->cuDevicePrimaryCtxRetain, &primary,
                         cuda::CUdevice()),
            "");
  ASSERT_EQ(driver->call(driver->cuCtxSetCurrent, primary), "");

  double worst = 0;
  std::string worstName;
  size_t results = 0;
  size_t workloads = forEachWorkload("cuda:" + gpu.arch, [&](Oracles &oracles) {
    auto program = compileForDevice(oracles);
    HostOracle host(oracles);
    ASSERT_TRUE(mlir::succeeded(program));
    ASSERT_TRUE(bool(host));
    DeviceOracle device(*driver, oracles, *program);
    for (const worker::Trial &trial : trials()) {
      SCOPED_TRACE(std::string(worker::toString(trial.law)));
      std::vector<HostBuffer> inputs = oracles.draw(trial);
      std::vector<HostBuffer> want = oracles.makeResults(),
                              got = oracles.makeResults();
      host.call(inputs, want);
      device.call(inputs, got);
      if (HasFatalFailure())
        return;
      for (auto [o, tensor] : llvm::enumerate(oracles.job.outputs)) {
        ++results;
        if (!worker::isFloat(tensor.type)) {
          EXPECT_EQ(std::memcmp(got[o].data(), want[o].data(), got[o].size()),
                    0)
              << "result " << o;
          continue;
        }
        double found = largestError(got[o], want[o]);
        EXPECT_LE(found, kBound) << "result " << o;
        if (found > worst) {
          worst = found;
          worstName = oracles.name;
        }
      }
    }
  });
  EXPECT_GE(workloads, 50u);
  llvm::outs() << llvm::formatv("{0} results of {1} workloads; the largest "
                                "error is {2:e2} of its result's largest "
                                "element, in {3}\n",
                                results, workloads, worst, worstName);
}
