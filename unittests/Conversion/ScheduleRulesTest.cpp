//===- ScheduleRulesTest.cpp - What a schedule may use --------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Schedule/ScheduleRules.h"
#include "CodegenFixture.h"
#include "fastk/Conversion/CudaCodegen.h"
#include "mlir/Dialect/Transform/DebugExtension/DebugExtension.h"
#include "llvm/Support/Path.h"
#include "gmock/gmock.h"

using namespace fastk;
using namespace fastk::test;
using testing::HasSubstr;

namespace {
struct ScheduleRulesTest : CodegenFixture {
  ScheduleRulesTest() {
    // fastk-opt has all extensions there are.
    mlir::DialectRegistry registry;
    mlir::transform::registerDebugExtension(registry);
    context.appendDialectRegistry(registry);
  }

  static constexpr llvm::StringLiteral pattern = R"(
    #id = affine_map<(i) -> (i)>
    func.func @f(%x: tensor<100xf32>) -> tensor<100xf32> {
      %e = tensor.empty() : tensor<100xf32>
      %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
        ins(%x : tensor<100xf32>) outs(%e : tensor<100xf32>) {
      ^bb0(%a: f32, %o: f32):
        %0 = arith.addf %a, %a : f32
        linalg.yield %0 : f32
      } -> tensor<100xf32>
      return %y : tensor<100xf32>
    })";

  /// A schedule that does `step` to %op, with `others` beside its entry.
  static std::string schedule(llvm::StringRef step,
                              llvm::StringRef others = "") {
    return (
               R"(module attributes {transform.with_named_sequence} {
)" + others + R"(
transform.named_sequence @__fastk_schedule(%func: !transform.any_op {transform.readonly}) {
  %op = transform.structured.match ops{["linalg.generic"]} in %func : (!transform.any_op) -> !transform.any_op
  )" + step + R"(
  transform.yield
}
})")
        .str();
  }
};
} // namespace

/// One of each class that is refused, each before anything runs.
TEST_F(ScheduleRulesTest, RefusedOps) {
  struct Case {
    const char *op, *step, *why;
  };
  const Case cases[] = {
      {"transform.print", "transform.print %op : !transform.any_op",
       "it writes output"},
      {"transform.debug.emit_remark_at",
       "transform.debug.emit_remark_at %op, \"hi\" : !transform.any_op",
       "it writes output"},
      {"transform.apply_registered_pass",
       "%x = transform.apply_registered_pass \"canonicalize\" to %op : "
       "(!transform.any_op) -> !transform.any_op",
       "it runs any pass there is"},
      {"transform.func.cast_and_call",
       "%c = transform.func.cast_and_call @f before %op : "
       "(!transform.any_op) -> !transform.any_op",
       "it makes, changes or calls functions"},
      {"transform.loop.outline",
       "%a, %b = transform.loop.outline %op {func_name = \"g\"} : "
       "(!transform.any_op) -> (!transform.any_op, !transform.any_op)",
       "it makes, changes or calls functions"},
      {"transform.structured.replace",
       "%r = transform.structured.replace %op {\n  builtin.module {}\n"
       "} : (!transform.any_op) -> !transform.any_op",
       "it brings in code that is not the pattern's"},
      {"transform.memref.alloca_to_global",
       "%g, %h = transform.memref.alloca_to_global %op : "
       "(!transform.op<\"memref.alloca\">) -> (!transform.any_op, "
       "!transform.any_op)",
       "it keeps memory between calls"},
      {"transform.apply_conversion_patterns",
       "transform.apply_conversion_patterns to %op {\n} "
       "{legal_dialects = [\"func\"], partial_conversion} : !transform.any_op",
       "it leaves the way to LLVM"},
      {"transform.annotate",
       "transform.annotate %op \"fastk.work\" : !transform.any_op",
       "it writes attributes"},
      {"transform.structured.specialize",
       "%s = transform.structured.specialize %op : (!transform.any_op) -> "
       "!transform.any_op",
       "it loses the transposition of operands"},
  };
  for (const Case &c : cases) {
    SCOPED_TRACE(c.op);
    std::string text = schedule(c.step);
    // The op that the handle is of does not matter for a text that must parse.
    if (llvm::StringRef(c.op).contains("alloca_to_global"))
      text.replace(text.find("-> !transform.any_op"), 20,
                   "-> !transform.op<\"memref.alloca\">");
    EXPECT_FALSE(compileToModule(pattern, KernelRole::Program,
                                 Language::schedule, text));
    EXPECT_THAT(errors, HasSubstr("schedule schedule.mlir:5:"));
    EXPECT_THAT(errors, HasSubstr("uses '" + std::string(c.op) + "'"));
    EXPECT_THAT(errors, HasSubstr(c.why));
    EXPECT_THAT(errors, HasSubstr("(required by 'fastk.schedule_ops')"));
  }
}

/// Nor where it would be run only through another op, or never.
TEST_F(ScheduleRulesTest, RefusedOpsInside) {
  EXPECT_FALSE(compileToModule(
      pattern, KernelRole::Program, Language::schedule,
      schedule("transform.foreach %op : !transform.any_op {\n"
               "^bb0(%each: !transform.any_op):\n"
               "  transform.print %each : !transform.any_op\n}")));
  EXPECT_THAT(errors, HasSubstr("schedule.mlir:7:3 uses 'transform.print'"));
  EXPECT_FALSE(compileToModule(
      pattern, KernelRole::Program, Language::schedule,
      schedule("", "transform.named_sequence @other(%o: !transform.any_op "
                   "{transform.readonly}) {\n  transform.print %o : "
                   "!transform.any_op\n  transform.yield\n}")));
  EXPECT_THAT(errors, HasSubstr("uses 'transform.print'"));
}

TEST_F(ScheduleRulesTest, OtherDialectsAreRefused) {
  EXPECT_FALSE(
      compileToModule(pattern, KernelRole::Program, Language::schedule,
                      schedule("", "func.func private @puts(i64) -> i32")));
  EXPECT_THAT(errors, HasSubstr("uses 'func.func'"));
  EXPECT_THAT(errors, HasSubstr("it is no transform op"));
}

TEST_F(ScheduleRulesTest, AllowedStepsRun) {
  auto kernel = compile(
      pattern, KernelRole::Program, Language::schedule,
      schedule(
          "%p = transform.param.constant 20 : i64 -> !transform.param<i64>\n"
          "%t, %l = transform.structured.tile_using_for %op tile_sizes [%p] : "
          "(!transform.any_op, !transform.param<i64>) -> (!transform.any_op, "
          "!transform.any_op)\n"
          "transform.include @more failures(propagate) (%l) : "
          "(!transform.any_op) -> ()",
          "transform.named_sequence @more(%l: !transform.any_op "
          "{transform.consumed}) {\n transform.loop.unroll %l {factor = 5} : "
          "!transform.any_op\n transform.yield\n}"));
  ASSERT_TRUE(kernel);
  std::vector<float> x(100, 1.5f);
  EXPECT_EQ(kernel->runF32({x}, 100), std::vector<float>(100, 3.0f));
}

/// A name that MLIR does not have allows nothing and hides a mistake.
TEST_F(ScheduleRulesTest, TheListNamesOpsThatExist) {
  context.loadAllAvailableDialects();
  for (llvm::StringRef op : allowedScheduleOps())
    EXPECT_TRUE(mlir::RegisteredOperationName::lookup(("transform." + op).str(),
                                                      &context))
        << op.str();
  EXPECT_TRUE(llvm::is_sorted(allowedScheduleOps()));
}

/// docs/schedules.md lists what is allowed, one name in backquotes each.
TEST_F(ScheduleRulesTest, TheDocumentHasTheList) {
  llvm::SmallString<256> path(FASTK_SOURCE_DIR);
  llvm::sys::path::append(path, "docs", "schedules.md");
  auto text = llvm::MemoryBuffer::getFile(path);
  ASSERT_TRUE(bool(text)) << path.c_str();
  auto begins = (*text)->getBuffer().find("<!-- allowed -->"),
       ends = (*text)->getBuffer().find("<!-- end -->");
  ASSERT_NE(begins, llvm::StringRef::npos);
  llvm::StringRef list = (*text)->getBuffer().slice(begins, ends);
  for (llvm::StringRef op : allowedScheduleOps())
    EXPECT_TRUE(list.contains(("`" + op + "`").str())) << op.str();
  for (llvm::StringRef family : allowedScheduleFamilies())
    EXPECT_TRUE(list.contains(("`" + family + "*`").str())) << family.str();
  EXPECT_EQ(list.count('`'), 2 * (allowedScheduleOps().size() +
                                  allowedScheduleFamilies().size()));
}

/// And the numbers that kernels of a GPU can be told, with the values they
/// take.
TEST_F(ScheduleRulesTest, ChoicesAreDocumented) {
  llvm::SmallString<128> path(FASTK_SOURCE_DIR);
  llvm::sys::path::append(path, "docs", "schedules.md");
  auto text = llvm::MemoryBuffer::getFile(path);
  ASSERT_TRUE(text) << path.str().str();
  auto begins = (*text)->getBuffer().find("<!-- choices -->"),
       ends = (*text)->getBuffer().find("<!-- end choices -->");
  ASSERT_NE(begins, llvm::StringRef::npos);
  llvm::StringRef list = (*text)->getBuffer().slice(begins, ends);
  for (const KernelChoice &choice : kernelChoices()) {
    EXPECT_TRUE(list.contains(("| `" + choice.name + "` | ").str()))
        << choice.name.str();
    EXPECT_FALSE(choice.allows(choice.least - 1)) << choice.name.str();
    EXPECT_FALSE(choice.allows(choice.most + 1)) << choice.name.str();
    EXPECT_TRUE(choice.allows(choice.least)) << choice.name.str();
    EXPECT_TRUE(choice.allows(choice.most)) << choice.name.str();
  }
  EXPECT_EQ(list.count('`'), 2 * kernelChoices().size());
}
