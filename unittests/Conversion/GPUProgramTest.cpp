//===- GPUProgramTest.cpp - Programs in the gpu dialect, good and refused -===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compile only: neither a GPU nor CUDA is needed, for no kernel here has a
// function of libdevice.
//
//===----------------------------------------------------------------------===//

#include "Cuda/Program/GPUProgram.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace fastk;
using testing::HasSubstr;
using testing::Not;

namespace {

struct GPUProgramTest : testing::Test {
  /// The PTX of a program, or "" with the diagnostic in `error`. One operand
  /// and one result of 8192 f32 each.
  std::string compile(llvm::StringRef text, const std::string &planText,
                      const char *chip = "cuda:sm_90a") {
    error.clear();
    std::string problem;
    auto plan = worker::parseLaunchPlan(planText, problem);
    EXPECT_TRUE(plan) << problem;
    mlir::MLIRContext context;
    mlir::ScopedDiagnosticHandler handler(&context,
                                          [&](mlir::Diagnostic &diagnostic) {
                                            error += diagnostic.str() + "\n";
                                            return mlir::success();
                                          });
    auto program =
        compileGPUProgram(mlir::UnknownLoc::get(&context), text, "kernel.mlir",
                          *plan, {{32768}, {32768}}, *CudaTarget::parse(chip));
    EXPECT_NE(mlir::succeeded(program), !error.empty());
    if (failed(program))
      return "";
    EXPECT_EQ(program->kind, DeviceCode::PTX);
    EXPECT_EQ(worker::toJSON(program->plan), worker::toJSON(*plan));
    return program->code;
  }

  /// One launch of `k` by 64 threads.
  static std::string launch(const std::string &arguments,
                            const std::string &more = "",
                            const std::string &head = "") {
    return R"({"format": 1, )" + head +
           R"("steps": [{"launch": "k", "grid": [16], "block": [64], )" + more +
           R"("arguments": [)" + arguments + "]}]}";
  }

  std::string error;

  struct Refused {
    std::string text;
    const char *rule, *why;
  };
  /// Each of them, with its rule and why.
  void expectRefused(llvm::ArrayRef<Refused> cases) {
    for (const Refused &each : cases) {
      SCOPED_TRACE(each.text);
      EXPECT_EQ(compile(each.text, launch(R"("out0")")), "");
      EXPECT_THAT(error, HasSubstr(each.why));
      EXPECT_THAT(error, HasSubstr("kernel.mlir:"));
      EXPECT_THAT(error, HasSubstr("(required by '" + std::string(each.rule)));
    }
  }
};

/// A kernel `k` of one buffer with that body, and more beside it.
std::string kernel(const std::string &body, const std::string &beside = "") {
  return "gpu.module @m {\n" + beside +
         "\n  gpu.func @k(%out: memref<8192xf32>) kernel {\n"
         "    %i = gpu.thread_id x\n" +
         body + "\n    gpu.return\n  }\n}\n";
}

} // namespace

//===----------------------------------------------------------------------===//
// Programs that compile
//===----------------------------------------------------------------------===//

TEST_F(GPUProgramTest, ElementwiseKernel) {
  const char *text = R"(
    // Four elements a thread.
    gpu.module @m {
      gpu.func @k(%in: memref<8192xf32>, %out: memref<64x128xf32>, %n: index,
                  %factor: f32, %count: i32) kernel {
        %block = gpu.block_id x
        %threads = gpu.block_dim x
        %thread = gpu.thread_id x
        %base = arith.muli %block, %threads : index
        %number = arith.addi %base, %thread : index
        %inside = arith.cmpi ult, %number, %n : index
        scf.if %inside {
          %first = affine.apply affine_map<(d0) -> (d0 * 4)>(%number)
          %x = vector.transfer_read %in[%first], %factor {in_bounds = [true]}
            : memref<8192xf32>, vector<4xf32>
          %f = vector.broadcast %factor : f32 to vector<4xf32>
          %y = arith.mulf %x, %f : vector<4xf32>
          %flat = memref.collapse_shape %out [[0, 1]]
            : memref<64x128xf32> into memref<8192xf32>
          vector.transfer_write %y, %flat[%first] {in_bounds = [true]}
            : vector<4xf32>, memref<8192xf32>
        }
        gpu.return
      }
    })";
  std::string plan =
      launch(R"("in0", "out0", {"i64": 2048}, {"f32": 2.0}, {"i32": 3})");
  std::string ptx = compile(text, plan);
  EXPECT_EQ(error, "");
  EXPECT_THAT(ptx, HasSubstr(".target sm_90a"));
  EXPECT_THAT(ptx, HasSubstr(".visible .entry k("));
  EXPECT_THAT(ptx, HasSubstr(".v4.b32"));
  EXPECT_THAT(ptx, HasSubstr(".param .f32 k_param_3"));
  // The plan's block, which all launches share.
  EXPECT_THAT(ptx, HasSubstr(".maxntid 64, 1, 1"));
  EXPECT_EQ(compile(text, plan), ptx) << "differs from run to run";
  EXPECT_THAT(compile(text, plan, "cuda:sm_80"), HasSubstr(".target sm_80"));
}

TEST_F(GPUProgramTest, SharedMemoryAndShuffles) {
  std::string ptx = compile(R"(
    gpu.module @m {
      func.func private @largest(%a: f32, %b: f32) -> f32 {
        %m = arith.maximumf %a, %b : f32
        func.return %m : f32
      }
      gpu.func @k(%in: memref<8192xf32>, %out: memref<8192xf32>)
          workgroup(%parts: memref<2xf32, #gpu.address_space<workgroup>>) kernel {
        %i = gpu.thread_id x
        %c0 = arith.constant 0 : index
        %c32 = arith.constant 32 : index
        %width = arith.constant 32 : i32
        %one = arith.constant 1 : i32
        %x = memref.load %in[%i] : memref<8192xf32>
        %other, %valid = gpu.shuffle xor %x, %one, %width : f32
        %pair = func.call @largest(%x, %other) : (f32, f32) -> f32
        %sum = gpu.subgroup_reduce add %pair uniform : (f32) -> f32
        %all = gpu.all_reduce maximumf %sum uniform {} : (f32) -> f32
        %warp = arith.divui %i, %c32 : index
        memref.store %all, %parts[%warp] : memref<2xf32, #gpu.address_space<workgroup>>
        gpu.barrier
        %first = memref.load %parts[%c0] : memref<2xf32, #gpu.address_space<workgroup>>
        memref.store %first, %out[%i] : memref<8192xf32>
        gpu.return
      }
    })",
                            launch(R"("in0", "out0")"));
  EXPECT_EQ(error, "");
  EXPECT_THAT(ptx, HasSubstr("shfl.sync.bfly"));
  EXPECT_THAT(ptx, HasSubstr(".shared"));
  EXPECT_THAT(ptx, HasSubstr("bar"));
}

TEST_F(GPUProgramTest, TensorCoresAndAsynchronousCopies) {
  std::string ptx =
      compile(R"(
    gpu.module @m {
      gpu.func @k(%in: memref<16x16xf16>, %out: memref<16x8xf32>) kernel {
        %c0 = arith.constant 0 : index
        %c8 = arith.constant 8 : index
        %lane = gpu.lane_id
        %none = arith.constant dense<0.0> : vector<2x2xf32>
        %bytes = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
        %tile = memref.view %bytes[%c0][]
          : memref<?xi8, #gpu.address_space<workgroup>> to memref<16x16xf16, #gpu.address_space<workgroup>>
        %row = arith.remui %lane, %c8 : index
        %copy = nvgpu.device_async_copy %in[%row, %c0], %tile[%row, %c0], 8 {bypassL1}
          : memref<16x16xf16> to memref<16x16xf16, #gpu.address_space<workgroup>>
        %group = nvgpu.device_async_create_group %copy
        nvgpu.device_async_wait %group
        gpu.barrier
        %a = nvgpu.ldmatrix %tile[%row, %c0] {numTiles = 4 : i32, transpose = false}
          : memref<16x16xf16, #gpu.address_space<workgroup>> -> vector<4x2xf16>
        %b = vector.extract_strided_slice %a {offsets = [0, 0], sizes = [2, 2], strides = [1, 1]}
          : vector<4x2xf16> to vector<2x2xf16>
        %d = nvgpu.mma.sync (%a, %b, %none) {mmaShape = [16, 8, 16]}
          : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
        %pair = vector.extract %d[0] : vector<2xf32> from vector<2x2xf32>
        vector.store %pair, %out[%row, %c0] : memref<16x8xf32>, vector<2xf32>
        gpu.return
      }
    })",
              launch(R"("in0", "out0")", R"("shared_bytes": 512, )"));
  EXPECT_EQ(error, "");
  EXPECT_THAT(ptx, HasSubstr("cp.async.cg.shared.global"));
  EXPECT_THAT(ptx, HasSubstr("ldmatrix.sync.aligned.m8n8.x4"));
  EXPECT_THAT(ptx, HasSubstr("mma.sync.aligned.m16n8k16"));
  EXPECT_THAT(ptx, HasSubstr(".extern .shared .align 1024 .b8 "
                             "__dynamic_shmem__0[]"));
}

/// Both spellings of a tensor map become 128 bytes in the parameters.
TEST_F(GPUProgramTest, TensorMaps) {
  std::string head =
      R"("tensor_maps": [{"buffer": "in0", "type": "f32", "dims": [128, 64], "strides": [512], "box": [32, 8]}], )";
  std::string body = R"(
        %c0 = arith.constant 0 : index
        %i = gpu.thread_id x
        %bytes = arith.constant 1024 : index
        %leader = arith.cmpi eq, %i, %c0 : index
        %barrier = nvgpu.mbarrier.create -> !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
        %one = arith.constant 1 : index
        %ticks = arith.constant 10000000 : index
        %phase = arith.constant 0 : i1
        nvgpu.mbarrier.init %barrier[%c0], %one : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
        gpu.barrier
        nvgpu.mbarrier.arrive.expect_tx %barrier[%c0], %bytes, predicate = %leader
          : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
        nvgpu.tma.async.load %map[%c0, %c0], %barrier[%c0] to %tile, predicate = %leader
          : !nvgpu.tensormap.descriptor<tensor = memref<8x32xf32, #gpu.address_space<workgroup>>, swizzle = none, l2promo = none, oob = zero, interleave = none>,
            !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
          -> memref<8x32xf32, #gpu.address_space<workgroup>>
        nvgpu.mbarrier.try_wait.parity %barrier[%c0], %phase, %ticks
          : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
        %x = memref.load %tile[%c0, %i] : memref<8x32xf32, #gpu.address_space<workgroup>>
        memref.store %x, %out[%i] : memref<8192xf32>
        gpu.return)";
  std::string ptx = compile(
      R"(gpu.module @m { gpu.func @k(%map: !nvgpu.tensormap.descriptor<tensor = memref<8x32xf32, #gpu.address_space<workgroup>>, swizzle = none, l2promo = none, oob = zero, interleave = none>, %out: memref<8192xf32>)
        workgroup(%tile: memref<8x32xf32, #gpu.address_space<workgroup>>) kernel {)" +
          body + "}}",
      launch(R"("map0", "out0")", "", head));
  EXPECT_EQ(error, "");
  EXPECT_THAT(ptx, HasSubstr(".param .align 64 .b8 k_param_0[128]"));
  EXPECT_THAT(ptx, HasSubstr("cp.async.bulk.tensor.2d"));
  EXPECT_THAT(ptx, HasSubstr(".shared .align 128 .b8 __wg_k_0[1024]"));
  EXPECT_THAT(ptx, Not(HasSubstr("__local_depot"))) << "the map was copied";

  ptx = compile(R"(
    gpu.module @m {
      gpu.func @k(%map: !llvm.ptr {llvm.byval = !llvm.array<128 x i8>},
                  %out: !llvm.ptr) kernel {
        nvvm.prefetch tensormap, %map : !llvm.ptr
        %zero = llvm.mlir.constant(0.0 : f32) : f32
        llvm.store %zero, %out : f32, !llvm.ptr
        gpu.return
      }
    })",
                launch(R"("map0", "out0")", "", head));
  EXPECT_EQ(error, "");
  EXPECT_THAT(ptx, HasSubstr(".param .align 64 .b8 k_param_0[128]"));
  EXPECT_THAT(ptx, HasSubstr("prefetch"));
}

TEST_F(GPUProgramTest, TablesAndInlineAssembly) {
  std::string ptx = compile(
      kernel(R"(
        %table = memref.get_global @table : memref<4xf32>
        %c3 = arith.constant 3 : index
        %k = arith.andi %i, %c3 : index
        %x = memref.load %table[%k] : memref<4xf32>
        %y = llvm.inline_asm "ex2.approx.ftz.f32 $0, $1;", "=f,f" %x : (f32) -> f32
        memref.store %y, %out[%i] : memref<8192xf32>)",
             "memref.global \"private\" constant @table : memref<4xf32> = "
             "dense<[1.0, 2.0, 4.0, 9.0]>"),
      launch(R"("out0")"));
  EXPECT_EQ(error, "");
  EXPECT_THAT(ptx, HasSubstr("ex2.approx.ftz.f32"));
  // A module around it is what mlir-opt prints.
  EXPECT_NE(
      compile("module attributes {gpu.container_module} {\n" + kernel("") + "}",
              launch(R"("out0")")),
      "");
}

//===----------------------------------------------------------------------===//
// Programs that are refused
//===----------------------------------------------------------------------===//

TEST_F(GPUProgramTest, WhatIsNoProgram) {
  struct Case {
    std::string text;
    const char *why;
  };
  const Case cases[] = {
      {"gpu.module @m {", "kernel.mlir:1:14: expected operation name"},
      {kernel("%x = arith.addf %i, %i : index"), "kernel.mlir:5:"},
      {kernel("%x = memref.load %out[%i, %i] : memref<8192xf32>"),
       "kernel.mlir:5:"},
      {kernel("linalg.yield"), "docs/cuda.md lists the dialects"},
      {kernel("\"no.such\"() : () -> ()"), "docs/cuda.md lists the dialects"},
      {"", "must hold one gpu.module"},
      {kernel("") + kernel(""), "redefinition of symbol"},
      {kernel("") + "func.func private @host()", "must hold one gpu.module"},
      {"module attributes {llvm.module_asm = \"x\"} {" + kernel("") + "}",
       "has the attribute 'llvm.module_asm'"},
      {"gpu.module @m [#nvvm.target<chip = \"sm_80\">] {}",
       "targets and offloading handlers"},
      {"gpu.module @m attributes {llvm.data_layout = \"\"} {}",
       "the attribute 'llvm.data_layout'"},
      {std::string(600 * 1024, ' '), "the limit is 524288"},
  };
  for (const Case &each : cases) {
    SCOPED_TRACE(each.text.substr(0, 300));
    EXPECT_EQ(compile(each.text, launch(R"("out0")")), "");
    EXPECT_THAT(error, HasSubstr(each.why));
    EXPECT_THAT(error, HasSubstr("kernel.mlir"));
    EXPECT_THAT(error, HasSubstr("(required by 'fastk.gpu_program')"));
  }
}

TEST_F(GPUProgramTest, WhatDeviceCodeMayNotDo) {
  const std::string store = "memref.store %x, %out[%i] : memref<8192xf32>";
  auto readRegister = [](const char *name, const char *type) {
    return kernel(std::string("%x = nvvm.read.ptx.sreg.") + name + " : " +
                  type + "\n");
  };
  const Refused cases[] = {
      // Values that outlive a launch.
      {kernel("", "memref.global @g : memref<4xf32> = dense<1.0>"),
       "global-variable", "2:1: 'memref.global' op is not allowed"},
      {kernel("", "memref.global @g : memref<4xf32>"), "global-variable",
       "would outlive the launch"},
      {kernel("", "llvm.mlir.global internal @g(0 : i32) : i32"),
       "global-variable", "use a workspace of the plan"},
      {kernel("",
              "llvm.mlir.global internal @g() {addr_space = 1 : i32} : i32"),
       "global-variable", "'llvm.mlir.global' op is not allowed"},
      // Functions from outside.
      {kernel("", "func.func private @f(i32)"), "external-function",
       "'f' has no body"},
      {kernel("", "llvm.func @vprintf(!llvm.ptr, !llvm.ptr) -> i32"),
       "external-function", "'vprintf' has no body"},
      {kernel("gpu.printf \"hello\\n\""), "external-function",
       "5:1: 'gpu.printf' op is not allowed"},
      {kernel("vector.print str \"hello\""), "external-function",
       "'vector.print' op"},
      {kernel("%m = memref.alloc() : memref<4xf32>"), "external-function",
       "the device heap outlives a launch"},
      {kernel("memref.dealloc %out : memref<8192xf32>"), "external-function",
       "memref.dealloc"},
      // What takes the device down or the context with it.
      {kernel("%t = arith.constant false\ncf.assert %t, \"no\""), "instruction",
       "6:1: 'cf.assert' op"},
      {kernel("\"llvm.intr.trap\"() : () -> ()"), "instruction",
       "'llvm.intr.trap'"},
      {kernel("\"llvm.intr.debugtrap\"() : () -> ()"), "instruction",
       "'llvm.intr.debugtrap'"},
      {kernel("nvvm.breakpoint"), "instruction", "it stops the device"},
      {kernel("nvvm.pmevent id = 1"), "instruction",
       "it triggers performance counters"},
      // Time and what else tells launches apart.
      {readRegister("clock", "i32"), "special-register",
       "a candidate must not know the time"},
      {readRegister("clock64", "i64"), "special-register", "clock64"},
      {readRegister("globaltimer", "i64"), "special-register", "globaltimer"},
      {readRegister("gridid", "i32"), "special-register", "it counts launches"},
      {readRegister("envreg3", "i32"), "special-register", "the driver's"},
      // Calls through pointers.
      {kernel("%f = func.constant @g : () -> ()\nfunc.call_indirect %f() : () "
              "-> ()",
              "func.func private @g() { func.return }"),
       "indirect-call", "'func.constant' op"},
      {kernel("%f = llvm.mlir.addressof @g : !llvm.ptr\nllvm.call %f() : "
              "!llvm.ptr, () -> ()",
              "llvm.func @g() { llvm.return }"),
       "indirect-call", "'llvm.mlir.addressof' op"},
      {kernel("%f = llvm.mlir.zero : !llvm.ptr\nllvm.call %f() : !llvm.ptr, () "
              "-> ()"),
       "indirect-call", "'llvm.call' op"},
  };
  expectRefused(cases);
}

TEST_F(GPUProgramTest, WhatModulesAndPlansMayNotHold) {
  const Refused cases[] = {
      // What the plan does.
      {kernel("gpu.wait"), "fastk.gpu_ops", "'gpu.wait' op"},
      {kernel("%m = gpu.alloc() : memref<4xf32>"), "fastk.gpu_ops",
       "'gpu.alloc' op"},
      {kernel("gpu.memcpy %out, %out : memref<8192xf32>, memref<8192xf32>"),
       "fastk.gpu_ops", "'gpu.memcpy' op"},
      {kernel("%c1 = arith.constant 1 : index\n"
              "gpu.launch blocks(%a, %b, %c) in (%d = %c1, %e = %c1, %f = %c1) "
              "threads(%g, %h, %j) in (%l = %c1, %m = %c1, %n = %c1) {\n"
              "gpu.terminator\n}"),
       "fastk.gpu_ops", "'gpu.launch' op"},
      {kernel("%c1 = arith.constant 1 : index\n"
              "%u = memref.cast %out : memref<8192xf32> to memref<*xf32>\n"
              "%d = nvgpu.tma.create.descriptor %u box[%c1, %c1] : "
              "memref<*xf32> -> !nvgpu.tensormap.descriptor<tensor = "
              "memref<8x32xf32, 3>, swizzle = none, l2promo = none, oob = "
              "zero, interleave = none>"),
       "instruction", "tensor maps are made by the plan"},
      // Module scope and kernels.
      {kernel("", "builtin.module {}"), "fastk.gpu_ops",
       "a gpu.module holds gpu.func"},
      {kernel("", "gpu.func @f() { gpu.return }"), "fastk.gpu_kernel",
       "'f' is no kernel"},
      {kernel("", "gpu.func @\"a.b\"() kernel { gpu.return }"),
       "fastk.gpu_kernel", "letters, digits and underscores"},
      {kernel("", "llvm.func @f() attributes {nvvm.kernel} { llvm.return }"),
       "fastk.gpu_kernel", "kernels are gpu.func"},
      {kernel("", "gpu.func @f() kernel attributes {passthrough = [\"cold\"]} "
                  "{ gpu.return }"),
       "fastk.gpu_kernel", "the attribute 'passthrough'"},
      {kernel("", "gpu.func @f(%x: memref<?xf32>) kernel { gpu.return }"),
       "fastk.gpu_kernel", "parameter 0 of 'f' is 'memref<?xf32>'"},
      {kernel("", "gpu.func @f(%x: memref<4xf32, strided<[2]>>) kernel { "
                  "gpu.return }"),
       "fastk.gpu_kernel", "identity layout"},
      {kernel("", "gpu.func @f(%x: memref<4xf32, 3>) kernel { gpu.return }"),
       "fastk.gpu_kernel", "global memory"},
      {kernel("", "gpu.func @f(%x: f16) kernel { gpu.return }"),
       "fastk.gpu_kernel", "parameter 0 of 'f' is 'f16'"},
      {kernel("", "gpu.func @f(%x: !llvm.ptr {llvm.byval = !llvm.array<64 x "
                  "i8>}) kernel { gpu.return }"),
       "fastk.gpu_kernel", "!llvm.array<128 x i8>"},
      // What only the PTX shows.
      {kernel(
           "%x = llvm.inline_asm \"mov.u32 $0, %clock;\", \"=r\" : () -> i32\n"
           "%f = arith.bitcast %x : i32 to f32\n"
           "memref.store %f, %out[%i] : memref<8192xf32>"),
       "special-register", "its PTX may not run: '%clock'"},
      {kernel("llvm.inline_asm has_side_effects \"trap;\", \"\" : () -> ()"),
       "instruction", "its PTX may not run: 'trap'"},
      {kernel("nvvm.inline_ptx \"brkpt;\""), "instruction", "'brkpt'"},
      {kernel("%x = llvm.call_intrinsic \"llvm.nvvm.read.ptx.sreg.clock\"() : "
              "() -> i32\n"
              "%f = arith.bitcast %x : i32 to f32\n"
              "memref.store %f, %out[%i] : memref<8192xf32>"),
       "special-register", "'%clock'"},
      {kernel("%x = llvm.call @__nv_no_such(%i) : (i64) -> f32",
              "llvm.func @__nv_no_such(i64) -> f32"),
       "", "kernel.mlir:"},
      {kernel("%p = llvm.mlir.addressof @t : !llvm.ptr\n"
              "%q = llvm.ptrtoint %p : !llvm.ptr to i64\n"
              "%v = arith.index_cast %i : index to i64\n"
              "%a = llvm.add %q, %v : i64\n"
              "%r = llvm.inttoptr %a : i64 to !llvm.ptr\n"
              "%o = llvm.mlir.constant(1 : i32) : i32\n"
              "llvm.store volatile %o, %r : i32, !llvm.ptr",
              "llvm.mlir.global internal constant @t(7 : i32) : i32"),
       "global-variable", "the address of a table or constant"},
  };
  expectRefused(cases);
}

TEST_F(GPUProgramTest, PlanAndKernelsMustAgree) {
  const std::string text = R"(
    gpu.module @m {
      gpu.func @k(%in: memref<8192xf32>, %n: i32, %m: index, %f: f32, %d: f64,
                  %map: !llvm.ptr {llvm.byval = !llvm.array<128 x i8>},
                  %p: !llvm.ptr) kernel
          attributes {nvvm.maxntid = array<i32: 64>} {
        gpu.return
      }
      gpu.func @sized() kernel attributes {known_block_size = array<i32: 64, 1, 1>,
          known_grid_size = array<i32: 16, 1, 1>, known_cluster_size = array<i32: 2, 1, 1>} {
        gpu.return
      }
      gpu.func @threads() kernel attributes {nvvm.reqntid = array<i32: 32, 2>} {
        gpu.return
      }
      gpu.func @dynamic(%out: memref<8192xf32>) kernel {
        %c0 = arith.constant 0 : index
        %s = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
        %v = memref.view %s[%c0][] : memref<?xi8, #gpu.address_space<workgroup>> to memref<4xf32, #gpu.address_space<workgroup>>
        %x = memref.load %v[%c0] : memref<4xf32, #gpu.address_space<workgroup>>
        memref.store %x, %out[%c0] : memref<8192xf32>
        gpu.return
      }
    })";
  const std::string head =
      R"({"format": 1, "workspaces": [{"bytes": 64}], "tensor_maps": [{"buffer": "in0", "type": "f32", "dims": [128, 64], "strides": [512], "box": [32, 8]}], "steps": [)";
  auto k = [&](const std::string &arguments, const std::string &block = "64") {
    return R"({"launch": "k", "grid": [16], "block": [)" + block +
           R"(], "arguments": [)" + arguments + "]}";
  };
  const std::string good =
      R"("in0", {"i32": 1}, {"i64": 2}, {"f32": 3}, {"f64": 4}, "map0", "ws0+32")";
  auto plan = [&](const std::string &steps) { return head + steps + "]}"; };
  compile(text, plan(k(good)));
  EXPECT_EQ(error, "");

  auto with = [&](const std::string &what, const std::string &other) {
    std::string arguments = good;
    arguments.replace(arguments.find(what), what.size(), other);
    return k(arguments);
  };
  struct Case {
    std::string step;
    const char *why;
  };
  const Case cases[] = {
      {R"({"launch": "other", "grid": [1], "block": [1], "arguments": []})",
       "$.steps[0].launch names 'other', but the kernels are 'k', 'sized', "
       "'threads', 'dynamic'"},
      {k(R"("in0", {"i32": 1})"),
       "$.steps[0].arguments are 2, but 'k' takes 7"},
      {k(good + ", \"ws0\""), "$.steps[0].arguments are 8, but 'k' takes 7"},
      {with("\"in0\"", "{\"i64\": 0}"),
       "$.steps[0].arguments[0] is a number of type i64, but the parameter of "
       "'k' is 'memref<8192xf32>' and takes a buffer"},
      {with("\"in0\"", "\"map0\""),
       "$.steps[0].arguments[0] is the tensor map map0"},
      {with("\"in0\"", "\"in0+4\""),
       "$.steps[0].arguments[0] is the buffer in0+4, which has 32764 bytes, "
       "but the parameter of 'k' is 'memref<8192xf32>' of 32768"},
      {with("\"in0\"", "\"ws0\""), "the buffer ws0, which has 64 bytes"},
      {with("{\"i32\": 1}", "{\"i64\": 1}"),
       "$.steps[0].arguments[1] is a number of type i64, but the parameter of "
       "'k' is 'i32' and takes {\"i32\": ...}"},
      {with("{\"i32\": 1}", "\"in0\""), "[1] is the buffer in0"},
      {with("{\"i64\": 2}", "{\"i32\": 2}"),
       "'k' is 'index' and takes {\"i64\": ...}"},
      {with("{\"f32\": 3}", "{\"f64\": 3}"),
       "'k' is 'f32' and takes {\"f32\": ...}"},
      {with("{\"f64\": 4}", "{\"f32\": 4}"),
       "'k' is 'f64' and takes {\"f64\": ...}"},
      {with("\"map0\"", "\"in0\""), "and takes a tensor map"},
      {with("\"ws0+32\"", "\"map0\""),
       "[6] is the tensor map map0, but the parameter of 'k' is '!llvm.ptr' "
       "and takes a buffer"},
      {k(good, "128"),
       "$.steps[0].block has 128 threads, but 'k' says nvvm.maxntid = 64"},
      {R"({"launch": "sized", "grid": [16], "block": [32], "cluster": [2], "arguments": []})",
       "$.steps[0].block is 32x1x1, but 'sized' says known_block_size = "
       "64x1x1; they must be the same"},
      {R"({"launch": "sized", "grid": [18], "block": [64], "cluster": [2], "arguments": []})",
       "$.steps[0].grid is 18x1x1"},
      {R"({"launch": "sized", "grid": [16], "block": [64], "arguments": []})",
       "$.steps[0].cluster is 1x1x1"},
      {R"({"launch": "threads", "grid": [1], "block": [64], "arguments": []})",
       "$.steps[0].block is 64x1x1, but 'threads' says nvvm.reqntid = 32x2"},
      {R"({"launch": "dynamic", "grid": [1], "block": [64], "arguments": ["out0"]})",
       "$.steps[0].shared_bytes is 0, but 'dynamic' uses "
       "gpu.dynamic_shared_memory"},
      {R"({"memset": "out0", "bytes": 4}, )" + k(R"("in0")"),
       "$.steps[1].arguments are 1"},
  };
  for (const Case &each : cases) {
    SCOPED_TRACE(each.step);
    EXPECT_EQ(compile(text, plan(each.step)), "");
    EXPECT_THAT(error, HasSubstr(each.why));
    EXPECT_THAT(error, HasSubstr("(required by 'fastk.gpu_launch')"));
  }
}

//===----------------------------------------------------------------------===//
// The lists
//===----------------------------------------------------------------------===//

/// A name that MLIR does not have allows or refuses nothing, and hides a
/// mistake.
TEST_F(GPUProgramTest, TheListsNameOpsThatExist) {
  mlir::DialectRegistry registry;
  registerGPUProgramDialects(registry);
  mlir::MLIRContext context(registry);
  context.loadAllAvailableDialects();
  for (llvm::StringRef dialect : allowedProgramDialects())
    EXPECT_TRUE(context.getLoadedDialect(dialect)) << dialect.str();
  EXPECT_TRUE(llvm::is_sorted(allowedProgramDialects()));
  for (llvm::StringRef op : allowedGPUOps())
    EXPECT_TRUE(
        mlir::RegisteredOperationName::lookup(("gpu." + op).str(), &context))
        << op.str();
  EXPECT_TRUE(llvm::is_sorted(allowedGPUOps()));
  for (llvm::StringRef name : refusedProgramOps()) {
    bool family = name.consume_back("*");
    EXPECT_TRUE(llvm::any_of(context.getRegisteredOperations(), [&](auto op) {
      return family ? op.getStringRef().starts_with(name)
                    : op.getStringRef() == name;
    })) << name.str();
  }
}

/// docs/cuda.md lists what is allowed, one name in backquotes each.
TEST_F(GPUProgramTest, TheDocumentHasTheLists) {
  llvm::SmallString<256> path(FASTK_SOURCE_DIR);
  llvm::sys::path::append(path, "docs", "cuda.md");
  auto text = llvm::MemoryBuffer::getFile(path);
  ASSERT_TRUE(bool(text)) << path.c_str();
  auto begins = (*text)->getBuffer().find("<!-- allowed -->"),
       ends = (*text)->getBuffer().find("<!-- end -->");
  ASSERT_NE(begins, llvm::StringRef::npos);
  llvm::StringRef list = (*text)->getBuffer().slice(begins, ends);
  for (llvm::StringRef dialect : allowedProgramDialects())
    EXPECT_TRUE(list.contains(("`" + dialect + "`").str())) << dialect.str();
  for (llvm::StringRef op : allowedGPUOps())
    EXPECT_TRUE(list.contains(("`" + op + "`").str())) << op.str();
  EXPECT_EQ(list.count('`'),
            2 * (allowedProgramDialects().size() + allowedGPUOps().size()));
}
