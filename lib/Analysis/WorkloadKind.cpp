//===- WorkloadKind.cpp - What a workload is, for people ------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Analysis/WorkloadKind.h"
#include "DescribeWorkload.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/DenseSet.h"
#include <algorithm>
#include <iterator>

using namespace mlir;

namespace fastk {

using Kind = ScalarNode::Kind;

static constexpr std::pair<WorkloadKind, llvm::StringLiteral> kKinds[] = {
    {WorkloadKind::Contraction, "contraction"},
    {WorkloadKind::Convolution, "convolution"},
    {WorkloadKind::Softmax, "softmax"},
    {WorkloadKind::Norm, "norm"},
    {WorkloadKind::Attention, "attention"},
    {WorkloadKind::Reduction, "reduction"},
    {WorkloadKind::Elementwise, "elementwise"},
    {WorkloadKind::Pooling, "pooling"},
    {WorkloadKind::Other, "other"}};

llvm::StringRef stringify(WorkloadKind kind) {
  for (auto &[value, text] : kKinds)
    if (value == kind)
      return text;
  return "other";
}

std::optional<WorkloadKind> parseWorkloadKind(llvm::StringRef text) {
  for (auto &[value, spelling] : kKinds)
    if (spelling == text)
      return value;
  return std::nullopt;
}

llvm::StringRef stringify(InputRole role) {
  switch (role) {
  case InputRole::Data:
    return "data";
  case InputRole::Weight:
    return "weight";
  case InputRole::Bias:
    return "bias";
  case InputRole::Scale:
    return "scale";
  case InputRole::Positive:
    return "positive";
  case InputRole::Divisor:
    return "divisor";
  case InputRole::Mask:
    return "mask";
  case InputRole::Index:
    return "index";
  }
  return "data";
}

/// Smaller wins when a workload holds several.
static unsigned rankOf(WorkloadKind kind) {
  static constexpr WorkloadKind order[] = {
      WorkloadKind::Attention,   WorkloadKind::Convolution,
      WorkloadKind::Contraction, WorkloadKind::Softmax,
      WorkloadKind::Norm,        WorkloadKind::Pooling,
      WorkloadKind::Reduction,   WorkloadKind::Elementwise,
      WorkloadKind::Other};
  return std::distance(std::begin(order), llvm::find(order, kind));
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

static std::string contractionName(const ContractionFeatures &features) {
  if (features.m == 1 && features.n == 1)
    return "dot";
  std::string prefix = features.batch > 1 ? "batch_" : "";
  return prefix + (features.m == 1 || features.n == 1 ? "matvec" : "matmul");
}

static std::string convolutionName(const ConvolutionFeatures &features) {
  std::string prefix;
  if (features.groups > 1)
    prefix =
        features.groups == features.inputChannels ? "depthwise_" : "grouped_";
  return prefix + "conv" + std::to_string(features.output.size()) + "d";
}

/// The word for a node that belongs to no group; empty for none.
static std::string wordFor(const ScalarNode &node, bool afterProduct) {
  switch (node.kind) {
  case Kind::PoolMax:
    return "maxpool";
  case Kind::PoolSum:
    return "sumpool";
  case Kind::ReduceSum:
    return "sum";
  case Kind::ReduceMax:
    return "max";
  case Kind::ReduceMin:
    return "min";
  case Kind::ReduceOther:
    return "reduce";
  case Kind::Add:
    for (ScalarNode *operand : node.operands)
      if (operand->kind == Kind::Input && operand->elements < node.elements &&
          afterProduct)
        return "bias";
    return "add";
  case Kind::Sub:
    return "sub";
  case Kind::Mul:
    return llvm::any_of(node.operands,
                        [](ScalarNode *n) { return n->isConstant(); })
               ? "scale"
               : "mul";
  case Kind::Div:
    return llvm::any_of(node.operands,
                        [](ScalarNode *n) { return n->isConstant(); })
               ? "scale"
               : "div";
  case Kind::Neg:
    return "neg";
  case Kind::Max:
    return "max";
  case Kind::Min:
    return "min";
  case Kind::Compare:
    return llvm::all_of(
               node.users,
               [](ScalarNode *n) { return n->kind == Kind::Select; }) &&
                   !node.users.empty()
               ? ""
               : "compare";
  case Kind::Select:
    return "where";
  case Kind::Exp:
    return "exp";
  case Kind::Log:
    return "log";
  case Kind::Sqrt:
    return "sqrt";
  case Kind::Rsqrt:
    return "rsqrt";
  case Kind::Erf:
    return "erf";
  case Kind::Tanh:
    return "tanh";
  case Kind::Power:
    return "pow";
  case Kind::Abs:
    return "abs";
  case Kind::Gather:
    return "gather";
  case Kind::Other:
    return node.op ? node.op->getName().stripDialect().str() : "";
  default:
    return "";
  }
}

static WorkloadKind kindFor(const ScalarNode &node) {
  switch (node.kind) {
  case Kind::Contraction:
    return WorkloadKind::Contraction;
  case Kind::Convolution:
    return WorkloadKind::Convolution;
  case Kind::PoolMax:
  case Kind::PoolSum:
    return WorkloadKind::Pooling;
  case Kind::ReduceSum:
  case Kind::ReduceMax:
  case Kind::ReduceMin:
  case Kind::ReduceOther:
    return WorkloadKind::Reduction;
  case Kind::Other:
    return isa_and_nonnull<linalg::SoftmaxOp>(node.op) ? WorkloadKind::Softmax
                                                       : WorkloadKind::Other;
  case Kind::Gather:
    return WorkloadKind::Other;
  default:
    return WorkloadKind::Elementwise;
  }
}

//===----------------------------------------------------------------------===//
// All of it
//===----------------------------------------------------------------------===//

namespace {
using NodeSet = llvm::DenseSet<const ScalarNode *>;

/// The words of a name, in the order of the nodes.
struct Words {
  SmallVector<std::string> list;
  bool seenProduct = false;
  /// Where those begin that follow the last product.
  size_t afterProduct = 0;
};
} // namespace

/// The nodes that something of the inputs goes into.
static NodeSet nodesFromInputs(const ScalarGraph &graph) {
  NodeSet fromInputs;
  for (const ScalarNode &node : graph.nodes)
    if (node.kind == Kind::Input ||
        llvm::any_of(node.operands, [&](ScalarNode *operand) {
          return fromInputs.contains(operand);
        }))
      fromInputs.insert(&node);
  return fromInputs;
}

/// Where the last node of each group stands.
static SmallVector<int> lastOfGroups(const ScalarGraph &graph, size_t groups) {
  SmallVector<int> last(groups, -1);
  for (auto [position, node] : llvm::enumerate(graph.nodes))
    if (node.group >= 0)
      last[node.group] = static_cast<int>(position);
  return last;
}

/// Names and describes what the nodes are: the kind, products, reductions.
static Words describeNodes(const ScalarGraph &graph,
                           ArrayRef<NamedGroup> groups,
                           const NodeSet &fromInputs,
                           WorkloadFeatures &features) {
  SmallVector<int> lastOfGroup = lastOfGroups(graph, groups.size());
  Words words;
  auto settle = [&](WorkloadKind kind) {
    if (rankOf(kind) < rankOf(features.kind))
      features.kind = kind;
  };
  int position = -1;
  for (const ScalarNode &node : graph.nodes) {
    ++position;
    if (!fromInputs.contains(&node) || node.kind == Kind::Input)
      continue;
    if (node.isReduction())
      features.reductionLength =
          std::max(features.reductionLength, reducedLength(node.owner));
    features.piecewise |= node.kind == Kind::Select || node.kind == Kind::Max ||
                          node.kind == Kind::Min ||
                          node.kind == Kind::Compare ||
                          node.kind == Kind::PoolMax || node.kind == Kind::Abs;
    std::string word;
    bool isProduct = false;
    if (node.kind == Kind::Contraction) {
      features.contractions.push_back(
          describeContraction(cast<linalg::LinalgOp>(node.owner)));
      word = contractionName(features.contractions.back());
      isProduct = true;
    } else if (node.kind == Kind::Convolution) {
      features.convolutions.push_back(
          describeConvolution(cast<linalg::LinalgOp>(node.owner)));
      word = convolutionName(features.convolutions.back());
      isProduct = true;
    }
    if (node.group >= 0) {
      if (lastOfGroup[node.group] != position)
        continue;
      const NamedGroup &group = groups[node.group];
      words.list.push_back(group.name);
      settle(group.kind);
      if (group.kind == WorkloadKind::Attention) {
        words.seenProduct = true;
        words.afterProduct = words.list.size();
      }
      continue;
    }
    if (!isProduct)
      word = wordFor(node, words.seenProduct);
    settle(kindFor(node));
    if (word.empty())
      continue;
    words.list.push_back(word);
    if (!isProduct)
      continue;
    words.seenProduct = true;
    words.afterProduct = words.list.size();
    ScalarNode *start = node.operands.back();
    if (fromInputs.contains(start))
      words.list.push_back(start->elements < node.elements ? "bias" : "add");
  }
  return words;
}

/// The name of a body that computes nothing.
static std::string nameOfMove(Block &body, const ScalarGraph &graph,
                              const NodeSet &fromInputs,
                              WorkloadFeatures &features) {
  bool converts = false, moves = false;
  body.walk([&](Operation *op) {
    converts |=
        isa<arith::ExtFOp, arith::TruncFOp, arith::SIToFPOp, arith::FPToSIOp>(
            op);
    if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
      moves |= llvm::any_of(linalgOp.getIndexingMapsArray(),
                            [](AffineMap map) { return !map.isIdentity(); });
  });
  bool constant = llvm::none_of(graph.results, [&](ScalarNode *node) {
    return fromInputs.contains(node);
  });
  if (converts && !constant)
    features.kind = WorkloadKind::Elementwise;
  return constant ? "fill" : converts ? "cast" : moves ? "permute" : "copy";
}

/// Long chains are cut: the name is for people.
static std::string joinWords(ArrayRef<std::string> words) {
  std::string name;
  constexpr size_t kMaxWords = 8;
  for (auto [i, word] : llvm::enumerate(words)) {
    if (i == kMaxWords) {
      name += "_etc";
      break;
    }
    name += (i ? "_" : "") + word;
  }
  return name;
}

/// Rows and their length, of the group that gives the kind or of a reduction.
static void describeRows(const ScalarGraph &graph, ArrayRef<NamedGroup> groups,
                         const NodeSet &fromInputs,
                         WorkloadFeatures &features) {
  for (const NamedGroup &group : groups)
    if (group.reduction && (!features.rows || group.kind == features.kind))
      features.rowLength =
          reducedLength(group.reduction->owner, &features.rows);
  if (!features.rows && features.kind == WorkloadKind::Reduction)
    for (const ScalarNode &node : graph.nodes)
      if (node.isReduction() && fromInputs.contains(&node))
        features.rowLength = reducedLength(node.owner, &features.rows);
}

WorkloadFeatures analyzeWorkload(Region &body) {
  return body.empty() ? WorkloadFeatures() : analyzeWorkload(body.front());
}

WorkloadFeatures analyzeWorkload(Block &body) {
  WorkloadFeatures features;
  ScalarGraph graph(body);
  SmallVector<NamedGroup> groups = nameGroups(graph);
  NodeSet fromInputs = nodesFromInputs(graph);
  Words words = describeNodes(graph, groups, fromInputs, features);
  if (words.seenProduct)
    features.epilogue.assign(words.list.begin() + words.afterProduct,
                             words.list.end());
  if (words.list.empty())
    words.list.push_back(nameOfMove(body, graph, fromInputs, features));
  features.name = joinWords(words.list);
  describeRows(graph, groups, fromInputs, features);
  for (ScalarNode *input : graph.inputs)
    features.inputs.push_back(describeInput(
        *input, body.getArgument(input->input).getType(), groups));
  return features;
}

} // namespace fastk
