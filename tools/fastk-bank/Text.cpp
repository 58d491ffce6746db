//===- Text.cpp - What the commands of fastk-bank print
//---------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tool.h"
#include "fastk/System/FormatSeconds.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace fastk;

std::string fastk::bank::formatTime(double nanoseconds) {
  return formatSeconds(nanoseconds * 1e-9);
}

std::string fastk::bank::formatRatio(double ratio) {
  return ratio <= 0 ? "-" : llvm::formatv("{0:f2}x", ratio).str();
}

void fastk::bank::printTable(const std::vector<std::vector<std::string>> &rows,
                             llvm::raw_ostream &os) {
  std::vector<size_t> widths;
  for (const auto &row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (auto [i, cell] : llvm::enumerate(row))
      widths[i] = std::max(widths[i], cell.size());
  }
  for (const auto &row : rows) {
    for (auto [i, cell] : llvm::enumerate(row)) {
      os << cell;
      if (i + 1 < row.size())
        os.indent(widths[i] - cell.size() + 2);
    }
    os << "\n";
  }
}

int fastk::bank::reportError(const llvm::Twine &message) {
  llvm::errs() << "fastk-bank: error: " << message << "\n";
  return kExitWrong;
}
