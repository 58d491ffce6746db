//===- Cupti.cpp - What the GPU says it did, and when ---------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Cupti.h"
#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <mutex>
#include <type_traits>

using namespace fastk::worker;

namespace {

// Declarations of our own, as in DriverTypes.h: names, values and layouts are
// those of the CUPTI reference. Records have grown from version to version at
// their ends only; what is declared here is the same from CUDA 9.0
// (CUpti_ActivityKernel4, CUpti_ActivityMemset) to 13.0
// (CUpti_ActivityKernel10, CUpti_ActivityMemset4).
enum : uint32_t {
  CUPTI_ACTIVITY_KIND_MEMSET = 2,
  CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL = 10,
  CUPTI_ACTIVITY_FLAG_FLUSH_FORCED = 1
};
constexpr int CUPTI_SUCCESS = 0, CUPTI_ERROR_MAX_LIMIT_REACHED = 12;

struct ActivityRecord {
  uint32_t kind;
};
struct MemsetRecord {
  uint32_t kind, value;
  uint64_t bytes, start, end;
};
struct KernelRecord {
  uint32_t kind;
  uint8_t cacheConfig, sharedMemoryConfig;
  uint16_t registersPerThread;
  uint32_t partitionedCacheRequested, partitionedCacheExecuted;
  uint64_t start, end, completed;
  uint32_t deviceId, contextId, streamId;
  int32_t grid[3], block[3];
  int32_t staticSharedMemory, dynamicSharedMemory;
  uint32_t localMemoryPerThread, localMemoryTotal, correlationId;
  int64_t gridId;
  const char *name;
};
static_assert(offsetof(MemsetRecord, start) == 16);
static_assert(offsetof(KernelRecord, start) == 16 &&
              offsetof(KernelRecord, gridId) == 96 &&
              offsetof(KernelRecord, name) == 104);

// Records are handed over on a thread of CUPTI's.
std::mutex mutex;
std::vector<Activity> collected;
std::string trouble;

constexpr size_t bufferBytes = size_t(1) << 20;

void requestBuffer(uint8_t **buffer, size_t *bytes, size_t *mostRecords) {
  *buffer = static_cast<uint8_t *>(std::aligned_alloc(64, bufferBytes));
  *bytes = *buffer ? bufferBytes : 0;
  *mostRecords = 0;
}

void completeBuffer(void *, uint32_t, uint8_t *buffer, size_t, size_t valid);

} // namespace

struct Cupti::Functions {
  int (*getVersion)(uint32_t *) = nullptr;
  int (*getResultString)(int, const char **) = nullptr;
  int (*registerCallbacks)(decltype(&requestBuffer),
                           decltype(&completeBuffer)) = nullptr;
  int (*enable)(uint32_t) = nullptr;
  int (*flushAll)(uint32_t) = nullptr;
  int (*getNextRecord)(uint8_t *, size_t, ActivityRecord **) = nullptr;
  int (*getDropped)(void *, uint32_t, size_t *) = nullptr;

  std::string describe(int result, const char *function) const {
    if (result == CUPTI_SUCCESS)
      return "";
    const char *name = nullptr;
    getResultString(result, &name);
    return std::string(function) + " failed: " +
           (name ? std::string(name) : "error " + std::to_string(result));
  }
};

static Cupti::Functions table;

namespace {
void completeBuffer(void *, uint32_t, uint8_t *buffer, size_t, size_t valid) {
  std::lock_guard<std::mutex> lock(mutex);
  ActivityRecord *record = nullptr;
  while (valid > 0) {
    int result = table.getNextRecord(buffer, valid, &record);
    if (result == CUPTI_ERROR_MAX_LIMIT_REACHED)
      break;
    if (result != CUPTI_SUCCESS) {
      trouble = table.describe(result, "cuptiActivityGetNextRecord");
      break;
    }
    Activity activity;
    if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
      const auto *kernel = reinterpret_cast<const KernelRecord *>(record);
      activity = {true, kernel->name ? kernel->name : "", kernel->start,
                  kernel->end};
    } else if (record->kind == CUPTI_ACTIVITY_KIND_MEMSET) {
      const auto *memset = reinterpret_cast<const MemsetRecord *>(record);
      activity = {false, "", memset->start, memset->end};
    } else {
      continue;
    }
    // The reference: zero where the time could not be taken.
    if (activity.start == 0 || activity.end < activity.start)
      trouble = "CUPTI has no time for a record";
    collected.push_back(activity);
  }
  std::free(buffer);
}
} // namespace

std::string Cupti::start(const std::string &path) {
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char *why = dlerror();
    return "cannot load " + path + ": " + (why ? why : "no reason given");
  }
  const char *missing = nullptr;
  auto find = [&](auto &function, const char *name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(
        dlsym(library, name));
    if (!function && !missing)
      missing = name;
  };
  find(table.getVersion, "cuptiGetVersion");
  find(table.getResultString, "cuptiGetResultString");
  find(table.registerCallbacks, "cuptiActivityRegisterCallbacks");
  find(table.enable, "cuptiActivityEnable");
  find(table.flushAll, "cuptiActivityFlushAll");
  find(table.getNextRecord, "cuptiActivityGetNextRecord");
  find(table.getDropped, "cuptiActivityGetNumDroppedRecords");
  if (missing)
    return path + " has no " + missing;
  uint32_t version = 0;
  std::string error =
      table.describe(table.getVersion(&version), "cuptiGetVersion");
  // 18 is CUDA 11.8's.
  if (error.empty() && version < 18)
    error = path + " is older than CUDA 12";
  if (error.empty())
    error =
        table.describe(table.registerCallbacks(requestBuffer, completeBuffer),
                       "cuptiActivityRegisterCallbacks");
  for (uint32_t kind :
       {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMSET})
    if (error.empty())
      error = table.describe(table.enable(kind), "cuptiActivityEnable");
  if (error.empty())
    functions = &table;
  return error;
}

std::string Cupti::take(std::vector<Activity> &activities) {
  if (!functions)
    return "CUPTI was not started";
  std::string error =
      functions->describe(functions->flushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED),
                          "cuptiActivityFlushAll");
  size_t dropped = 0;
  if (error.empty() &&
      functions->getDropped(nullptr, 0, &dropped) == CUPTI_SUCCESS && dropped)
    error = "CUPTI dropped " + std::to_string(dropped) + " records";
  std::lock_guard<std::mutex> lock(mutex);
  if (error.empty())
    error = trouble;
  activities = std::move(collected);
  collected.clear();
  std::sort(
      activities.begin(), activities.end(),
      [](const Activity &a, const Activity &b) { return a.start < b.start; });
  return error;
}
