//===- Nvrtc.h - NVRTC, loaded at run time ----------------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// CUDA C++ device code to a cubin, without a GPU and without a driver. NVRTC is
// found in this order (docs/cuda.md):
//
//   1. $FASTK_CUDA_PATH: a toolkit, or a folder that holds libnvrtc. When it is
//      set, nothing else is tried.
//   2. $CUDA_HOME, $CUDA_PATH, /usr/local/cuda, the newest /usr/local/cuda-*,
//      and the loader's own folders: the first with a libnvrtc of 12.4 or
//      later.
//   3. The pip layout, <venv>/lib/python3*/site-packages/nvidia/cu*, in
//      $VIRTUAL_ENV and in .venv beside or above the program or the current
//      folder: what scripts/install-deps.sh --cuda installs.
//
// This compiles in the calling process: for code that fastk itself wrote.
// CompileInChild.h is for everybody else's.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_CUDA_NVRTC_H
#define FASTK_CUDA_NVRTC_H

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace fastk::cuda {

/// Where NVRTC and its headers are.
struct Toolkit {
  /// libnvrtc, and the libnvrtc-builtins beside it (empty when there is none).
  std::string nvrtc, builtins;
  /// Holds cuda_fp16.h; empty when the headers are not installed.
  std::string include;
};

/// All places that hold a libnvrtc, in the order above.
std::vector<Toolkit> findToolkits();

/// libdevice.10.bc, LLVM bitcode of CUDA's math functions, of the first place
/// in the order above that has one; empty when none has. It needs no libnvrtc
/// beside it.
std::string findLibdevice();

/// libcupti, which stamps what the GPU does, and the program compute-sanitizer:
/// of the first place in the order above that has it (CUPTI also under
/// extras/CUPTI, compute-sanitizer also on $PATH); empty when none has. Neither
/// needs a libnvrtc beside it.
std::string findCupti();
std::string findComputeSanitizer();

/// Nsight Compute's ncu, found likewise; empty when there is none.
std::string findNsightCompute();

/// ptxas, CUDA's assembler, of the first place in the order above that has one,
/// or of $PATH; empty when there is none.
std::string findPtxas();

/// nvdisasm or cuobjdump, which show machine code, found likewise; empty when
/// there is neither.
std::string findDisassembler();

/// The headers of the toolkit that device code may include.
extern const std::vector<std::string> allowedHeaders;

/// Header texts by the name that `#include` spells.
using Headers = std::map<std::string, std::string>;

/// `allowedHeaders` and all that they include, out of a toolkit's folder.
Headers readToolkitHeaders(const std::string &includeFolder);

/// The prelude: what device code has without including anything.
extern const char *const preludeName;
const std::string &preludeText();
/// SHA-256 of that text.
const std::string &preludeDigest();

struct CompileRequest {
  std::string source;
  /// "sm_80" to "sm_90a": cubin and PTX. "compute_90a": PTX alone.
  std::string arch = "sm_90a";
  /// Macros, as -D: name and value.
  std::vector<std::pair<std::string, std::string>> defines;
  /// Whether the prelude is included first. Line numbers stay the source's.
  bool prelude = true;
  /// -use_fast_math: only where the precision class allows it.
  bool fastMath = false;
  /// Upper bound of registers a thread; 0 is none.
  unsigned maxRegisters = 0;
  /// More headers by name, beside the toolkit's.
  Headers headers;
};

/// What ptxas reports of one function.
struct KernelFacts {
  /// As in the cubin: mangled unless extern "C".
  std::string name;
  unsigned registers = 0;
  /// Bytes a thread.
  unsigned spillStoreBytes = 0, spillLoadBytes = 0, stackBytes = 0;
  /// Bytes a block.
  unsigned staticSharedBytes = 0;
  /// Named barriers.
  unsigned barriers = 0;
  /// False for a device function that was not inlined.
  bool isEntry = false;
};

struct CompilerWarning {
  /// ptxas' number, as "C7510"; empty for others.
  std::string code;
  std::string text;
};

struct CompileResult {
  /// Empty when it compiled (and, in CompileInChild.h, passed the checks).
  std::string error;
  std::string cubin, ptx;
  /// All messages of the compiler.
  std::string log;
  std::vector<KernelFacts> kernels;
  std::vector<CompilerWarning> warnings;
  double milliseconds = 0;
  /// "13.0".
  std::string nvrtcVersion;
  bool fromCache = false;
  /// Of assembleInChild(): there is no ptxas for this; isTooNew where there is
  /// one, which does not know the `.version` of the PTX.
  bool missingTool = false, isTooNew = false;
  /// Of assembleInChild(): ptxas could not be started, or not be confined. It
  /// says nothing of the program.
  bool toolFailed = false;

  bool ok() const { return error.empty(); }
  const KernelFacts *kernel(const std::string &name) const;
};

/// The facts and warnings in a log that `--ptxas-options=-v` made.
void parseCompilerLog(const std::string &log, std::vector<KernelFacts> &kernels,
                      std::vector<CompilerWarning> &warnings);

/// Why the request cannot be compiled, before any compiler sees it; empty when
/// it can.
std::string checkRequest(const CompileRequest &request);

class Nvrtc {
public:
  /// The first usable of findToolkits(), loaded on first use and kept. Null
  /// where there is none; \p error then says how to get it.
  static const Nvrtc *get(std::string &error);
  /// The version of what get() finds: "13.0"; empty where there is none.
  static std::string versionHere();
  static bool load(const Toolkit &toolkit, Nvrtc &nvrtc, std::string &error);

  /// Compiles here and now, with no checks of what the code does.
  /// \p toolkitHeaders: readToolkitHeaders(), or empty.
  CompileResult compile(const CompileRequest &request,
                        const Headers &toolkitHeaders) const;

  const Toolkit &toolkit() const { return where; }
  std::string version() const {
    return std::to_string(major) + "." + std::to_string(minor);
  }

  /// The library's functions; see the NVRTC reference.
  struct Functions;

private:
  Toolkit where;
  int major = 0, minor = 0;
  const Functions *functions = nullptr;
};

} // namespace fastk::cuda

#endif // FASTK_CUDA_NVRTC_H
