//===- FuzzBank.cpp - Winners from anywhere -------------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FuzzFolder.h"
#include "fastk/Bank/Bank.h"
#include "fastk/Dialect/Fastk/Key.h"
#include "fastk/Support/Sha256.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Complex/IR/Complex.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace fastk;

/// A context keeps every type and attribute it ever saw; a new one is made
/// before they are many.
static MLIRContext &contextForSome() {
  static std::unique_ptr<MLIRContext> context;
  static unsigned uses = 0;
  if (!context || ++uses % 500 == 0) {
    DialectRegistry registry;
    registry
        .insert<FastkDialect, affine::AffineDialect, arith::ArithDialect,
                complex::ComplexDialect, linalg::LinalgDialect,
                math::MathDialect, scf::SCFDialect, tensor::TensorDialect>();
    context = std::make_unique<MLIRContext>(registry,
                                            MLIRContext::Threading::DISABLED);
  }
  return *context;
}

void fastk::fuzz::fuzzBank(std::string_view data) {
  static const FuzzFolder folder;
  static const std::string winner = [] {
    std::string path = folder.file("host/any winner");
    if (llvm::sys::fs::create_directories(path))
      fail("a folder can be made");
    return path;
  }();
  MLIRContext &context = contextForSome();
  auto [text, program] =
      llvm::StringRef(data.data(), data.size()).split("//PROGRAM\n");
  folder.write("host/any winner/lowering.mlir", text);
  for (const char *name :
       {"kernel.c", "kernel.cu", "kernel.mlir", "schedule.mlir"})
    folder.write(std::string("host/any winner/") + name, program);

  llvm::Expected<WinnerHeader> header = parseWinnerHeader(text);
  std::string key(64, '0');
  if (header)
    key = header->key;
  else if (llvm::toString(header.takeError()).empty())
    fail("a head that cannot be read has a reason");

  llvm::Expected<Bank> bank = Bank::open(folder.path);
  if (!bank)
    fail("a bank of any winners opens", llvm::toString(bank.takeError()));
  for (const BankEntry &entry : bank->list())
    if (!entry.header && entry.problem.empty())
      fail("a winner that is not listed has a reason");
  WinnerFilter filter;
  filter.loosest = Precision::half;
  filter.anyMachine = true;
  BankLookup found = bank->lookup(key, filter, &context);
  if (!found.winner && found.reason.empty())
    fail("a miss has a reason");
  if (found.winner) {
    LoweringOp lowering = found.winner->getLowering();
    if (lowering.getKey() != key ||
        computeKey(lowering.getPattern()) != lowering.getKey())
      fail("a hit has the key that was asked for");
    if (lowering.getSource() &&
        sha256(*lowering.getSource()) != *lowering.getDigest())
      fail("a hit has the program that was proved");
    (void)found.winner->getRecord().toAttribute(&context);
    // What is written of it is the same winner.
    folder.write("host/any winner/lowering.mlir", printLoweringFile(lowering));
    auto again = Bank::load(winner, &context);
    if (!again)
      fail("a winner that was written can be read",
           llvm::toString(again.takeError()));
    if (printLoweringFile((*again)->getLowering()) !=
        printLoweringFile(lowering))
      fail("a winner is the same after a round trip");
  }
  (void)bank->explainMiss(key, filter, "add", "8xf32", &context);
  (void)bank->mostReductions("host");
}
