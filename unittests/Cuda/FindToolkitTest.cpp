//===- FindToolkitTest.cpp - Where NVRTC is looked for --------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Cuda/Nvrtc.h"
#include "gtest/gtest.h"
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace fs = std::filesystem;
using namespace fastk::cuda;

namespace {

class FindToolkit : public testing::Test {
protected:
  FindToolkit() {
    std::string pattern = testing::TempDir() + "fastk-toolkit-XXXXXX";
    root = mkdtemp(pattern.data());
    for (const char *name :
         {"FASTK_CUDA_PATH", "CUDA_HOME", "CUDA_PATH", "VIRTUAL_ENV"}) {
      const char *value = getenv(name);
      saved.push_back({name, value ? value : ""});
      unsetenv(name);
    }
  }
  ~FindToolkit() override {
    for (const auto &[name, value] : saved)
      if (value.empty())
        unsetenv(name.c_str());
      else
        setenv(name.c_str(), value.c_str(), 1);
    fs::remove_all(root);
  }
  void file(const std::string &path) {
    fs::create_directories(fs::path(root + path).parent_path());
    std::ofstream(root + path) << "x";
  }
  void program(const std::string &path) {
    file(path);
    fs::permissions(root + path, fs::perms::owner_all);
  }
  std::string root;
  std::vector<std::pair<std::string, std::string>> saved;
};

TEST_F(FindToolkit, ThePathThatIsSetIsTheOnlyOne) {
  setenv("FASTK_CUDA_PATH", root.c_str(), 1);
  EXPECT_TRUE(findToolkits().empty());
  file("/lib64/libnvrtc.so.12");
  file("/lib64/libnvrtc-builtins.so.12.6");
  file("/include/cuda_fp16.h");
  std::vector<Toolkit> found = findToolkits();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].nvrtc, root + "/lib64/libnvrtc.so.12");
  EXPECT_EQ(found[0].builtins, root + "/lib64/libnvrtc-builtins.so.12.6");
  EXPECT_EQ(found[0].include, root + "/include");
}

TEST_F(FindToolkit, AFolderThatHoldsTheLibrary) {
  file("/libs/libnvrtc.so.13");
  setenv("FASTK_CUDA_PATH", (root + "/libs").c_str(), 1);
  std::vector<Toolkit> found = findToolkits();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_TRUE(found[0].builtins.empty());
  EXPECT_TRUE(found[0].include.empty());
}

TEST_F(FindToolkit, PipLayoutAndItsNewestVersion) {
  for (const char *cuda : {"cu9", "cu13", "cu12"}) {
    std::string base =
        std::string("/lib/python3.11/site-packages/nvidia/") + cuda;
    file(base + "/lib/libnvrtc.so.13");
    file(base + "/lib/libnvrtc.alt.so.13");
    file(base + "/lib/libnvrtc-builtins.so.13.0");
    file(base + "/include/cuda_fp16.h");
  }
  file("/lib/python3.11/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12");
  setenv("VIRTUAL_ENV", root.c_str(), 1);
  std::vector<std::string> mine;
  for (const Toolkit &toolkit : findToolkits())
    if (toolkit.nvrtc.compare(0, root.size(), root) == 0)
      mine.push_back(toolkit.nvrtc.substr(root.size()));
  std::string base = "/lib/python3.11/site-packages/nvidia/";
  EXPECT_EQ(mine, (std::vector<std::string>{base + "cu13/lib/libnvrtc.so.13",
                                            base + "cu12/lib/libnvrtc.so.13",
                                            base + "cu9/lib/libnvrtc.so.13"}));
}

TEST_F(FindToolkit, LibdeviceNeedsNoLibraryBesideIt) {
  setenv("FASTK_CUDA_PATH", root.c_str(), 1);
  EXPECT_EQ(findLibdevice(), "");
  file("/nvvm/libdevice/libdevice.10.bc");
  std::string path = root + "/nvvm/libdevice/libdevice.10.bc";
  EXPECT_EQ(findLibdevice(), path);
  file("/lib64/libnvrtc.so.12");
  setenv("FASTK_CUDA_PATH", (root + "/lib64").c_str(), 1);
  EXPECT_EQ(findLibdevice(), path);
  // What is set in the environment comes before what is installed.
  unsetenv("FASTK_CUDA_PATH");
  setenv("CUDA_HOME", root.c_str(), 1);
  EXPECT_EQ(findLibdevice(), path);
}

TEST_F(FindToolkit, CuptiOfTheToolkit) {
  setenv("FASTK_CUDA_PATH", root.c_str(), 1);
  EXPECT_EQ(findCupti(), "");
  file("/lib64/libcupti.so");
  EXPECT_EQ(findCupti(), root + "/lib64/libcupti.so");
  file("/lib64/libcupti.so.12");
  EXPECT_EQ(findCupti(), root + "/lib64/libcupti.so.12");
  file("/extras/CUPTI/lib64/libcupti.so.12");
  file("/extras/CUPTI/lib64/libcupti.so.13");
  EXPECT_EQ(findCupti(), root + "/extras/CUPTI/lib64/libcupti.so.13");
  // A folder of libraries.
  setenv("FASTK_CUDA_PATH", (root + "/lib64").c_str(), 1);
  EXPECT_EQ(findCupti(), root + "/extras/CUPTI/lib64/libcupti.so.13");
  unsetenv("FASTK_CUDA_PATH");
  setenv("CUDA_HOME", root.c_str(), 1);
  EXPECT_EQ(findCupti(), root + "/extras/CUPTI/lib64/libcupti.so.13");
}

TEST_F(FindToolkit, ComputeSanitizerIsAProgram) {
  setenv("FASTK_CUDA_PATH", root.c_str(), 1);
  EXPECT_EQ(findComputeSanitizer(), "");
  file("/bin/compute-sanitizer");
  EXPECT_EQ(findComputeSanitizer(), "") << "it may not be executed";
  program("/bin/compute-sanitizer");
  EXPECT_EQ(findComputeSanitizer(), root + "/bin/compute-sanitizer");
  unsetenv("FASTK_CUDA_PATH");
  setenv("CUDA_PATH", root.c_str(), 1);
  EXPECT_EQ(findComputeSanitizer(), root + "/bin/compute-sanitizer");
}

TEST_F(FindToolkit, PtxasOfTheToolkitThenOfThePath) {
  const char *path = getenv("PATH");
  std::string before = path ? path : "";
  setenv("FASTK_CUDA_PATH", root.c_str(), 1);
  EXPECT_EQ(findPtxas(), "");
  program("/bin/ptxas");
  EXPECT_EQ(findPtxas(), root + "/bin/ptxas");
  file("/lib64/libnvrtc.so.12");
  setenv("FASTK_CUDA_PATH", (root + "/lib64").c_str(), 1);
  EXPECT_EQ(findPtxas(), root + "/bin/ptxas");
  // Nothing else is tried when that is set.
  setenv("PATH", (root + "/tools").c_str(), 1);
  program("/tools/ptxas");
  setenv("FASTK_CUDA_PATH", (root + "/none").c_str(), 1);
  EXPECT_EQ(findPtxas(), "");
  setenv("PATH", before.c_str(), 1);
  unsetenv("FASTK_CUDA_PATH");
  setenv("CUDA_HOME", root.c_str(), 1);
  EXPECT_EQ(findPtxas(), root + "/bin/ptxas");
}

TEST_F(FindToolkit, HeadersThatHeadersInclude) {
  fs::create_directories(root + "/crt");
  std::ofstream(root + "/cuda_fp16.h") << "#include \"vector.h\"\n"
                                          "# include <nv/target>\n";
  std::ofstream(root + "/vector.h") << "v\n";
  std::ofstream(root + "/mma.h") << "#include \"crt/mma.h\"\n"
                                    "#include \"../../etc/passwd\"\n"
                                    "#include \"/etc/passwd\"\n";
  std::ofstream(root + "/crt/mma.h") << "#include \"mma.hpp\"\n";
  std::ofstream(root + "/crt/mma.hpp") << "m\n";
  std::ofstream(root + "/cooperative_groups.h") << "c\n";
  Headers headers = readToolkitHeaders(root);
  std::vector<std::string> names;
  for (const auto &[name, text] : headers)
    names.push_back(name);
  EXPECT_EQ(names,
            (std::vector<std::string>{"crt/mma.h", "crt/mma.hpp", "cuda_fp16.h",
                                      "mma.h", "mma.hpp", "vector.h"}));
  EXPECT_EQ(headers["mma.hpp"], "m\n");
  EXPECT_TRUE(readToolkitHeaders("").empty());
}

TEST_F(FindToolkit, WhatIsNoLibraryIsAnError) {
  file("/libnvrtc.so.13");
  Nvrtc nvrtc;
  std::string error;
  EXPECT_FALSE(Nvrtc::load({root + "/libnvrtc.so.13", "", ""}, nvrtc, error));
  EXPECT_NE(error.find("cannot load " + root), std::string::npos) << error;
  EXPECT_FALSE(
      Nvrtc::load({"libm.so.6", root + "/builtins.so", ""}, nvrtc, error));
  EXPECT_NE(error.find("cannot load " + root + "/builtins.so"),
            std::string::npos)
      << error;
  EXPECT_FALSE(Nvrtc::load({"libm.so.6", "", ""}, nvrtc, error));
  EXPECT_NE(error.find("has no nvrtcVersion"), std::string::npos) << error;
  EXPECT_NE(error.find("scripts/install-deps.sh --cuda"), std::string::npos);
}

} // namespace
