//===- ModuleWatch.cpp - Does a program change its module? ----------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Cuda/ModuleWatch.h"
#include <algorithm>

using namespace fastk::cuda;

/// A section is loaded as a whole: where all symbols that are found agree about
/// its beginning, it is kept with what lies between them, otherwise each by
/// itself.
std::string ModuleWatch::find(CUmodule module, const ModuleData &data) {
  std::string missing = data.symbols.empty() ? "it has no symbols" : "";
  std::vector<Range> places;
  CUdeviceptr begin = 0;
  bool agree = true;
  for (const ModuleData::Symbol &symbol : data.symbols) {
    CUdeviceptr address = 0;
    size_t bytes = 0;
    std::string problem = driver.call(driver.cuModuleGetGlobal, &address,
                                      &bytes, module, symbol.name.c_str());
    if (!problem.empty()) {
      missing = "'" + symbol.name + "': " + problem;
      continue;
    }
    if (places.empty())
      begin = address - CUdeviceptr(symbol.offset);
    agree &= address == begin + CUdeviceptr(symbol.offset);
    places.push_back({address, "", {data.section, symbol.bytes, false, {}}});
    places.back().data.symbols.push_back({symbol.name, 0, symbol.bytes});
  }
  if (!places.empty() && agree)
    places = {{begin, "", data}};
  else if (!missing.empty())
    return "where " + data.section +
           " of the module lies cannot be found: " + missing;
  for (Range &range : places) {
    if (range.data.bytes == 0)
      continue;
    range.bytes.resize(range.data.bytes);
    if (std::string error = driver.call(driver.cuMemcpyDtoH, range.bytes.data(),
                                        range.address, range.bytes.size());
        !error.empty())
      return error;
    ranges.push_back(std::move(range));
  }
  return "";
}

std::string ModuleWatch::start(CUmodule module, std::string_view image) {
  Cubin cubin;
  if (std::string error = readCubin(image, cubin); !error.empty())
    return "the machine code " + error;
  for (const ModuleData &data : cubin.data)
    if (std::string error = find(module, data); !error.empty())
      return error;
  return "";
}

std::string ModuleWatch::keep() {
  for (Range &range : ranges)
    if (std::string error = driver.call(driver.cuMemcpyDtoH, range.bytes.data(),
                                        range.address, range.bytes.size());
        !error.empty())
      return error;
  return "";
}

std::string ModuleWatch::check() const {
  std::string now;
  for (const Range &range : ranges) {
    now.resize(range.bytes.size());
    if (std::string error = driver.call(driver.cuMemcpyDtoH, now.data(),
                                        range.address, now.size());
        !error.empty())
      return error;
    if (now == range.bytes)
      continue;
    auto at = std::mismatch(now.begin(), now.end(), range.bytes.begin());
    uint64_t offset = uint64_t(at.first - now.begin());
    std::string name = range.data.section;
    for (const ModuleData::Symbol &symbol : range.data.symbols)
      if (offset >= symbol.offset && offset - symbol.offset < symbol.bytes)
        name = "'" + symbol.name + "'";
    return "it changed " + name +
           " of its module, which outlives a launch: a table may only be "
           "read; use a workspace of the plan for what is written";
  }
  return "";
}
