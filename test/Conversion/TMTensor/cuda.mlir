// For a GPU: a scan along memory is a block a row; all else are loops of a thread a
// point. The unit tests (DeviceLoopsTest) run those loops on the host.
// RUN: rm -rf %t && split-file %s %t && mkdir -p %t/bank
// DEFINE: %{opt} = fastk-opt --target=cuda:sm_90a --bank=%t/bank
// DEFINE: %{print} = python3 %S/../../Inputs/print_device_model.py
// RUN: %{opt} %S/Inputs/cuda-scan.mlir --emit=llvm -o - | %{print} | FileCheck %s --check-prefix=SCAN
// RUN: %{opt} %S/Inputs/cuda-sort.mlir --emit=llvm -o - | %{print} | FileCheck %s --check-prefix=SORT
// RUN: %{opt} %S/Inputs/cuda-scatter.mlir --emit=llvm -o - | %{print} | FileCheck %s --check-prefix=SCATTER
// RUN: %{opt} %t/attention.mlir --emit=obj -o %t/attention.o
// RUN: not %{opt} %t/order.mlir --emit=obj -o %t/order.o 2>&1 | FileCheck %s --check-prefix=ORDER

// Five warps have a row of 150, and two places each for their totals.
// SCAN: .visible .entry k0(
// SCAN: .shared .align {{[0-9]+}} .b8 {{.*}}[40];
// SCAN: shfl.sync.up.b32
// SCAN: bar.sync
// SCAN: {"launch":"forward::k0","grid":[3,1,1],"block":[160,1,1],"arguments":["in0","out0"
// One thread a column.
// SCAN: {"launch":"forward::k1","grid":[1,1,1],"block":[3,1,1],"arguments":["in1",

// The arguments' copies, runs of 64, two merges, and back from the workspace.
// SORT-COUNT-2: "grid":[1,1,1],"block":[{{[0-9]+}},1,1],"arguments":["in{{[01]}}","out{{[01]}}"]
// SORT: "arguments":["out0","out1","ws0{{.*}}","ws0{{.*}}"]
// SORT: "arguments":["ws0{{.*}}","ws0{{.*}}","out0","out1"]
// SORT: "arguments":["out0","out1","ws0{{.*}}","ws0{{.*}}"]
// SORT-COUNT-2: "arguments":["ws0{{.*}}","out{{[01]}}"]

// An index outside is an error of the GPU.
// SCATTER: __assertfail

// ORDER: order.mlir:2:8: error: 'tm_tensor.sort' op has an order that is not one comparison of two elements of one tensor, which could contradict itself: compile with --target=host (required by 'fastk.device_sort')

//--- attention.mlir
func.func @forward(%q: tensor<2x4x8xf32>, %k: tensor<2x6x8xf32>, %v: tensor<2x6x8xf32>) -> tensor<2x4x8xf32> {
  %e = tensor.empty() : tensor<2x4x8xf32>
  %r = tm_tensor.attention ins(%q, %k, %v : tensor<2x4x8xf32>, tensor<2x6x8xf32>, tensor<2x6x8xf32>) outs(%e : tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  return %r : tensor<2x4x8xf32>
}

//--- order.mlir
func.func @forward(%x: tensor<8xf32>) -> tensor<8xf32> {
  %r = tm_tensor.sort dimension(0) outs(%x : tensor<8xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = arith.cmpf une, %a, %b : f32
    tm_tensor.yield %s : i1
  } -> tensor<8xf32>
  return %r : tensor<8xf32>
}
