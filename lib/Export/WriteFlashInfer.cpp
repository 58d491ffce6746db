//===- WriteFlashInfer.cpp - A winner as a Solution of FlashInfer-Bench ---===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Description.h"
#include "fastk/Export/Writers.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

using namespace fastk;
namespace json = llvm::json;

/// The parser keeps no order of keys, and the order of tensors is the
/// interface: the names that follow \p field in the text, as JSON has them.
static std::vector<std::string> keysInOrder(llvm::StringRef text,
                                            llvm::StringRef field,
                                            const json::Object &object) {
  // Where `"field"` begins an object of these very keys.
  std::vector<std::string> best;
  std::string quoted = ("\"" + field + "\"").str();
  for (size_t at = text.find(quoted); at != llvm::StringRef::npos;
       at = text.find(quoted, at + 1)) {
    llvm::StringRef rest = text.substr(at + quoted.size()).ltrim();
    if (!rest.consume_front(":") || !rest.ltrim().starts_with("{"))
      continue;
    std::vector<std::pair<size_t, std::string>> found;
    size_t depth = 0;
    bool isKey = true;
    rest = rest.ltrim();
    for (size_t i = 0; i < rest.size(); ++i) {
      char c = rest[i];
      if (c == '"') {
        size_t end = i + 1;
        while (end < rest.size() && rest[end] != '"')
          end += rest[end] == '\\' ? 2 : 1;
        llvm::StringRef literal = rest.slice(i, end + 1);
        if (depth == 1 && isKey)
          if (auto name = json::parse(literal))
            if (auto key = name->getAsString())
              found.emplace_back(i, key->str());
        i = end;
        isKey = false;
      } else if (c == '{' || c == '[') {
        ++depth;
        isKey = true;
      } else if ((c == '}' || c == ']') && --depth == 0) {
        break;
      } else if (c == ',') {
        isKey = true;
      }
    }
    best.clear();
    for (auto &[place, key] : found)
      best.push_back(key);
    if (best.size() == object.size() &&
        llvm::all_of(best, [&](const std::string &key) {
          return object.get(key) != nullptr;
        }))
      return best;
  }
  return {};
}

llvm::Expected<FlashInferDefinition>
fastk::readFlashInferDefinition(llvm::StringRef text) {
  llvm::Expected<json::Value> value = json::parse(text);
  if (!value)
    return value.takeError();
  auto wrong = [](const llvm::Twine &what) {
    return llvm::createStringError(
        what + ": give a Definition of FlashInfer-Bench, as its datasets have "
               "them under definitions/");
  };
  const json::Object *object = value->getAsObject();
  auto name = object ? object->getString("name") : std::nullopt;
  if (!name || name->empty())
    return wrong("has no 'name'");
  if (!object->getString("reference"))
    return wrong("has no 'reference', the code that says what it computes");
  FlashInferDefinition definition;
  definition.name = name->str();
  for (auto [field, list] : {std::pair("inputs", &definition.inputs),
                             std::pair("outputs", &definition.outputs)}) {
    const json::Object *tensors = object->getObject(field);
    if (!tensors || tensors->empty())
      return wrong(llvm::Twine("has no '") + field + "'");
    *list = keysInOrder(text, field, *tensors);
    if (list->empty())
      return wrong(llvm::Twine("the names of '") + field +
                   "' cannot be read in their order");
  }
  return definition;
}

/// The module's name, checks, inputs, outputs, scratch bytes, parameters.
static const char kBinding[] = R"text({6}
#include <cstdint>
#include <tvm/ffi/container/shape.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/ffi/function.h>

struct CUstream_st;
extern "C" const char *fastk_{0}(void *const *inputs, void *const *outputs,
                                 void *workspace, CUstream_st *stream);

namespace {{

using tvm::ffi::TensorView;

void check(const TensorView &tensor, const char *name,
           std::initializer_list<std::int64_t> shape, DLDataType type,
           DLDevice device) {{
  TVM_FFI_CHECK(tensor.ndim() == std::int32_t(shape.size()), ValueError)
      << name << " has " << tensor.ndim() << " dimensions, not " << shape.size();
  std::int64_t dimension = 0;
  for (std::int64_t extent : shape) {{
    TVM_FFI_CHECK(tensor.size(dimension) == extent, ValueError)
        << name << " has extent " << tensor.size(dimension) << " in dimension "
        << dimension << "; the kernel is for " << extent << " alone";
    ++dimension;
  }
  TVM_FFI_CHECK(tensor.dtype() == type, TypeError)
      << name << " has another type than the kernel is for";
  TVM_FFI_CHECK(tensor.device().device_type == kDLCUDA &&
                    tensor.device().device_id == device.device_id,
                ValueError)
      << name << " is not on the GPU of the first operand";
  TVM_FFI_CHECK(tensor.IsContiguous(), ValueError) << name << " is not contiguous";
}

void run({5}) {{
  const DLDevice device = {7}.device();
{1}  tvm::ffi::Tensor scratch = tvm::ffi::Tensor::FromEnvAlloc(
      TVMFFIEnvTensorAlloc, tvm::ffi::Shape({{{4}}), DLDataType{{kDLUInt, 8, 1}, device);
  void *const inputs[] = {{{2}};
  void *const outputs[] = {{{3}};
  void *stream = TVMFFIEnvGetStream(device.device_type, device.device_id);
  const char *wrong = fastk_{0}(inputs, outputs, scratch.data_ptr(),
                                static_cast<CUstream_st *>(stream));
  TVM_FFI_CHECK(!wrong, RuntimeError) << "{0}: " << wrong;
}

} // namespace

TVM_FFI_DLL_EXPORT_TYPED_FUNC(run, run);
)text";

static std::string dlType(worker::ElementType type) {
  using worker::ElementType;
  llvm::StringRef code = type == ElementType::BF16 ? "kDLBfloat"
                         : worker::isFloat(type)   ? "kDLFloat"
                         : type == ElementType::I1 ? "kDLBool"
                                                   : "kDLInt";
  return llvm::formatv("DLDataType{{{0}, {1}, 1}", code,
                       8 * worker::byteSize(type));
}

/// A tensor of the definition, checked; its name is a text of others.
static std::string checkOf(const std::string &variable, llvm::StringRef name,
                           worker::ElementType type,
                           llvm::ArrayRef<int64_t> shape) {
  std::string shown, extents;
  for (char c : name)
    shown += llvm::isAlnum(c) ? c : '_';
  for (int64_t extent : shape)
    extents += (extents.empty() ? "" : ", ") + std::to_string(extent);
  return llvm::formatv("  check({0}, \"{1}\", {{{2}}, {3}, device);\n",
                       variable, shown, extents, dlType(type));
}

static std::string bindingOf(const LaunchRecipe &recipe, const ModelFit &fit,
                             const FlashInferDefinition &definition) {
  std::string parameters, checks, inputs, outputs;
  for (size_t i = 0; i < definition.inputs.size(); ++i)
    parameters += llvm::formatv("{0}TensorView in{1}", i ? ", " : "", i);
  for (size_t i = 0; i < definition.outputs.size(); ++i)
    parameters += llvm::formatv(", TensorView out{0}", i);
  for (auto [operand, tensor] : llvm::zip(fit.operands, recipe.inputs)) {
    const ModelArgument &argument = fit.arguments[operand.index];
    std::string variable = "in" + std::to_string(argument.input);
    checks += checkOf(variable, definition.inputs[argument.input], tensor.type,
                      argument.shape);
    inputs += variable + ".data_ptr(), ";
  }
  // The winner's results in its own order.
  for (size_t i = 0; i < recipe.outputs.size(); ++i) {
    auto at = llvm::find_if(fit.results, [&](const ModelFit::Value &result) {
      return result.index == i;
    });
    size_t number = size_t(at - fit.results.begin());
    std::string variable = "out" + std::to_string(number);
    checks +=
        checkOf(variable, definition.outputs[number], recipe.outputs[i].type,
                at->view ? *at->view : recipe.outputs[i].shape);
    outputs += variable + ".data_ptr(), ";
  }
  std::string first =
      "in" + std::to_string(fit.arguments[fit.operands.front().index].input);
  return llvm::formatv(kBinding, recipe.module, checks, inputs, outputs,
                       recipe.workspaceBytes(), parameters,
                       describe(recipe, "// "), first);
}

llvm::Expected<std::vector<ExportedFile>>
fastk::writeFlashInfer(const LaunchRecipe &recipe, const ModelFit &fit,
                       const FlashInferDefinition &definition) {
  if (fit.arguments.size() != definition.inputs.size() ||
      llvm::any_of(fit.arguments, [](const ModelArgument &argument) {
        return argument.role != ModelArgument::Role::Input;
      }))
    return llvm::createStringError(
        "the import has other inputs than the Definition: import it again");
  if (fit.results.size() != definition.outputs.size() ||
      fit.results.size() != recipe.outputs.size())
    return llvm::createStringError(
        "the Definition has other outputs than the winner has results");
  std::string note;
  if (recipe.chip.back() == 'a') {
    // A builder asks the GPU, which does not say that it has these.
    std::string number = recipe.chip.substr(3, recipe.chip.size() - 4);
    note = " Build with TVM_FFI_CUDA_ARCH_LIST=" +
           number.substr(0, number.size() - 1) + "." + number.back() +
           "a: it uses instructions of " + recipe.chip + " alone.";
  }
  json::Object solution{
      {"name", "fastk_" + recipe.module},
      {"definition", definition.name},
      {"author", "fastk"},
      {"description", commentOf(recipe.title) + "." + note},
      {"spec", json::Object{{"language", "cuda"},
                            {"target_hardware", json::Array{"cuda"}},
                            {"entry_point", "binding.cpp::run"},
                            {"dependencies", json::Array{}},
                            {"destination_passing_style", true},
                            {"binding", "tvm-ffi"}}},
      {"sources",
       json::Array{
           json::Object{
               {"path", "kernel.cu"},
               {"content", describe(recipe, "// ") + "\n" +
                               writeLauncher(recipe, /*hasMain=*/false)}},
           json::Object{{"path", "binding.cpp"},
                        {"content", bindingOf(recipe, fit, definition)}}}}};
  std::string text = llvm::formatv("{0:2}\n", json::Value(std::move(solution)));
  return std::vector<ExportedFile>{{recipe.module + ".json", text}};
}
