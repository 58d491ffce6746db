//===- KernelChoices.cpp - What a schedule decides for kernels ------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelChoices.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fastk;

/// Sorted by kind of kernel. docs/schedules.md has the same table.
static constexpr KernelChoice kChoices[] = {
    {"row_threads", 1, 1024, 0, "threads of a row in one block"},
    {"row_block", 32, 1024, 0, "threads of a block"},
    {"row_blocks", 1, 1024, 1, "blocks of a row"},
    {"row_keep", 0, 1, 1,
     "1: values stay in registers from pass to pass; "
     "0: each pass computes them again"},
    {"row_width", 1, 8, 0, "elements of a vector access"},
    {"row_unroll", 1, 8, 1, "vectors that are loaded together in a loop"},
    {"row_backwards", 0, 1, 1,
     "1: every other pass runs from the end of the "
     "row, so that it finds the caches filled"},
    {"row_resident", 1, 16, 1,
     "blocks that a multiprocessor shall hold; it "
     "limits the registers of a thread"},
    {"vector_threads", 32, 1024, 32, "threads of a block"},
    {"vector_count", 1, 16, 1, "vectors of a thread"},
    {"vector_width", 1, 16, 0, "elements of a vector"},
    {"reduce_threads", 32, 1024, 0, "threads of a block"},
    {"reduce_blocks", 1, 65536, 1,
     "blocks that share the work, if they have "
     "enough of it"},
    {"reduce_unroll", 1, 16, 1, "steps that are loaded together"},
    {"turn_threads", 64, 1024, 0, "threads of a block"},
    {"turn_square", 16, 64, 0,
     "elements along a side of the square that a "
     "block turns"},
    {"point_threads", 32, 1024, 32, "threads of a block, a point each"},
    {"share_threads", 32, 1024, 0, "threads of a block that shares a point"},
    {"scalar_warp_rows", 1, 8, 1, "warps above each other in a tile"},
    {"scalar_warp_columns", 1, 8, 1, "warps side by side in a tile"},
    {"scalar_rows", 2, 16, 2, "rows of the result of a thread"},
    {"scalar_columns", 2, 16, 2, "columns of the result of a thread"},
    {"scalar_depth", 2, 64, 2, "terms of the sum in a slice"},
    {"scalar_resident", 1, 16, 1, "blocks that a multiprocessor shall hold"},
    {"tensor_warp_rows", 1, 8, 1, "warps above each other in a tile"},
    {"tensor_warp_columns", 1, 8, 1, "warps side by side in a tile"},
    {"tensor_rows", 16, 128, 16, "rows of the result of a warp"},
    {"tensor_columns", 16, 128, 16, "columns of the result of a warp"},
    {"tensor_stages", 2, 8, 1,
     "slices in shared memory: all but one are on "
     "their way"},
    {"tensor_resident", 1, 8, 1, "blocks that a multiprocessor shall hold"},
    {"contraction_parts", 1, 64, 1, "parts that each sum is cut into"},
    {"contraction_band", 1, 64, 1, "rows of tiles that are walked together"},
    {"approximate", 0, 1, 1,
     "1: exp, log, division and the like by the "
     "hardware's approximations"},
};

ArrayRef<KernelChoice> fastk::kernelChoices() { return kChoices; }

const KernelChoice *fastk::findKernelChoice(StringRef name) {
  for (const KernelChoice &choice : kChoices)
    if (choice.name == name)
      return &choice;
  return nullptr;
}

bool KernelChoice::allows(int64_t value) const {
  if (value < least || value > most)
    return false;
  return multiple == 0 ? llvm::isPowerOf2_64(value) : value % multiple == 0;
}

FailureOr<KernelChoices> KernelChoices::read(Operation *func) {
  std::map<std::string, int64_t> given;
  for (const KernelChoice &choice : kChoices) {
    std::string name = (kChoicePrefix + choice.name).str();
    Attribute attribute = func->getDiscardableAttr(name);
    if (!attribute)
      continue;
    auto number = dyn_cast<IntegerAttr>(attribute);
    if (!number)
      return func->emitError()
             << "'" << name << "' is " << attribute
             << ", not an integer (required by 'fastk.kernel_choices')";
    given[choice.name.str()] = number.getInt();
  }
  KernelChoices choices(std::move(given));
  if (failed(choices.verify(func)))
    return failure();
  return choices;
}

void KernelChoices::remove(Operation *func) {
  for (const KernelChoice &choice : kChoices)
    func->removeDiscardableAttr((kChoicePrefix + choice.name).str());
}

void KernelChoices::write(Operation *func) const {
  Builder builder(func->getContext());
  for (const auto &[name, value] : given)
    func->setDiscardableAttr((kChoicePrefix + name).str(),
                             builder.getI64IntegerAttr(value));
}

LogicalResult KernelChoices::verify(Operation *op) const {
  for (auto &[name, value] : given) {
    const KernelChoice *known = findKernelChoice(name);
    if (!known)
      return op->emitError()
             << "'" << kChoicePrefix << name
             << "' is nothing that a kernel can be told; docs/schedules.md "
                "lists what is (required by 'fastk.kernel_choices')";
    if (known->allows(value))
      continue;
    InFlightDiagnostic diagnostic = op->emitError();
    diagnostic << "'" << kChoicePrefix << name << "' = " << value
               << " must be ";
    if (known->multiple == 0)
      diagnostic << "a power of two ";
    else if (known->multiple > 1)
      diagnostic << "a multiple of " << known->multiple << " ";
    return diagnostic << "from " << known->least << " to " << known->most
                      << " (required by 'fastk.kernel_choices')";
  }
  return success();
}

void KernelChoices::begin(StringRef kind) {
  noted.emplace_back();
  noted.back().kind = kind.str();
  settled.clear();
  changed.clear();
}

void KernelChoices::settle(std::map<std::string, int64_t> decided,
                           std::set<std::string> changed) {
  settled = std::move(decided);
  this->changed = std::move(changed);
}

std::optional<int64_t> KernelChoices::find(StringRef name) const {
  assert(findKernelChoice(name) && "a choice that is not in the table");
  for (const auto *numbers : {&settled, &given})
    if (auto found = numbers->find(name.str()); found != numbers->end())
      return found->second;
  return std::nullopt;
}

int64_t KernelChoices::decide(StringRef name, int64_t byModel) {
  int64_t value = find(name).value_or(byModel);
  if (!noted.empty())
    noted.back().choices[name.str()] = value;
  return value;
}

bool KernelChoices::hasAny(StringRef prefix) const {
  auto isOfFamily = [&](StringRef name) { return name.starts_with(prefix); };
  return llvm::any_of(llvm::make_first_range(given), isOfFamily) ||
         llvm::any_of(changed, isOfFamily);
}

void KernelChoices::refuse(const Twine &why) {
  if (reason.empty())
    reason = why.str();
}

bool KernelChoices::fits(int64_t value, int64_t most, const Twine &what) {
  if (value <= most)
    return true;
  refuse(what + ": " + Twine(value) + " of at most " + Twine(most));
  return false;
}

LogicalResult KernelChoices::checkAllUsed(Operation *op) const {
  for (const auto &entry : given) {
    const std::string &name = entry.first;
    bool used = llvm::any_of(noted, [&](const KernelDescription &kernel) {
      return kernel.choices.count(name) != 0;
    });
    if (used)
      continue;
    std::string kinds;
    for (const KernelDescription &kernel : noted)
      if (!StringRef(kinds).contains(kernel.kind))
        kinds += (kinds.empty() ? "" : ", ") + kernel.kind;
    return op->emitError() << "'" << kChoicePrefix << name
                           << "' is read by none of its kernels ("
                           << (kinds.empty() ? std::string("none") : kinds)
                           << ") (required by 'fastk.kernel_choices')";
  }
  return success();
}
