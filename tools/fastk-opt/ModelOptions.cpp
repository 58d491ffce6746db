//===- ModelOptions.cpp - How a model is compiled -------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ModelOptions.h"

using namespace fastk;
using llvm::StringRef;

llvm::Error fastk::readPrecision(StringRef text, DriverOptions &options) {
  auto [all, ofConvolutions] = text.split(',');
  if (llvm::Error error =
          parseChoice<Precision>(all, "").moveInto(options.precision))
    return error;
  if (all.size() == text.size())
    return llvm::Error::success();
  if (!ofConvolutions.consume_front("convolution="))
    return llvm::createStringError("--precision=" + text + ": '" +
                                   ofConvolutions +
                                   "' is no kind of workload: after a comma "
                                   "say convolution=CLASS");
  return parseChoice<Precision>(ofConvolutions, "")
      .moveInto(options.convolutions.emplace());
}

llvm::Error fastk::readWinnersFrom(StringRef text, DriverOptions &options) {
  StringRef measured = text;
  if (text == "family" || text == "any,family") {
    options.fromFamilies = true;
    measured = text == "family" ? "here" : "any";
  } else if (text != "here" && text != "any") {
    return llvm::createStringError("unknown --winners-from '" + text +
                                   "': choose here, any, family or any,family");
  }
  return parseChoice<WinnersFrom>(measured, "--").moveInto(options.winnersFrom);
}

llvm::Error fastk::readLayout(StringRef text, DriverOptions &options) {
  if (text != "auto" && text != "as-is" && text != "channels-last")
    return llvm::createStringError("unknown --layout '" + text +
                                   "': choose as-is, channels-last or auto");
  // A search stores winners under keys that other compiles are to find.
  options.channelsLast =
      text == "channels-last" || (text == "auto" && options.fromFamilies &&
                                  options.search.scope == SearchScope::None &&
                                  options.search.target == "cuda:sm_90a");
  return llvm::Error::success();
}
