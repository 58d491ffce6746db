//===- Cassette.h - Recorded searches in one file ---------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The searches of one model, with all that they were told: run again from a
// cassette they need neither language model nor device and come to the same
// end. docs/formats/cassette.md.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_PROPOSE_LLM_CASSETTE_H
#define FASTK_PROPOSE_LLM_CASSETTE_H

#include "fastk/Propose/LLM/RecordedSearch.h"
#include "llvm/Support/Error.h"
#include <memory>

namespace fastk {

struct Cassette {
  /// Where it was read from; for messages.
  std::string path;
  /// SHA-256 of the file.
  std::string digest;
  /// Of the fastk that wrote it.
  std::string fastkVersion;
  /// What was searched for: "host", "cuda:sm_90a".
  std::string target = "host";
  /// What language models were asked to write: "families" or "programs". Empty:
  /// none was asked, or it is not said.
  std::string writes;
  /// In the order in which they were made, each workload once.
  std::vector<RecordedSearch> searches;

  /// The search of the workload with this key, or null.
  const RecordedSearch *find(llvm::StringRef workload) const;
  /// The language models that were asked, in order of first appearance.
  std::vector<std::string> models() const;
};

/// Reads a cassette whole. What is damaged, cut or of another format is an
/// error that names the file and the line.
llvm::Expected<std::shared_ptr<const Cassette>>
readCassette(llvm::StringRef path);
/// The same of a file's content; `path` is for messages.
llvm::Expected<Cassette> parseCassette(llvm::StringRef content,
                                       llvm::StringRef path);

/// The file's content: the same for equal searches, in whatever order their
/// answers came.
std::string toText(const Cassette &cassette);
/// Replaces or makes the file, atomically.
llvm::Error writeCassette(const Cassette &cassette, llvm::StringRef path);

} // namespace fastk

#endif // FASTK_PROPOSE_LLM_CASSETTE_H
