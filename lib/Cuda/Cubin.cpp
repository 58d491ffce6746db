//===- Cubin.cpp - What machine code says of itself -----------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Cuda/Cubin.h"
#include <cstring>
#include <elf.h>

using namespace fastk::cuda;

/// EM_CUDA.
static constexpr uint16_t cudaMachine = 190;

bool fastk::cuda::isCubin(std::string_view image) {
  return image.substr(0, SELFMAG) == std::string_view(ELFMAG, SELFMAG);
}

namespace {

class Reader {
public:
  Reader(std::string_view image, Cubin &cubin) : image(image), cubin(cubin) {}
  std::string run();

private:
  struct Section {
    std::string_view name, bytes;
    Elf64_Shdr header = {};
  };

  /// Copies a structure out of \p bytes; false where it is not all there.
  template <typename T>
  static bool get(std::string_view bytes, uint64_t at, T &value) {
    if (at > bytes.size() || bytes.size() - at < sizeof(T))
      return false;
    std::memcpy(&value, bytes.data() + at, sizeof(T));
    return true;
  }
  static std::string_view textAt(std::string_view table, uint64_t at) {
    if (at >= table.size())
      return {};
    std::string_view rest = table.substr(at);
    return rest.substr(0, rest.find('\0'));
  }

  std::string readSections();
  /// The parameters that an .nv.info section of a kernel lists.
  static std::optional<std::vector<uint64_t>>
  parametersIn(std::string_view info);
  /// Globals, and constants that have names: the banks of parameters and of the
  /// compiler's own numbers have none.
  void findData();
  void findKernels();

  std::string_view image;
  Cubin &cubin;
  std::vector<Section> sections;
};

} // namespace

static bool startsWith(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

std::string Reader::readSections() {
  Elf64_Ehdr header;
  if (!get(image, 0, header) || !isCubin(image) ||
      header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_ident[EI_DATA] != ELFDATA2LSB ||
      header.e_machine != cudaMachine ||
      header.e_shentsize != sizeof(Elf64_Shdr))
    return "is no cubin: its ELF header is another one";
  sections.resize(header.e_shnum);
  for (size_t i = 0; i < sections.size(); ++i) {
    Section &section = sections[i];
    if (header.e_shoff > image.size() ||
        !get(image, header.e_shoff + i * sizeof(Elf64_Shdr), section.header))
      return "is cut off: a section's header lies behind its end";
    if (section.header.sh_type == SHT_NOBITS)
      continue;
    if (section.header.sh_offset > image.size() ||
        section.header.sh_size > image.size() - section.header.sh_offset)
      return "is cut off: a section lies behind its end";
    section.bytes =
        image.substr(section.header.sh_offset, section.header.sh_size);
  }
  if (header.e_shstrndx >= sections.size())
    return "has no names of sections";
  for (Section &section : sections)
    section.name =
        textAt(sections[header.e_shstrndx].bytes, section.header.sh_name);
  return "";
}

std::optional<std::vector<uint64_t>>
Reader::parametersIn(std::string_view info) {
  // Entries of a format, an attribute and two bytes; those of format 4 have as
  // many more as the two bytes say.
  constexpr uint8_t sized = 4, parameter = 0x17, bankSize = 0x19;
  std::map<uint16_t, uint64_t> found;
  uint64_t total = 0, end = 0;
  for (size_t at = 0; at < info.size();) {
    uint8_t format = 0, attribute = 0;
    uint16_t value = 0;
    if (!get(info, at, format) || !get(info, at + 1, attribute) ||
        !get(info, at + 2, value))
      return std::nullopt;
    at += 4;
    if (attribute == bankSize)
      total = value;
    if (format != sized)
      continue;
    uint16_t ordinal = 0, offset = 0;
    uint32_t packed = 0;
    if (attribute == parameter) {
      if (value != 12 || !get(info, at + 4, ordinal) ||
          !get(info, at + 6, offset) || !get(info, at + 8, packed))
        return std::nullopt;
      // The highest 14 bits are the size.
      uint64_t bytes = packed >> 18;
      if (!found.emplace(ordinal, bytes).second)
        return std::nullopt;
      end = std::max(end, offset + bytes);
    }
    at += value;
  }
  // What is listed must be all: numbered from 0, and as long as the bank.
  std::vector<uint64_t> sizes;
  for (auto [ordinal, bytes] : found) {
    if (ordinal != sizes.size())
      return std::nullopt;
    sizes.push_back(bytes);
  }
  if (end != total)
    return std::nullopt;
  return sizes;
}

void Reader::findKernels() {
  constexpr std::string_view infoPrefix = ".nv.info.", codePrefix = ".text.";
  for (const Section &section : sections)
    if (startsWith(section.name, infoPrefix))
      cubin.kernels[std::string(section.name.substr(infoPrefix.size()))] =
          parametersIn(section.bytes);
  // What has code and no description is one that is not known.
  for (const Section &section : sections)
    if (startsWith(section.name, codePrefix))
      cubin.kernels.try_emplace(
          std::string(section.name.substr(codePrefix.size())), std::nullopt);
}

void Reader::findData() {
  std::map<size_t, ModuleData> found;
  for (size_t i = 0; i < sections.size(); ++i) {
    const Section &section = sections[i];
    constexpr uint64_t writable = SHF_WRITE | SHF_ALLOC;
    bool isGlobal =
        section.name == ".nv.global" || startsWith(section.name, ".nv.global.");
    bool isConstant = startsWith(section.name, ".nv.constant");
    bool isShared = startsWith(section.name, ".nv.shared") ||
                    startsWith(section.name, ".nv.local");
    if ((isGlobal || isConstant) && section.header.sh_size > 0)
      found[i] = {std::string(section.name), section.header.sh_size, false, {}};
    else if (!isGlobal && !isShared &&
             (section.header.sh_flags & writable) == writable)
      cubin.unknownSections.push_back(std::string(section.name));
  }
  for (const Section &section : sections) {
    if (section.header.sh_type == SHT_REL || section.header.sh_type == SHT_RELA)
      if (auto at = found.find(section.header.sh_info);
          at != found.end() && !section.bytes.empty())
        at->second.holdsAddresses = true;
    if (section.header.sh_type != SHT_SYMTAB ||
        section.header.sh_link >= sections.size())
      continue;
    std::string_view names = sections[section.header.sh_link].bytes;
    Elf64_Sym symbol;
    for (uint64_t at = 0; get(section.bytes, at, symbol); at += sizeof(symbol))
      if (ELF64_ST_TYPE(symbol.st_info) == STT_OBJECT)
        if (auto owner = found.find(symbol.st_shndx); owner != found.end())
          owner->second.symbols.push_back(
              {std::string(textAt(names, symbol.st_name)), symbol.st_value,
               symbol.st_size});
  }
  for (auto &[index, data] : found)
    if (!startsWith(data.section, ".nv.constant") || !data.symbols.empty())
      cubin.data.push_back(std::move(data));
}

std::string Reader::run() {
  if (std::string error = readSections(); !error.empty())
    return error;
  findKernels();
  findData();
  return "";
}

std::string fastk::cuda::readCubin(std::string_view image, Cubin &cubin) {
  cubin = Cubin();
  return Reader(image, cubin).run();
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

namespace {
struct Passed {
  uint64_t bytes;
  const char *what;
};
} // namespace

static Passed passedBy(const fastk::worker::PlanArgument &argument) {
  using fastk::worker::PlanScalar;
  if (std::holds_alternative<fastk::worker::BufferRef>(argument))
    return {8, "a buffer"};
  const auto *scalar = std::get_if<PlanScalar>(&argument);
  if (!scalar)
    return {128, "a tensor map"};
  switch (scalar->type) {
  case PlanScalar::Type::I32:
    return {4, "an i32"};
  case PlanScalar::Type::F32:
    return {4, "an f32"};
  case PlanScalar::Type::I64:
    return {8, "an i64"};
  case PlanScalar::Type::F64:
    break;
  }
  return {8, "an f64"};
}

std::string fastk::cuda::compareArguments(const worker::Launch &launch,
                                          const std::vector<uint64_t> &sizes) {
  if (launch.arguments.size() != sizes.size())
    return "kernel '" + launch.kernel + "' has " +
           std::to_string(sizes.size()) + " parameters, but the plan passes " +
           std::to_string(launch.arguments.size()) + " arguments";
  for (size_t i = 0; i < sizes.size(); ++i) {
    Passed passed = passedBy(launch.arguments[i]);
    if (passed.bytes != sizes[i])
      return "kernel '" + launch.kernel + "': parameter " + std::to_string(i) +
             " has " + std::to_string(sizes[i]) + " bytes, but the plan's " +
             "argument, " + passed.what + ", has " +
             std::to_string(passed.bytes);
  }
  return "";
}

std::string fastk::cuda::compareArguments(const worker::LaunchPlan &plan,
                                          const Cubin &cubin) {
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const auto *launch = std::get_if<worker::Launch>(&plan.steps[i]);
    auto kernel =
        launch ? cubin.kernels.find(launch->kernel) : cubin.kernels.end();
    if (kernel == cubin.kernels.end() || !kernel->second)
      continue;
    if (std::string problem = compareArguments(*launch, *kernel->second);
        !problem.empty())
      return "$.steps[" + std::to_string(i) + "]: " + problem;
  }
  return "";
}
