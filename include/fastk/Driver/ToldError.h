//===- ToldError.h - What was said already ----------------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_DRIVER_TOLDERROR_H
#define FASTK_DRIVER_TOLDERROR_H

#include "llvm/Support/Error.h"

namespace fastk {

/// What is wrong was said where it was found, by a diagnostic, or there is
/// nobody left to be told: a tool ends and prints nothing more.
class ToldError : public llvm::ErrorInfo<ToldError> {
public:
  inline static char ID = 0;

  void log(llvm::raw_ostream &os) const override {
    os << "the model could not be compiled";
  }
  std::error_code convertToErrorCode() const override {
    return llvm::inconvertibleErrorCode();
  }
};

inline llvm::Error toldError() { return llvm::make_error<ToldError>(); }

} // namespace fastk

#endif // FASTK_DRIVER_TOLDERROR_H
