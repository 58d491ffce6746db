//===- FindToolkit.cpp - Where NVRTC and its headers are ------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Cuda/Nvrtc.h"
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <sstream>
#include <unistd.h>

namespace fs = std::filesystem;
using namespace fastk::cuda;

const std::vector<std::string> fastk::cuda::allowedHeaders = {
    "cuda_fp16.h", "cuda_bf16.h", "cuda_fp8.h", "mma.h"};

/// Entries of \p folder that begin with \p prefix, the highest version first
/// (12.10 after 12.9).
static std::vector<fs::path> entries(const fs::path &folder,
                                     const std::string &prefix) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error))
    if (at->path().filename().string().compare(0, prefix.size(), prefix) == 0)
      found.push_back(at->path());
  auto version = [&](const fs::path &path) {
    std::vector<int> numbers;
    std::string rest = path.filename().string().substr(prefix.size());
    for (size_t i = 0; i < rest.size();) {
      if (rest[i] < '0' || rest[i] > '9') {
        ++i;
        continue;
      }
      int number = 0;
      for (; i < rest.size() && rest[i] >= '0' && rest[i] <= '9'; ++i)
        number = std::min(number * 10 + (rest[i] - '0'), 1000000);
      numbers.push_back(number);
    }
    return numbers;
  };
  std::sort(found.begin(), found.end(),
            [&](const fs::path &a, const fs::path &b) {
              return version(a) > version(b);
            });
  return found;
}

/// Adds the libnvrtc of \p folder, if it has one. "libnvrtc.so.13" rather than
/// "libnvrtc.so", which is there for linking only and may be missing.
static void addLibrary(const fs::path &folder,
                       const std::vector<fs::path> &includes,
                       std::vector<Toolkit> &found) {
  std::vector<fs::path> libraries = entries(folder, "libnvrtc.so.");
  if (libraries.empty())
    libraries = entries(folder, "libnvrtc.so");
  if (libraries.empty())
    return;
  Toolkit toolkit;
  toolkit.nvrtc = libraries.front().string();
  if (std::vector<fs::path> builtins = entries(folder, "libnvrtc-builtins.so.");
      !builtins.empty())
    toolkit.builtins = builtins.front().string();
  std::error_code error;
  for (const fs::path &include : includes)
    if (toolkit.include.empty() && fs::exists(include / "cuda_fp16.h", error))
      toolkit.include = include.string();
  found.push_back(toolkit);
}

/// Adds the toolkit whose root is \p root, or that keeps its library right in
/// it.
static void addRoot(const fs::path &root, std::vector<Toolkit> &found) {
#if defined(__aarch64__)
  const char *target = "sbsa-linux";
#else
  const char *target = "x86_64-linux";
#endif
  std::vector<fs::path> includes = {root / "include",
                                    root / "targets" / target / "include",
                                    root.parent_path() / "include"};
  size_t before = found.size();
  for (const fs::path &folder :
       {root / "lib64", root / "lib", root / "targets" / target / "lib", root})
    if (found.size() == before)
      addLibrary(folder, includes, found);
}

/// Adds those of the packages in \p folder, as site-packages.
static void addPackages(const fs::path &folder, std::vector<fs::path> &roots) {
  for (const fs::path &cuda : entries(folder / "nvidia", "cu"))
    // cu13 and later; older wheels scatter over cuda_nvrtc, cuda_runtime ...
    if (cuda.filename().string().find('_') == std::string::npos)
      roots.push_back(cuda);
}

static void addVenv(const fs::path &venv, std::vector<fs::path> &roots) {
  for (const fs::path &python : entries(venv / "lib", "python3"))
    addPackages(python / "site-packages", roots);
}

/// The toolkits that the environment names, or that are installed.
static std::vector<fs::path> installedRoots() {
  std::vector<fs::path> roots;
  for (const char *name : {"CUDA_HOME", "CUDA_PATH"})
    if (const char *set = std::getenv(name); set && *set)
      roots.push_back(set);
  roots.push_back("/usr/local/cuda");
  for (const fs::path &root : entries("/usr/local", "cuda-"))
    roots.push_back(root);
  return roots;
}

/// Calls \p visit with \p folder and those that it is in, not too many.
static void forEachAbove(fs::path folder,
                         const std::function<void(const fs::path &)> &visit) {
  for (int up = 0; up < 6 && !folder.empty(); ++up) {
    visit(folder);
    if (folder == folder.parent_path())
      break;
    folder = folder.parent_path();
  }
}

/// The toolkits of pip packages.
static std::vector<fs::path> pipRoots() {
  std::error_code error;
  fs::path here = fs::read_symlink("/proc/self/exe", error).parent_path();
  std::vector<fs::path> roots;
  // Of the environment that fastk is a package of.
  forEachAbove(here, [&](const fs::path &folder) {
    if (folder.filename() == "site-packages" ||
        folder.filename() == "dist-packages")
      addPackages(folder, roots);
  });
  std::vector<fs::path> venvs;
  if (const char *set = std::getenv("VIRTUAL_ENV"); set && *set)
    venvs.push_back(set);
  for (const fs::path &start : {here, fs::current_path(error)})
    forEachAbove(start, [&](const fs::path &folder) {
      venvs.push_back(folder / ".venv");
    });
  for (const fs::path &venv : venvs)
    addVenv(venv, roots);
  return roots;
}

/// Where parts of CUDA other than NVRTC are looked for.
static std::vector<fs::path> allRoots() {
  if (const char *set = std::getenv("FASTK_CUDA_PATH"); set && *set)
    return {set};
  std::vector<fs::path> roots = installedRoots();
  // Debian's package of CUDA.
  roots.push_back("/usr/lib/nvidia-cuda-toolkit");
  for (const fs::path &root : pipRoots())
    roots.push_back(root);
  return roots;
}

std::string fastk::cuda::findLibdevice() {
  std::error_code error;
  for (const fs::path &root : allRoots())
    // The last is for a folder of libraries inside a toolkit.
    for (const char *folder :
         {"nvvm/libdevice", "libdevice", ".", "../nvvm/libdevice"})
      if (fs::path file = root / folder / "libdevice.10.bc";
          fs::exists(file, error))
        return file.lexically_normal().string();
  return "";
}

std::string fastk::cuda::findCupti() {
#if defined(__aarch64__)
  const char *target = "targets/sbsa-linux/lib";
  const char *system = "/usr/lib/aarch64-linux-gnu";
#else
  const char *target = "targets/x86_64-linux/lib";
  const char *system = "/usr/lib/x86_64-linux-gnu";
#endif
  std::vector<fs::path> folders;
  for (const fs::path &root : allRoots())
    // The last but one is for a folder of libraries inside a toolkit.
    for (const char *folder : {"extras/CUPTI/lib64", "lib64", "lib", target,
                               "../extras/CUPTI/lib64", "."})
      folders.push_back(root / folder);
  if (const char *set = std::getenv("FASTK_CUDA_PATH"); !set || !*set)
    for (const char *folder : {system, "/usr/lib64"})
      folders.push_back(folder);
  for (const fs::path &folder : folders)
    // "libcupti.so.13" rather than "libcupti.so", which may be missing.
    for (const char *name : {"libcupti.so.", "libcupti.so"})
      if (std::vector<fs::path> found = entries(folder, name); !found.empty())
        return found.front().lexically_normal().string();
  return "";
}

/// A program in \p folders of the roots, else, unless $FASTK_CUDA_PATH is set,
/// in those of $PATH.
static std::string findProgram(const char *name,
                               std::initializer_list<const char *> folders) {
  std::vector<fs::path> files;
  for (const fs::path &root : allRoots())
    for (const char *folder : folders)
      files.push_back(root / folder / name);
  if (const char *set = std::getenv("FASTK_CUDA_PATH"); !set || !*set)
    if (const char *path = std::getenv("PATH")) {
      std::istringstream entries(path);
      for (std::string entry; std::getline(entries, entry, ':');)
        if (!entry.empty() && entry[0] == '/')
          files.push_back(fs::path(entry) / name);
    }
  std::error_code error;
  for (const fs::path &file : files)
    if (fs::is_regular_file(file, error) && access(file.c_str(), X_OK) == 0)
      return file.lexically_normal().string();
  return "";
}

std::string fastk::cuda::findPtxas() {
  return findProgram("ptxas", {"bin", "../bin"});
}

std::string fastk::cuda::findDisassembler() {
  std::string nvdisasm = findProgram("nvdisasm", {"bin", "../bin"});
  return nvdisasm.empty() ? findProgram("cuobjdump", {"bin", "../bin"})
                          : nvdisasm;
}

std::string fastk::cuda::findComputeSanitizer() {
  return findProgram("compute-sanitizer",
                     {"bin", "compute-sanitizer", "../bin"});
}

std::string fastk::cuda::findNsightCompute() {
  return findProgram("ncu", {"bin", "nsight-compute", "."});
}

std::vector<Toolkit> fastk::cuda::findToolkits() {
  std::vector<Toolkit> found;
  if (const char *set = std::getenv("FASTK_CUDA_PATH"); set && *set) {
    addRoot(set, found);
    return found;
  }
  for (const fs::path &root : installedRoots())
    addRoot(root, found);
  for (const char *folder : {"/usr/lib/x86_64-linux-gnu",
                             "/usr/lib/aarch64-linux-gnu", "/usr/lib64"})
    addLibrary(folder, {"/usr/include"}, found);
  for (const fs::path &root : pipRoots())
    addRoot(root, found);
  std::error_code error;
  // One place may be reached in several ways.
  std::set<std::string> seen;
  std::vector<Toolkit> unique;
  for (const Toolkit &toolkit : found)
    if (seen.insert(fs::weakly_canonical(toolkit.nvrtc, error).string()).second)
      unique.push_back(toolkit);
  return unique;
}

//===----------------------------------------------------------------------===//
// Headers
//===----------------------------------------------------------------------===//

/// The names that the include lines of \p text spell, whatever conditions they
/// stand under.
static std::vector<std::string> includedNames(const std::string &text) {
  std::vector<std::string> names;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    size_t at = line.find_first_not_of(" \t");
    if (at == line.npos || line[at] != '#')
      continue;
    at = line.find_first_not_of(" \t", at + 1);
    if (at == line.npos || line.compare(at, 7, "include") != 0)
      continue;
    size_t begin = line.find_first_of("<\"", at + 7);
    size_t end =
        begin == line.npos ? begin : line.find_first_of(">\"", begin + 1);
    if (end != line.npos)
      names.push_back(line.substr(begin + 1, end - begin - 1));
  }
  return names;
}

Headers fastk::cuda::readToolkitHeaders(const std::string &includeFolder) {
  Headers headers;
  if (includeFolder.empty())
    return headers;
  // Folder of the file that spelled the name, and the name.
  std::vector<std::pair<fs::path, std::string>> pending;
  for (const std::string &name : allowedHeaders)
    pending.push_back({"", name});
  std::set<std::string> seen;
  while (!pending.empty()) {
    auto [folder, name] = pending.back();
    pending.pop_back();
    if (name.find("..") != name.npos || name[0] == '/')
      continue;
    for (const fs::path &relative : {folder / name, fs::path(name)}) {
      std::ifstream file(fs::path(includeFolder) / relative);
      if (!file)
        continue; // For another compiler, or one that NVRTC has built in.
      std::stringstream text;
      text << file.rdbuf();
      headers[name] = text.str();
      headers[relative.string()] = text.str();
      if (seen.insert(relative.string()).second)
        for (const std::string &next : includedNames(text.str()))
          pending.push_back({relative.parent_path(), next});
      break;
    }
  }
  return headers;
}
