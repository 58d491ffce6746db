//===- SampleWorkloads.td - The pass that draws workloads --*- tablegen -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

def FastkSampleWorkloadsPass
    : Pass<"fastk-sample-workloads", "::mlir::ModuleOp"> {
  let summary = "Add random functions that are workloads of a core";
  let description = [{
    Adds `count` functions, from number `first` on, that compute the core
    `core`: of sizes with their edges, element types and layouts, with whatever
    comes before and after the sums. Seed and number name a function for ever:
    `first=17 count=1` prints the sample 17 that an admission of a family names
    (docs/families.md). Families for the host are tried on other attention
    than those for GPUs: `target=host`. The module's own functions stay as they
    are.

    ```mlir
    // fastk-opt --fastk-sample-workloads="first=37 count=1"
    module {
    }
    ```
  }];
  let options = [
    Option<"core", "core", "std::string", "\"contraction\"",
           "What the functions compute, by the name of a core: contraction, "
           "reduction, attention, convolution, pointwise, scan or window">,
    Option<"count", "count", "unsigned", "60", "How many there are">,
    Option<"first", "first", "uint64_t", "0", "Number of the first one">,
    Option<"seed", "seed", "uint64_t", "0", "What they are drawn with">,
    Option<"target", "target", "std::string", "\"cuda\"",
           "What families they are for: cuda or host">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect",
    "::mlir::tensor::TensorDialect"
  ];
}
