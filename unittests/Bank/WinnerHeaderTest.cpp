//===- WinnerHeaderTest.cpp - The head of lowering.mlir -------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BankTestUtils.h"
#include "mlir/Parser/Parser.h"

using namespace fastk;
using namespace fastk::test;

TEST(WinnerHeader, SaysWhatTheLoweringSays) {
  TestContext context;
  auto module = makeWinner(context, 8, 500, "", Precision::tf32, "cuda:sm_90a");
  LoweringOp lowering = TestContext::loweringOf(*module);
  auto header = parseWinnerHeader(printLoweringFile(lowering));
  ASSERT_TRUE(static_cast<bool>(header)) << llvm::toString(header.takeError());
  EXPECT_EQ(header->key, lowering.getKey());
  EXPECT_EQ(header->formatVersion, LoweringOp::kFormatVersion);
  EXPECT_EQ(header->target, "cuda:sm_90a");
  EXPECT_EQ(header->precision, Precision::tf32);
  EXPECT_EQ(header->language, Language::c);
  EXPECT_EQ(header->file, "kernel.c");
  EXPECT_EQ(header->digest, *lowering.getDigest());
  EXPECT_EQ(header->name, "add");
  EXPECT_EQ(header->shapes, "8xf32");
  EXPECT_EQ(header->title, "add \"twice\"");
  EXPECT_EQ(header->medianNs, 500);
  EXPECT_EQ(header->speedup, 2);
  EXPECT_EQ(header->threads, 2);
}

// Whoever runs the file through fastk-opt gets another layout and the same op.
TEST(WinnerHeader, DoesNotDependOnTheLayout) {
  TestContext context;
  auto module = makeWinner(context, 8, 500);
  LoweringOp lowering = TestContext::loweringOf(*module);
  lowering.removeSourceAttr();
  std::string text;
  llvm::raw_string_ostream os(text);
  lowering->print(os);
  auto header = parseWinnerHeader(text);
  ASSERT_TRUE(static_cast<bool>(header)) << llvm::toString(header.takeError());
  EXPECT_EQ(header->key, lowering.getKey());
  EXPECT_EQ(header->medianNs, 500);
}

// MLIR spells a double that six digits do not give back in hexadecimal bits,
// which nobody can read in a diff.
TEST(WinnerHeader, TimesAreReadable) {
  TestContext context;
  for (double median : {5053325.0, 3398953.0, 78901.23456789, 1e9 / 3}) {
    auto module = makeWinner(context, 8, median);
    std::string text = printLoweringFile(TestContext::loweringOf(*module));
    EXPECT_EQ(text.find("= 0x"), std::string::npos) << text;
    auto header = parseWinnerHeader(text);
    ASSERT_TRUE(static_cast<bool>(header))
        << llvm::toString(header.takeError());
    EXPECT_NEAR(header->medianNs / median, 1, 1e-5);
  }
}

// A model tells its idea in a thousand letters: no line of a diff is longer
// than a screen for it, and no letter is lost.
TEST(WinnerHeader, LongTextsAreReadable) {
  TestContext context;
  std::string sentence = "Rows are read once, \"as\" they come\tand kept. ";
  for (std::string text :
       {std::string(), std::string("short"), std::string("two\nlines"),
        std::string("\n"), std::string("ends\n"), std::string(300, 'x'),
        std::string(100, ' '), "a " + std::string(200, 'y') + " b\n\nc",
        sentence + sentence + sentence + "\n" + sentence + sentence}) {
    auto module = makeWinner(context, 8, 500);
    LoweringOp lowering = TestContext::loweringOf(*module);
    WinnerRecord record = WinnerRecord::fromAttribute(lowering.getRecordAttr());
    record.text = text;
    lowering.setRecordAttr(record.toAttribute(&context.context));
    std::string file = printLoweringFile(lowering);
    if (text.find(std::string(81, 'x')) == std::string::npos &&
        text.find(std::string(81, 'y')) == std::string::npos) {
      llvm::SmallVector<llvm::StringRef> lines;
      llvm::StringRef(file).split("} pattern {").first.split(lines, '\n');
      for (llvm::StringRef line : lines)
        EXPECT_LE(line.size(), 110u) << line.str();
    }
    auto parsed = mlir::parseSourceString<mlir::ModuleOp>(
        file, mlir::ParserConfig(&context.context));
    ASSERT_TRUE(parsed) << file;
    LoweringOp again = TestContext::loweringOf(*parsed);
    EXPECT_EQ(WinnerRecord::fromAttribute(again.getRecordAttr()).text, text);
    EXPECT_EQ(printLoweringFile(again), file);
    auto header = parseWinnerHeader(file);
    ASSERT_TRUE(static_cast<bool>(header));
    EXPECT_EQ(header->medianNs, 500);
  }
}

TEST(WinnerHeader, FileRoundTrips) {
  TestContext context;
  auto module = makeWinner(context, 8, 500);
  LoweringOp lowering = TestContext::loweringOf(*module);
  std::string text = printLoweringFile(lowering);
  auto parsed = mlir::parseSourceString<mlir::ModuleOp>(
      text, mlir::ParserConfig(&context.context));
  ASSERT_TRUE(parsed);
  EXPECT_EQ(printLoweringFile(TestContext::loweringOf(*parsed)), text);
  WinnerRecord record = WinnerRecord::fromAttribute(
      TestContext::loweringOf(*parsed).getRecordAttr());
  EXPECT_EQ(record.text, "A line\nand a pattern { in it.");
  EXPECT_EQ(record.errors.at("wide range"), 0.1);
  EXPECT_EQ(record.parameters.at("nr"), 16);
}

// No prefix of a file crashes the reader, and none passes for whole before the
// attributes are.
TEST(WinnerHeader, EveryCutIsAnErrorOrWhole) {
  TestContext context;
  auto module = makeWinner(context, 8, 500);
  std::string text = printLoweringFile(TestContext::loweringOf(*module));
  size_t end = text.find("} pattern {");
  ASSERT_NE(end, std::string::npos);
  for (size_t size = 0; size <= text.size(); ++size) {
    auto header = parseWinnerHeader(llvm::StringRef(text).take_front(size));
    EXPECT_EQ(static_cast<bool>(header), size > end) << size;
    llvm::consumeError(header.takeError());
  }
}
