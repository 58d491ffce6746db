// A sum over nothing is what it starts from, here the bias: such an op is part of no workload and is
// left as it came in a module; what follows it is compiled and searched as ever.
// RUN: rm -rf %t && mkdir -p %t/bank
// RUN: fastk-opt %s --bank=%t/bank --remarks-filter=fastk 2> %t/remarks | FileCheck %s --check-prefix=LEFT
// RUN: FileCheck %s --check-prefix=REMARK < %t/remarks
// LEFT: linalg.matmul ins(%{{.*}} : tensor<4x0xf32>, tensor<0x8xf32>)
// REMARK: left-outside {{.*}}Reason="linalg.matmul has a tensor without elements"
// REMARK: fastk-opt: 2 workloads: 0 hits, 2 misses, 0 stale

// RUN: fastk-opt %s --bank=%t/bank --emit=so -o %t/out.so
// RUN: fastk-run %s --bank=%t/bank --check | FileCheck %s --check-prefix=CHECKED
// CHECKED: check: result 0: {{.*}}: ok
// CHECKED: check: result 1: {{.*}}: ok

// RUN: fastk-run %t/out.so --outputs=%t/results
// RUN: python3 -c "import sys; d = open(sys.argv[1], 'rb').read()[-128:]; import array; v = array.array('f', d); print([v[i] for i in (0, 7, 8, 31)])" %t/results/out0.npy | FileCheck %s --check-prefix=VALUES
// VALUES: [1.5, 1.5, 1.5, 1.5]

func.func @forward(%a: tensor<4x0xf32>, %b: tensor<0x8xf32>, %c: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %bias = arith.constant 1.5 : f32
  %e = tensor.empty() : tensor<4x8xf32>
  %f = linalg.fill ins(%bias : f32) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %m = linalg.matmul ins(%a, %b : tensor<4x0xf32>, tensor<0x8xf32>) outs(%f : tensor<4x8xf32>) -> tensor<4x8xf32>
  %s = linalg.add ins(%m, %c : tensor<4x8xf32>, tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %m, %s : tensor<4x8xf32>, tensor<4x8xf32>
}
