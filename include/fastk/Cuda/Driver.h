//===- Driver.h - The CUDA driver, loaded at run time -----------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// libcuda.so.1 belongs to the machine's driver: fastk never links it. One
// binary runs with and without a GPU, and says what is missing.
//
// Errors are values: a function that can fail returns a text, empty for
// success, that names the call, CUDA's name and meaning of the error, and what
// to do.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_CUDA_DRIVER_H
#define FASTK_CUDA_DRIVER_H

#include "fastk/Cuda/DriverTypes.h"
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fastk::cuda {

/// A function of the driver, with its name for diagnostics.
template <typename... Args>
struct DriverFunction {
  using Pointer = CUresult (*)(Args...);
  const char *name;
  Pointer pointer = nullptr;
  CUresult operator()(Args... args) const { return pointer(args...); }
};

/// All functions in use. Each is looked up under the exported name of the
/// version that is declared here (`_v2` and so on), so a newer driver gives the
/// same one. CUDA 12.0's driver (525) has them all but the optional ones.
struct DriverTable {
#define FASTK_DRIVER_FUNCTION(NAME, SYMBOL, ...)                               \
  DriverFunction<__VA_ARGS__> NAME{#NAME};
#include "fastk/Cuda/DriverFunctions.def"
};

/// The loaded driver. There is one in a process; it is never unloaded.
class Driver : public DriverTable {
public:
  /// Loads libcuda and calls cuInit on first use. Null where there is no driver
  /// or no usable GPU; \p error then says why and what to do, in one sentence.
  static const Driver *get(std::string &error);
  /// The same for a library named by path; nothing is kept. For tests.
  static bool load(const std::string &path, Driver &driver, std::string &error);

  /// "cuMemAlloc failed: CUDA_ERROR_OUT_OF_MEMORY (out of memory); ...". Empty
  /// for success.
  std::string describe(CUresult result, const char *function) const;

  /// Calls a function of the table: `driver->call(driver->cuMemFree, address)`.
  template <typename... Params, typename... Args>
  std::string call(const DriverFunction<Params...> &function,
                   Args... args) const {
    CUresult result = function(args...);
    return result == CUDA_SUCCESS ? std::string()
                                  : describe(result, function.name);
  }

  /// The CUDA version the driver supports, as 13000 for 13.0.
  int version() const { return cudaVersion; }

private:
  int cudaVersion = 0;
};

/// After one of these a context is unusable: no call on it succeeds again, and
/// the process that owns it has to end.
bool isStickyError(CUresult result);

/// Loads PTX or a cubin. PTX is compiled by the driver; its messages go to
/// \p log, and into the error text on failure.
std::string loadModule(const Driver &driver, std::string_view image,
                       CUmodule &module, std::string *log = nullptr);

/// PTX to a cubin for the current context's device, by the driver: what
/// loadModule() does first with PTX.
std::string linkPTX(const Driver &driver, std::string_view ptx,
                    std::string &cubin);

/// What a loaded function needs and may have.
struct FunctionAttributes {
  int registers = 0;
  int maxThreadsPerBlock = 0;
  int staticSharedBytes = 0;
  int localBytes = 0;
  int constantBytes = 0;
  int binaryVersion = 0;
};
std::string getFunction(const Driver &driver, CUmodule module, const char *name,
                        CUfunction &function);
std::string getAttributes(const Driver &driver, CUfunction function,
                          FunctionAttributes &attributes);
/// Bytes of each parameter; nothing where the driver does not tell (older than
/// CUDA 12.4).
std::string getParameters(const Driver &driver, CUfunction function,
                          std::optional<std::vector<uint64_t>> &sizes);
/// Must precede a launch with more than 48 KiB of dynamic shared memory.
std::string setMaxDynamicShared(const Driver &driver, CUfunction function,
                                unsigned bytes);

struct Dim3 {
  unsigned x = 1, y = 1, z = 1;
};

/// One launch. A cluster of 1 x 1 x 1 is no cluster.
struct Launch {
  Dim3 grid, block, cluster;
  unsigned dynamicSharedBytes = 0;
  /// All blocks resident at once: grid barriers are legal.
  bool cooperative = false;
  /// May start before the launch ahead of it in the stream has ended
  /// (`griddepcontrol`).
  bool programmaticStreamSerialization = false;
  CUstream stream = nullptr;
};

std::string launch(const Driver &driver, CUfunction function,
                   const Launch &launch, void **arguments);
/// How many clusters of this launch are resident at once on the whole device.
std::string maxActiveClusters(const Driver &driver, CUfunction function,
                              const Launch &launch, int &clusters);

} // namespace fastk::cuda

#endif // FASTK_CUDA_DRIVER_H
