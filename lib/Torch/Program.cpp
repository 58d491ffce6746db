//===- Program.cpp - What an op of PyTorch calls --------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Program.h"
#include <unordered_map>

using namespace fastk::torch;

namespace {
/// A function of a library for the host.
class HostProgram : public Program {
public:
  HostProgram(const TorchFunctions &torch)
      // What the host's code assumes of buffers (docs/aot.md).
      : Program(torch.aoti_torch_device_type_cpu(), "CPU", 64), torch(torch) {}

  std::string load(void *library, const std::string &name) {
    if (!find(library, "fastk_packed_" + name, entry) &&
        !find(library, name + "_packed", entry))
      return "the library has no function '" + name + "'";
    // Programs of old cannot fail, and return nothing.
    find(library, "fastk_error_" + name, errorText);
    find(library, "omp_set_num_threads", setNumThreads);
    find(library, "kmp_set_blocktime", setBlocktime);
    return {};
  }

  std::string call(void *const *buffers, int32_t) const override {
    matchThreads();
    int code = entry(buffers);
    return code && errorText ? errorText(code) : std::string();
  }

private:
  /// The library has an OpenMP of its own, torch another one: as many threads,
  /// and none that spins where torch's are to work (20 times as slow in turns).
  void matchThreads() const {
    thread_local std::unordered_map<const HostProgram *, uint32_t> known;
    uint32_t count = 0;
    if (!setNumThreads || torch.torch_get_num_threads(&count))
      return;
    uint32_t &set = known[this];
    if (set == count)
      return;
    setNumThreads(int(count));
    if (setBlocktime)
      setBlocktime(0);
    set = count;
  }

  const TorchFunctions &torch;
  int (*entry)(void *const *buffers) = nullptr;
  const char *(*errorText)(int code) = nullptr;
  void (*setNumThreads)(int count) = nullptr;
  void (*setBlocktime)(int milliseconds) = nullptr;
};

/// Makes a GPU the thread's current one, where it is not.
class CurrentDevice {
public:
  CurrentDevice(const TorchFunctions &torch, int32_t device) : torch(torch) {
    int32_t current = -1;
    if (torch.aoti_torch_get_current_device_index(&current) ||
        current != device)
      failed = torch.aoti_torch_create_device_guard(device, &guard) != 0;
  }
  CurrentDevice(const CurrentDevice &) = delete;
  CurrentDevice &operator=(const CurrentDevice &) = delete;
  ~CurrentDevice() {
    if (guard)
      torch.aoti_torch_delete_device_guard(guard);
  }
  bool failed = false;

private:
  const TorchFunctions &torch;
  DeviceGuard guard = nullptr;
};

/// A function of a plan file.
class GpuProgram : public Program {
public:
  GpuProgram(const TorchFunctions &torch, void *function, uint64_t bytes)
      : Program(torch.aoti_torch_device_type_cuda(), "CUDA", 16), torch(torch),
        function(function), workspaceBytes(int64_t(bytes)) {}

  std::string load(void *runtime) {
    if (!torch.aoti_torch_get_current_cuda_stream)
      return "this torch has no CUDA";
    return find(runtime, "fastk_call_with", callWith) &&
                   find(runtime, "fastk_set_stream", setStream) &&
                   find(runtime, "fastk_last_error", lastError) &&
                   find(runtime, "fastk_clear_error", clearError)
               ? ""
               : "the library is no libfastk_runtime of this version";
  }

  std::string call(void *const *buffers, int32_t device) const override {
    CurrentDevice current(torch, device);
    void *stream = nullptr;
    if (current.failed ||
        torch.aoti_torch_get_current_cuda_stream(device, &stream))
      return "torch has no stream on its GPU";
    // Torch's memory: reused in the stream's order, and a CUDA graph's own
    // where one is captured.
    OwnedTensor workspace(torch);
    void *memory = nullptr;
    if (workspaceBytes > 0) {
      const int64_t stride = 1;
      Tensor made = nullptr;
      if (torch.aoti_torch_empty_strided(1, &workspaceBytes, &stride,
                                         torch.aoti_torch_dtype_uint8(),
                                         deviceType, device, &made))
        return "torch has no " + std::to_string(workspaceBytes) +
               " bytes of workspace for it";
      workspace = OwnedTensor(torch, made);
      torch.aoti_torch_get_data_ptr(made, &memory);
    }
    setStream(stream);
    if (!callWith(function, buffers, memory))
      return {};
    std::string error = lastError();
    clearError();
    return error;
  }

private:
  const TorchFunctions &torch;
  void *function;
  int64_t workspaceBytes;
  int (*callWith)(void *function, void *const *buffers, void *workspace);
  void (*setStream)(void *stream);
  const char *(*lastError)();
  void (*clearError)();
};
} // namespace

std::unique_ptr<Program> Program::make(const TorchFunctions &torch,
                                       const fastk_torch_op &op,
                                       std::string &error) {
  if (op.gpu_function) {
    auto program = std::make_unique<GpuProgram>(torch, op.gpu_function,
                                                op.workspace_bytes);
    error = program->load(op.library);
    return error.empty() ? std::move(program) : nullptr;
  }
  auto program = std::make_unique<HostProgram>(torch);
  error = program->load(op.library, op.host_function);
  return error.empty() ? std::move(program) : nullptr;
}
