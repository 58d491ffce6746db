//===- Nvrtc.cpp - NVRTC, loaded at run time ------------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Cuda/Nvrtc.h"
#include "Sha256.h"
#include <cctype>
#include <chrono>
#include <dlfcn.h>

using namespace fastk::cuda;

using nvrtcProgram = struct _nvrtcProgram *;

/// Results are ints here: 0 is success, and nvrtcGetErrorString knows the rest.
struct Nvrtc::Functions {
  int (*nvrtcVersion)(int *, int *);
  const char *(*nvrtcGetErrorString)(int);
  int (*nvrtcCreateProgram)(nvrtcProgram *, const char *, const char *, int,
                            const char *const *, const char *const *);
  int (*nvrtcDestroyProgram)(nvrtcProgram *);
  int (*nvrtcCompileProgram)(nvrtcProgram, int, const char *const *);
  int (*nvrtcGetPTXSize)(nvrtcProgram, size_t *);
  int (*nvrtcGetPTX)(nvrtcProgram, char *);
  int (*nvrtcGetCUBINSize)(nvrtcProgram, size_t *);
  int (*nvrtcGetCUBIN)(nvrtcProgram, char *);
  int (*nvrtcGetProgramLogSize)(nvrtcProgram, size_t *);
  int (*nvrtcGetProgramLog)(nvrtcProgram, char *);
};

/// The oldest that knows all of sm_90a's instructions that the prelude uses.
static constexpr int kOldest[2] = {12, 4};

const char *const fastk::cuda::preludeName = "fastk_prelude.cuh";

const std::string &fastk::cuda::preludeDigest() {
  static const std::string digest = sha256(preludeText());
  return digest;
}

static const char *const kHowToGet =
    "run scripts/install-deps.sh --cuda (pip packages, no GPU needed; beside "
    "the "
    "wheel: pip install 'fastk[cuda]'), or install CUDA 12.4 or later, or name "
    "its folder in FASTK_CUDA_PATH";

template <typename Function>
static bool resolve(void *library, const char *name, Function &function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function;
}

bool Nvrtc::load(const Toolkit &toolkit, Nvrtc &nvrtc, std::string &error) {
  auto cannotLoad = [&](const std::string &file) {
    const char *why = dlerror();
    error = "cannot load " + file + ": " + (why ? why : "no reason");
    return false;
  };
  // NVRTC opens its builtins by bare name: that finds them only if they are
  // there already. They need the C++ library, and NVRTC does not.
  if (!toolkit.builtins.empty() &&
      !dlopen(toolkit.builtins.c_str(), RTLD_NOW | RTLD_GLOBAL))
    return cannotLoad(toolkit.builtins);
  void *library = dlopen(toolkit.nvrtc.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return cannotLoad(toolkit.nvrtc);
  static_assert(sizeof(Functions) == 11 * sizeof(void *));
  auto *functions = new Functions(); // Lives as long as the library: for ever.
#define FASTK_RESOLVE(NAME)                                                    \
  if (!resolve(library, #NAME, functions->NAME)) {                             \
    error = toolkit.nvrtc + " has no " #NAME "; " + kHowToGet;                 \
    delete functions;                                                          \
    return false;                                                              \
  }
  FASTK_RESOLVE(nvrtcVersion)
  FASTK_RESOLVE(nvrtcGetErrorString)
  FASTK_RESOLVE(nvrtcCreateProgram)
  FASTK_RESOLVE(nvrtcDestroyProgram)
  FASTK_RESOLVE(nvrtcCompileProgram)
  FASTK_RESOLVE(nvrtcGetPTXSize)
  FASTK_RESOLVE(nvrtcGetPTX)
  FASTK_RESOLVE(nvrtcGetCUBINSize)
  FASTK_RESOLVE(nvrtcGetCUBIN)
  FASTK_RESOLVE(nvrtcGetProgramLogSize)
  FASTK_RESOLVE(nvrtcGetProgramLog)
#undef FASTK_RESOLVE
  nvrtc.where = toolkit;
  nvrtc.functions = functions;
  functions->nvrtcVersion(&nvrtc.major, &nvrtc.minor);
  if (std::make_pair(nvrtc.major, nvrtc.minor) <
      std::make_pair(kOldest[0], kOldest[1])) {
    error = toolkit.nvrtc + " is NVRTC " + nvrtc.version() +
            ", too old for sm_90a; " + kHowToGet;
    return false;
  }
  return true;
}

std::string Nvrtc::versionHere() {
  std::string problem;
  const Nvrtc *nvrtc = get(problem);
  return nvrtc ? nvrtc->version() : "";
}

const Nvrtc *Nvrtc::get(std::string &error) {
  struct State {
    Nvrtc nvrtc;
    std::string error;
    bool loaded = false;
    State() {
      for (const Toolkit &toolkit : findToolkits())
        if ((loaded = load(toolkit, nvrtc, error)))
          return;
      if (error.empty())
        error = std::string("no CUDA compiler: libnvrtc was not found; ") +
                kHowToGet;
    }
  };
  static State state;
  error = state.loaded ? "" : state.error;
  return state.loaded ? &state.nvrtc : nullptr;
}

//===----------------------------------------------------------------------===//
// Compiling
//===----------------------------------------------------------------------===//

static bool isIdentifier(const std::string &text) {
  if (text.empty() || std::isdigit(static_cast<unsigned char>(text[0])))
    return false;
  for (unsigned char c : text)
    if (!std::isalnum(c) && c != '_')
      return false;
  return true;
}

static bool isArch(const std::string &arch) {
  size_t digits = arch.compare(0, 3, "sm_") == 0        ? 3
                  : arch.compare(0, 8, "compute_") == 0 ? 8
                                                        : std::string::npos;
  if (digits == std::string::npos)
    return false;
  size_t end = digits;
  while (end < arch.size() &&
         std::isdigit(static_cast<unsigned char>(arch[end])))
    ++end;
  if (end < digits + 2)
    return false;
  if (end < arch.size() && (arch[end] == 'a' || arch[end] == 'f'))
    ++end;
  return end == arch.size() && end - digits <= 4;
}

std::string fastk::cuda::checkRequest(const CompileRequest &request) {
  if (!isArch(request.arch))
    return "'" + request.arch +
           "' is no GPU architecture; write sm_80, sm_90 "
           "or sm_90a";
  constexpr size_t kLargest = size_t(4) << 20;
  if (request.source.size() > kLargest)
    return "the source is larger than 4 MiB; generate loops, not text";
  if (request.source.find('\0') != std::string::npos)
    return "the source holds a null character; write it as text";
  for (const auto &[name, value] : request.defines) {
    if (!isIdentifier(name))
      return "'" + name + "' is no macro name; use letters, digits and _";
    if (value.size() > 4096 || value.find('\n') != std::string::npos ||
        value.find('\0') != std::string::npos)
      return "the value of macro '" + name +
             "' is longer than 4096 characters "
             "or has more than one line";
  }
  if (request.maxRegisters > 255)
    return "a thread has at most 255 registers";
  return "";
}

CompileResult Nvrtc::compile(const CompileRequest &request,
                             const Headers &toolkitHeaders) const {
  CompileResult result;
  result.nvrtcVersion = version();
  result.error = checkRequest(request);
  if (!result.ok())
    return result;
  Headers all = toolkitHeaders;
  for (const auto &[name, text] : request.headers)
    all[name] = text;
  all[preludeName] = preludeText();
  std::vector<const char *> names, texts;
  for (const auto &[name, text] : all) {
    names.push_back(name.c_str());
    texts.push_back(text.c_str());
  }
  std::vector<std::string> options = {"-arch=" + request.arch, "-std=c++17",
                                      "-default-device", "--ptxas-options=-v"};
  if (request.prelude)
    options.push_back(std::string("--pre-include=") + preludeName);
  if (request.fastMath)
    options.push_back("-use_fast_math");
  if (request.maxRegisters)
    options.push_back("--maxrregcount=" + std::to_string(request.maxRegisters));
  for (const auto &[name, value] : request.defines)
    options.push_back("-D" + name + "=" + value);
  std::vector<const char *> pointers;
  for (const std::string &option : options)
    pointers.push_back(option.c_str());

  auto start = std::chrono::steady_clock::now();
  nvrtcProgram program = nullptr;
  int code = functions->nvrtcCreateProgram(&program, request.source.c_str(),
                                           "kernel.cu", int(names.size()),
                                           texts.data(), names.data());
  if (code != 0) {
    result.error = std::string("nvrtcCreateProgram failed: ") +
                   functions->nvrtcGetErrorString(code);
    return result;
  }
  code = functions->nvrtcCompileProgram(program, int(pointers.size()),
                                        pointers.data());
  result.milliseconds = std::chrono::duration<double, std::milli>(
                            std::chrono::steady_clock::now() - start)
                            .count();
  auto get = [&](int (*size)(nvrtcProgram, size_t *),
                 int (*text)(nvrtcProgram, char *), bool isText) {
    std::string buffer;
    size_t bytes = 0;
    if (size(program, &bytes) != 0 || bytes == 0)
      return buffer;
    buffer.resize(bytes);
    if (text(program, buffer.data()) != 0)
      buffer.clear();
    while (isText && !buffer.empty() && buffer.back() == '\0')
      buffer.pop_back();
    return buffer;
  };
  result.log = get(functions->nvrtcGetProgramLogSize,
                   functions->nvrtcGetProgramLog, true);
  parseCompilerLog(result.log, result.kernels, result.warnings);
  if (code == 0) {
    result.ptx = get(functions->nvrtcGetPTXSize, functions->nvrtcGetPTX, true);
    result.cubin =
        get(functions->nvrtcGetCUBINSize, functions->nvrtcGetCUBIN, false);
  } else {
    result.error = functions->nvrtcGetErrorString(code);
    if (!result.log.empty())
      result.error += ":\n" + result.log;
  }
  functions->nvrtcDestroyProgram(&program);
  return result;
}
