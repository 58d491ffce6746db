//===- Tools.h - The programs of fastk, as functions ------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each is a program of its own, and some are one program together
// (tools/wheel). So none has options, or anything else that LLVM keeps for the
// whole process, before it is called.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_TOOLS_TOOLS_H
#define FASTK_TOOLS_TOOLS_H

namespace fastk {

int bankMain(int argc, char **argv);
int lspMain(int argc, char **argv);
int optMain(int argc, char **argv);
int runMain(int argc, char **argv);
int workerMain(int argc, char **argv);

} // namespace fastk

#endif // FASTK_TOOLS_TOOLS_H
