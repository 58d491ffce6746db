//===- ClosedStreams.h - Streams that a tool began without ------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_SYSTEM_CLOSEDSTREAMS_H
#define FASTK_SYSTEM_CLOSEDSTREAMS_H

namespace fastk {

/// Takes the numbers of standard streams that are closed, before a file gets
/// one: results would be written into it, or messages. Reading standard input
/// and writing standard output stay errors; messages go nowhere. To be called
/// first in main.
void occupyClosedStreams();

} // namespace fastk

#endif // FASTK_SYSTEM_CLOSEDSTREAMS_H
