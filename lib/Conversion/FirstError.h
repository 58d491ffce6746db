//===- FirstError.h - What is wrong with a program's text -------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_CONVERSION_FIRSTERROR_H
#define FASTK_LIB_CONVERSION_FIRSTERROR_H

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Location.h"
#include <algorithm>
#include <functional>

namespace fastk {

/// Keeps errors of a context from the user, and the first one with its place
/// where that is in the file of this name.
class FirstError {
public:
  using Explain = std::function<std::string(std::string)>;

  FirstError(mlir::MLIRContext *context, llvm::StringRef name,
             Explain explain = nullptr)
      : handler(context, [this, name = name.str(),
                          explain](mlir::Diagnostic &diagnostic) {
          // Remarks are no part of it; they go on.
          if (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Remark)
            return mlir::failure();
          if (diagnostic.getSeverity() != mlir::DiagnosticSeverity::Error ||
              !text.empty())
            return mlir::success();
          place = placeOf(diagnostic.getLocation(), name);
          text = explain ? explain(diagnostic.str()) : diagnostic.str();
          // One line: it goes into verdicts and tables.
          std::replace(text.begin(), text.end(), '\n', ' ');
          return mlir::success();
        }) {}

  /// "kernel.mlir:12:5", or empty.
  std::string place;
  std::string text;

  static std::string placeOf(mlir::Location loc, llvm::StringRef name) {
    auto found = loc->findInstanceOf<mlir::FileLineColLoc>();
    if (!found || found.getFilename().getValue() != name)
      return "";
    return (name + ":" + llvm::Twine(found.getLine()) + ":" +
            llvm::Twine(found.getColumn()))
        .str();
  }

private:
  mlir::ScopedDiagnosticHandler handler;
};

} // namespace fastk

#endif // FASTK_LIB_CONVERSION_FIRSTERROR_H
