//===- HostProgram.cpp - Programs of families for the host, run -----------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostProgram.h"
#include "WithNumbers.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Program.h"
#include "gtest/gtest.h"
#include <fstream>
#include <random>

using namespace fastk;
using families::CoreInstance;
using families::Family;
using families::Instance;

CoreInstance fastk::test::describeInC(llvm::StringRef core, CanonicalForm &form,
                                      unsigned vectorBytes, unsigned threads) {
  catalog::Machine machine;
  machine.vectorBytes = vectorBytes;
  machine.threads = threads;
  std::string why;
  std::optional<CoreInstance> found =
      families::findCore(core, form.getPattern().front(), "host", why, machine);
  EXPECT_TRUE(found) << why;
  return found.value_or(CoreInstance());
}

/// An element's type in C.
static std::string typeInC(mlir::Type type) {
  if (type.isInteger(1))
    return "uint8_t";
  if (type.isInteger())
    return "int" + std::to_string(type.getIntOrFloatBitWidth()) + "_t";
  return type.isF16()    ? "f16"
         : type.isBF16() ? "bf16"
         : type.isF64()  ? "double"
                         : "float";
}

/// A drawn one.
static std::string drawnInC(mlir::Type type) {
  if (type.isInteger(1))
    return "draw() % 2";
  if (type.isInteger())
    return "draw() % 33 - 8";
  const char *number = "(float)(draw() % 33 - 16) / 16";
  return type.isBF16() ? "fk_narrows_bf16(" + std::string(number) + ")"
                       : number;
}

/// Operands of small numbers, and the result. Those of the function are a0, a1,
/// ... in its order.
static std::string writeOperands(CanonicalForm &form) {
  std::string text, names;
  mlir::Block &body = form.getPattern().front();
  for (mlir::BlockArgument argument : body.getArguments()) {
    auto type = mlir::cast<mlir::RankedTensorType>(argument.getType());
    std::string name = "x" + std::to_string(argument.getArgNumber());
    std::string element = typeInC(type.getElementType());
    std::string count = std::to_string(type.getNumElements());
    text += "  " + element + " *const " + name + " = malloc(" + count +
            " * sizeof(" + element + ")), *const a" +
            std::to_string(form.inputOrder[argument.getArgNumber()]) + " = " +
            name + ";\n  for (long i = 0; i < " + count + "; ++i) " + name +
            "[i] = " + drawnInC(type.getElementType()) + ";\n";
    names += (names.empty() ? "" : ", ") + name;
  }
  auto result = mlir::cast<mlir::RankedTensorType>(
      body.getTerminator()->getOperandTypes().front());
  return text + "#undef OPERANDS\n#define OPERANDS " + names +
         "\n  const long elements = " +
         std::to_string(result.getNumElements()) +
         ";\n  OUT_TYPE *out = aligned_alloc(64, (elements + 128) / 64 * 64 * "
         "sizeof(OUT_TYPE));\n  memset(out, 0, (elements + 128) / 64 * 64 * "
         "sizeof(OUT_TYPE));\n";
}

// What checks is compiled as it stands: it is run for milliseconds and would be
// optimised for longer than the program that it looks at.
static const char *kHead = R"(
#pragma clang optimize off
#include <stdio.h>
#include <stdlib.h>
static unsigned long state = 88172645463325252ul;
static long draw(void) { state ^= state << 13; state ^= state >> 7; state ^= state << 17; return state >> 33; }
static float read_(OUT_TYPE x) {
#if OUT_IS_BF16
  return fk_widens_bf16(x);
#else
  return x;
#endif
}
static int isNear(double a, double b, double bound) { return (a != a && b != b) || a == b || fabs(a - b) <= bound * (1 + fabs(b)); }
static int bad(const char *what, long a, long b, long c, long d, double x, double wanted) {
  printf("%s at %ld %ld %ld %ld: %g, not %g\n", what, a, b, c, d, x, wanted);
  return 1;
}
// What becomes of sums of columns from c on is stored, as single ones are, and no more.
#define CHECK_COLUMNS_(c, columns, count) \
  { \
    vf32 sums; \
    for (long i = 0; i < LANES; ++i) sums[i] = (float)(draw() % 65 - 32) / 8; \
    const long behind = c + count < columns ? outOffset(b, m, c + count) : -1; \
    const OUT_TYPE before = behind < 0 ? 0 : out[behind]; \
    finishColumns(out, OPERANDS, b, m, c, sums, count); \
    for (long i = 0; i < min(count, LANES); ++i) { \
      const float y = read_(out[outOffset(b, m, c + i)]), wanted = read_(finish(OPERANDS, b, m, c + i, sums[i])); \
      if (!isNear(y, wanted, OUT_BITS == 32 ? 1e-5 : 1e-2)) return bad("result", b, m, c + i, 0, y, wanted); \
    } \
    if (behind >= 0 && count < LANES && memcmp(&before, &out[behind], sizeof before)) return bad("what is behind", b, m, c, 0, 1, 0); \
  }
)";

std::string fastk::test::runOnHost(const std::string &program,
                                   llvm::StringRef ending) {
  llvm::SmallString<128> folder;
  EXPECT_FALSE(llvm::sys::fs::createUniqueDirectory("fastk-host", folder));
  std::string source = (folder + "/p." + ending).str(),
              exe = (folder + "/p").str(), log = (folder + "/log").str();
  std::ofstream(source) << program;
  auto clang = llvm::sys::findProgramByName("clang-22");
  if (!clang)
    return "no clang-22";
  llvm::StringRef compile[] = {"clang-22",
                               ending == "c" ? "-std=gnu17" : "-std=gnu++17",
                               "-O2",
                               "-march=native",
                               "-fopenmp",
                               "-ffp-contract=fast-honor-pragmas",
                               "-fno-math-errno",
                               "-Werror=vla",
                               "-o",
                               exe,
                               source,
                               "-lm"};
  std::optional<llvm::StringRef> redirects[] = {"", llvm::StringRef(log),
                                                llvm::StringRef(log)};
  int status =
      llvm::sys::ExecuteAndWait(*clang, compile, std::nullopt, redirects);
  if (status == 0)
    status = llvm::sys::ExecuteAndWait(exe, {exe}, std::nullopt, redirects);
  std::ifstream file(log);
  std::string said{std::istreambuf_iterator<char>(file), {}};
  llvm::sys::fs::remove_directories(folder);
  return status == 0 ? "" : said + "\nstatus " + std::to_string(status);
}

bool fastk::test::checkOnHost(llvm::StringRef name, llvm::StringRef coreName,
                              CanonicalForm &form, const std::string &checks,
                              const std::string &about, uint64_t number,
                              const std::string &functions) {
  Family family = llvm::cantFail(
      families::readFamily(FASTK_FAMILIES_DIR "/host/" + name.str()));
  // Vectors of all widths, which clang makes of those that there are.
  unsigned vectorBytes = 16 << number % 3;
  CoreInstance core = describeInC(coreName, form, vectorBytes, 1 + number % 2);
  std::string why;
  const bool isFirst = number % 2 == 0;
  std::vector<Instance> instances =
      families::instantiate(family, core, isFirst ? 1 : 100000, why);
  if (instances.empty())
    return false;
  std::mt19937_64 random(number);
  const Instance &instance =
      instances[isFirst ? 0 : random() % instances.size()];
  families::Names names = families::readNumbers(instance.program).names;
  std::string choices;
  for (const std::string &each : family.chosen)
    choices += each + " " + std::to_string(names[each]) + " ";
  EXPECT_EQ(runOnHost(withNumbers(instance.program) + kHead + functions +
                          "int main(void) {\n" + writeOperands(form) + checks +
                          "  return 0;\n}\n",
                      "c"),
            "")
      << about << "; " << choices << "; vectors of " << vectorBytes;
  return true;
}
