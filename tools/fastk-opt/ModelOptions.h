//===- ModelOptions.h - How a model is compiled -----------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Options whose texts say more than one thing.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_TOOLS_FASTK_OPT_MODELOPTIONS_H
#define FASTK_TOOLS_FASTK_OPT_MODELOPTIONS_H

#include "Options.h"
#include "llvm/Support/Error.h"

namespace fastk {

/// --precision: "ieee", "ieee,convolution=tf32".
llvm::Error readPrecision(llvm::StringRef text, DriverOptions &options);

/// --winners-from: "here", "any", "family" and "any,family".
llvm::Error readWinnersFrom(llvm::StringRef text, DriverOptions &options);

/// --layout, once the target, --winners-from and whether there is a search are
/// known.
llvm::Error readLayout(llvm::StringRef text, DriverOptions &options);

} // namespace fastk

#endif // FASTK_TOOLS_FASTK_OPT_MODELOPTIONS_H
