//===- CallFrame.cpp - What one call of a model owns ----------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CallFrame.h"
#include "Host/HostPipeline.h"
#include "ModelInterface.h"
#include "fastk/Conversion/Passes.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Linker/Linker.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace fastk;

/// The list: an array of pointers, how many there are, how many there is room
/// for. `keep` takes a pointer in and says false for null, or when the list
/// itself cannot grow; `forget` takes one out, `drop` frees it, too, `end`
/// frees all.
static constexpr llvm::StringLiteral kFrameFunctions = R"(
%frame = type { ptr, i64, i64 }
declare ptr @realloc(ptr, i64)
declare void @free(ptr)

define internal i1 @fastk.frame.keep(ptr %frame, ptr %p) noinline {
  %none = icmp eq ptr %p, null
  br i1 %none, label %failed, label %check
check:
  %count.at = getelementptr %frame, ptr %frame, i64 0, i32 1
  %room.at = getelementptr %frame, ptr %frame, i64 0, i32 2
  %count = load i64, ptr %count.at
  %room = load i64, ptr %room.at
  %array = load ptr, ptr %frame
  %full = icmp eq i64 %count, %room
  br i1 %full, label %grow, label %put
grow:
  %twice = shl i64 %room, 1
  %more = add i64 %twice, 8
  %bytes = shl i64 %more, 3
  %grown = call ptr @realloc(ptr %array, i64 %bytes)
  %stuck = icmp eq ptr %grown, null
  br i1 %stuck, label %give.up, label %grew
give.up:
  call void @free(ptr %p)
  br label %failed
grew:
  store ptr %grown, ptr %frame
  store i64 %more, ptr %room.at
  br label %put
put:
  %to = phi ptr [ %array, %check ], [ %grown, %grew ]
  %slot = getelementptr ptr, ptr %to, i64 %count
  store ptr %p, ptr %slot
  %next = add i64 %count, 1
  store i64 %next, ptr %count.at
  ret i1 true
failed:
  ret i1 false
}

define internal void @fastk.frame.forget(ptr %frame, ptr %p) noinline {
  %count.at = getelementptr %frame, ptr %frame, i64 0, i32 1
  %count = load i64, ptr %count.at
  %array = load ptr, ptr %frame
  %last = sub i64 %count, 1
  br label %search
search:
  %i = phi i64 [ %last, %0 ], [ %before, %next ]
  %past = icmp slt i64 %i, 0
  br i1 %past, label %done, label %look
look:
  %slot = getelementptr ptr, ptr %array, i64 %i
  %there = load ptr, ptr %slot
  %found = icmp eq ptr %there, %p
  br i1 %found, label %remove, label %next
next:
  %before = sub i64 %i, 1
  br label %search
remove:
  %end = getelementptr ptr, ptr %array, i64 %last
  %moved = load ptr, ptr %end
  store ptr %moved, ptr %slot
  store i64 %last, ptr %count.at
  br label %done
done:
  ret void
}

define internal void @fastk.frame.drop(ptr %frame, ptr %p) noinline {
  call void @fastk.frame.forget(ptr %frame, ptr %p)
  call void @free(ptr %p)
  ret void
}

define internal void @fastk.frame.end(ptr %frame) noinline {
  %count.at = getelementptr %frame, ptr %frame, i64 0, i32 1
  %count = load i64, ptr %count.at
  %array = load ptr, ptr %frame
  br label %loop
loop:
  %i = phi i64 [ 0, %0 ], [ %next, %body ]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %body, label %done
body:
  %slot = getelementptr ptr, ptr %array, i64 %i
  %p = load ptr, ptr %slot
  call void @free(ptr %p)
  %next = add i64 %i, 1
  br label %loop
done:
  call void @free(ptr %array)
  ret void
}
)";

static constexpr llvm::StringLiteral kKeep = "fastk.frame.keep";
static constexpr llvm::StringLiteral kForget = "fastk.frame.forget";
static constexpr llvm::StringLiteral kDrop = "fastk.frame.drop";
static constexpr llvm::StringLiteral kEnd = "fastk.frame.end";
static constexpr llvm::StringLiteral kNoMemory =
    "out of memory: the model's temporaries or results do not fit";

// Callers may count on its number, whatever else can go wrong in a model.
ErrorTexts::ErrorTexts() : texts{kNoMemory.str()} {}

int32_t ErrorTexts::numberOf(StringRef text) {
  auto found = llvm::find(texts, text);
  if (found != texts.end())
    return found - texts.begin() + 1;
  texts.push_back(text.str());
  return texts.size();
}

static constexpr llvm::StringLiteral kErrorsAttr = "fastk.errors";

void ErrorTexts::attachTo(ModuleOp module) const {
  SmallVector<StringRef> all(texts.begin(), texts.end());
  module->setAttr(kErrorsAttr, Builder(module).getStrArrayAttr(all));
}

ErrorTexts ErrorTexts::takeFrom(ModuleOp module) {
  ErrorTexts errors;
  if (auto all =
          dyn_cast_if_present<ArrayAttr>(module->removeAttr(kErrorsAttr))) {
    errors.texts.clear();
    for (auto text : all.getAsRange<StringAttr>())
      errors.texts.push_back(text.str());
  }
  return errors;
}

namespace {
/// Places the buffers of one function that the plan cannot.
class FrameBuilder {
public:
  explicit FrameBuilder(func::FuncOp func)
      : func(func), builder(func.getContext()), loc(func.getLoc()),
        pointer(LLVM::LLVMPointerType::get(func.getContext())) {}

  LogicalResult run();

private:
  LogicalResult place(memref::AllocOp alloc);
  void keep(memref::AllocOp alloc, Operation *last);
  void check(memref::AllocOp alloc);
  Value addressOf(memref::AllocOp alloc);
  Value call(StringRef name, ValueRange operands, TypeRange results);
  Value getFrame();

  func::FuncOp func;
  OpBuilder builder;
  Location loc;
  Type pointer;
  /// What makes the frame, in order; empty where none is needed.
  SmallVector<Operation *> prologue;
  Value frame;
  bool mayFail = false;
};
} // namespace

Value FrameBuilder::call(StringRef name, ValueRange operands,
                         TypeRange results) {
  auto module = func->getParentOfType<ModuleOp>();
  if (!module.lookupSymbol(name)) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(module.getBody());
    auto callee = func::FuncOp::create(
        builder, loc, name,
        builder.getFunctionType(operands.getTypes(), results));
    callee.setPrivate();
  }
  auto made = func::CallOp::create(builder, loc, name, results, operands);
  return results.empty() ? Value() : made.getResult(0);
}

Value FrameBuilder::getFrame() {
  if (frame)
    return frame;
  OpBuilder::InsertionGuard guard(builder);
  Block &entry = func.getBody().front();
  builder.setInsertionPointToStart(&entry);
  Type number = builder.getI64Type();
  auto type = LLVM::LLVMStructType::getLiteral(func.getContext(),
                                               {pointer, number, number});
  auto one = LLVM::ConstantOp::create(builder, loc, number, 1);
  auto memory = LLVM::AllocaOp::create(builder, loc, pointer, type, one);
  auto zero = LLVM::ZeroOp::create(builder, loc, type);
  auto store = LLVM::StoreOp::create(builder, loc, zero, memory);
  prologue = {one, memory, zero, store};
  frame = memory;
  builder.setInsertionPoint(entry.getTerminator());
  call(kEnd, frame, {});
  return frame;
}

Value FrameBuilder::addressOf(memref::AllocOp alloc) {
  Value address =
      memref::ExtractAlignedPointerAsIndexOp::create(builder, loc, alloc);
  address =
      arith::IndexCastOp::create(builder, loc, builder.getI64Type(), address);
  return LLVM::IntToPtrOp::create(builder, loc, pointer, address);
}

void FrameBuilder::keep(memref::AllocOp alloc, Operation *last) {
  Value list = getFrame();
  builder.setInsertionPointAfter(alloc);
  Value address = addressOf(alloc);
  Value kept = call(kKeep, {list, address}, builder.getI1Type());
  cf::AssertOp::create(builder, alloc.getLoc(), kept, kNoMemory);
  alloc->setAttr(kKeptAttr, builder.getUnitAttr());
  if (alloc->hasAttr(kResultAttr)) {
    // The frame's end is the last thing before the terminator.
    builder.setInsertionPoint(
        func.getBody().front().getTerminator()->getPrevNode());
    call(kForget, {list, address}, {});
  } else if (last) {
    builder.setInsertionPointAfter(last);
    call(kDrop, {list, address}, {});
  }
}

LogicalResult FrameBuilder::place(memref::AllocOp alloc) {
  bool isDynamic = !alloc.getDynamicSizes().empty();
  Operation *last = findLastUse(alloc);
  if (alloc->getParentOfType<scf::ParallelOp>()) {
    // Each iteration's own; the list is not for several threads.
    if (!isDynamic)
      return success();
    if (!last)
      return alloc.emitError()
             << "leaves its block inside of a parallel loop, and has a dynamic "
                "size; fastk cannot tell when to free it (required by "
                "'fastk.buffer_planning')";
    alloc->setAttr(kKeptAttr, builder.getUnitAttr());
    builder.setInsertionPointAfter(last);
    memref::DeallocOp::create(builder, alloc.getLoc(), alloc);
    return success();
  }
  bool isOwn = alloc->getBlock() == &func.getBody().front();
  if (isDynamic || !last || alloc->hasAttr(kResultAttr) || (!isOwn && mayFail))
    keep(alloc, last);
  return success();
}

void FrameBuilder::check(memref::AllocOp alloc) {
  builder.setInsertionPointAfter(alloc);
  Value address =
      memref::ExtractAlignedPointerAsIndexOp::create(builder, loc, alloc);
  Value null = arith::ConstantIndexOp::create(builder, loc, 0);
  Value isThere = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne,
                                        address, null);
  cf::AssertOp::create(builder, loc, isThere, kNoMemory);
}

LogicalResult FrameBuilder::run() {
  SmallVector<memref::AllocOp> allocs;
  func.walk([&](Operation *op) {
    mayFail |= isa<cf::AssertOp>(op);
    if (auto alloc = dyn_cast<memref::AllocOp>(op))
      allocs.push_back(alloc);
  });
  for (memref::AllocOp alloc : allocs) {
    if (alloc.use_empty())
      alloc.erase();
    else if (failed(place(alloc)))
      return failure();
  }
  if (failed(planBuffers(func)))
    return failure();
  Block &entry = func.getBody().front();
  for (memref::AllocOp alloc : entry.getOps<memref::AllocOp>())
    if (!alloc->hasAttr(kKeptAttr)) {
      check(alloc); // the plan's one
      break;
    }
  for (Operation *op : llvm::reverse(prologue))
    op->moveBefore(&entry.front());
  return success();
}

namespace fastk {
#define GEN_PASS_DEF_FASTKPLANMODELBUFFERSPASS
#include "fastk/Conversion/Passes.h.inc"

namespace {
struct FastkPlanModelBuffersPass
    : impl::FastkPlanModelBuffersPassBase<FastkPlanModelBuffersPass> {
  using Base::Base;
  void runOnOperation() override {
    // It declares functions in the module.
    for (auto func : llvm::to_vector(getOperation().getOps<func::FuncOp>()))
      if (!func.isDeclaration() && failed(FrameBuilder(func).run()))
        return signalPassFailure();
  }
};
} // namespace
} // namespace fastk

LogicalResult fastk::linkCallFrame(llvm::Module &module) {
  llvm::SMDiagnostic error;
  std::unique_ptr<llvm::Module> functions =
      llvm::parseAssemblyString(kFrameFunctions, error, module.getContext());
  assert(functions && "the text above is well formed");
  functions->setDataLayout(module.getDataLayout());
  functions->setTargetTriple(module.getTargetTriple());
  // The model's declarations are of other functions until they meet.
  for (llvm::Function &function : *functions)
    if (!function.isDeclaration())
      function.setLinkage(llvm::GlobalValue::ExternalLinkage);
  if (llvm::Linker::linkModules(module, std::move(functions),
                                llvm::Linker::LinkOnlyNeeded))
    return failure();
  for (StringRef name : {kKeep, kForget, kDrop, kEnd})
    if (llvm::Function *function = module.getFunction(name))
      function->setLinkage(llvm::GlobalValue::InternalLinkage);
  return success();
}

void fastk::addErrorEntry(llvm::Module &module, StringRef name,
                          const ErrorTexts &errors) {
  llvm::LLVMContext &context = module.getContext();
  auto *pointer = llvm::PointerType::get(context, 0);
  auto *number = llvm::Type::getInt32Ty(context);
  auto *entry = llvm::Function::Create(
      llvm::FunctionType::get(pointer, {number}, /*isVarArg=*/false),
      llvm::GlobalValue::ExternalLinkage, "fastk_error_" + name, module);
  llvm::IRBuilder<> builder(llvm::BasicBlock::Create(context, "entry", entry));
  auto *none = llvm::BasicBlock::Create(context, "none", entry);
  auto *choose = builder.CreateSwitch(entry->getArg(0), none);
  for (auto [i, text] : llvm::enumerate(errors.texts)) {
    auto *block = llvm::BasicBlock::Create(context, "", entry, none);
    choose->addCase(builder.getInt32(i + 1), block);
    builder.SetInsertPoint(block);
    builder.CreateRet(builder.CreateGlobalString(text, "fastk.error"));
  }
  builder.SetInsertPoint(none);
  builder.CreateRet(builder.CreateGlobalString("", "fastk.error"));
  // For the header.
  llvm::NamedMDNode *known =
      module.getOrInsertNamedMetadata((kErrorsMetadata + name).str());
  for (const std::string &text : errors.texts)
    known->addOperand(
        llvm::MDNode::get(context, llvm::MDString::get(context, text)));
}
