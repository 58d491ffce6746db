//===- TestCatalog.cpp - Prints the catalog's C program of a file ---------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// fastk-test-catalog FILE [NAME=VALUE...]: the program that the catalog writes
// for the first function of a file as one workload, for
// benchmarks/host_stages.py. "threads" and "vectorBytes" are of the machine,
// other names are parameters. Lines of comment behind the program say its
// stages, workspace, buffers and parameters.
//
//===----------------------------------------------------------------------===//

#include "../../Analysis/WorkloadFixture.h"
#include "fastk/Propose/Catalog/CKernel.h"
#include "fastk/Target/TargetDescription.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace fastk;
using catalog::Parameters;
using mlir::RankedTensorType;

static int fail(const llvm::Twine &why) {
  llvm::errs() << "error: " << why << "\n";
  return 1;
}

/// "input 4096 f32": of how many elements of which type a buffer is.
static void printBuffer(llvm::StringRef kind, mlir::Type type) {
  auto tensor = mlir::cast<RankedTensorType>(type);
  llvm::outs() << "// " << kind << " " << tensor.getNumElements() << " "
               << tensor.getElementType() << "\n";
}

int main(int argc, char **argv) {
  if (argc < 2)
    return fail("usage: fastk-test-catalog FILE [NAME=VALUE...]");
  catalog::Machine machine = catalog::machineOf(identifyHost());
  Parameters parameters;
  for (int i = 2; i < argc; ++i) {
    auto [name, text] = llvm::StringRef(argv[i]).split('=');
    int64_t value = 0;
    if (text.getAsInteger(10, value))
      return fail("no NAME=VALUE: " + llvm::Twine(argv[i]));
    if (name == "threads")
      machine.threads = value;
    else
      parameters[name.str()] = value;
  }
  test::Module module = test::wrapFileIntoWorkload(argv[1]);
  if (!module)
    return fail("no module in " + llvm::Twine(argv[1]));
  mlir::FailureOr<CanonicalForm> form =
      computeCanonicalForm(test::getWorkload(*module));
  if (mlir::failed(form))
    return fail("its function is no workload");
  mlir::Block &pattern = *form->getLowering().getPatternBlock();
  llvm::Expected<catalog::StageFamilies> found =
      catalog::StageFamilies::shipped();
  if (!found)
    return fail(toString(found.takeError()));
  catalog::CKernel kernel =
      catalog::emitCKernel(pattern, machine, parameters, *found);
  if (kernel.source.empty())
    return fail(kernel.failure);
  llvm::outs() << kernel.source << "// stages "
               << llvm::join(kernel.stages, " ") << "\n// workspace "
               << kernel.workspaceBytes << "\n";
  for (const std::string &refusal : kernel.refusals)
    llvm::outs() << "// loops: " << refusal << "\n";
  for (mlir::Type type : pattern.getArgumentTypes())
    printBuffer("input", type);
  for (mlir::Type type : pattern.getTerminator()->getOperandTypes())
    printBuffer("output", type);
  for (const auto &[name, value] : kernel.parameters)
    llvm::outs() << "// parameter " << name << " " << value << "\n";
  return 0;
}
