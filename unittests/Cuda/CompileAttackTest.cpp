//===- CompileAttackTest.cpp - Sources that attack the compiler -----------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaTest.h"
#include "fastk/Cuda/CompileInChild.h"
#include <chrono>
#include <fstream>

using namespace fastk::cuda;

namespace {

CompileResult compile(std::string source, double cpuSeconds = 10) {
  CompileRequest request;
  request.source = std::move(source);
  CompileLimits limits;
  limits.cpuSeconds = cpuSeconds;
  return compileInChild(request, limits);
}

bool contains(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

/// A file that only the host should read.
struct SecretFile {
  std::string path = testing::TempDir() + "fastk_secret.h";
  SecretFile() { std::ofstream(path) << "secret_of_the_host here\n"; }
};

NVRTC_TEST(CompileAttack, FilesCannotBeIncluded) {
  SecretFile secret;
  std::string up = "../../../../../../../../../.." + secret.path;
  for (const std::string &source :
       {"#include \"" + secret.path + "\"\n", "#include <" + up + ">\n",
        "#define NAME \"" + secret.path + "\"\n#include NAME\n",
        "%:include \"" + secret.path + "\"\n",
        "#inc\\\nlude \"" + secret.path + "\"\n",
        "#include_next \"" + secret.path + "\"\n"}) {
    CompileResult result = compile(source);
    EXPECT_FALSE(result.ok()) << source;
    EXPECT_FALSE(contains(result.error, "secret_of_the_host")) << source;
    EXPECT_TRUE(contains(result.error, " open source file"))
        << source << result.error;
    EXPECT_TRUE(contains(result.error, "Device code may include cuda_fp16.h"))
        << result.error;
  }
}

NVRTC_TEST(CompileAttack, FilesCannotBeLookedFor) {
  SecretFile secret;
  CompileResult result = compile("#if __has_include(\"" + secret.path +
                                 "\")\n#error seen\n#else\n#error unseen\n"
                                 "#endif\n");
  EXPECT_TRUE(contains(result.error, "#error directive: unseen"))
      << result.error;
}

NVRTC_TEST(CompileAttack, EmbedCannotReadFiles) {
  SecretFile secret;
  CompileResult result = compile(
      "__constant__ char text[] = {\n#embed \"" + secret.path +
      "\"\n};\nextern \"C\" __global__ void k(char *x) { x[0] = text[0]; }");
  EXPECT_FALSE(result.ok());
  EXPECT_FALSE(contains(result.error, "secret_of_the_host"));
}

NVRTC_TEST(CompileAttack, TemplateBombIsStopped) {
  auto start = std::chrono::steady_clock::now();
  CompileResult result = compile(R"(
template <int N, int M> struct Bomb {
  static const int value = Bomb<N - 1, 2 * M>::value + Bomb<N - 1, 2 * M + 1>::value;
};
template <int M> struct Bomb<0, M> { static const int value = M; };
extern "C" __global__ void k(int *x) { x[0] = Bomb<28, 0>::value; })",
                                 3);
  double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
          .count();
  EXPECT_FALSE(result.ok());
  EXPECT_LT(seconds, 30);
  EXPECT_TRUE(contains(result.error, "took longer than 3 s") ||
              contains(result.error, "MiB of memory"))
      << result.error;
}

NVRTC_TEST(CompileAttack, ConstantLoopIsStopped) {
  CompileResult result = compile(R"(
constexpr int spin() { long long i = 0; while (i < 1000000000000ll) ++i; return int(i); }
extern "C" __global__ void k(int *x) { constexpr int v = spin(); x[0] = v; })",
                                 3);
  EXPECT_FALSE(result.ok());
}

// Each level doubles the text that the preprocessor makes.
NVRTC_TEST(CompileAttack, MacroBombIsStopped) {
  std::string source = "#define X0 x[0]+=1;\n";
  for (int i = 1; i < 40; ++i)
    source += "#define X" + std::to_string(i) + " X" + std::to_string(i - 1) +
              " X" + std::to_string(i - 1) + "\n";
  source += "extern \"C\" __global__ void k(float *x) { X39 }\n";
  CompileResult result = compile(source, 3);
  EXPECT_FALSE(result.ok());
  EXPECT_TRUE(contains(result.error, "took longer") ||
              contains(result.error, "memory"))
      << result.error.substr(0, 1000);
}

// Every one of a million warnings quotes its line.
NVRTC_TEST(CompileAttack, EndlessLogIsCut) {
  std::string source = "#define Q(a) a a a a a a a a\n"
                       "#define W Q(Q(Q(Q(Q(_Pragma(\"message(\\\"" +
                       std::string(2000, 'y') +
                       "\\\")\"))))))\n"
                       "W\nextern \"C\" __global__ void k(int *x) {}\n";
  CompileResult result = compile(source, 5);
  EXPECT_LE(result.log.size(), (size_t(1) << 20) + 1000);
  EXPECT_LE(result.error.size(), (size_t(1) << 20) + 1000);
}

NVRTC_TEST(CompileAttack, DeepNestingIsAnError) {
  std::string source = "extern \"C\" __global__ void k(int *x) { x[0] = " +
                       std::string(200000, '(') + "1" +
                       std::string(200000, ')') + "; }\n";
  CompileResult result = compile(source, 5);
  EXPECT_FALSE(result.ok());
  EXPECT_FALSE(result.error.empty());
}

NVRTC_TEST(CompileAttack, MemoryIsLimited) {
  CompileRequest request;
  request.source = "extern \"C\" __global__ void k(int *x) { x[0] = 1; }";
  CompileLimits limits;
  // Wherever it runs out: with the smallest not even the sandbox can be made.
  for (uint64_t mebibytes : {1, 8, 32, 64}) {
    limits.addressSpaceBytes = mebibytes << 20;
    CompileResult result = compileInChild(request, limits);
#if !defined(__has_feature) || !__has_feature(address_sanitizer)
    EXPECT_FALSE(result.ok());
    EXPECT_TRUE(contains(result.error, "memory") ||
                contains(result.error, "OUT_OF_MEMORY"))
        << mebibytes << " MiB: " << result.error;
#endif
  }
}

// A program that is not fastk's child at all.
NVRTC_TEST(CompileAttack, AChildThatAnswersNothing) {
  CompileRequest request;
  request.source = "";
  CompileLimits limits;
  limits.program = "/bin/true";
  EXPECT_TRUE(contains(compileInChild(request, limits).error,
                       "ended without a result"));
  limits.program = "/nowhere/fastk-worker";
  EXPECT_TRUE(contains(compileInChild(request, limits).error,
                       "cannot start the compiler's process"));
}

} // namespace
