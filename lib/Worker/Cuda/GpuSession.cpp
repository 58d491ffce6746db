//===- GpuSession.cpp - The worker's own context on the GPU ---------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GpuSession.h"
#include "Cuda/Child/ChildPool.h"
#include "JudgeKernels.h"
#include "fastk/Cuda/CompileInChild.h"
#include "fastk/Cuda/QueryDevice.h"
#include <algorithm>
#include <memory>

using namespace fastk;
using namespace fastk::worker;
using cuda::CUdeviceptr;

static std::unique_ptr<GpuSession> &current() {
  static std::unique_ptr<GpuSession> session;
  return session;
}

GpuSession *GpuSession::get(std::string &error) {
  std::unique_ptr<GpuSession> &session = current();
  if (session) {
    error = session->driver->call(session->driver->cuCtxSetCurrent,
                                  session->context);
    return error.empty() ? session.get() : nullptr;
  }
  std::unique_ptr<GpuSession> made(new GpuSession());
  error = made->create();
  if (error.empty())
    session = std::move(made);
  return session.get();
}

void GpuSession::drop() {
  // It has the memory of their processes open.
  ChildPool::get().dropLoaded();
  current().reset();
}

GpuSession::~GpuSession() {
  // Takes all memory and modules along.
  if (context)
    driver->cuCtxDestroy(context);
}

std::string GpuSession::create() {
  std::string error;
  driver = cuda::Driver::get(error);
  if (driver)
    error = cuda::queryCudaDevice(device);
  cuda::CUdevice number = 0;
  if (error.empty())
    error = driver->call(driver->cuDeviceGet, &number, 0);
  if (error.empty())
    error = driver->call(driver->cuCtxCreate, &context,
                         unsigned(cuda::CU_CTX_SCHED_SPIN), number);
  flushBytes = std::max<size_t>(size_t(2 * device.l2Bytes), size_t(128) << 20);
  if (error.empty())
    error = driver->call(driver->cuMemAlloc, &scratch, size_t(4096));
  if (error.empty())
    error = driver->call(driver->cuMemAlloc, &flushed, flushBytes);
  if (error.empty())
    error = uploadTables();
  if (error.empty())
    error = loadOwnKernels();
  return error;
}

/// Compiles our own kernels.
static std::string compileOwn(const char *source, const std::string &arch,
                              std::string &cubin) {
  cuda::CompileRequest request;
  request.source = source;
  request.arch = arch;
  request.prelude = false;
  cuda::CompileLimits limits;
  // Not a candidate's: a slow machine may take its time.
  limits.wallSeconds = 60;
  cuda::CompileResult result = cuda::compileCached(request, limits);
  if (!result.ok())
    return "the worker's own kernels: " + result.error;
  cubin = result.cubin;
  return {};
}

std::string GpuSession::loadOwnKernels() {
  std::string cubin, error = compileOwn(judgeKernels, device.arch, cubin);
  if (error.empty())
    error = compileOwn(memoryKernels, device.arch, memoryCubin);
  if (error.empty())
    error = cuda::loadModule(*driver, cubin, module);
  for (auto [name, function] :
       {std::pair("fastk_fill", &fill), std::pair("fastk_perturb", &perturb),
        std::pair("fastk_round_to_half", &roundToHalf),
        std::pair("fastk_hash", &hash), std::pair("fastk_compare", &compare),
        std::pair("fastk_judge", &judge)})
    if (error.empty())
      error = cuda::getFunction(*driver, module, name, *function);
  if (error.empty())
    error = memory.load(*driver, memoryCubin);
  return error;
}

std::string GpuSession::countChanged(CUdeviceptr base, uint64_t begin,
                                     uint64_t end, Pattern pattern,
                                     uint64_t key, uint64_t &count) {
  std::string error =
      driver->call(driver->cuMemsetD8, scratch, static_cast<unsigned char>(0),
                   sizeof(count));
  if (error.empty())
    error = memory.countChanged(base, begin, end, pattern, key, scratch);
  if (error.empty())
    error = driver->call(driver->cuMemcpyDtoH, static_cast<void *>(&count),
                         CUdeviceptr(scratch), sizeof(count));
  return error;
}

static constexpr size_t middleEntries = NormalEntries::entries + 1,
                        outerEntries = NormalEntries::outerEntries + 1;

std::string GpuSession::uploadTables() {
  NormalEntries values = NormalTable::get().entries();
  std::string error =
      driver->call(driver->cuMemAlloc, &tables,
                   (middleEntries + outerEntries) * sizeof(double));
  if (error.empty())
    error = driver->call(driver->cuMemcpyHtoD, tables,
                         static_cast<const void *>(values.middle),
                         middleEntries * sizeof(double));
  if (error.empty())
    error = driver->call(
        driver->cuMemcpyHtoD, tables + middleEntries * sizeof(double),
        static_cast<const void *>(values.outer), outerEntries * sizeof(double));
  return error;
}

NormalEntries GpuSession::normalTables() const {
  const auto *middle = reinterpret_cast<const double *>(tables);
  return {middle, middle + middleEntries};
}

std::string GpuSession::allocate(size_t bytes, CUdeviceptr &address) {
  constexpr size_t page = size_t(2) << 20;
  bytes = (bytes + page - 1) / page * page;
  auto at = std::find_if(idle.begin(), idle.end(), [&](CUdeviceptr block) {
    return blocks.at(block) == bytes;
  });
  if (at != idle.end()) {
    address = *at;
    idle.erase(at);
    return {};
  }
  std::string error = driver->call(driver->cuMemAlloc, &address, bytes);
  if (!error.empty() && makeRoom())
    error = driver->call(driver->cuMemAlloc, &address, bytes);
  if (error.empty())
    blocks[address] = bytes;
  return error;
}

void GpuSession::giveBack(CUdeviceptr address) { idle.push_back(address); }

size_t GpuSession::idleBytes() const {
  size_t bytes = 0;
  for (CUdeviceptr block : idle)
    bytes += blocks.at(block);
  return bytes;
}

void GpuSession::freeIdle() {
  for (CUdeviceptr block : idle) {
    driver->cuMemFree(block);
    blocks.erase(block);
  }
  idle.clear();
}

bool GpuSession::makeRoom() {
  bool isAny = !idle.empty();
  freeIdle();
  return ChildPool::get().makeRoom() || isAny;
}

void GpuSession::begin(const std::string &newShape) {
  secret = secretSeed();
  if (newShape == shape)
    return;
  shape = newShape;
  makeRoom();
}

std::string GpuSession::hashOf(CUdeviceptr address, size_t bytes,
                               uint64_t &result) {
  return hashOf(address, bytes, secret, result);
}

std::string GpuSession::hashOf(CUdeviceptr address, size_t bytes, uint64_t key,
                               uint64_t &result) {
  uint64_t size = bytes;
  void *arguments[] = {&address, &size, &key, &scratch};
  std::string error =
      driver->call(driver->cuMemsetD8, scratch, static_cast<unsigned char>(0),
                   sizeof(result));
  if (error.empty())
    error = launch(hash, ownBlocks, arguments);
  if (error.empty())
    error = driver->call(driver->cuMemcpyDtoH, static_cast<void *>(&result),
                         CUdeviceptr(scratch), sizeof(result));
  return error;
}

std::string GpuSession::launch(cuda::CUfunction function, unsigned blocks,
                               void **arguments) {
  cuda::Launch launch;
  launch.grid.x = blocks;
  launch.block.x = 256;
  return cuda::launch(*driver, function, launch, arguments);
}

std::string GpuSession::probe() {
  // The hash of memory that holds one value, on all multiprocessors.
  constexpr size_t bytes = size_t(16) << 20;
  constexpr uint64_t word = 0x5a5a5a5a5a5a5a5a, key = 1;
  static const uint64_t expected = [] {
    uint64_t sum = 0;
    for (uint64_t i = 0; i < bytes / 8; ++i)
      sum += mix(word ^ mix(streamOf(key) + i));
    return sum;
  }();
  uint64_t found = 0;
  std::string error = driver->call(driver->cuMemsetD8, flushed,
                                   static_cast<unsigned char>(0x5a), bytes);
  if (error.empty())
    error = hashOf(flushed, bytes, key, found);
  if (error.empty() && found != expected)
    error = "a known kernel gave another answer than ever";
  return error;
}
