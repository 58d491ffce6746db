//===- Kernel.h - A C kernel for a canonical pattern ------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Splits a pattern into stages, each of which writes one buffer. A product, one
// that moves over windows, attention, a reduction of rows, a pooling or what
// reduces nothing: each is written by a family for the host (docs/families.md).
// What a stage reads and no buffer holds is computed where it is read.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_PROPOSE_CATALOG_KERNEL_H
#define FASTK_LIB_PROPOSE_CATALOG_KERNEL_H

#include "fastk/Families/Emitter.h"
#include "fastk/Propose/Catalog/CKernel.h"

namespace fastk {
namespace catalog {

/// A contraction: a sum of products of something that depends on m and k and
/// something that depends on n and k. Dims are loops of the generic.
struct Contraction {
  Reduction reduction;
  /// Values of the body.
  mlir::Value lhs, rhs;
  llvm::SmallVector<unsigned> batch, m, n, k;
  /// Some operand reads at sums of loops: a window.
  bool windowed = false;
  int64_t mSize = 1, nSize = 1;
};
std::optional<Contraction> matchContraction(mlir::Value value);

/// More scratch than this is refused: a kernel that needs it was split badly.
inline constexpr int64_t kMaxWorkspace = int64_t(1) << 30;

/// A value that no expression computes, and where it was wanted.
struct Use {
  mlir::Value value;
  llvm::SmallVector<Lin> index;
};

struct Discovery {
  std::vector<Use> uses;
  std::vector<Use> expensive;
  std::string failure;
};

class KernelEmitter {
public:
  KernelEmitter(const Machine &machine, const Parameters &parameters,
                StageFamilies &families)
      : program(machine.vectorBytes / 4, machine.threads), machine(machine),
        parameters(parameters), families(families) {
    program.masksByRegisters = machine.masksByRegisters();
  }

  bool emit(mlir::Block &pattern, CKernel &kernel);
  const std::string &failure() const { return program.failure; }

private:
  /// Emits what writes `root` into `destination`, stages before it included.
  bool produce(mlir::Value root, const Buffer &destination);
  /// Produces a value into the workspace.
  bool materialize(mlir::Value value);
  /// Where the chain of elementwise consumers of a value ends.
  mlir::Value advance(mlir::Value value);
  Discovery discover(mlir::Value value, llvm::ArrayRef<Lin> index);
  Discovery discoverWith(llvm::function_ref<void(Scope &)> body);
  bool materializeUses(const Discovery &discovery,
                       llvm::function_ref<bool(const Use &)> keep,
                       bool &changed);

  /// In place of pads of zeros, what their tensors need.
  bool lookIntoPads(Discovery &discovery);
  bool emitContraction(mlir::Value root, const Buffer &destination,
                       llvm::ArrayRef<Lin> rootIndex, const Use &use,
                       const Contraction &contraction, bool keepsPads);
  /// Emits `root`, which reads only what is in buffers, by the family that
  /// expects to be fastest of those that serve it as the first core that it is.
  bool emitByFamily(llvm::ArrayRef<llvm::StringRef> cores, mlir::Value root,
                    const Buffer &destination);
  /// The same. False: none serves it, and nothing has changed.
  bool emitAsOneOf(llvm::ArrayRef<llvm::StringRef> cores, mlir::Value root,
                   const Buffer &destination);
  /// Whether it is a pad, a concatenation or their like.
  static bool isPieces(mlir::Value value);
  /// Writes what stands before rows that the root is made of, and finds the
  /// reductions of these; none where it reduces nothing. With `keepsPieces`
  /// pads and concatenations stay with what reads them. False: it cannot;
  /// `changed`: something was written, so that others may be gone.
  bool prepareRows(mlir::Value root, llvm::ArrayRef<Lin> index,
                   bool keepsPieces, std::vector<Use> &rows, bool &changed);
  /// What the parameters say of the numbers of a stage's program.
  families::WantedNumbers wantedNumbers(llvm::StringRef suffix) const;
  /// The whole program.
  bool join(llvm::StringRef signature, CKernel &kernel);
  /// The loops of a reduction at an index of its result, those that are reduced
  /// as variables of their own. Nothing: they are not linear in the index.
  std::optional<llvm::SmallVector<Lin>> placeLoops(const Reduction &reduction,
                                                   llvm::ArrayRef<Lin> index);
  /// All of them as variables.
  llvm::SmallVector<Lin> placeLoopsAnywhere(const Reduction &reduction);
  /// A variable of a loop's values, unless it has one.
  Lin placeLoop(int64_t extent);
  /// What a value of a reduction's body reads there.
  Discovery discoverElement(const Reduction &reduction, mlir::Value element,
                            llvm::ArrayRef<Lin> index);
  /// The one sum of products that rows of reductions are made of, which are
  /// among `uses` or below them; nothing: it is not one. What else they read is
  /// appended to `others`.
  std::optional<Use> findScores(std::vector<Use> uses,
                                std::vector<Use> &others);
  /// What a factor reads that no expression computes, or only at a cost.
  static void appendUses(const Discovery &factor, std::vector<Use> &uses);
  /// What `emit` does, or nothing: false where it cannot.
  bool attempt(llvm::function_ref<bool()> emit);
  /// Emits two products with a softmax between.
  bool emitAttention(mlir::Value root, const Buffer &destination,
                     llvm::ArrayRef<Lin> rootIndex, const Use &use,
                     const Contraction &values);

  Program program;
  Machine machine;
  Parameters parameters;
  Parameters used;
  std::vector<std::string> stages;
  StageFamilies &families;
  /// A stage that a family writes, and what stands behind the names that its
  /// program defines.
  struct FamilyStage {
    StageFamilies::Filled filled;
    std::string suffix;

    llvm::StringRef helpers() const {
      return llvm::StringRef(filled.instance.program)
          .take_front(filled.instance.helpers);
    }
    llvm::StringRef own() const {
      return llvm::StringRef(filled.instance.program)
          .drop_front(filled.instance.helpers);
    }
  };
  std::vector<FamilyStage> familyStages;
  /// What families said of the last stage that none of them writes, and of
  /// those that other stages compute for that reason.
  std::string refusal;
  std::vector<std::string> refusals;
  /// Whether elements of pads and concatenations are looked into.
  bool seesPieces = false;
  /// Values whose stage is being emitted.
  std::set<void *> inProgress;
};

} // namespace catalog
} // namespace fastk

#endif // FASTK_LIB_PROPOSE_CATALOG_KERNEL_H
