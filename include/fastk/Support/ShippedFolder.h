//===- ShippedFolder.h - What fastk brings beside its programs --*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_SUPPORT_SHIPPEDFOLDER_H
#define FASTK_SUPPORT_SHIPPEDFOLDER_H

#include "llvm/ADT/StringRef.h"
#include <optional>
#include <string>

namespace fastk {

/// The folder `name` ("winners") of the installation, the build or the copied
/// folder that the running program is in; where that is another one than
/// fastk's, that of the plugin, or of the fastk-opt in PATH; nothing where
/// there is none. `executable` is argv[0], for systems that cannot tell the
/// program otherwise.
std::optional<std::string> shippedFolder(llvm::StringRef name,
                                         llvm::StringRef executable = "");

} // namespace fastk

#endif // FASTK_SUPPORT_SHIPPEDFOLDER_H
