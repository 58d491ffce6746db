//===- GPULaunchRules.cpp - Whether a plan fits the kernels it launches ---===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The driver takes whatever it is given: an argument of the wrong kind would be
// read as other bytes, and one too few beyond the end. Here both sides are
// known, so each mismatch is told with its place.
//
//===----------------------------------------------------------------------===//

#include "GPUProgram.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace fastk;
using worker::BufferRef;
using worker::PlanScalar;

static constexpr int64_t kTensorMapBytes = 128;

namespace {
/// What a parameter can be given.
enum class Takes { Buffer, I32, I64, F32, F64, TensorMap, Nothing };
} // namespace

/// A pointer to 128 bytes that are passed by value.
static bool isMapByValue(gpu::GPUFuncOp func, unsigned number) {
  auto byValue = func.getArgAttrOfType<TypeAttr>(
      number, LLVM::LLVMDialect::getByValAttrName());
  auto array =
      byValue ? dyn_cast<LLVM::LLVMArrayType>(byValue.getValue()) : nullptr;
  return array && array.getElementType().isInteger(8) &&
         array.getNumElements() == kTensorMapBytes;
}

/// Device memory, or memory of which nothing is said.
static bool isGlobal(Attribute space) {
  if (!space)
    return true;
  if (auto named = dyn_cast<gpu::AddressSpaceAttr>(space))
    return named.getValue() == gpu::AddressSpace::Global;
  auto number = dyn_cast<IntegerAttr>(space);
  return number && number.getInt() <= int64_t(NVVM::NVVMMemorySpace::Global);
}

static Takes classify(gpu::GPUFuncOp func, unsigned number) {
  Type type = func.getFunctionType().getInput(number);
  if (isa<nvgpu::TensorMapDescriptorType>(type))
    return Takes::TensorMap;
  if (auto pointer = dyn_cast<LLVM::LLVMPointerType>(type)) {
    if (isMapByValue(func, number))
      return Takes::TensorMap;
    bool byValue =
        bool(func.getArgAttr(number, LLVM::LLVMDialect::getByValAttrName()));
    bool global =
        pointer.getAddressSpace() <= unsigned(NVVM::NVVMMemorySpace::Global);
    return global && !byValue ? Takes::Buffer : Takes::Nothing;
  }
  if (auto memref = dyn_cast<MemRefType>(type)) {
    bool bare = memref.hasStaticShape() && memref.getLayout().isIdentity() &&
                isGlobal(memref.getMemorySpace());
    return bare ? Takes::Buffer : Takes::Nothing;
  }
  if (type.isInteger(32))
    return Takes::I32;
  if (type.isInteger(64) || type.isIndex())
    return Takes::I64;
  if (type.isF32())
    return Takes::F32;
  return type.isF64() ? Takes::F64 : Takes::Nothing;
}

/// Bytes that a parameter's type says its buffer has; nothing for pointers.
static std::optional<int64_t> bytesOf(Type type) {
  auto memref = dyn_cast<MemRefType>(type);
  if (!memref)
    return std::nullopt;
  int64_t lanes = 1;
  Type element = memref.getElementType();
  if (auto vector = dyn_cast<VectorType>(element)) {
    lanes = vector.getNumElements();
    element = vector.getElementType();
  }
  if (!element.isIntOrIndexOrFloat())
    return std::nullopt;
  int64_t bits = element.isIndex() ? 64 : element.getIntOrFloatBitWidth();
  int64_t bytes = lanes * int64_t(llvm::divideCeil(bits, 8));
  for (int64_t extent : memref.getShape())
    if (llvm::MulOverflow(bytes, extent, bytes))
      return INT64_MAX;
  return bytes;
}

static std::string nameOf(const BufferRef &ref) {
  static constexpr StringLiteral names[] = {"in", "out", "ws"};
  std::string text = (names[int(ref.space)] + Twine(ref.index)).str();
  return ref.offset ? text + "+" + std::to_string(ref.offset) : text;
}

static StringRef nameOf(PlanScalar::Type type) {
  static constexpr StringLiteral names[] = {"i32", "i64", "f32", "f64"};
  return names[int(type)];
}

static Takes kindOf(const worker::PlanArgument &argument) {
  if (std::holds_alternative<BufferRef>(argument))
    return Takes::Buffer;
  const auto *scalar = std::get_if<PlanScalar>(&argument);
  if (!scalar)
    return Takes::TensorMap;
  static constexpr Takes kinds[] = {Takes::I32, Takes::I64, Takes::F32,
                                    Takes::F64};
  return kinds[int(scalar->type)];
}

static std::string describe(const worker::PlanArgument &argument) {
  if (const auto *buffer = std::get_if<BufferRef>(&argument))
    return "the buffer " + nameOf(*buffer);
  if (const auto *scalar = std::get_if<PlanScalar>(&argument))
    return ("a number of type " + nameOf(scalar->type)).str();
  return "the tensor map map" +
         std::to_string(std::get<worker::TensorMapRef>(argument).index);
}

static StringRef describe(Takes kind) {
  switch (kind) {
  case Takes::Buffer:
    return "a buffer";
  case Takes::I32:
    return "{\"i32\": ...}";
  case Takes::I64:
    return "{\"i64\": ...}";
  case Takes::F32:
    return "{\"f32\": ...}";
  case Takes::F64:
    return "{\"f64\": ...}";
  case Takes::TensorMap:
    return "a tensor map";
  case Takes::Nothing:
    break;
  }
  llvm_unreachable("kernels of such parameters were refused");
}

static constexpr StringLiteral kLaunchRule =
    " (required by 'fastk.gpu_launch')";

namespace {
/// One launch and the kernel it names.
class LaunchCheck {
public:
  LaunchCheck(gpu::GPUFuncOp func, const worker::Launch &launch, size_t step,
              const worker::LaunchPlan &plan, const ProgramBuffers &buffers)
      : func(func), launch(launch), plan(plan), buffers(buffers),
        path("$.steps[" + std::to_string(step) + "]") {}

  LogicalResult run();

private:
  InFlightDiagnostic complain(const Twine &field) {
    return func.emitError() << "the plan's " << path << field << " ";
  }
  LogicalResult checkArgument(size_t number);
  LogicalResult checkExtents();
  /// An attribute that is one to three extents, all of which must be those of
  /// the plan.
  LogicalResult checkSame(StringRef attribute, ArrayRef<int32_t> wanted,
                          const worker::Dim3 &planned, StringRef field);
  int64_t sizeOf(const BufferRef &ref) const;

  gpu::GPUFuncOp func;
  const worker::Launch &launch;
  const worker::LaunchPlan &plan;
  const ProgramBuffers &buffers;
  std::string path;
};
} // namespace

int64_t LaunchCheck::sizeOf(const BufferRef &ref) const {
  size_t index = size_t(ref.index);
  switch (ref.space) {
  case BufferRef::Space::Input:
    return index < buffers.inputs.size() ? buffers.inputs[index] : 0;
  case BufferRef::Space::Output:
    return index < buffers.outputs.size() ? buffers.outputs[index] : 0;
  case BufferRef::Space::Workspace:
    return index < plan.workspaces.size() ? plan.workspaces[index].bytes : 0;
  }
  llvm_unreachable("all spaces are named above");
}

LogicalResult LaunchCheck::checkArgument(size_t number) {
  const worker::PlanArgument &argument = launch.arguments[number];
  Type type = func.getFunctionType().getInput(number);
  std::string field = ".arguments[" + std::to_string(number) + "]";
  Takes wanted = classify(func, number);
  if (kindOf(argument) != wanted)
    return complain(field) << "is " << describe(argument)
                           << ", but the parameter of '" << func.getName()
                           << "' is " << type << " and takes "
                           << describe(wanted) << kLaunchRule;
  const auto *buffer = std::get_if<BufferRef>(&argument);
  std::optional<int64_t> bytes = bytesOf(type);
  if (buffer && bytes && *bytes > sizeOf(*buffer) - buffer->offset)
    return complain(field) << "is " << describe(argument) << ", which has "
                           << sizeOf(*buffer) - buffer->offset
                           << " bytes, but the parameter of '" << func.getName()
                           << "' is " << type << " of " << *bytes
                           << kLaunchRule;
  return success();
}

LogicalResult LaunchCheck::checkSame(StringRef attribute,
                                     ArrayRef<int32_t> wanted,
                                     const worker::Dim3 &planned,
                                     StringRef field) {
  if (wanted.empty())
    return success();
  for (size_t axis = 0; axis < planned.size(); ++axis) {
    int64_t extent = axis < wanted.size() ? wanted[axis] : 1;
    if (planned[axis] != extent)
      return complain(field)
             << "is " << planned[0] << "x" << planned[1] << "x" << planned[2]
             << ", but '" << func.getName() << "' says " << attribute << " = "
             << llvm::join(
                    llvm::map_range(
                        wanted, [](int32_t e) { return std::to_string(e); }),
                    "x")
             << "; they must be the same" << kLaunchRule;
  }
  return success();
}

LogicalResult LaunchCheck::checkExtents() {
  auto extents = [&](StringRef name) -> ArrayRef<int32_t> {
    auto attribute = func->getAttrOfType<DenseI32ArrayAttr>(name);
    return attribute ? attribute.asArrayRef() : ArrayRef<int32_t>();
  };
  if (failed(checkSame("known_block_size", extents("known_block_size"),
                       launch.block, ".block")) ||
      failed(checkSame("nvvm.reqntid", extents("nvvm.reqntid"), launch.block,
                       ".block")) ||
      failed(checkSame("known_grid_size", extents("known_grid_size"),
                       launch.grid, ".grid")) ||
      failed(checkSame("known_cluster_size", extents("known_cluster_size"),
                       launch.cluster, ".cluster")) ||
      failed(checkSame("nvvm.cluster_dim", extents("nvvm.cluster_dim"),
                       launch.cluster, ".cluster")))
    return failure();
  auto product = [](auto range) {
    int64_t result = 1;
    for (int64_t extent : range)
      result *= extent;
    return result;
  };
  ArrayRef<int32_t> most = extents("nvvm.maxntid");
  int64_t threads = product(launch.block);
  if (!most.empty() && threads > product(most))
    return complain(".block")
           << "has " << threads << " threads, but '" << func.getName()
           << "' says nvvm.maxntid = " << product(most) << kLaunchRule;
  bool dynamic = false;
  func.walk([&](gpu::DynamicSharedMemoryOp) { dynamic = true; });
  if (dynamic && launch.sharedBytes == 0)
    return complain(".shared_bytes")
           << "is 0, but '" << func.getName()
           << "' uses gpu.dynamic_shared_memory" << kLaunchRule;
  return success();
}

LogicalResult LaunchCheck::run() {
  size_t parameters = func.getFunctionType().getNumInputs();
  if (launch.arguments.size() != parameters)
    return complain(".arguments")
           << "are " << launch.arguments.size() << ", but '" << func.getName()
           << "' takes " << parameters << kLaunchRule;
  for (size_t number = 0; number < parameters; ++number)
    if (failed(checkArgument(number)))
      return failure();
  return checkExtents();
}

/// Refuses parameters that no plan can pass.
static LogicalResult checkParameters(gpu::GPUFuncOp func) {
  for (auto [number, type] :
       llvm::enumerate(func.getFunctionType().getInputs()))
    if (classify(func, number) == Takes::Nothing)
      return func.emitOpError()
             << "parameter " << number << " of '" << func.getName() << "' is "
             << type
             << ", which no plan can pass: a kernel takes memrefs of static "
                "shape and identity layout in global memory, !llvm.ptr, i32, "
                "i64, index, f32, f64, and tensor maps, as "
                "!nvgpu.tensormap.descriptor or !llvm.ptr {llvm.byval = "
                "!llvm.array<128 x i8>} (required by 'fastk.gpu_kernel')";
  return success();
}

LogicalResult fastk::checkGPULaunches(gpu::GPUModuleOp module,
                                      const worker::LaunchPlan &plan,
                                      const ProgramBuffers &buffers) {
  SmallVector<std::string> names;
  for (auto func : module.getOps<gpu::GPUFuncOp>()) {
    if (failed(checkParameters(func)))
      return failure();
    names.push_back("'" + func.getName().str() + "'");
  }
  for (auto [index, step] : llvm::enumerate(plan.steps)) {
    const auto *launch = std::get_if<worker::Launch>(&step);
    if (!launch)
      continue;
    auto func = module.lookupSymbol<gpu::GPUFuncOp>(launch->kernel);
    if (!func)
      return module.emitError()
             << "the plan's $.steps[" << index << "].launch names '"
             << launch->kernel << "', but the kernels are "
             << (names.empty() ? "none" : llvm::join(names, ", "))
             << kLaunchRule;
    if (failed(LaunchCheck(func, *launch, index, plan, buffers).run()))
      return failure();
  }
  return success();
}

void fastk::adaptGPUKernels(gpu::GPUModuleOp module,
                            const worker::LaunchPlan &plan) {
  OpBuilder builder(module.getContext());
  Type pointer = LLVM::LLVMPointerType::get(module.getContext());
  for (auto func : module.getOps<gpu::GPUFuncOp>()) {
    SmallVector<int64_t> maps;
    SmallVector<Type> types(func.getFunctionType().getInputs());
    for (unsigned number = 0; number < types.size(); ++number) {
      if (classify(func, number) != Takes::TensorMap)
        continue;
      maps.push_back(number);
      BlockArgument argument = func.getArgument(number);
      if (!isa<nvgpu::TensorMapDescriptorType>(types[number]))
        continue;
      builder.setInsertionPointToStart(&func.getBody().front());
      Type before = std::exchange(types[number], pointer);
      argument.setType(pointer);
      auto cast = UnrealizedConversionCastOp::create(builder, func.getLoc(),
                                                     before, argument);
      argument.replaceAllUsesExcept(cast.getResult(0), cast);
    }
    if (!maps.empty())
      func->setAttr(kTensorMapsAttr, builder.getDenseI64ArrayAttr(maps));
    func.setFunctionType(builder.getFunctionType(types, TypeRange()));

    // Asynchronous copies are of up to 16 bytes, those of tensor maps want 128.
    StringAttr align =
        builder.getStringAttr(LLVM::LLVMDialect::getAlignAttrName());
    for (auto [number, buffer] :
         llvm::enumerate(func.getWorkgroupAttributions()))
      if (!func.getWorkgroupAttributionAttr(number, align))
        func.setWorkgroupAttributionAttr(
            number, align,
            builder.getI64IntegerAttr(
                bytesOf(buffer.getType()).value_or(128) < 128 ? 16 : 128));

    // Without it the assembler has to leave registers for 1024 threads.
    std::optional<worker::Dim3> block;
    bool same = !func.getKnownBlockSizeAttr() && !func->hasAttr("nvvm.reqntid");
    for (const worker::PlanStep &step : plan.steps)
      if (const auto *launch = std::get_if<worker::Launch>(&step);
          launch && launch->kernel == func.getName()) {
        same &= !block || *block == launch->block;
        block = launch->block;
      }
    if (block && same)
      func.setKnownBlockSizeAttr(builder.getDenseI32ArrayAttr(
          {int32_t((*block)[0]), int32_t((*block)[1]), int32_t((*block)[2])}));
  }
}
