//===- PlanRegion.cpp - A plan as ops, and as data ------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Dialect/Fastk/PlanRegion.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fastk;
using worker::BufferRef;
using worker::LaunchPlan;

bool fastk::hasLaunchPlan(Language language) {
  return language == Language::cuda || language == Language::gpu ||
         language == Language::ptx;
}

std::optional<worker::PlanLimits> fastk::planLimitsOf(StringRef target,
                                                      int64_t memoryBytes) {
  if (!target.consume_front("cuda:sm_"))
    return std::nullopt;
  unsigned capability = 0;
  if (target.consumeInteger(10, capability) || capability < 80)
    return std::nullopt;
  worker::PlanLimits limits;
  limits.capability = capability;
  limits.workspaceBytes = worker::workspaceLimit(memoryBytes);
  // Shared memory per block after opting in, CUDA C++ Programming Guide,
  // compute capabilities. The other limits are the same from sm_80 to sm_90.
  if (capability == 80 || capability == 87)
    limits.sharedBytes = 166912;
  else if (capability < 90)
    limits.sharedBytes = 101376;
  return limits;
}

int64_t fastk::elementBytes(Type element) {
  if (auto complex = dyn_cast<ComplexType>(element))
    return 2 * elementBytes(complex.getElementType());
  if (isa<IndexType>(element))
    return 8;
  return llvm::divideCeil(element.getIntOrFloatBitWidth(), 8);
}

std::vector<int64_t> fastk::bufferBytes(TypeRange types) {
  std::vector<int64_t> bytes;
  for (Type type : types) {
    auto shaped = dyn_cast<ShapedType>(type);
    bool known = shaped && shaped.hasStaticShape() &&
                 (shaped.getElementType().isIntOrIndexOrFloat() ||
                  isa<ComplexType>(shaped.getElementType()));
    bytes.push_back(known ? shaped.getNumElements() *
                                elementBytes(shaped.getElementType())
                          : 0);
  }
  return bytes;
}

//===----------------------------------------------------------------------===//
// From ops to data
//===----------------------------------------------------------------------===//

namespace {

/// Reads the ops of one plan region in order.
class Reader {
public:
  explicit Reader(LoweringOp lowering) : lowering(lowering) {}
  FailureOr<LaunchPlan> read();

private:
  LogicalResult add(Operation *op);
  LogicalResult add(TensorMapOp op);
  LogicalResult add(LaunchOp op);
  BufferRef refTo(Value buffer, int64_t offset) const {
    BufferRef ref = buffers.lookup(buffer);
    ref.offset = offset;
    return ref;
  }

  LoweringOp lowering;
  LaunchPlan plan;
  DenseMap<Value, BufferRef> buffers;
  DenseMap<Value, worker::TensorMapRef> maps;
  DenseMap<Value, worker::PlanScalar> scalars;
};

} // namespace

template <typename T>
static LogicalResult readWord(TensorMapOp op, StringRef attribute,
                              StringRef text, std::optional<T> value, T &out) {
  if (value) {
    out = *value;
    return success();
  }
  return op.emitOpError() << attribute << " is \"" << text
                          << "\", which no tensor map knows (required by "
                             "'fastk.tensor_map')";
}

static std::vector<int64_t> toVector(ArrayRef<int64_t> values) {
  return values.vec();
}

LogicalResult Reader::add(TensorMapOp op) {
  worker::TensorMap map;
  map.buffer = refTo(op.getBuffer(), op.getOffset());
  map.dims = toVector(op.getDims());
  map.strides = toVector(op.getStrides());
  map.box = toVector(op.getBox());
  map.elementStrides = toVector(op.getElementStrides());
  auto positive = [](int64_t extent) { return extent > 0; };
  for (ArrayRef<int64_t> extents :
       {op.getDims(), op.getStrides(), op.getBox(), op.getElementStrides()})
    if (!llvm::all_of(extents, positive))
      return op.emitOpError() << "has an extent or stride that is not positive "
                                 "(required by 'fastk.tensor_map')";
  if (int64_t(op.getOffset()) < 0)
    return op.emitOpError() << "has a negative offset (required by "
                               "'fastk.tensor_map')";
  if (failed(readWord(op, "element_type", op.getElementType(),
                      worker::parseTensorMapType(op.getElementType()),
                      map.type)) ||
      failed(readWord(op, "interleave", op.getInterleave(),
                      worker::parseInterleave(op.getInterleave()),
                      map.interleave)) ||
      failed(readWord(op, "swizzle", op.getSwizzle(),
                      worker::parseSwizzle(op.getSwizzle()), map.swizzle)) ||
      failed(readWord(op, "l2_promotion", op.getL2Promotion(),
                      worker::parsePromotion(op.getL2Promotion()),
                      map.promotion)) ||
      failed(readWord(op, "oob_fill", op.getOobFill(),
                      worker::parseFill(op.getOobFill()), map.fill)))
    return failure();
  maps[op.getMap()].index = int64_t(plan.tensorMaps.size());
  plan.tensorMaps.push_back(std::move(map));
  return success();
}

LogicalResult LaunchOp::verify() {
  static constexpr int64_t single[] = {1, 1, 1};
  for (ArrayRef<int64_t> extents :
       {getGrid(), getBlock(), getCluster().value_or(single)})
    if (extents.size() != 3 ||
        !llvm::all_of(extents, [](int64_t extent) { return extent > 0; }))
      return emitOpError() << "grid, block and cluster are three positive "
                              "extents each (required by 'fastk.launch')";
  if (auto bytes = getSharedBytesAttr(); bytes && bytes.getInt() < 0)
    return emitOpError() << "shared memory of " << bytes.getInt()
                         << " bytes is negative (required by 'fastk.launch')";
  if (auto offsets = getOffsets()) {
    if (offsets->size() != getArguments().size() ||
        llvm::any_of(*offsets, [](int64_t offset) { return offset < 0; }))
      return emitOpError() << "offsets are one number of bytes, 0 or more, for "
                              "every argument (required by 'fastk.launch')";
    for (auto [offset, argument] : llvm::zip_equal(*offsets, getArguments()))
      if (offset != 0 && !isa<MemRefType>(argument.getType()))
        return emitOpError() << "gives an offset to an argument of type "
                             << argument.getType()
                             << "; only buffers have one (required by "
                                "'fastk.launch')";
  }
  return success();
}

LogicalResult Reader::add(LaunchOp op) {
  worker::Launch launch;
  launch.kernel = op.getKernel().str();
  llvm::copy(op.getGrid(), launch.grid.begin());
  llvm::copy(op.getBlock(), launch.block.begin());
  if (auto cluster = op.getCluster())
    llvm::copy(*cluster, launch.cluster.begin());
  launch.sharedBytes = op.getSharedBytes().value_or(0);
  launch.cooperative = op.getCooperative();
  launch.overlapsPrevious = op.getOverlapsPrevious();
  for (auto [index, argument] : llvm::enumerate(op.getArguments())) {
    if (buffers.contains(argument)) {
      int64_t offset = op.getOffsets() ? (*op.getOffsets())[index] : 0;
      launch.arguments.emplace_back(refTo(argument, offset));
    } else if (auto map = maps.find(argument); map != maps.end()) {
      launch.arguments.emplace_back(map->second);
    } else if (auto scalar = scalars.find(argument); scalar != scalars.end()) {
      launch.arguments.emplace_back(scalar->second);
    } else {
      return op.emitOpError()
             << "argument " << index
             << " is no buffer, tensor map or constant of the plan (required "
                "by 'fastk.launch')";
    }
  }
  plan.steps.emplace_back(std::move(launch));
  return success();
}

/// An i32, i64, f32 or f64 constant.
static std::optional<worker::PlanScalar> toScalar(arith::ConstantOp op) {
  using Kind = worker::PlanScalar::Type;
  worker::PlanScalar scalar;
  if (auto integer = dyn_cast<IntegerAttr>(op.getValue())) {
    if (!op.getType().isInteger(32) && !op.getType().isInteger(64))
      return std::nullopt;
    scalar.type = op.getType().isInteger(32) ? Kind::I32 : Kind::I64;
    scalar.integer = integer.getInt();
    return scalar;
  }
  auto real = dyn_cast<FloatAttr>(op.getValue());
  if (!real || (!op.getType().isF32() && !op.getType().isF64()))
    return std::nullopt;
  scalar.type = op.getType().isF32() ? Kind::F32 : Kind::F64;
  scalar.real = real.getValueAsDouble();
  return scalar;
}

LogicalResult Reader::add(Operation *op) {
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](WorkspaceOp workspace) {
        MemRefType type = workspace.getBuffer().getType();
        if (!type.hasStaticShape() || type.getNumElements() == 0)
          return LogicalResult(workspace.emitOpError()
                               << "needs a static, positive size (required by "
                                  "'fastk.workspace')");
        BufferRef &ref = buffers[workspace.getBuffer()];
        ref.space = BufferRef::Space::Workspace;
        ref.index = int64_t(plan.workspaces.size());
        plan.workspaces.push_back({type.getNumElements(), workspace.getZero()});
        return success();
      })
      .Case([&](MemsetOp memset) {
        int64_t value = memset.getValue();
        if (value < 0 || value > 255 || int64_t(memset.getBytes()) <= 0 ||
            int64_t(memset.getOffset()) < 0)
          return LogicalResult(
              memset.emitOpError()
              << "sets a positive number of bytes, from an offset of 0 or "
                 "more, to a value of 0 to 255 (required by 'fastk.memset')");
        plan.steps.emplace_back(
            worker::Memset{refTo(memset.getBuffer(), memset.getOffset()),
                           int64_t(memset.getBytes()), uint8_t(value)});
        return success();
      })
      .Case([&](arith::ConstantOp constant) {
        std::optional<worker::PlanScalar> scalar = toScalar(constant);
        if (!scalar)
          return LogicalResult(constant.emitOpError()
                               << "in a plan is i32, i64, f32 or f64 (required "
                                  "by 'fastk.lowering')");
        scalars[constant.getResult()] = *scalar;
        return success();
      })
      .Case<TensorMapOp, LaunchOp>([&](auto each) { return add(each); })
      .Default([&](Operation *other) {
        return LogicalResult(other->emitOpError()
                             << "is no plan op (required by 'fastk.lowering')");
      });
}

FailureOr<LaunchPlan> Reader::read() {
  FunctionType type = lowering.getWorkloadType();
  Block &block = lowering.getPlan().front();
  SmallVector<Type> wanted;
  for (Type each :
       llvm::concat<const Type>(type.getInputs(), type.getResults()))
    if (auto tensor = dyn_cast<RankedTensorType>(each))
      wanted.push_back(
          MemRefType::get(tensor.getShape(), tensor.getElementType()));
  if (block.getArgumentTypes() != TypeRange(wanted)) {
    lowering.emitOpError() << "plan takes (" << block.getArgumentTypes()
                           << ") but operands and results as memrefs are ("
                           << TypeRange(wanted)
                           << ") (required by 'fastk.lowering')";
    return failure();
  }
  for (BlockArgument argument : block.getArguments()) {
    BufferRef &ref = buffers[argument];
    unsigned number = argument.getArgNumber();
    bool isInput = number < type.getNumInputs();
    ref.space = isInput ? BufferRef::Space::Input : BufferRef::Space::Output;
    ref.index = isInput ? number : number - type.getNumInputs();
  }
  for (Operation &op : block)
    if (failed(add(&op)))
      return failure();
  return std::move(plan);
}

FailureOr<LaunchPlan> fastk::readPlan(LoweringOp lowering) {
  return Reader(lowering).read();
}

//===----------------------------------------------------------------------===//
// From data to ops
//===----------------------------------------------------------------------===//

void fastk::buildPlan(OpBuilder &builder, Location loc, const LaunchPlan &plan,
                      ValueRange inputs, ValueRange outputs) {
  SmallVector<Value> workspaces, maps;
  auto bufferOf = [&](const BufferRef &ref) -> Value {
    switch (ref.space) {
    case BufferRef::Space::Input:
      return inputs[ref.index];
    case BufferRef::Space::Output:
      return outputs[ref.index];
    case BufferRef::Space::Workspace:
      return workspaces[ref.index];
    }
    return {};
  };
  for (const worker::Workspace &workspace : plan.workspaces)
    workspaces.push_back(WorkspaceOp::create(
        builder, loc, MemRefType::get({workspace.bytes}, builder.getI8Type()),
        workspace.zero));
  for (const worker::TensorMap &map : plan.tensorMaps)
    maps.push_back(TensorMapOp::create(
        builder, loc, TensorMapType::get(builder.getContext()),
        bufferOf(map.buffer), map.buffer.offset, toString(map.type), map.dims,
        map.strides, map.box, map.elementStrides, toString(map.interleave),
        toString(map.swizzle), toString(map.promotion), toString(map.fill)));
  auto constantOf = [&](const worker::PlanScalar &scalar) -> Value {
    using Kind = worker::PlanScalar::Type;
    TypedAttr value;
    switch (scalar.type) {
    case Kind::I32:
      value = builder.getI32IntegerAttr(int32_t(scalar.integer));
      break;
    case Kind::I64:
      value = builder.getI64IntegerAttr(scalar.integer);
      break;
    case Kind::F32:
      value = builder.getF32FloatAttr(float(scalar.real));
      break;
    case Kind::F64:
      value = builder.getF64FloatAttr(scalar.real);
      break;
    }
    return arith::ConstantOp::create(builder, loc, value);
  };
  for (const worker::PlanStep &step : plan.steps) {
    if (const auto *memset = std::get_if<worker::Memset>(&step)) {
      MemsetOp::create(builder, loc, bufferOf(memset->target),
                       memset->target.offset, memset->bytes, memset->value);
      continue;
    }
    const auto &launch = std::get<worker::Launch>(step);
    SmallVector<Value> arguments;
    SmallVector<int64_t> offsets;
    for (const worker::PlanArgument &argument : launch.arguments) {
      offsets.push_back(0);
      if (const auto *buffer = std::get_if<BufferRef>(&argument)) {
        arguments.push_back(bufferOf(*buffer));
        offsets.back() = buffer->offset;
      } else if (const auto *map =
                     std::get_if<worker::TensorMapRef>(&argument)) {
        arguments.push_back(maps[map->index]);
      } else {
        arguments.push_back(constantOf(std::get<worker::PlanScalar>(argument)));
      }
    }
    DenseI64ArrayAttr cluster, offsetsAttr;
    if (launch.cluster != worker::Dim3{1, 1, 1})
      cluster = builder.getDenseI64ArrayAttr(launch.cluster);
    if (llvm::any_of(offsets, [](int64_t offset) { return offset != 0; }))
      offsetsAttr = builder.getDenseI64ArrayAttr(offsets);
    LaunchOp::create(
        builder, loc, builder.getStringAttr(launch.kernel),
        builder.getDenseI64ArrayAttr(launch.grid),
        builder.getDenseI64ArrayAttr(launch.block), cluster,
        launch.sharedBytes ? builder.getI64IntegerAttr(launch.sharedBytes)
                           : IntegerAttr(),
        launch.cooperative ? builder.getUnitAttr() : UnitAttr(),
        launch.overlapsPrevious ? builder.getUnitAttr() : UnitAttr(),
        offsetsAttr, arguments);
  }
}

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

LogicalResult fastk::verifyPlan(LoweringOp lowering) {
  Language language = lowering.getLanguage();
  bool wantsPlan = hasLaunchPlan(language);
  if (lowering.getPlan().empty()) {
    if (wantsPlan)
      return lowering.emitOpError()
             << "language '" << stringifyLanguage(language)
             << "' needs a plan that launches it (required by 'fastk.plan')";
    return success();
  }
  if (!wantsPlan)
    return lowering.emitOpError() << "language '" << stringifyLanguage(language)
                                  << "' has no plan (required by 'fastk.plan')";
  std::optional<worker::PlanLimits> limits = planLimitsOf(lowering.getTarget());
  if (!limits)
    return lowering.emitOpError()
           << "has a plan, but target '" << lowering.getTarget()
           << "' is not 'cuda:sm_80' or later (required by 'fastk.plan')";
  FailureOr<LaunchPlan> plan = readPlan(lowering);
  if (failed(plan))
    return failure();
  FunctionType type = lowering.getWorkloadType();
  std::vector<std::string> problems =
      worker::verifyLaunchPlan(*plan, bufferBytes(type.getInputs()),
                               bufferBytes(type.getResults()), *limits);
  if (problems.empty())
    return success();
  InFlightDiagnostic diag = lowering.emitOpError()
                            << "plan: " << problems.front()
                            << " (required by 'fastk.plan')";
  for (const std::string &problem : llvm::drop_begin(problems))
    diag.attachNote(lowering.getLoc()) << "also: " << problem;
  return diag;
}

void fastk::writePlan(LoweringOp lowering, const LaunchPlan &plan) {
  lowering.getPlan().getBlocks().clear();
  Location loc = lowering.getLoc();
  OpBuilder builder(lowering.getContext());
  Block *block = builder.createBlock(&lowering.getPlan());
  FunctionType type = lowering.getWorkloadType();
  for (Type each :
       llvm::concat<const Type>(type.getInputs(), type.getResults())) {
    auto tensor = cast<RankedTensorType>(each);
    block->addArgument(
        MemRefType::get(tensor.getShape(), tensor.getElementType()), loc);
  }
  ValueRange buffers = block->getArguments();
  buildPlan(builder, loc, plan, buffers.take_front(type.getNumInputs()),
            buffers.drop_front(type.getNumInputs()));
}
