//===- FamilySamples.h - Workloads that a family is for ---------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Samples of a family's core, formed and matched as a search would have them,
// and what evidence says of them.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_DRIVER_FAMILYSAMPLES_H
#define FASTK_DRIVER_FAMILYSAMPLES_H

#include "fastk/Analysis/CanonicalForm.h"
#include "fastk/Families/Evidence.h"
#include "fastk/Families/Family.h"
#include "fastk/Transforms/ApplyFamilies.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>
#include <set>
#include <string>

namespace fastk {

struct SampledWorkload {
  uint64_t number = 0;
  /// What it is, for people.
  std::string about;
  CanonicalForm form;
  families::CoreInstance core;
};

/// The sample of that number as a workload of one device, of the host of \p
/// machine. The context has the dialects of registerCanonicalFormDialects(),
/// loaded. An error where it is no workload of its core: fastk is wrong, and
/// not the family.
llvm::Expected<SampledWorkload>
makeSampledWorkload(llvm::StringRef core, llvm::StringRef target, uint64_t seed,
                    uint64_t number, mlir::MLIRContext *context,
                    const catalog::Machine &machine = {});

/// The samples that meet a family's requirements, from number 0 on, each
/// workload once. Where a looser class than `ieee` is accepted they are those
/// that are served for that.
class FamilySamples {
public:
  /// For the host: those of this machine.
  FamilySamples(const families::Family &family, uint64_t seed,
                Precision accepts, mlir::MLIRContext *context);

  /// An error where many in a row do not meet them: it names the requirement.
  llvm::Expected<SampledWorkload> next();

private:
  const families::Family &family;
  uint64_t seed, number = 0;
  Precision accepts;
  mlir::MLIRContext *context;
  catalog::Machine machine;
  std::set<std::string> keys;
};

/// The file of a family's evidence in a class, on this machine.
std::string evidencePathHere(const families::Family &family, Precision accepts);

/// The classes for which a family was tried here, the strictest first; `ieee`
/// where it was in none.
llvm::SmallVector<Precision> triedClasses(const families::Family &family);

/// " in class tf32"; empty for `ieee`, which goes without saying.
std::string inClass(Precision accepts);

/// Of all headers that the compiler wrote for the samples of evidence, each in
/// the class that was accepted.
std::string digestOfHeaders(llvm::ArrayRef<std::string> headers);

/// The command that admits a family in a class: "ieee".
std::string admissionCommand(const families::Family &family,
                             llvm::StringRef accepts);

/// What has changed since a family was admitted, and the command that admits it
/// again; empty: it stands. `compiler` is the version of what compiles
/// instances on this machine, NVRTC or clang, empty where none is known.
llvm::Expected<std::string> whyExpired(const families::Evidence &evidence,
                                       const families::Family &family,
                                       llvm::StringRef compiler,
                                       mlir::MLIRContext *context);

/// The evidence that admits a family in the class `accepts`. An error that
/// begins with "not admitted: " or "expired: " and says why. `compiler`: as
/// above.
llvm::Expected<families::Evidence>
standingEvidence(const families::Family &family, Precision accepts,
                 llvm::StringRef compiler, mlir::MLIRContext *context);

/// Those of `families` whose evidence stands, for one target and core, and no
/// class looser than `loosest`: first in the loosest class in which there is
/// some, then in stricter ones. `warn` is told, in a line, which were left out
/// and why. It takes 0.2 s a family.
std::vector<AdmittedFamily>
admittedFamilies(llvm::ArrayRef<families::Family> families,
                 llvm::StringRef target, llvm::StringRef core,
                 Precision loosest, llvm::StringRef compiler,
                 mlir::MLIRContext *context,
                 llvm::function_ref<void(const std::string &)> warn);

/// The version of the clang that compiles C programs on this machine; empty:
/// there is none.
std::string clangVersionHere();

/// What standingEvidence() has found, in a line: "admitted: 80 instances, ...",
/// "not admitted: ...", "expired: ...".
std::string describeAdmission(llvm::Expected<families::Evidence> evidence);

/// "1.84x": the geometric mean over the samples that were timed, beside the
/// default lowering; "-" where none was.
std::string describeSpeedup(const families::Evidence &evidence);

} // namespace fastk

#endif // FASTK_DRIVER_FAMILYSAMPLES_H
