//===- PlanFile.cpp - A compiled GPU model as one file --------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Protocol/PlanFile.h"
#include "LaunchPlanJSON.h"
#include "fastk/Protocol/ElementType.h"
#include <charconv>
#include <map>
#include <utility>

using namespace fastk::worker;

const std::string_view fastk::worker::planFileMagic = "fastk-plan ";

/// Where data begins, as device code in memory and what is copied likes it.
static constexpr size_t dataAlignment = 64;

/// More than a file can be long.
static constexpr int64_t largest = int64_t(1) << 46;

static constexpr const char *remedy =
    "; write it again with fastk-opt --emit=plan";

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

static size_t aligned(size_t bytes) {
  return (bytes + dataAlignment - 1) / dataAlignment * dataAlignment;
}

namespace {
/// Lays data out behind each other, what is the same once.
class DataWriter {
public:
  /// {"at": 0, "bytes": 12}
  Json add(std::string_view data) {
    auto [at, isNew] = places.try_emplace(data, end);
    if (isNew)
      end = aligned(end + data.size());
    return {{"at", at->second}, {"bytes", data.size()}};
  }
  void writeTo(std::string &file) const {
    size_t start = file.size();
    file.resize(start + end);
    for (const auto &[data, at] : places)
      data.copy(file.data() + start + at, data.size());
  }

private:
  std::map<std::string_view, size_t> places;
  size_t end = 0;
};
} // namespace

/// The entries of a list, one a line.
template <typename List, typename ToText>
static std::string listText(const char *key, const List &list, ToText toText) {
  std::string text = std::string(",\n \"") + key + "\": [";
  const char *separator = "\n  ";
  for (const auto &each : list) {
    text += separator + toText(each);
    separator = ",\n  ";
  }
  return text + "]";
}

std::string fastk::worker::writePlanFile(const PlanFile &file) {
  DataWriter data;
  std::string json = "{\"target\": " + Json(file.target).dump();
  json += listText("images", file.images, [&](const PlanFile::Image &image) {
    Json entry = {{"name", image.name}};
    entry.update(data.add(image.code));
    return entry.dump();
  });
  json += listText("constants", file.constants, [&](std::string_view constant) {
    return data.add(constant).dump();
  });
  json += listText(
      "functions", file.functions, [](const PlanFile::Function &function) {
        return "{\"name\": " + Json(function.name).dump() +
               ",\n   \"signature\": " + function.signature +
               ",\n   \"images\": " + Json(function.images).dump() +
               ", \"constants\": " + Json(function.constants).dump() +
               ",\n   \"plan\": " + toJSON(function.plan) + "  }";
      });
  json += "}\n";
  std::string text = std::string(planFileMagic) +
                     std::to_string(planFileFormat) + " " +
                     std::to_string(json.size()) + "\n" + json;
  text.resize(aligned(text.size()), '\n');
  data.writeTo(text);
  return text;
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

/// "f32", "complex<f64>"
static std::optional<int64_t> bytesOfElement(std::string_view name) {
  constexpr std::string_view complex = "complex<";
  int64_t count = 1;
  if (name.substr(0, complex.size()) == complex && name.back() == '>') {
    name = name.substr(complex.size(), name.size() - complex.size() - 1);
    count = 2;
  }
  std::optional<ElementType> type = parseElementType(name);
  return type ? std::optional(count * byteSize(*type)) : std::nullopt;
}

static int64_t readTensor(const Json &value, const std::string &path,
                          std::string &error) {
  ObjectReader reader(value, path, error);
  std::string dtype;
  bool isScalar = false;
  int64_t bytes = 0;
  if (reader.readString("dtype", dtype)) {
    if (std::optional<int64_t> each = bytesOfElement(dtype))
      bytes = *each;
    else
      reader.fail("dtype", "is '" + dtype + "', which is no element type");
  }
  reader.readBool("scalar", isScalar, /*optional=*/true);
  reader.readArray("shape", [&](const Json &size, const std::string &where) {
    if (!error.empty())
      return;
    bool isSize = size.is_number_unsigned() &&
                  size.get<uint64_t>() <= uint64_t(largest) &&
                  !__builtin_mul_overflow(bytes, size.get<int64_t>(), &bytes) &&
                  bytes <= largest;
    if (!isSize)
      error = where + ": must be a whole number, with at most 2^46 bytes in "
                      "the tensor";
  });
  reader.finish();
  return bytes;
}

/// Reads the bytes of its tensors.
static void readSignature(PlanFile::Function &function, const Json &value,
                          const std::string &path, std::string &error) {
  ObjectReader reader(value, path, error);
  for (auto [key, list] : {std::pair("inputs", &function.inputBytes),
                           std::pair("outputs", &function.outputBytes)})
    reader.readArray(
        key, [&, list = list](const Json &tensor, const std::string &where) {
          if (error.empty())
            list->push_back(readTensor(tensor, where, error));
        });
  std::string target;
  int64_t workspace = 0;
  reader.readString("target", target, /*optional=*/true);
  reader.readInt("workspace", workspace, 0, largest, /*optional=*/true);
  reader.finish();
}

namespace {
/// Reads the JSON of a file.
class FileReader {
public:
  FileReader(std::string_view data, std::string &error)
      : data(data), error(error) {}

  std::optional<PlanFile> read(const Json &document);

private:
  std::string_view readPlace(ObjectReader &reader);
  std::vector<size_t> readNumbers(ObjectReader &reader, const char *key,
                                  size_t count);
  void readFunction(const Json &value, const std::string &path);
  void verify(const PlanFile::Function &function);

  const std::string_view data;
  std::string &error;
  PlanFile file;
};
} // namespace

std::string_view FileReader::readPlace(ObjectReader &reader) {
  int64_t at = 0, bytes = 0;
  reader.readInt("at", at, 0, largest);
  reader.readInt("bytes", bytes, 0, largest);
  if (reader.ok() && size_t(at) + size_t(bytes) > data.size())
    reader.fail("at", "ends " +
                          std::to_string(at + bytes - int64_t(data.size())) +
                          " bytes behind the end of the file, which is cut "
                          "short" +
                          remedy);
  return reader.ok() ? data.substr(size_t(at), size_t(bytes))
                     : std::string_view();
}

std::vector<size_t> FileReader::readNumbers(ObjectReader &reader,
                                            const char *key, size_t count) {
  std::vector<size_t> numbers;
  reader.readArray(key, [&](const Json &value, const std::string &where) {
    if (!error.empty())
      return;
    if (value.is_number_unsigned() && value.get<uint64_t>() < count)
      numbers.push_back(value.get<size_t>());
    else
      error = where + ": must be the number of one of " + std::to_string(count);
  });
  return numbers;
}

/// Places within buffers, numbers of buffers and maps: whoever binds the plan
/// relies on them. What its GPU can take the driver says.
void FileReader::verify(const PlanFile::Function &function) {
  std::vector<int64_t> inputs = function.inputBytes;
  for (size_t constant : function.constants)
    inputs.push_back(int64_t(file.constants[constant].size()));
  std::vector<std::string> problems = verifyLaunchPlan(
      function.plan, inputs, function.outputBytes, PlanLimits(), PlanOf::Model);
  if (!problems.empty())
    error = "the plan of '" + function.name + "': " + problems.front();
}

void FileReader::readFunction(const Json &value, const std::string &path) {
  PlanFile::Function function;
  ObjectReader reader(value, path, error);
  reader.readString("name", function.name);
  reader.readObject("signature", [&](const Json &json, std::string where) {
    function.signature = json.dump();
    readSignature(function, json, where, error);
  });
  function.images = readNumbers(reader, "images", file.images.size());
  function.constants = readNumbers(reader, "constants", file.constants.size());
  reader.readObject("plan", [&](const Json &json, const std::string &) {
    std::string problem;
    if (auto plan = readLaunchPlan(json, problem, PlanOf::Model))
      function.plan = std::move(*plan);
    else
      error = "the plan of '" + function.name + "': " + problem;
  });
  if (!reader.finish())
    return;
  verify(function);
  file.functions.push_back(std::move(function));
}

std::optional<PlanFile> FileReader::read(const Json &document) {
  ObjectReader reader(document, "$", error);
  reader.readString("target", file.target);
  reader.readArray("images", [&](const Json &value, std::string path) {
    PlanFile::Image image;
    ObjectReader fields(value, std::move(path), error);
    fields.readString("name", image.name);
    image.code = readPlace(fields);
    fields.finish();
    file.images.push_back(std::move(image));
  });
  reader.readArray("constants", [&](const Json &value, std::string path) {
    ObjectReader fields(value, std::move(path), error);
    file.constants.push_back(readPlace(fields));
    fields.finish();
  });
  reader.readArray("functions",
                   [&](const Json &value, const std::string &path) {
                     if (error.empty())
                       readFunction(value, path);
                   });
  if (!reader.finish())
    return std::nullopt;
  return std::move(file);
}

/// "1 1234\n" behind the magic: format and bytes of JSON. Where the JSON
/// begins, or 0.
static size_t readFirstLine(std::string_view bytes, int64_t &format,
                            size_t &jsonBytes) {
  if (bytes.substr(0, planFileMagic.size()) != planFileMagic)
    return 0;
  const char *end = bytes.data() + std::min<size_t>(bytes.size(), 64);
  auto [space, bad] =
      std::from_chars(bytes.data() + planFileMagic.size(), end, format);
  if (bad != std::errc() || space == end || *space != ' ')
    return 0;
  auto [newline, wrong] = std::from_chars(space + 1, end, jsonBytes);
  if (wrong != std::errc() || newline == end || *newline != '\n')
    return 0;
  return size_t(newline + 1 - bytes.data());
}

std::optional<PlanFile> fastk::worker::parsePlanFile(std::string_view bytes,
                                                     std::string &error) {
  int64_t format = 0;
  size_t jsonBytes = 0, begin = readFirstLine(bytes, format, jsonBytes);
  if (begin == 0) {
    error = std::string("is no plan file: one begins with '") +
            std::string(planFileMagic) + "'" + remedy;
    return std::nullopt;
  }
  if (format != planFileFormat) {
    error = "has format " + std::to_string(format) +
            ", this version reads format " + std::to_string(planFileFormat) +
            ": compile the model with the fastk-opt of this version, or use "
            "the libfastk_runtime of that which compiled it";
    return std::nullopt;
  }
  if (jsonBytes > bytes.size() - begin) {
    error = std::string("is cut short") + remedy;
    return std::nullopt;
  }
  std::optional<Json> document =
      parseDocument(bytes.substr(begin, jsonBytes), "plan file", error);
  if (!document)
    return std::nullopt;
  size_t data = std::min(aligned(begin + jsonBytes), bytes.size());
  return FileReader(bytes.substr(data), error).read(*document);
}
