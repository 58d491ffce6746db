//===- LauncherTest.cpp - Plans as host code ------------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Description.h"
#include "fastk/Export/Writers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <limits>

using namespace fastk;
using testing::HasSubstr;
using testing::Not;
using worker::BufferRef;
using worker::PlanScalar;

static LaunchRecipe recipe() {
  LaunchRecipe recipe;
  recipe.module = "sum_12345678";
  recipe.name = "sum";
  recipe.key = "12345678" + std::string(56, '0');
  recipe.chip = "sm_90a";
  recipe.precision = "ieee";
  recipe.inputs = {{worker::ElementType::F32, {4096, 64}}};
  recipe.outputs = {{worker::ElementType::F32, {}}};
  recipe.code = "#include <cuda_fp16.h>\n  # include \"mma.h\"\n"
                "extern \"C\" __global__ void first() {}\n"
                "extern \"C\" __global__ void second() {}";
  return recipe;
}

static worker::Launch launch(std::string kernel) {
  worker::Launch launch;
  launch.kernel = std::move(kernel);
  launch.grid = {7, 2, 1};
  launch.block = {128, 1, 1};
  return launch;
}

TEST(Launcher, WritesEveryKindOfStep) {
  LaunchRecipe sum = recipe();
  sum.plan.workspaces = {{100, true}, {8, false}};
  worker::TensorMap map;
  map.buffer = {BufferRef::Space::Input, 0, 32, {}};
  map.dims = {64, 4096};
  map.strides = {256};
  map.box = {32, 8};
  map.swizzle = worker::TensorMap::Swizzle::B128;
  map.promotion = worker::TensorMap::Promotion::B256;
  map.fill = worker::TensorMap::Fill::NaN;
  sum.plan.tensorMaps = {map};
  worker::Launch first = launch("first"), second = launch("second");
  first.cluster = {2, 1, 1};
  first.sharedBytes = 100000;
  first.arguments = {worker::TensorMapRef{0},
                     BufferRef{BufferRef::Space::Workspace, 1, 4, {}},
                     PlanScalar{PlanScalar::Type::I32, -5, 0},
                     PlanScalar{PlanScalar::Type::F32, 0, 1.0}};
  second.cooperative = true;
  second.overlapsPrevious = true;
  second.arguments = {
      PlanScalar{PlanScalar::Type::I64, std::numeric_limits<int64_t>::min(), 0},
      PlanScalar{PlanScalar::Type::F64, 0, 1.0}};
  worker::Memset memset{{BufferRef::Space::Output, 0, 0, {}}, 4, 255};
  sum.plan.steps = {memset, first, second, first};

  EXPECT_EQ(sum.workspaceBytes(), 512);
  EXPECT_EQ(launchCount(sum), 3u);
  std::string text = writeLauncher(sum, /*hasMain=*/false);
  EXPECT_THAT(text, HasSubstr("kSharedBytes[kKernels] = {100000, 0};"));
  EXPECT_THAT(text, HasSubstr("CU_TENSOR_MAP_DATA_TYPE_FLOAT32,\n"
                              "                   address(inputs[0], 32), "
                              "{64, 4096}, {256},\n"
                              "                   {32, 8}, {1, 1},"));
  EXPECT_THAT(text, HasSubstr("SWIZZLE_128B"));
  EXPECT_THAT(text, HasSubstr("L2_PROMOTION_L2_256B"));
  EXPECT_THAT(text, HasSubstr("OOB_FILL_NAN_REQUEST_ZERO_FMA"));
  // The zeroed workspace before the steps.
  size_t zeroed = text.find("fill(address(workspace, 0), 0, 100, stream)");
  size_t set = text.find("fill(address(outputs[0], 0), 255, 4, stream)");
  ASSERT_NE(set, std::string::npos);
  EXPECT_LT(zeroed, set);
  EXPECT_THAT(text, HasSubstr("launch(0, dim3(7, 2, 1), dim3(128, 1, 1), "
                              "dim3(2, 1, 1), 100000, /*cooperative=*/false,"));
  EXPECT_THAT(text, HasSubstr("address(workspace, 260),\n"
                              "              int(-5),\n"
                              "              numberOf<float>(1065353216u)"));
  EXPECT_THAT(text, HasSubstr("(long long)(9223372036854775808ull)"));
  EXPECT_THAT(text, HasSubstr("numberOf<double>(4607182418800017408ull)"));
  EXPECT_THAT(text, HasSubstr("/*cooperative=*/true,\n              "
                              "/*overlapsPrevious=*/true"));
}

TEST(Launcher, PutsHeadersBeforeTheNamespaceAndRenamesEntries) {
  LaunchRecipe sum = recipe();
  sum.plan.steps = {launch("first"), launch("second")};
  std::string text = writeLauncher(sum, /*hasMain=*/false);
  size_t header = text.find("#include <mma.h>");
  ASSERT_NE(header, std::string::npos);
  EXPECT_LT(header, text.find("namespace fastk_device {"));
  EXPECT_THAT(text, HasSubstr("#define first first_of_12345678\n"));
  EXPECT_THAT(text,
              HasSubstr("(const void *)fastk_device::second_of_12345678"));
  EXPECT_THAT(text, HasSubstr("#define __CUDA_ARCH__ 900\n"));
  EXPECT_THAT(text, HasSubstr("#define __CUDA_ARCH_FEAT_SM90_ALL\n"));
  EXPECT_THAT(text, HasSubstr("#undef __CUDA_ARCH_FEAT_SM90_ALL\n"));
  EXPECT_THAT(text, Not(HasSubstr("FASTK_MAIN")));
  EXPECT_THAT(text, Not(HasSubstr("dlopen")));
  EXPECT_THAT(writeLauncher(sum, /*hasMain=*/true), HasSubstr("int main("));
}

TEST(Launcher, DefinesForTheHostWhatTheDeviceHas) {
  LaunchRecipe sum = recipe();
  sum.chip = "sm_80";
  sum.plan.steps = {launch("first")};
  std::string text = writeLauncher(sum, /*hasMain=*/false);
  EXPECT_THAT(text, HasSubstr("#define __CUDA_ARCH__ 800\n"));
  EXPECT_THAT(text, Not(HasSubstr("define __CUDA_ARCH_FEAT")));
}

TEST(Launcher, LoadsPTXByTheDriver) {
  LaunchRecipe sum = recipe();
  sum.kind = LaunchRecipe::Code::PTX;
  sum.code = ".version 8.0\n" + std::string(20000, 'x');
  sum.plan.steps = {launch("first")};
  std::string text = writeLauncher(sum, /*hasMain=*/false);
  EXPECT_THAT(text, HasSubstr("cuLibraryLoadData"));
  EXPECT_THAT(text, HasSubstr("R\"ptx(.version 8.0"));
  EXPECT_THAT(text, Not(HasSubstr("__global__")));
  EXPECT_EQ(nvccArch(sum), "");
}

TEST(Description, IsSafeWhereItStands) {
  EXPECT_EQ(commentOf("a\nb\t\\ \\"), "a b");
  LaunchRecipe sum = recipe();
  sum.title = "line\n#error no";
  EXPECT_THAT(describe(sum, "// "), Not(HasSubstr("\n#error")));
}

TEST(Description, WritesTextsOfPython) {
  EXPECT_EQ(pythonText("a\\b"), "r'''\na\\b'''");
  EXPECT_EQ(pythonText("a'''b\\"), "'''\na\\'\\'\\'b\\\\'''");
  EXPECT_EQ(pythonTuple({8}), "(8,)");
  EXPECT_EQ(pythonTuple({}), "()");
}
