//===- ModelDiagnostics.cpp - Diagnostics of a model's file ---------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Driver/ModelDiagnostics.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace fastk;

/// The file where `loc` is all of it; null for a place in it.
static FileLineColLoc wholeFile(Location loc) {
  auto place = loc->findInstanceOf<FileLineColLoc>();
  return place && place.getLine() == 0 ? place : FileLineColLoc();
}

static llvm::SourceMgr::DiagKind kindOf(DiagnosticSeverity severity) {
  switch (severity) {
  case DiagnosticSeverity::Note:
    return llvm::SourceMgr::DK_Note;
  case DiagnosticSeverity::Warning:
    return llvm::SourceMgr::DK_Warning;
  case DiagnosticSeverity::Error:
    return llvm::SourceMgr::DK_Error;
  case DiagnosticSeverity::Remark:
    return llvm::SourceMgr::DK_Remark;
  }
  llvm_unreachable("all severities are named above");
}

ModelDiagnosticHandler::ModelDiagnosticHandler(llvm::SourceMgr &sourceMgr,
                                               MLIRContext *context,
                                               llvm::raw_ostream &said)
    : SourceMgrDiagnosticHandler(sourceMgr, context, said) {
  setHandler([this](Diagnostic &diag) {
    if (!wholeFile(diag.getLocation()))
      return emitDiagnostic(diag);
    print(diag.getLocation(), diag.str(), diag.getSeverity());
    for (Diagnostic &note : diag.getNotes())
      print(note.getLocation(), note.str(), note.getSeverity());
  });
}

void ModelDiagnosticHandler::print(Location loc, const std::string &text,
                                   DiagnosticSeverity severity) {
  if (FileLineColLoc file = wholeFile(loc))
    llvm::SMDiagnostic(file.getFilename(), kindOf(severity), text)
        .print(nullptr, os);
  else
    emitDiagnostic(loc, text, severity);
}
