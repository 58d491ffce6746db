//===- fastk-run.cpp - Compile, run, check and time a model ---------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Check.h"
#include "GpuRunner.h"
#include "Inputs.h"
#include "Profile.h"
#include "fastk/Analysis/LeastMemory.h"
#include "fastk/Bank/Bank.h"
#include "fastk/Conversion/CudaCodegen.h"
#include "fastk/Conversion/HostCodegen.h"
#include "fastk/Cuda/CompileInChild.h"
#include "fastk/Dialect/Fastk/PlanRegion.h"
#include "fastk/Driver/Compile.h"
#include "fastk/Driver/LoadModel.h"
#include "fastk/Driver/ModelDiagnostics.h"
#include "fastk/Runtime/CompiledLibrary.h"
#include "fastk/Runtime/Npy.h"
#include "fastk/Support/StandardOutput.h"
#include "fastk/System/AvailableMemory.h"
#include "fastk/System/ClosedStreams.h"
#include "fastk/System/EndingSignals.h"
#include "fastk/System/FormatSeconds.h"
#include "fastk/System/ProcessFolder.h"
#include "fastk/Transforms/RunPasses.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SourceMgr.h"
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <unistd.h>

using namespace mlir;
using namespace fastk;
namespace cl = llvm::cl;

static cl::OptionCategory category("fastk-run options");
static cl::opt<std::string> inputPath(cl::Positional, cl::cat(category),
                                      cl::desc("model.mlir or model.so"),
                                      cl::Required);
static cl::list<std::string>
    inputFiles("inputs", cl::cat(category), cl::CommaSeparated,
               cl::desc("arguments as .npy files, in order and separated by "
                        "commas; the others are generated"),
               cl::value_desc("a.npy,b.npy"));
static cl::opt<std::string>
    outputFolder("outputs", cl::cat(category),
                 cl::desc("write the results to DIR/out0.npy, out1.npy, ..."),
                 cl::value_desc("DIR"));
static cl::opt<bool>
    check("check", cl::cat(category),
          cl::desc("compare with the oracle, the model computed in f64"));
static cl::opt<bool> runOracle(
    "oracle", cl::cat(category),
    cl::desc("run the oracle instead: the model computed in f64, with results "
             "in f64"));
static cl::opt<bool> showTime("time", cl::cat(category),
                              cl::desc("time the model beside its default "
                                       "lowering, interleaved"));
static cl::opt<std::string> targetName("target", cl::cat(category),
                                       cl::init("host"),
                                       cl::desc("host, or cuda: the GPU of "
                                                "this machine"));
static cl::opt<bool>
    useGraphs("graph", cl::cat(category),
              cl::desc("for cuda: capture the model into a CUDA graph, and run "
                       "that"));
static cl::list<std::string>
    banks("bank", cl::cat(category), cl::value_desc("DIR"),
          cl::desc("banks of winners, first wins (default: see fastk-opt)"));
static cl::opt<std::string>
    precisionName("precision", cl::cat(category), cl::init("ieee"),
                  cl::desc("loosest error class accepted: ieee "
                           "(default), tf32 or half"));
static cl::opt<std::string>
    winnersFrom("winners-from", cl::cat(category), cl::init("here"),
                cl::desc("where winners were measured: here (default) or any"));
static cl::opt<bool> requireDeterministic(
    "require-deterministic", cl::cat(category),
    cl::desc("only winners that are known to give the same bits each time"));
static cl::opt<std::string>
    fusion("fusion", cl::cat(category), cl::init("greedy"),
           cl::desc("how workloads are formed: op, greedy (default) or whole"));
static cl::opt<std::string>
    entry("entry", cl::cat(category),
          cl::desc("function to run (default: the only one)"));
static cl::opt<uint64_t>
    seed("seed", cl::cat(category), cl::init(1),
         cl::desc("seed of the generated inputs (default 1)"));
static cl::opt<double> inputsScale(
    "inputs-scale", cl::cat(category), cl::value_desc("S"),
    cl::desc("standard deviation of the generated floats (default 1; of "
             "tensors of two dimensions or more 1/sqrt(last size), as weights "
             "have)"));
static cl::opt<bool>
    showProfile("profile", cl::cat(category),
                cl::desc("for the host: which workloads take how much of its "
                         "time"));
static cl::opt<unsigned>
    openSize("open-size", cl::cat(category), cl::init(8),
             cl::desc("size of the dimensions that the model leaves open, in "
                      "inputs that are generated (default 8)"));
static cl::opt<double>
    seconds("seconds", cl::cat(category), cl::init(2.0),
            cl::desc("how long --time and --profile measure, in seconds "
                     "(default 2)"));

namespace {
/// How a model is compiled for a run.
enum class Mode { Winners, Default, Oracle };

/// What the input holds; both are null where it is a library.
struct Model {
  /// As it was given: fastk-opt may have put winners in.
  ModuleOp given;
  /// What it computes, without winners.
  ModuleOp definition;

  explicit operator bool() { return bool(given); }
  ModuleOp as(Mode mode) { return mode == Mode::Winners ? given : definition; }
};
} // namespace

static KernelRole roleOf(Mode mode) {
  return mode == Mode::Oracle ? KernelRole::Oracle : KernelRole::Program;
}

static int fail(llvm::Error error) {
  llvm::errs() << "fastk-run: error: " << llvm::toString(std::move(error))
               << "\n";
  return 1;
}

/// Whether the shapes say that the function to run cannot have the memory that
/// it takes. `formed` is the model, or its oracle, with its workloads formed.
static llvm::Error checkMemory(ModuleOp formed, Mode mode, int64_t available) {
  for (auto function : formed.getOps<func::FuncOp>()) {
    if (!function.isPublic() || (!entry.empty() && function.getName() != entry))
      continue;
    std::string shortage = leastMemory(function).explainShortage(available);
    if (!shortage.empty())
      return llvm::createStringError(
          (mode == Mode::Oracle ? "the oracle of @" : "@") +
          function.getName() +
          (mode == Mode::Oracle ? ", which computes in f64, " : " ") +
          shortage + ": run it on a machine with more memory" +
          (mode == Mode::Oracle && check ? ", without --check" : "") +
          ", or export the model with smaller shapes");
  }
  return llvm::Error::success();
}

/// The same of a library's function: what it has for itself is not known.
static llvm::Error checkMemory(const CompiledFunction &function) {
  MemoryNeed need;
  auto sum = [](const std::vector<fastk::TensorType> &types) {
    double bytes = 0;
    for (const fastk::TensorType &type : types)
      if (!type.isDynamic())
        bytes += double(type.bytes());
    return bytes;
  };
  need.arguments = sum(function.signature.inputs);
  need.results = sum(function.signature.outputs);
  std::string shortage = need.explainShortage(availableMemory());
  if (shortage.empty())
    return llvm::Error::success();
  return llvm::createStringError(
      inputPath + ": @" + function.name + " " + shortage +
      ": run it on a machine with more memory, or compile the model with "
      "smaller shapes");
}

/// The model with its workloads lowered for `target`, which has so much memory.
static llvm::Expected<OwningOpRef<ModuleOp>>
lowerModelFor(Model model, Mode mode, Precision precision,
              llvm::StringRef target, const Machine &machine,
              int64_t availableBytes) {
  auto failed = [&] {
    return llvm::createStringError("the model could not be compiled");
  };
  OwningOpRef<ModuleOp> module(model.as(mode).clone());
  if (mode == Mode::Oracle && mlir::failed(promoteToF64(*module)))
    return failed();
  if (mode != Mode::Winners) {
    if (mlir::failed(runFormWorkloads(*module, fusion)))
      return failed();
  } else {
    std::vector<std::string> folders(banks.begin(), banks.end());
    if (folders.empty())
      folders = defaultBanks(llvm::sys::fs::getMainExecutable(
          nullptr, reinterpret_cast<void *>(&fail)));
    llvm::Expected<BankStack> stack = BankStack::open(folders);
    if (!stack)
      return stack.takeError();
    WorkloadMatcher matcher(*stack, {target.str(), precision, machine,
                                     /*anyMachine=*/winnersFrom == "any",
                                     requireDeterministic});
    FailureOr<ApplySummary> summary =
        compileWithWinners(*module, fusion, matcher);
    if (mlir::failed(summary))
      return failed();
    llvm::errs() << "fastk-run: " << summary->str() << "\n";
  }
  if (llvm::Error error = checkMemory(*module, mode, availableBytes))
    return std::move(error);
  if (mlir::failed(lowerWorkloads(*module, target)))
    return failed();
  return module;
}

/// Compiles the model to a shared library in `folder` and loads it.
static llvm::Expected<CompiledLibrary> compileModelFor(Model model, Mode mode,
                                                       Precision precision,
                                                       llvm::StringRef folder) {
  auto failed = [&] {
    return llvm::createStringError("the model could not be compiled");
  };
  auto module = lowerModelFor(model, mode, precision, "host", Machine::host(),
                              availableMemory());
  if (!module)
    return module.takeError();
  llvm::LLVMContext context;
  HostTarget target = HostTarget::detect();
  auto compiled = compileModel(**module, context, target, roleOf(mode));
  if (mlir::failed(compiled))
    return failed();
  llvm::SmallString<128> path(folder);
  llvm::sys::path::append(path, mode == Mode::Winners   ? "winners.so"
                                : mode == Mode::Default ? "default.so"
                                                        : "oracle.so");
  if (mlir::failed(emitSharedLibrary(fileOf(**module), **compiled, target, path,
                                     hostLibraries(), "the model")))
    return failed();
  return CompiledLibrary::open(path, inputPath);
}

static double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// `how` the times were taken; seconds, the second ones of the default
/// lowering.
static void printTimes(const std::vector<double> &ours,
                       const std::vector<double> &theirs, llvm::StringRef how) {
  llvm::outs() << llvm::formatv("time: {0}, median of {1} runs{2}",
                                formatSeconds(median(ours)), ours.size(), how);
  std::vector<double> ratios;
  for (auto [our, their] : llvm::zip(ours, theirs))
    ratios.push_back(their / our);
  if (!ratios.empty())
    llvm::outs() << llvm::formatv(
        "; default lowering {0} in the same run: {1:f2}x as fast",
        formatSeconds(median(theirs)), median(ratios));
  llvm::outs() << "\n";
}

/// Times the functions in turn, so that drift of the machine hits both.
static void timeFunctions(const CompiledFunction &winners,
                          const CompiledFunction *baseline,
                          const std::vector<HostTensor> &inputs) {
  using Clock = std::chrono::steady_clock;
  std::vector<HostTensor> outputs = winners.makeOutputs();
  // The inputs are those of a run that went well.
  auto once = [&](const CompiledFunction &function) {
    Clock::time_point start = Clock::now();
    llvm::cantFail(function(inputs, outputs));
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  std::vector<double> ours, theirs;
  Clock::time_point end =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(
                         std::chrono::duration<double>(seconds));
  once(winners);
  if (baseline)
    once(*baseline);
  while (ours.size() < 5 || Clock::now() < end) {
    ours.push_back(once(winners));
    if (baseline)
      theirs.push_back(once(*baseline));
  }
  printTimes(ours, theirs, "");
}

static llvm::Error writeOutputs(const std::vector<HostTensor> &outputs) {
  if (outputFolder.empty()) {
    if (!check && !showTime && !showProfile)
      for (const auto &[i, output] : llvm::enumerate(outputs))
        llvm::outs() << "result " << i << ": " << output.type().str()
                     << " (write it with --outputs DIR)\n";
    return llvm::Error::success();
  }
  if (std::error_code ec = llvm::sys::fs::create_directories(outputFolder))
    return llvm::createStringError(ec, outputFolder + ": " + ec.message());
  for (size_t i = 0; i < outputs.size(); ++i)
    if (llvm::Error error = writeNpy(
            outputFolder + "/out" + std::to_string(i) + ".npy", outputs[i]))
      return error;
  return llvm::Error::success();
}

static llvm::Expected<std::vector<HostTensor>>
makeInputsFor(Model model, llvm::StringRef function,
              const Signature &signature) {
  SmallVector<InputFeatures> features;
  if (model)
    features = analyzeArguments(model.definition, function, fusion);
  std::optional<double> scale;
  if (inputsScale.getNumOccurrences())
    scale = inputsScale;
  return makeInputs(signature, inputFiles, features, seed, openSize, scale);
}

static func::FuncOp functionOf(Model model, llvm::StringRef name) {
  return model.definition.lookupSymbol<func::FuncOp>(name);
}

/// What the model, computed in f64 on this machine's processors, gives.
static llvm::Expected<std::vector<HostTensor>>
runHostOracle(Model model, llvm::StringRef name, Precision precision,
              llvm::StringRef folder, const std::vector<HostTensor> &inputs) {
  auto oracle = compileModelFor(model, Mode::Oracle, precision, folder);
  if (!oracle)
    return oracle.takeError();
  auto function = oracle->find(name);
  if (!function)
    return function.takeError();
  std::vector<HostTensor> expected = (*function)->makeOutputs();
  if (llvm::Error error = (**function)(inputs, expected))
    return std::move(error);
  return expected;
}

/// `library` where the input is one, else the model is compiled in `folder`.
static int runOnHost(Model model, std::optional<CompiledLibrary> library,
                     Precision precision, llvm::StringRef folder) {
  if (!library) {
    llvm::Expected<CompiledLibrary> compiled = compileModelFor(
        model, runOracle ? Mode::Oracle : Mode::Winners, precision, folder);
    if (!compiled)
      return fail(compiled.takeError());
    library = std::move(*compiled);
  }
  auto function = library->find(entry);
  if (!function)
    return fail(function.takeError());
  if (!model)
    if (llvm::Error error = checkMemory(**function))
      return fail(std::move(error));
  auto inputs = makeInputsFor(model, (*function)->name, (*function)->signature);
  if (!inputs)
    return fail(inputs.takeError());
  std::vector<HostTensor> outputs = (*function)->makeOutputs();
  if (llvm::Error error = (**function)(*inputs, outputs))
    return fail(std::move(error));
  if (llvm::Error error = writeOutputs(outputs))
    return fail(std::move(error));
  int status = 0;
  if (check) {
    auto expected =
        runHostOracle(model, (*function)->name, precision, folder, *inputs);
    if (!expected)
      return fail(expected.takeError());
    status = checkOutputs(functionOf(model, (*function)->name), outputs,
                          *expected, "", precision);
  }
  if (showProfile) {
    auto lowered = lowerModelFor(model, Mode::Winners, precision, "host",
                                 Machine::host(), availableMemory());
    if (!lowered)
      return fail(lowered.takeError());
    if (llvm::Error error = profileOnHost(**lowered, folder, (*function)->name,
                                          *inputs, seconds))
      return fail(std::move(error));
  }
  if (!showTime)
    return status;
  std::optional<CompiledLibrary> baseline;
  const CompiledFunction *baselineFunction = nullptr;
  if (model) {
    auto compiled = compileModelFor(model, Mode::Default, precision, folder);
    if (!compiled)
      return fail(compiled.takeError());
    baseline = std::move(*compiled);
    auto found = baseline->find((*function)->name);
    if (!found)
      return fail(found.takeError());
    baselineFunction = *found;
  }
  timeFunctions(**function, baselineFunction, *inputs);
  return status;
}

/// Above this many elements read and written, the oracle runs on the GPU, too:
/// the host would take minutes.
static constexpr int64_t kHostOracleElements = int64_t(1) << 20;

namespace {
/// A model compiled for the GPU in this process, and the function to run.
struct CompiledForGpu {
  DeviceModel model;
  GpuFunction function;
};
} // namespace

static llvm::Expected<std::unique_ptr<CompiledForGpu>>
compileForGpu(Model model, Mode mode, Precision precision, const GpuRunner &gpu,
              llvm::StringRef name) {
  Machine machine = Machine::of(gpu.target(), 0);
  machine.model = gpu.device().model;
  auto module = lowerModelFor(model, mode, precision, gpu.target(), machine,
                              gpu.device().memoryBytes);
  if (!module)
    return module.takeError();
  std::optional<CudaTarget> target = CudaTarget::parse(gpu.target());
  if (!target)
    return llvm::createStringError("fastk does not know the architecture of " +
                                   gpu.device().model + " (" + gpu.target() +
                                   ")");
  auto compiled = compileDeviceModel(**module, *target, roleOf(mode));
  if (mlir::failed(compiled))
    return llvm::createStringError("the model could not be compiled");
  auto result = std::make_unique<CompiledForGpu>();
  result->model = std::move(*compiled);
  auto function = GpuRunner::find(result->model, name);
  if (!function)
    return function.takeError();
  result->function = std::move(*function);
  return result;
}

static int checkOnGpu(Model model, GpuRunner &gpu, Precision precision,
                      llvm::StringRef folder, const GpuFunction &function,
                      const std::vector<HostTensor> &inputs,
                      const std::vector<HostTensor> &outputs) {
  int64_t elements = 0;
  for (const HostTensor &tensor : inputs)
    elements += tensor.type().elements();
  for (const HostTensor &tensor : outputs)
    elements += tensor.type().elements();
  if (elements <= kHostOracleElements) {
    auto expected =
        runHostOracle(model, function.name, precision, folder, inputs);
    if (!expected)
      return fail(expected.takeError());
    return checkOutputs(functionOf(model, function.name), outputs, *expected,
                        " on the host", precision);
  }
  auto oracle =
      compileForGpu(model, Mode::Oracle, precision, gpu, function.name);
  if (!oracle)
    return fail(oracle.takeError());
  auto expected = gpu.run((*oracle)->function, inputs);
  if (!expected)
    return fail(expected.takeError());
  return checkOutputs(functionOf(model, function.name), outputs, *expected,
                      " on the GPU", precision);
}

static int runOnGpu(Model model, const CompiledLibrary *library,
                    Precision precision, llvm::StringRef folder) {
  auto gpu = GpuRunner::create();
  if (!gpu)
    return fail(llvm::createStringError(
        "running for " + targetName +
        " needs a GPU: " + llvm::toString(gpu.takeError())));
  if (targetName != "cuda" && targetName != (*gpu)->target())
    return fail(llvm::createStringError(
        "the GPU here is " + (*gpu)->device().model + " (" + (*gpu)->target() +
        "), not " + targetName + ": compile for it with --target=cuda"));
  if (useGraphs)
    (*gpu)->useGraphs();
  std::unique_ptr<CompiledForGpu> compiled;
  GpuFunction function;
  if (library) {
    auto found = library->find(entry);
    if (!found)
      return fail(found.takeError());
    function = GpuRunner::of(**found);
  } else {
    auto made = compileForGpu(model, runOracle ? Mode::Oracle : Mode::Winners,
                              precision, **gpu, entry);
    if (!made)
      return fail(made.takeError());
    compiled = std::move(*made);
    function = compiled->function;
  }
  auto inputs = makeInputsFor(model, function.name, function.signature);
  if (!inputs)
    return fail(inputs.takeError());
  auto outputs = (*gpu)->run(function, *inputs);
  if (!outputs)
    return fail(outputs.takeError());
  if (llvm::Error error = writeOutputs(*outputs))
    return fail(std::move(error));
  int status = 0;
  if (check)
    status = checkOnGpu(model, **gpu, precision, folder, function, *inputs,
                        *outputs);
  if (!showTime || status == 1)
    return status;
  std::unique_ptr<CompiledForGpu> baseline;
  if (model) {
    auto made =
        compileForGpu(model, Mode::Default, precision, **gpu, function.name);
    if (!made)
      return fail(made.takeError());
    baseline = std::move(*made);
  }
  auto times = (*gpu)->time(function, baseline ? &baseline->function : nullptr,
                            *inputs, seconds);
  if (!times)
    return fail(times.takeError());
  auto inSeconds = [](std::vector<double> times) {
    for (double &time : times)
      time *= 1e-3;
    return times;
  };
  printTimes(inSeconds(times->model), inSeconds(times->baseline),
             std::string(useGraphs ? " as a CUDA graph" : "") + " on " +
                 (*gpu)->device().model + ", L2 emptied before each");
  return status;
}

static int run(int argc, char **argv) {
  // Before OpenMP starts: threads that move, or share a processor, make the
  // times of small kernels bimodal. What the user set is kept.
  setenv("OMP_PROC_BIND", "true", /*overwrite=*/0);
  registerPassManagerCLOptions();
  registerMLIRContextCLOptions();
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(
      argc, argv,
      "Compile a model with the winners of the bank, run it, check and time "
      "it.\n\n"
      "  fastk-run model.mlir --check --time\n"
      "  fastk-run model.so --inputs a.npy,b.npy --outputs results\n\n"
      "Inputs that are not given are generated: floats from N(0, 1), those of "
      "tensors of\ntwo dimensions or more divided by sqrt(last size); in "
      "[0.5, 1.5] what has to be\npositive; indices in range, other integers 0 "
      "or 1. A branch of the model that such\nvalues never take is neither run "
      "nor checked: scale them with --inputs-scale, or\ngive values of your "
      "own "
      "with --inputs.\n\n"
      "Exit codes: 0 done, 1 the input or the options are wrong, 2 --check "
      "found a wrong result.\n");
  if (targetName != "host" && targetName != "cuda" && !planLimitsOf(targetName))
    return fail(llvm::createStringError("unknown target '" + targetName +
                                        "': choose host or cuda"));
  if (winnersFrom != "here" && winnersFrom != "any")
    return fail(llvm::createStringError("unknown --winners-from '" +
                                        winnersFrom + "': choose here or any"));
  if (!(seconds > 0))
    return fail(llvm::createStringError(
        "--seconds wants a number above 0: how long --time and --profile "
        "measure"));
  if (inputsScale.getNumOccurrences() &&
      !(std::isfinite(inputsScale) && inputsScale > 0))
    return fail(llvm::createStringError(
        "--inputs-scale wants a number above 0: the standard deviation of the "
        "generated floats"));
  std::optional<Precision> precision = symbolizePrecision(precisionName);
  if (!precision)
    return fail(llvm::createStringError("unknown precision '" + precisionName +
                                        "': choose ieee, tf32 or half"));

  warnOfMissingBanks(std::vector<std::string>(banks.begin(), banks.end()),
                     "fastk-run", "fastk-opt --search");

  ProcessFolder folder;
  if (std::error_code ec = folder.create("fastk-run"))
    return fail(llvm::createStringError(ec, explainTemporaryFileError(ec)));

  bool isLibrary = llvm::StringRef(inputPath).ends_with(".so");
  // The passes obey the options above; nothing is timed.
  TimingScope untimed;
  ObservedPasses observed(&untimed);
  DialectRegistry registry;
  registerFastkDialects(registry);
  registerHostCodegen(registry);
  registerCudaCodegen(registry);
  MLIRContext context(registry);
  context.printOpOnDiagnostic(false); // the source line is shown
  llvm::SourceMgr sourceMgr;
  ModelDiagnosticHandler handler(sourceMgr, &context);
  OwningOpRef<ModuleOp> model, definition;
  if (isLibrary && (check || runOracle))
    return fail(llvm::createStringError(
        "--check and --oracle need the model: a library has no oracle"));
  if (check && runOracle)
    return fail(llvm::createStringError(
        "--oracle is what --check compares with: use one of them"));
  if (!isLibrary) {
    model = loadModel(inputPath, sourceMgr, &context);
    if (!model || failed(checkModel(*model)) || failed(inlineCalls(*model)))
      return 1;
    if (targetName != "host" && failed(unrollLoops(*model)))
      return 1;
    if (!model->getOps<LoweringOp>().empty()) {
      definition = model->clone();
      if (failed(inlineLowerings(*definition)))
        return 1;
    }
  }
  std::optional<CompiledLibrary> library;
  if (isLibrary) {
    llvm::Expected<CompiledLibrary> opened = CompiledLibrary::open(inputPath);
    if (!opened)
      return fail(opened.takeError());
    library = std::move(*opened);
    auto function = library->find(entry);
    if (!function)
      return fail(function.takeError());
    // What it is for is in it.
    llvm::StringRef made = (*function)->signature.target;
    if (targetName.getNumOccurrences() && targetName != made &&
        !(targetName == "cuda" && made.starts_with("cuda:")))
      return fail(llvm::createStringError(
          inputPath + ": is compiled for " + made + ", not for " + targetName +
          ": leave --target out, or compile the model again"));
    targetName = made.str();
  }
  if (useGraphs && targetName == "host")
    return fail(llvm::createStringError(
        "--graph is for a GPU: add --target=cuda, or leave it out"));
  if (showProfile && (targetName != "host" || isLibrary || runOracle))
    return fail(llvm::createStringError(
        "--profile is for a model on the host: a library does not tell its "
        "workloads apart; leave out --target and --oracle, or --profile"));
  Model models;
  if (model)
    models = {*model, definition ? *definition : *model};
  if (targetName != "host")
    return runOnGpu(models, library ? &*library : nullptr, *precision,
                    folder.path());
  return runOnHost(models, std::move(library), *precision, folder.path());
}

int main(int argc, char **argv) {
  if (cuda::isNvrtcChild(argc, argv))
    _exit(cuda::nvrtcChildMain(argc, argv));
  occupyClosedStreams();
  watchStandardOutput("fastk-run");
  watchEndingSignals();
  llvm::InitLLVM init(argc, argv, /*InstallPipeSignalExitHandler=*/false);
  keepIgnoredSignals();
  return run(argc, argv);
}
