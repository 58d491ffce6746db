//===- HeaderText.h - What all headers of cores have ---------- -*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_FAMILIES_HEADERTEXT_H
#define FASTK_LIB_FAMILIES_HEADERTEXT_H

#include "fastk/Families/Core.h"
#include "fastk/Families/Emitter.h"
#include "fastk/Families/SummedProducts.h"
#include "llvm/Support/raw_ostream.h"
#include <string>

namespace fastk::families {

/// The text of a header as it grows, of the variables and buffers of a program.
class HeaderText {
public:
  explicit HeaderText(catalog::Program program)
      : program(std::move(program)), os(text) {}

  void define(const llvm::Twine &name, int64_t value) {
    os << "#define " << name << " " << value << "\n";
  }
  /// NAME_BITS, NAME_IS_F16, NAME_IS_BF16 and NAME_IS_F32.
  void defineElem(const llvm::Twine &name, catalog::Elem elem);
  /// finish() of finishValue() and, for results of 16 bits, finish2() of two
  /// neighbours along `column`, one of its coordinates; none where that is
  /// empty.
  void writeRounded(catalog::Elem result,
                    llvm::ArrayRef<llvm::StringRef> coordinates,
                    llvm::StringRef column);
  /// finishValue(), finish() and finish2() of a sum of products; and keep(),
  /// which computes for some coordinates alone what they then need not compute
  /// for each sum: for the first of \p fixedSets whose last one that needs.
  /// With one set keep() takes its coordinates, with two all of them, and
  /// KEPT_OF_COLUMNS says whether it is the second. \p writeResultVars declares
  /// the result's variables.
  void writeFinish(const SummedProducts &products,
                   llvm::ArrayRef<llvm::StringRef> coordinates,
                   llvm::ArrayRef<llvm::ArrayRef<llvm::StringRef>> fixedSets,
                   llvm::StringRef column,
                   llvm::function_ref<void()> writeResultVars);
  /// What emitted text calls: cudaTypes(), with fast functions where results of
  /// 16 bits hide what these are off by in the workload's body.
  void writeTypes(mlir::Block &body, catalog::Elem result);
  /// OUT_TYPE, and OPERAND_PARAMETERS and OPERANDS of a workload's body.
  void writeOperands(mlir::Block &body, catalog::Elem result);
  /// Lines that declare the variables of a group, outermost first, from its one
  /// index.
  void writeVars(llvm::ArrayRef<unsigned> group, llvm::StringRef index,
                 llvm::StringRef type = "i32");

  /// The whole text. Nothing: \p why says what has none.
  std::optional<std::string> takeText(std::string &why);

  catalog::Program program;
  std::string text;
  llvm::raw_string_ostream os;

private:
  bool isFast = false;
};

/// A core as families see it, whose plans call its one result OUT; by what
/// writes its header.
template <typename HeaderWriter, typename FoundCore>
std::optional<CoreInstance> describeByHeader(const FoundCore &core,
                                             std::string &why) {
  mlir::Value result = core.result;
  std::optional<std::string> header =
      HeaderWriter(core).run(*result.getParentBlock(), why);
  if (!header)
    return std::nullopt;
  CoreInstance instance;
  instance.header = std::move(*header);
  instance.inputs = core.program.buffers.size();
  instance.buffers["OUT"] = "out0";
  return instance;
}

/// Whether fast functions are exact enough in the body of a workload whose
/// results are rounded: fastErf() is off by a part of 1, which nothing hides
/// where it is small and 1 is not added.
bool allowsFastFunctions(mlir::Block &body);
/// Whether rounding factors to TF32 hides what these are off by: factors and
/// results are f32.
bool hidesFastFunctions(const SummedProducts &products);

/// Whether a program for GPUs cannot write out the operand `name`, which has so
/// many elements with the ends of its rows and which no tensor map describes:
/// they are counted in 32 bits.
bool isTooLargeToWriteOut(llvm::StringRef header, llvm::StringRef name,
                          int64_t elements);

} // namespace fastk::families

#endif // FASTK_LIB_FAMILIES_HEADERTEXT_H
