//===- PlanModel.cpp - Plan files, opened ---------------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FunctionState.h"
#include "RuntimeContext.h"
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <list>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace fastk;
using namespace fastk::runtime;

namespace {
/// A file in memory, as long as it is needed: constants may be gigabytes, which
/// are read where they are copied to a GPU and nowhere else.
class MappedFile {
public:
  MappedFile() = default;
  MappedFile(const MappedFile &) = delete;
  MappedFile &operator=(const MappedFile &) = delete;
  ~MappedFile() {
    if (data)
      munmap(data, bytes);
  }

  /// The error's text; empty for success.
  std::string open(const char *path) {
    int file = ::open(path, O_RDONLY | O_CLOEXEC);
    struct stat status;
    bool isRead = file >= 0 && fstat(file, &status) == 0;
    if (isRead && !S_ISREG(status.st_mode)) {
      close(file);
      return "is no regular file";
    }
    if (isRead && status.st_size > 0) {
      bytes = size_t(status.st_size);
      void *mapped = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, file, 0);
      isRead = mapped != MAP_FAILED;
      data = isRead ? mapped : nullptr;
    }
    std::string error = isRead ? "" : std::strerror(errno);
    if (file >= 0)
      close(file);
    return error;
  }
  std::string_view view() const {
    return {static_cast<const char *>(data), data ? bytes : 0};
  }

private:
  void *data = nullptr;
  size_t bytes = 0;
};
} // namespace

struct fastk_model {
  MappedFile mapped;
  std::string name;
  std::shared_ptr<const worker::PlanFile> file;
  std::mutex mutex;
  /// Those that were asked for, where they stay.
  std::list<fastk_function> functions;
};

/// Reads `bytes` into `model`. Whether that worked; else the error is kept.
static bool read(fastk_model &model, std::string_view bytes) {
  std::string error;
  std::optional<worker::PlanFile> file = worker::parsePlanFile(bytes, error);
  if (file)
    model.file = std::make_shared<const worker::PlanFile>(std::move(*file));
  else
    recordError(model.name + ": " + error);
  return bool(model.file);
}

fastk_model *fastk_open(const char *path) {
  auto model = std::make_unique<fastk_model>();
  model->name = path;
  std::string error = model->mapped.open(path);
  if (!error.empty()) {
    recordError(model->name + ": " + error);
    return nullptr;
  }
  return read(*model, model->mapped.view()) ? model.release() : nullptr;
}

fastk_model *fastk_open_memory(const void *file, uint64_t bytes) {
  auto model = std::make_unique<fastk_model>();
  model->name = "the model";
  std::string_view view(static_cast<const char *>(file), size_t(bytes));
  return read(*model, view) ? model.release() : nullptr;
}

void fastk_close(fastk_model *model) {
  if (!model)
    return;
  for (fastk_function &function : model->functions) {
    fastk_release(&function);
    delete &FunctionState::of(function);
  }
  delete model;
}

const char *fastk_target(const fastk_model *model) {
  return model->file->target.c_str();
}

uint32_t fastk_num_functions(const fastk_model *model) {
  return uint32_t(model->file->functions.size());
}

const char *fastk_function_name(const fastk_model *model, uint32_t number) {
  return number < fastk_num_functions(model)
             ? model->file->functions[number].name.c_str()
             : nullptr;
}

fastk_function *fastk_find(fastk_model *model, const char *name) {
  std::string error;
  auto described =
      DescribedFunction::make(model->file, name ? name : "", error);
  if (!described) {
    recordError(model->name + ": " + error);
    return nullptr;
  }
  const char *found = described->function().name.c_str();
  std::lock_guard<std::mutex> lock(model->mutex);
  for (fastk_function &known : model->functions)
    if (known.name == found)
      return &known;
  fastk_function &made = model->functions.emplace_back();
  made = {FASTK_FUNCTION_VERSION, 0, nullptr, 0, found, nullptr};
  FunctionState::of(made).setDescribed(std::move(described));
  return &made;
}
