//===- Ops.cpp - Compiled programs as ops of PyTorch ----------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Torch's stable ABI takes a plain function for an op, without a place for what
// belongs to it. So there is a function for each of a fixed number of ops,
// which knows its number.
//
//===----------------------------------------------------------------------===//

#include "Program.h"
#include <array>
#include <atomic>
#include <mutex>

using namespace fastk::torch;

namespace {
/// A tensor's type, sizes and strides where it is contiguous.
struct TensorType {
  int32_t dtype;
  std::vector<int64_t> sizes, strides;
};

/// An op, for the process's life.
struct Op {
  std::string name;
  std::vector<TensorType> inputs, outputs;
  std::unique_ptr<Program> program;
};

/// A call of an op.
class Call {
public:
  Call(const TorchFunctions &torch, const Op &op, uint64_t *stack)
      : torch(torch), op(op), stack(stack) {
    // The stack's tensors are the call's to give back, whatever happens.
    tensors.reserve(op.inputs.size() + op.outputs.size());
    for (size_t i = 0; i < op.inputs.size(); ++i)
      tensors.emplace_back(torch, reinterpret_cast<Tensor>(stack[i]));
  }

  void run() {
    torch.aoti_torch_get_device_index(tensors[0].get(), &device);
    std::vector<void *> buffers;
    buffers.reserve(tensors.capacity());
    for (size_t i = 0; i < op.inputs.size(); ++i)
      buffers.push_back(ready(i));
    for (const TensorType &type : op.outputs) {
      tensors.push_back(empty(type));
      buffers.push_back(address(tensors.back()));
    }
    std::string error = op.program->call(buffers.data(), device);
    check(error.empty(), error);
    for (size_t i = 0; i < op.outputs.size(); ++i)
      stack[i] =
          reinterpret_cast<uint64_t>(tensors[op.inputs.size() + i].release());
  }

private:
  /// Throws torch's exception unless it holds.
  void check(bool holds, const std::string &what) const {
    if (!holds)
      torch.aoti_torch_check(false, op.name.c_str(), __FILE__, __LINE__,
                             ("fastk::" + op.name + ": " + what).c_str());
  }

  void *address(const OwnedTensor &tensor) const {
    void *found = nullptr;
    torch.aoti_torch_get_data_ptr(tensor.get(), &found);
    return found;
  }

  OwnedTensor empty(const TensorType &type) const {
    Tensor made = nullptr;
    check(!torch.aoti_torch_empty_strided(
              int64_t(type.sizes.size()), type.sizes.data(),
              type.strides.data(), type.dtype, op.program->deviceType, device,
              &made),
          "torch has no memory for it");
    return OwnedTensor(torch, made);
  }

  /// The address of an input as the program takes it: the caller's, or a copy.
  void *ready(size_t number) {
    OwnedTensor &tensor = tensors[number];
    const TensorType &type = op.inputs[number];
    checkType(tensor.get(), type, number);
    bool isContiguous = false;
    torch.aoti_torch_is_contiguous(tensor.get(), &isContiguous);
    void *found = isContiguous ? address(tensor) : nullptr;
    if (isContiguous &&
        reinterpret_cast<uintptr_t>(found) % op.program->alignment == 0)
      return found;
    OwnedTensor copy = empty(type);
    check(!torch.aoti_torch_copy_(copy.get(), tensor.get(), 0),
          "torch cannot copy an input");
    tensor = std::move(copy);
    return address(tensor);
  }

  void checkType(Tensor tensor, const TensorType &type, size_t number) const {
    int64_t rank = 0, *sizes = nullptr;
    int32_t dtype = 0, kind = 0, index = 0;
    torch.aoti_torch_get_dim(tensor, &rank);
    torch.aoti_torch_get_sizes(tensor, &sizes);
    torch.aoti_torch_get_dtype(tensor, &dtype);
    torch.aoti_torch_get_device_type(tensor, &kind);
    torch.aoti_torch_get_device_index(tensor, &index);
    if (dtype == type.dtype && kind == op.program->deviceType &&
        index == device && size_t(rank) == type.sizes.size() &&
        std::equal(type.sizes.begin(), type.sizes.end(), sizes))
      return;
    std::string wanted;
    for (int64_t size : type.sizes)
      wanted += (wanted.empty() ? "" : ", ") + std::to_string(size);
    check(false, "input " + std::to_string(number) +
                     " is not what it was compiled for: sizes (" + wanted +
                     "), of the type and on the device of then");
  }

  const TorchFunctions &torch;
  const Op &op;
  uint64_t *stack;
  std::vector<OwnedTensor> tensors;
  int32_t device = 0;
};
} // namespace

/// As many as the functions below.
static constexpr size_t maxOps = 1024;
static std::array<std::atomic<const Op *>, maxOps> ops;

static void run(size_t number, uint64_t *stack) {
  std::string ignored;
  Call(*TorchFunctions::get(ignored), *ops[number], stack).run();
}

template <size_t number>
static void kernel(uint64_t *stack, uint64_t, uint64_t) {
  run(number, stack);
}

template <size_t... numbers>
static constexpr std::array<Kernel *, maxOps>
kernelsOf(std::index_sequence<numbers...>) {
  return {kernel<numbers>...};
}

static constexpr std::array<Kernel *, maxOps> kernels =
    kernelsOf(std::make_index_sequence<maxOps>());

static std::string describe(const fastk_torch_tensor &tensor,
                            std::vector<TensorType> &types) {
  TensorType type;
  type.dtype = TorchFunctions::typeNamed(tensor.dtype);
  if (type.dtype < 0)
    return std::string("torch's stable ABI has no type ") + tensor.dtype;
  type.sizes.assign(tensor.sizes, tensor.sizes + tensor.rank);
  type.strides.resize(tensor.rank);
  int64_t stride = 1;
  for (size_t i = tensor.rank; i-- > 0; stride *= type.sizes[i])
    type.strides[i] = stride;
  types.push_back(std::move(type));
  return {};
}

static std::string define(const fastk_torch_op &given) {
  std::string error;
  const TorchFunctions *torch = TorchFunctions::get(error);
  if (!torch)
    return error;
  if (given.num_inputs == 0)
    return "an op takes a tensor, by which torch knows where to run it";
  auto op = std::make_unique<Op>();
  op->name = given.name;
  for (uint32_t i = 0; i < given.num_inputs + given.num_outputs; ++i) {
    error = describe(given.tensors[i],
                     i < given.num_inputs ? op->inputs : op->outputs);
    if (!error.empty())
      return error;
  }
  op->program = Program::make(*torch, given, error);
  if (!op->program)
    return error;

  static std::mutex mutex;
  static size_t numOps = 0;
  std::lock_guard<std::mutex> lock(mutex);
  if (numOps == maxOps)
    return "there are " + std::to_string(maxOps) + " ops already";
  // Kept open: with it torch would forget the op.
  OpLibrary library = nullptr;
  if (torch->aoti_torch_library_init_impl("fastk", op->program->key, __FILE__,
                                          __LINE__, &library))
    return "torch takes no ops";
  ops[numOps] = op.get();
  if (torch->aoti_torch_library_impl(library, given.name, kernels[numOps]))
    return std::string("torch has no schema of fastk::") + given.name +
           ", or what it calls already";
  ++numOps;
  (void)op.release();
  return {};
}

static thread_local std::string lastError;

int fastk_torch_define(const fastk_torch_op *op) {
  lastError = define(*op);
  return lastError.empty() ? 0 : 1;
}

const char *fastk_torch_error(void) { return lastError.c_str(); }
