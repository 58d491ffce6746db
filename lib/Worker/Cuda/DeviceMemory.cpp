//===- DeviceMemory.cpp - Memory of the GPU with red zones ----------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ChildProtocol.h"
#include "CudaDevice.h"
#include <algorithm>
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
  std::string error =
      driver->call(driver->cuMemsetD8, base, canaryByte, size_t(begin));
  if (!error.empty())
    return error;
  return driver->call(driver->cuMemsetD8, base + begin + bytes, canaryByte,
                      size_t(2 * redZone + shift - begin));
}

bool DeviceMemory::redZonesAlive(cuda::CUdeviceptr copy) const {
  std::vector<unsigned char> before(begin), after(2 * redZone + shift - begin);
  if (driver->cuMemcpyDtoH(before.data(), copy, before.size()) ||
      driver->cuMemcpyDtoH(after.data(), copy + begin + bytes, after.size()))
    return false;
  auto isCanary = [](unsigned char byte) { return byte == canaryByte; };
  return std::all_of(before.begin(), before.end(), isCanary) &&
         std::all_of(after.begin(), after.end(), isCanary);
}
