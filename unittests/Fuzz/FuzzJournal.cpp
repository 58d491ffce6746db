//===- FuzzJournal.cpp - Journals from anywhere ---------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FuzzFolder.h"
#include "fastk/Dialect/Fastk/Key.h"
#include "fastk/Search/Journal.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CRC.h"

using namespace llvm;
using namespace fastk;

static std::string framed(StringRef body) {
  return "{\"check\":\"" +
         utohexstr(crc32(arrayRefFromStringRef(body)), /*LowerCase=*/true, 8) +
         "\",\"event\":" + body.str() + "}\n";
}

void fastk::fuzz::fuzzJournal(std::string_view data) {
  static const FuzzFolder folder;
  static const JournalBinding binding{{{"key", "k"}}, {{"worker", "w"}}};
  StringRef text(data.data(), data.size());
  std::string content;
  if (text.consume_front("raw\n")) {
    content = text.str();
  } else {
    SmallVector<StringRef> lines;
    text.split(lines, '\n', -1, /*KeepEmpty=*/false);
    for (StringRef line : lines)
      content += framed(line);
  }
  for (const std::string &old : {"journal.1.jsonl", "journal.2.jsonl"})
    sys::fs::remove(folder.file(old));
  folder.write("journal.jsonl", content);

  (void)Journal::spentIn(folder.path);
  Expected<std::optional<RecordedSearch>> recorded =
      Journal::recordedIn(folder.path);
  if (!recorded && toString(recorded.takeError()).empty())
    fail("a journal that cannot be read has a reason");

  size_t events = 0;
  {
    Expected<std::unique_ptr<Journal>> journal =
        Journal::open(folder.path, binding);
    if (!journal) {
      if (toString(journal.takeError()).empty())
        fail("a journal that cannot be opened has a reason");
      return;
    }
    events = (*journal)->resumedEvents();
    (void)(*journal)->findIdeas("seeds");
    for (StringRef name : {"seeds", "realise/0/catalog/a", "0/catalog"}) {
      auto variants = (*journal)->findVariants(name);
      if (!variants)
        consumeError(variants.takeError());
      (void)(*journal)->findIdeas(name);
      auto reply = (*journal)->findExchange(name);
      if (!reply)
        consumeError(reply.takeError());
    }
    (void)(*journal)->exchangeUsages();
    std::vector<int> counts = {1, 2};
    TargetDescription device;
    if (Error error = (*journal)->recallDevice(device))
      fail("a journal that was opened takes the device",
           toString(std::move(error)));
    if (Error error = (*journal)->recallCounts("a fuzzer's", counts, 1))
      fail("a journal that was opened takes counts",
           toString(std::move(error)));
    // Of status ok: an evaluation that failed may be made again.
    worker::Verdict verdict;
    verdict.id = "x";
    verdict.status = worker::Status::OK;
    if (!(*journal)->findVerdict("evaluate/a fuzzer's"))
      if (Error error =
              (*journal)->recordVerdict("evaluate/a fuzzer's", verdict, 1))
        fail("a journal that was opened takes a verdict",
             toString(std::move(error)));
  }
  // What was opened once and grew opens again, and has all that it had.
  Expected<std::unique_ptr<Journal>> again =
      Journal::open(folder.path, binding);
  if (!again)
    fail("a journal that was opened opens again", toString(again.takeError()));
  if ((*again)->resumedEvents() < events ||
      !(*again)->findVerdict("evaluate/a fuzzer's"))
    fail("a journal keeps what was recorded");
}
