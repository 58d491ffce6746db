//===- ScheduleRules.cpp - What a schedule may use ------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A schedule may come from a stranger's bank or from a language model. What is
// not known to transform the function and nothing else is refused: an op that
// a later MLIR adds is not trusted because nobody thought of it here.
//
// Left out on purpose: what prints (print, debug.*), runs any pass there is
// (apply_registered_pass), calls or makes functions (func.*, loop.outline),
// brings in code that the pattern does not hold (structured.replace, pdl_match,
// irdl.*), keeps memory between calls (memref.alloca_to_global), converts to
// other dialects on its own terms (apply_conversion_patterns.*), writes
// attributes of its choice (annotate, but for the numbers that kernels for GPUs
// can be told, on the function itself), and structured.specialize, which in
// this MLIR turns A * transpose(B) into A * B.
//
//===----------------------------------------------------------------------===//

#include "ScheduleRules.h"
#include "fastk/Conversion/CudaCodegen.h"
#include "mlir/Dialect/Transform/IR/TransformOps.h"
#include "llvm/ADT/STLExtras.h"
#include <cstring>

using namespace mlir;
using namespace fastk;

/// Without the prefix "transform."; sorted.
static constexpr StringLiteral kAllowed[] = {
    "affine.simplify_bounded_affine_ops",
    "affine.simplify_min_max_affine_ops",
    "alternatives",
    "apply_cse",
    "apply_dce",
    "apply_licm",
    "apply_patterns",
    "apply_patterns.canonicalization",
    "bufferization.buffer_loop_hoisting",
    "bufferization.eliminate_empty_tensors",
    "bufferization.empty_tensor_to_alloc_tensor",
    "cast",
    "collect_matching",
    "foreach",
    "foreach_match",
    "get_consumers_of_result",
    "get_defining_op",
    "get_operand",
    "get_parent_op",
    "get_producer_of_operand",
    "get_result",
    "get_type",
    "include",
    "loop.coalesce",
    "loop.forall_to_for",
    "loop.forall_to_parallel",
    "loop.fuse_sibling",
    "loop.hoist_loop_invariant_subsets",
    "loop.parallel_for_to_nested_fors",
    "loop.peel",
    "loop.pipeline",
    "loop.promote_if_one_iteration",
    "loop.unroll",
    "loop.unroll_and_jam",
    "memref.erase_dead_alloc_and_stores",
    "memref.make_loop_independent",
    "memref.multibuffer",
    "merge_handles",
    "named_sequence",
    "num_associations",
    "param.constant",
    "replicate",
    "scf.take_assumed_branch",
    "select",
    "sequence",
    "split_handle",
    "structured.bufferize_to_allocation",
    "structured.continuous_tile_sizes",
    "structured.convert_conv2d_to_img2col",
    "structured.convert_to_loops",
    "structured.decompose",
    "structured.decompose_interface",
    "structured.decompose_winograd_op",
    "structured.eliminate_empty_tensors",
    "structured.flatten_elementwise",
    "structured.fuse",
    "structured.fuse_into_containing_op",
    "structured.generalize",
    "structured.hoist_pad",
    "structured.hoist_pad.build_packing_loop_nest",
    "structured.hoist_redundant_vector_broadcasts",
    "structured.hoist_redundant_vector_transfers",
    "structured.insert_slice_to_copy",
    "structured.interchange",
    "structured.linalg_copy_to_memref",
    "structured.lower_pack",
    "structured.lower_unpack",
    "structured.match",
    "structured.multitile_sizes",
    "structured.pack",
    "structured.pack_greedily",
    "structured.pack_transpose",
    "structured.pad",
    "structured.pad_tiling_interface",
    "structured.promote",
    "structured.promote_tensor",
    "structured.scalarize",
    "structured.split",
    "structured.split_reduction",
    "structured.tile_reduction_using_for",
    "structured.tile_reduction_using_forall",
    "structured.tile_using_for",
    "structured.tile_using_forall",
    "structured.transpose_conv2d",
    "structured.transpose_matmul",
    "structured.vectorize",
    "structured.vectorize_children_and_apply_patterns",
    "structured.winograd_conv2d",
    "tensor.make_loop_independent",
    "verify",
    "yield",
};

/// Families of which every member is a set of rewrite patterns or a predicate.
static constexpr StringLiteral kFamilies[] = {
    "apply_patterns.linalg.", "apply_patterns.memref.", "apply_patterns.scf.",
    "apply_patterns.tensor.", "apply_patterns.vector.", "match.",
};

ArrayRef<StringLiteral> fastk::allowedScheduleOps() { return kAllowed; }
ArrayRef<StringLiteral> fastk::allowedScheduleFamilies() { return kFamilies; }

/// Of the name of an op that there is.
static bool isAllowed(StringRef name) {
  if (!name.consume_front("transform."))
    return false;
  return llvm::is_contained(kAllowed, name) ||
         llvm::any_of(kFamilies, [&](StringRef family) {
           return name.starts_with(family);
         });
}

static bool isAllowed(Operation *op) {
  return isa<ModuleOp>(op) ||
         (op->isRegistered() && isAllowed(op->getName().getStringRef()));
}

const std::vector<std::string> &fastk::scheduleOps() {
  static const std::vector<std::string> ops = [] {
    // A context of its own: what others have loaded does not matter.
    DialectRegistry registry;
    registerHostCodegen(registry);
    MLIRContext context(registry, MLIRContext::Threading::DISABLED);
    context.loadAllAvailableDialects();
    std::vector<std::string> names;
    for (RegisteredOperationName op : context.getRegisteredOperations())
      if (isAllowed(op.getStringRef()))
        names.push_back(
            op.getStringRef().drop_front(strlen("transform.")).str());
    llvm::sort(names);
    return names;
  }();
  return ops;
}

/// Why an op of this name is not on the list.
static StringRef explain(StringRef name) {
  if (!name.consume_front("transform."))
    return "it is no transform op";
  if (name == "print" || name.starts_with("debug."))
    return "it writes output";
  if (name == "apply_registered_pass")
    return "it runs any pass there is";
  if (name.starts_with("apply_conversion_patterns"))
    return "it leaves the way to LLVM that fastk takes";
  if (name.starts_with("func.") || name == "loop.outline")
    return "it makes, changes or calls functions";
  if (name == "structured.replace" || name.starts_with("pdl") ||
      name == "with_pdl_patterns" || name.starts_with("irdl."))
    return "it brings in code that is not the pattern's";
  if (name == "memref.alloca_to_global")
    return "it keeps memory between calls";
  if (name == "structured.specialize")
    return "it loses the transposition of operands";
  return "it is not known to transform the function and do nothing else";
}

/// Why an annotation is refused; empty for one that tells the kernels of a GPU
/// a number.
static std::string explainAnnotation(transform::AnnotateOp annotate,
                                     bool onHost) {
  StringRef name = annotate.getName();
  if (onHost || !name.consume_front(kChoicePrefix) || !findKernelChoice(name))
    return onHost ? "it writes attributes that later steps read"
                  : ("'" + annotate.getName() +
                     "' is no number that kernels can be told")
                        .str();
  auto argument = dyn_cast<BlockArgument>(annotate.getTarget());
  if (!argument || argument.getArgNumber() != 0 ||
      !isa<transform::NamedSequenceOp>(argument.getOwner()->getParentOp()))
    return "it annotates something else than the function, where nobody looks";
  return annotate.getParam() ? "" : "it gives no number";
}

LogicalResult fastk::checkScheduleOps(ModuleOp schedule, LoweringOp lowering) {
  Operation *forbidden = nullptr;
  std::string reason;
  schedule->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (auto annotate = dyn_cast<transform::AnnotateOp>(op)) {
      reason = explainAnnotation(annotate, lowering.getTarget() == "host");
      if (reason.empty())
        return WalkResult::advance();
    } else if (isAllowed(op)) {
      return WalkResult::advance();
    } else {
      reason = explain(op->getName().getStringRef()).str();
    }
    forbidden = op;
    return WalkResult::interrupt();
  });
  if (!forbidden)
    return success();
  InFlightDiagnostic diagnostic = lowering.emitOpError()
                                  << "schedule " << *lowering.getFile();
  if (auto loc = forbidden->getLoc()->findInstanceOf<FileLineColLoc>())
    diagnostic << ":" << loc.getLine() << ":" << loc.getColumn();
  return diagnostic << " uses '" << forbidden->getName()
                    << "', which a schedule may not: " << reason
                    << "; docs/schedules.md lists the ops that are allowed "
                       "(required by 'fastk.schedule_ops')";
}
