//===- Passes.td - Search as a pass ------------------------*- tablegen -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_DRIVER_PASSES_TD
#define FASTK_DRIVER_PASSES_TD

include "mlir/Pass/PassBase.td"

def FastkSearchPass : Pass<"fastk-search", "::mlir::ModuleOp"> {
  let summary = "Search faster programs for workloads, and store the winners";
  let description = [{
    For each `fastk.workload` without a winner in the banks: asks the proposers
    for ideas and programs, has the evaluator judge and time them, and stores the
    fastest one that is right in the first bank. The module does not change:
    fastk-apply-winners after it applies what was found. So a whole compile is
    one pipeline, with anybody's passes between:

    ```
    builtin.module(fastk-form-workloads{fusion=greedy},
                   fastk-search{bank=winners proposer=catalog budget=minutes=5},
                   fastk-apply-winners{bank=winners},
                   fastk-lower-workloads)
    ```

    The options are those of `fastk-opt --search` (docs/search.md), by the same
    names; `scope=all` is `--search=all`. What was measured and asked is in the
    journal: the same pipeline run again goes on from there. Answers that are
    pending (`proposer=mailbox:DIR`, `evaluator=spool:DIR`) leave the module to
    the passes that follow, with a remark `search-pending`; with
    `require-complete` they are an error, by which a script sees that it has to
    run again.

    Candidates are compiled and judged in processes of fastk-opt and
    fastk-worker, which are looked for beside this program, beside the plugin
    that the pass is in, and in $PATH.

    ```mlir
    // fastk-opt --fastk-form-workloads --fastk-search="bank=winners.example scope=none"
    func.func @negate(%x: tensor<8xf32>) -> tensor<8xf32> {
      %empty = tensor.empty() : tensor<8xf32>
      %0 = linalg.negf ins(%x : tensor<8xf32>) outs(%empty : tensor<8xf32>) -> tensor<8xf32>
      return %0 : tensor<8xf32>
    }
    ```
  }];
  let options = [
    ListOption<"bank", "bank", "std::string",
               "Bank folders; new winners go to the first">,
    Option<"scope", "scope", "::fastk::SearchScope",
           "::fastk::SearchScope::Misses",
           "What is searched: misses, all or none">,
    ListOption<"proposer", "proposer", "std::string",
               "Where ideas come from (default: families, catalog)">,
    Option<"evaluator", "evaluator", "std::string", "\"local\"",
           "Where evaluations run: local, spool:DIR[?wait=S], ray:ADDRESS or replay:FILE">,
    Option<"budget", "budget", "std::string", "\"\"",
           "Hard limits: evaluations=N,minutes=N,tokens=N,usd=N">,
    Option<"journal", "journal", "std::string", "\"\"",
           "Folder of journals (default: beside the bank)">,
    Option<"report", "report", "std::string", "\"\"",
           "File for what was found, as JSON">,
    Option<"record", "record", "std::string", "\"\"",
           "File for all that the search was told, to be replayed">,
    Option<"target", "target", "std::string", "\"host\"",
           "What to search for: host, cuda or cuda:ARCH">,
    Option<"precision", "precision", "::fastk::Precision",
           "::fastk::Precision::ieee",
           "Loosest error class accepted: ieee, tf32 or half">,
    Option<"winnersFrom", "winners-from", "::fastk::WinnersFrom",
           "::fastk::WinnersFrom::Here",
           "Where winners for the host count from: here or any">,
    Option<"requireDeterministic", "require-deterministic", "bool", "false",
           "Refuse candidates that give other bits for the same operands">,
    Option<"threads", "num-threads", "unsigned", "0",
           "Threads that kernels are measured with; 0: all processors">,
    Option<"strategy", "strategy", "std::string",
           "::fastk::SearchOptions().strategy->name.str()",
           "Shape of the search, by name (docs/search.md)">,
    Option<"rounds", "rounds", "int", "::fastk::SearchOptions().rounds",
           "Rounds of a search">,
    Option<"ideas", "ideas", "int", "::fastk::SearchOptions().ideas",
           "Ideas a round">,
    Option<"implementations", "implementations", "int",
           "::fastk::SearchOptions().implementations", "Realisations of an idea">,
    Option<"parents", "parents", "int", "::fastk::SearchOptions().parents",
           "Variants that seed a round">,
    Option<"repairs", "repairs", "int", "::fastk::SearchOptions().repairs",
           "Repairs of a failed variant">,
    Option<"seed", "seed", "uint64_t", "::fastk::SearchOptions().seed",
           "Seed of the search's choices">,
    Option<"boundaries", "search-boundaries", "bool", "false",
           "Search what workloads can be cut into, too">,
    Option<"fusion", "fusion", "::fastk::Fusion", "::fastk::Fusion::Greedy",
           "How the module's workloads were formed, for search-boundaries">,
    Option<"write", "write", "std::string", "\"families\"",
           "What language models write: families, for a GPU programs for every "
           "size of a workload's core, where it has one; programs, for the "
           "workload alone, in C or CUDA-C; schedules, which the compiler "
           "applies to it; gpu, modules of the gpu dialect">,
    Option<"prompts", "prompts", "std::string", "\"\"",
           "Folder of prompt templates that replace the built-in ones">,
    Option<"baseUrl", "llm-base-url", "std::string", "\"\"",
           "Where the provider of a model is">,
    Option<"keyVariable", "llm-key-env", "std::string", "\"\"",
           "Environment variable that holds the key">,
    Option<"extraBody", "llm-extra-body", "std::string", "\"\"",
           "Fields, as JSON, that are added to every request to a model">,
    Option<"priceTable", "llm-prices", "std::string", "\"\"",
           "File with what tokens cost">,
    Option<"modelTimeout", "llm-timeout", "double", "0",
           "Longest seconds for one reply; 0: the proposer's own">,
    Option<"tools", "tools", "std::string", "\"\"",
           "Folder of fastk-opt and fastk-worker (default: looked for)">,
    Option<"requireComplete", "require-complete", "bool", "false",
           "Pending answers are an error">
  ];
}

#endif // FASTK_DRIVER_PASSES_TD
