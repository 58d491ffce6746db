//===- AssembleTest.cpp - PTX of others, assembled and checked ------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaTest.h"
#include "fastk/Cuda/CheckDeviceCode.h"
#include "fastk/Cuda/CompileInChild.h"
#include "fastk/Cuda/Cubin.h"
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

using namespace fastk;
using namespace fastk::cuda;

namespace {

/// A module with a kernel `k` that takes a pointer and a number.
std::string module(const std::string &body, const std::string &before = "") {
  return ".version 8.0\n.target sm_80\n.address_size 64\n" + before +
         "\n.visible .entry k(.param .u64 x, .param .u32 n) {\n"
         ".reg .pred %p<3>;\n.reg .b32 %r<8>;\n.reg .b64 %rd<8>;\n"
         "ld.param.u64 %rd1, [x];\n" +
         body + "\nret;\n}\n";
}

CompileResult assemble(const std::string &ptx,
                       const CompileLimits &limits = {}) {
  AssembleRequest request;
  request.ptx = ptx;
  return assembleInChild(request, limits);
}

/// Where there is no ptxas beside NVRTC nothing is assembled.
bool hasPtxas() {
  if (!findPtxas().empty())
    return true;
  printf("needs ptxas, which was not found\n");
  return false;
}

NVRTC_TEST(Assemble, CubinAndFacts) {
  if (!hasPtxas())
    return;
  CompileResult result = assemble(module("st.global.u32 [%rd1], 7;"));
  ASSERT_TRUE(result.ok()) << result.error;
  EXPECT_TRUE(isCubin(result.cubin));
  const KernelFacts *k = result.kernel("k");
  ASSERT_TRUE(k);
  EXPECT_GT(k->registers, 0u);
  Cubin cubin;
  ASSERT_EQ(readCubin(result.cubin, cubin), "");
  EXPECT_EQ(cubin.kernels["k"], (std::vector<uint64_t>{8, 4}));
}

NVRTC_TEST(Assemble, ErrorsAreTheAssemblers) {
  if (!hasPtxas())
    return;
  CompileResult result = assemble(module("add.u32 %r1, %rd1, 3;"));
  EXPECT_NE(result.error.find("Arguments mismatch for instruction 'add'"),
            std::string::npos)
      << result.error;
  EXPECT_FALSE(result.missingTool);
  EXPECT_TRUE(result.cubin.empty());
  // The driver may be newer.
  result = assemble(".version 99.9\n.target sm_80\n.address_size 64\n"
                    ".visible .entry k() { ret; }\n");
  EXPECT_FALSE(result.ok());
  EXPECT_TRUE(result.missingTool && result.isTooNew) << result.error;
}

// A string in the program is in the log. It does not speak for ptxas.
NVRTC_TEST(Assemble, ProgramsDoNotChooseTheirAssembler) {
  if (!hasPtxas())
    return;
  for (const char *text : {
           ".pragma \"is not defined for option 'gpu-name'\";",
           "mov.u32 %r1, \"ptxas fatal   : Value 'sm_90a' is not defined for "
           "option 'gpu-name'\";",
           "mov.u32 %r1, \"ptxas a, line 1; fatal   : Unsupported .version "
           "99.9\";",
       }) {
    CompileResult result =
        assemble(module(std::string(text) + "\nadd.u32 %r1, %rd1, 3;"));
    EXPECT_FALSE(result.ok());
    EXPECT_FALSE(result.missingTool || result.isTooNew || result.toolFailed)
        << result.error;
  }
  AssembleRequest request;
  request.ptx = module("");
  request.arch = "sm_99";
  CompileResult unknown = assembleInChild(request);
  EXPECT_TRUE(unknown.missingTool && !unknown.isTooNew) << unknown.error;
}

/// A CUDA toolkit whose ptxas is no program, while the object lives.
class BrokenToolkit {
public:
  BrokenToolkit() {
    folder = std::filesystem::temp_directory_path() /
             ("fastk-toolkit-" + std::to_string(getpid()));
    std::filesystem::create_directories(folder / "bin");
    std::filesystem::path ptxas = folder / "bin" / "ptxas";
    std::ofstream(ptxas) << "no program";
    std::filesystem::permissions(ptxas, std::filesystem::perms::owner_all);
    if (const char *set = std::getenv("FASTK_CUDA_PATH"))
      before = set;
    setenv("FASTK_CUDA_PATH", folder.c_str(), 1);
  }
  ~BrokenToolkit() {
    if (before.empty())
      unsetenv("FASTK_CUDA_PATH");
    else
      setenv("FASTK_CUDA_PATH", before.c_str(), 1);
    std::filesystem::remove_all(folder);
  }

private:
  std::filesystem::path folder;
  std::string before;
};

TEST(Assemble, APtxasThatDoesNotStartSaysNothingOfTheProgram) {
  BrokenToolkit toolkit;
  CompileResult result = assemble(module(""));
  EXPECT_EQ(result.error, "ptxas could not be started");
  EXPECT_TRUE(result.toolFailed);
  EXPECT_FALSE(result.missingTool);
}

/// As containers do that forbid seccomp, for this thread and its processes.
/// False where there is none to forbid.
bool forbidSeccomp() {
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_seccomp, 3, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_prctl, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PR_SET_SECCOMP, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  sock_fprog program = {std::size(code), code};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0;
}

NVRTC_TEST(Assemble, NoSandboxSaysNothingOfTheProgram) {
  if (!hasPtxas())
    return;
  std::thread([] {
    if (!forbidSeccomp())
      return;
    CompileResult result = assemble(module(""));
    EXPECT_EQ(result.error.find("the sandbox of ptxas could not be set up"), 0u)
        << result.error;
    EXPECT_TRUE(result.toolFailed);
    EXPECT_FALSE(result.missingTool);
  }).join();
}

NVRTC_TEST(Assemble, TextThatIsRefusedIsNotAssembled) {
  EXPECT_EQ(assemble(module("trap;")).error.find("refused: 'trap'"), 0u);
}

// What the text does not show, the machine code does.
NVRTC_TEST(Assemble, TablesOfAddresses) {
  if (!hasPtxas())
    return;
  const char *tables = ".global .align 4 .b8 t[8] = {1, 2, 3, 4, 5, 6, 7, 8};\n"
                       ".const .align 8 .u64 p[1] = {generic(t)};\n";
  std::string ptx = module("ld.const.u64 %rd2, [p];\nld.u32 %r1, [%rd2];\n"
                           "add.u32 %r1, %r1, 1;\nst.u32 [%rd2], %r1;",
                           tables);
  EXPECT_NE(assemble(ptx).error.find("'p' is a table that holds an address"),
            std::string::npos);
}

/// Takes more than a minute to assemble.
std::string bomb() {
  constexpr unsigned count = 20000;
  std::string text = ".reg .f32 %f<" + std::to_string(2 * count) + ">;\n";
  unsigned state = 1;
  auto any = [&] {
    state = state * 1664525 + 1013904223;
    return "%f" + std::to_string((state >> 8) % count);
  };
  for (unsigned i = 0; i < count; ++i)
    text += "ld.global.f32 %f" + std::to_string(i) + ", [%rd1+" +
            std::to_string(4 * i) + "];\n";
  for (unsigned i = 0; i < count; ++i)
    text += "fma.rn.f32 %f" + std::to_string(count + i) + ", " + any() + ", " +
            any() + ", " + any() + ";\n";
  for (unsigned i = 0; i < count; ++i)
    text += "st.global.f32 [%rd1+" + std::to_string(4 * i) + "], %f" +
            std::to_string(count + i) + ";\n";
  return module(text);
}

NVRTC_TEST(AssembleAttack, ProcessorTimeIsLimited) {
  if (!hasPtxas())
    return;
  CompileLimits limits;
  limits.cpuSeconds = 1;
  auto start = std::chrono::steady_clock::now();
  CompileResult result = assemble(bomb(), limits);
  EXPECT_EQ(result.error,
            "assembling took longer than 1 s of processor time and was "
            "stopped: write less code, unroll less");
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30));
  limits.cpuSeconds = 60;
  limits.wallSeconds = 0.5;
  EXPECT_EQ(assemble(bomb(), limits).error,
            "assembling took longer than 0.5 s and was stopped: write less "
            "code, unroll less");
}

#ifndef __SANITIZE_ADDRESS__
NVRTC_TEST(AssembleAttack, MemoryIsLimited) {
  if (!hasPtxas())
    return;
  CompileLimits limits;
  limits.addressSpaceBytes = uint64_t(96) << 20;
  CompileResult result = assemble(bomb(), limits);
  EXPECT_FALSE(result.ok());
  EXPECT_TRUE(result.error.find("memory") != std::string::npos ||
              result.error.find("Memory") != std::string::npos)
      << result.error;
}
#endif

NVRTC_TEST(AssembleAttack, PtxasReachesNoFile) {
  if (!hasPtxas())
    return;
  // Debug information names files; it must not look at them.
  CompileResult result =
      assemble(module("st.global.u32 [%rd1], 7;", ".file 1 \"/etc/passwd\"\n"));
  EXPECT_EQ(result.log.find("root:"), std::string::npos);
  EXPECT_EQ(result.cubin.find("root:"), std::string::npos);
}

NVRTC_TEST(Assemble, CachedByTextAndTool) {
  if (!hasPtxas())
    return;
  AssembleRequest request;
  request.ptx =
      module("st.global.u32 [%rd1], " +
             std::to_string(
                 std::chrono::steady_clock::now().time_since_epoch().count() %
                 1000000000) +
             ";");
  CompileResult first = assembleCached(request);
  ASSERT_TRUE(first.ok()) << first.error;
  EXPECT_FALSE(first.fromCache);
  CompileResult second = assembleCached(request);
  EXPECT_TRUE(second.fromCache);
  EXPECT_EQ(second.cubin, first.cubin);
  EXPECT_EQ(second.kernels.size(), first.kernels.size());
}

} // namespace
