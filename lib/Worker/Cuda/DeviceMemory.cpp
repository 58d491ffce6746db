//===- DeviceMemory.cpp - Memory of the GPU with red zones ----------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaDevice.h"
#include <utility>

using namespace fastk;
using namespace fastk::worker;

/// On both sides of a tensor; and how far it moves between placements.
static constexpr size_t redZone = 64 * 1024;
static constexpr size_t shift = 4096;

DeviceMemory::DeviceMemory(DeviceMemory &&other) noexcept {
  *this = std::move(other);
}

DeviceMemory &DeviceMemory::operator=(DeviceMemory &&other) noexcept {
  std::swap(session, other.session);
  std::swap(driver, other.driver);
  std::swap(base, other.base);
  std::swap(bytes, other.bytes);
  std::swap(begin, other.begin);
  std::swap(zoneKey, other.zoneKey);
  return *this;
}

DeviceMemory::~DeviceMemory() {
  if (base)
    session->giveBack(base);
}

size_t DeviceMemory::total() const { return bytes + 2 * redZone + shift; }

void DeviceMemory::describe(GpuSession &from, size_t size) {
  session = &from;
  driver = from.driver;
  bytes = size;
  begin = redZone;
}

std::string DeviceMemory::create(GpuSession &from, size_t size) {
  describe(from, size);
  std::string error = session->allocate(total(), base);
  return error.empty() ? setRedZones() : error;
}

void DeviceMemory::place(Placement placement) {
  begin = placement == Placement::Start ? redZone : redZone + shift;
}

std::string DeviceMemory::setRedZones() {
  zoneKey = secretSeed();
  std::string error =
      session->memory.write(base, 0, begin, Pattern::Canary, zoneKey);
  return error.empty() ? session->memory.write(base, begin + bytes, total(),
                                               Pattern::Canary, zoneKey)
                       : error;
}

bool DeviceMemory::redZonesAlive(cuda::CUdeviceptr copy) const {
  for (auto [from, to] : {std::pair(uint64_t(0), begin),
                          std::pair(begin + bytes, uint64_t(total()))}) {
    uint64_t changed = 0;
    if (!session
             ->countChanged(copy, from, to, Pattern::Canary, zoneKey, changed)
             .empty() ||
        changed != 0)
      return false;
  }
  return true;
}
