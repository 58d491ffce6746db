//===- GPUProgramRules.cpp - What a program in the gpu dialect may hold ---===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Dialects and what stands at module scope are lists of what is allowed; so are
// the ops of the gpu dialect, half of which are for the host. Of the others the
// ops are named here that would be refused in the PTX, so that the message can
// say where they stand.
//
//===----------------------------------------------------------------------===//

#include "GPUProgram.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Complex/IR/Complex.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Index/IR/IndexDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace fastk;

void fastk::registerGPUProgramDialects(DialectRegistry &registry) {
  registry.insert<affine::AffineDialect, arith::ArithDialect,
                  cf::ControlFlowDialect, complex::ComplexDialect,
                  func::FuncDialect, gpu::GPUDialect, index::IndexDialect,
                  LLVM::LLVMDialect, math::MathDialect, memref::MemRefDialect,
                  NVVM::NVVMDialect, nvgpu::NVGPUDialect, scf::SCFDialect,
                  ub::UBDialect, vector::VectorDialect>();
}

/// Dialects of which every op may be used that is not in kRefused.
static constexpr StringLiteral kDialects[] = {
    "affine", "arith",  "cf",    "complex", "func", "index", "llvm",
    "math",   "memref", "nvgpu", "nvvm",    "scf",  "ub",    "vector"};

/// Without the prefix "gpu."; the others are for the host or have no lowering.
static constexpr StringLiteral kGPUOps[] = {"all_reduce",
                                            "barrier",
                                            "block_dim",
                                            "block_id",
                                            "cluster_block_id",
                                            "cluster_dim",
                                            "cluster_dim_blocks",
                                            "cluster_id",
                                            "dynamic_shared_memory",
                                            "func",
                                            "global_id",
                                            "grid_dim",
                                            "lane_id",
                                            "num_subgroups",
                                            "return",
                                            "rotate",
                                            "shuffle",
                                            "subgroup_broadcast",
                                            "subgroup_id",
                                            "subgroup_mma_compute",
                                            "subgroup_mma_constant_matrix",
                                            "subgroup_mma_elementwise",
                                            "subgroup_mma_extract_thread_local",
                                            "subgroup_mma_insert_thread_local",
                                            "subgroup_mma_load_matrix",
                                            "subgroup_mma_store_matrix",
                                            "subgroup_reduce",
                                            "subgroup_size",
                                            "thread_id",
                                            "yield"};

namespace {
struct RefusedOp {
  /// The op's name, or the beginning of several ops' names with a '*' behind.
  StringLiteral name;
  StringLiteral rule;
  StringLiteral why;
};
} // namespace

static constexpr StringLiteral kTime = "a candidate must not know the time";
static constexpr StringLiteral kHeap =
    "the device heap outlives a launch; ask for a workspace in the plan, or "
    "use memref.alloca or shared memory";
static constexpr StringLiteral kTrap =
    "it would take the context down; return instead";
static constexpr StringLiteral kOutput =
    "a kernel writes to its results and workspaces and nowhere else; remove it";

static constexpr RefusedOp kRefused[] = {
    {"cf.assert", "instruction", kTrap},
    {"func.call_indirect", "indirect-call", "call a function by its name"},
    {"func.constant", "indirect-call", "call a function by its name"},
    {"gpu.printf", "external-function", kOutput},
    {"llvm.indirectbr", "indirect-call", "use llvm.switch"},
    {"llvm.intr.debugtrap", "instruction", kTrap},
    {"llvm.intr.trap", "instruction", kTrap},
    {"llvm.intr.ubsantrap", "instruction", kTrap},
    {"llvm.invoke", "external-function", "there are no exceptions on a GPU"},
    {"memref.alloc", "external-function", kHeap},
    {"memref.dealloc", "external-function", kHeap},
    {"memref.realloc", "external-function", kHeap},
    {"memref.dma_*", "external-function",
     "use nvgpu.device_async_copy or nvgpu.tma.async.load"},
    {"nvgpu.tma.create.descriptor", "instruction",
     "tensor maps are made by the plan, not by device code"},
    {"nvvm.breakpoint", "instruction", "it stops the device"},
    {"nvvm.pmevent", "instruction", "it triggers performance counters"},
    {"nvvm.read.ptx.sreg.clock*", "special-register", kTime},
    {"nvvm.read.ptx.sreg.envreg*", "special-register", "it is the driver's"},
    {"nvvm.read.ptx.sreg.globaltimer*", "special-register", kTime},
    {"nvvm.read.ptx.sreg.gridid", "special-register",
     "it counts launches: the result must not depend on it"},
    {"nvvm.tcgen05.*", "instruction", "it is not in the list of docs/cuda.md"},
    {"vector.print", "external-function", kOutput},
};

ArrayRef<StringLiteral> fastk::allowedProgramDialects() { return kDialects; }
ArrayRef<StringLiteral> fastk::allowedGPUOps() { return kGPUOps; }
SmallVector<StringRef> fastk::refusedProgramOps() {
  SmallVector<StringRef> names;
  for (const RefusedOp &op : kRefused)
    names.push_back(op.name);
  return names;
}

/// Attributes of a kernel beside those of the op itself, with which it asks for
/// threads, blocks and registers.
static constexpr StringLiteral kKernelAttributes[] = {
    "sym_name",     "gpu.kernel",       "workgroup_attributions",
    "nvvm.reqntid", "nvvm.maxntid",     "nvvm.minctasm",
    "nvvm.maxnreg", "nvvm.cluster_dim", "nvvm.cluster_max_blocks"};

static LogicalResult refuse(Operation *op, const Twine &why, StringRef rule) {
  return op->emitOpError() << "is not allowed: " << why << " (required by '"
                           << rule << "')";
}

static bool isShared(Attribute space) {
  if (auto named = dyn_cast_or_null<gpu::AddressSpaceAttr>(space))
    return named.getValue() == gpu::AddressSpace::Workgroup;
  auto number = dyn_cast_or_null<IntegerAttr>(space);
  return number && number.getInt() == int64_t(NVVM::NVVMMemorySpace::Shared);
}

static constexpr StringLiteral kOutlives =
    "it can be written, and its value would outlive the launch; use a "
    "workspace of the plan, shared memory, or a constant for tables";

static LogicalResult checkGlobal(Operation *op) {
  if (auto global = dyn_cast<memref::GlobalOp>(op)) {
    bool table = global.getConstant() && global.getInitialValue() &&
                 !isa<UnitAttr>(*global.getInitialValue());
    if (!table && !isShared(global.getType().getMemorySpace()))
      return refuse(op, kOutlives, "global-variable");
    return success();
  }
  auto global = cast<LLVM::GlobalOp>(op);
  bool table = global.getConstant() &&
               (global.getValueAttr() || !global.getInitializer().empty());
  if (!table &&
      global.getAddrSpace() != unsigned(NVVM::NVVMMemorySpace::Shared))
    return refuse(op, kOutlives, "global-variable");
  return success();
}

/// PTX names have letters, digits and underscores; LLVM renames others, and the
/// plan would not find them.
static bool isPlainName(StringRef name) {
  return !name.empty() && !llvm::isDigit(name[0]) &&
         llvm::all_of(name,
                      [](char c) { return llvm::isAlnum(c) || c == '_'; });
}

static LogicalResult checkKernel(gpu::GPUFuncOp func) {
  if (!func.isKernel())
    return refuse(func,
                  "'" + func.getName() +
                      "' is no kernel; write 'kernel' behind its parameters, "
                      "and functions that kernels call as func.func",
                  "fastk.gpu_kernel");
  if (!isPlainName(func.getName()))
    return refuse(func,
                  "the name of a kernel has letters, digits and underscores",
                  "fastk.gpu_kernel");
  for (NamedAttribute attribute : func->getDiscardableAttrs())
    if (!llvm::is_contained(kKernelAttributes, attribute.getName().strref()))
      return refuse(func,
                    "the attribute '" + attribute.getName().strref() +
                        "'; a kernel may have nvvm.reqntid, nvvm.maxntid, "
                        "nvvm.minctasm, nvvm.maxnreg, nvvm.cluster_dim, "
                        "nvvm.cluster_max_blocks",
                    "fastk.gpu_kernel");
  return success();
}

/// Functions of libdevice and intrinsics of LLVM need no body.
static LogicalResult checkFunction(FunctionOpInterface func) {
  StringRef name = func.getName();
  if (func->hasAttr("nvvm.kernel") || func->hasAttr("gpu.kernel"))
    return refuse(func, "kernels are gpu.func", "fastk.gpu_kernel");
  if (!func.isExternal() || name.starts_with("__nv_") ||
      name.starts_with("llvm."))
    return success();
  return refuse(func,
                "'" + name +
                    "' has no body, and device code has nothing to link with "
                    "but libdevice, whose functions begin with __nv_",
                "external-function");
}

/// What stands at module scope.
static LogicalResult checkMember(Operation *op) {
  if (auto kernel = dyn_cast<gpu::GPUFuncOp>(op))
    return checkKernel(kernel);
  if (isa<func::FuncOp, LLVM::LLVMFuncOp>(op))
    return checkFunction(cast<FunctionOpInterface>(op));
  if (isa<memref::GlobalOp, LLVM::GlobalOp>(op))
    return checkGlobal(op);
  return refuse(op,
                "a gpu.module holds gpu.func, func.func, llvm.func, "
                "memref.global and llvm.mlir.global",
                "fastk.gpu_ops");
}

static LogicalResult checkOp(Operation *op) {
  StringRef name = op->getName().getStringRef();
  for (const RefusedOp &refused : kRefused) {
    StringRef pattern = refused.name;
    if (pattern.consume_back("*") ? name.starts_with(pattern) : name == pattern)
      return refuse(op, refused.why, refused.rule);
  }
  auto [dialect, rest] = name.split('.');
  if (dialect == "gpu") {
    if (!llvm::is_contained(kGPUOps, rest))
      return refuse(op,
                    "it is for the host, or has no lowering; what is launched, "
                    "and with what memory, is in the plan",
                    "fastk.gpu_ops");
    return success();
  }
  if (!op->isRegistered() || !llvm::is_contained(kDialects, dialect))
    return refuse(op, "docs/cuda.md lists the dialects", "fastk.gpu_ops");
  if (auto call = dyn_cast<LLVM::CallOp>(op); call && !call.getCallee())
    return refuse(op, "call a function by its name", "indirect-call");
  if (auto address = dyn_cast<LLVM::AddressOfOp>(op)) {
    Operation *symbol =
        SymbolTable::lookupNearestSymbolFrom(op, address.getGlobalNameAttr());
    if (!isa_and_nonnull<LLVM::GlobalOp>(symbol))
      return refuse(op, "call a function by its name", "indirect-call");
  }
  return success();
}

LogicalResult fastk::checkGPUProgram(gpu::GPUModuleOp module) {
  if (module.getTargetsAttr() || module.getOffloadingHandlerAttr())
    return refuse(module,
                  "targets and offloading handlers; it is compiled for the "
                  "target of the search",
                  "fastk.gpu_program");
  if (!module->getDiscardableAttrs().empty())
    return refuse(
        module,
        "the attribute '" +
            module->getDiscardableAttrs().begin()->getName().strref() +
            "'; a gpu.module has none but its name",
        "fastk.gpu_program");
  for (Operation &op : *module.getBody())
    if (failed(checkMember(&op)))
      return failure();
  WalkResult walk = module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (op == module || succeeded(checkOp(op)))
      return WalkResult::advance();
    return WalkResult::interrupt();
  });
  return failure(walk.wasInterrupted());
}
