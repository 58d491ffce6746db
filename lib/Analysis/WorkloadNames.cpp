//===- WorkloadNames.cpp - Names for groups of scalar ops -----------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WorkloadNames.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;

namespace fastk {

using Kind = ScalarNode::Kind;

bool matchWithConstant(ScalarNode *node, ScalarNode *&other, double &constant) {
  if (node->operands.size() != 2)
    return false;
  for (unsigned i : {0, 1})
    if (node->operands[i]->constant && !node->operands[1 - i]->isConstant()) {
      constant = *node->operands[i]->constant;
      other = node->operands[1 - i];
      return true;
    }
  return false;
}

namespace {

class Namer {
public:
  explicit Namer(ScalarGraph &graph) : graph(graph) {}
  SmallVector<NamedGroup> groups;

  void run() {
    for (ScalarNode &node : graph.nodes)
      matchSoftmax(&node);
    for (ScalarNode &node : graph.nodes)
      matchAttention(&node);
    for (ScalarNode &node : graph.nodes)
      matchNorm(&node);
    for (ScalarNode &node : graph.nodes) {
      matchGelu(&node);
      matchSigmoid(&node);
    }
    for (ScalarNode &node : graph.nodes) {
      matchRelu(&node);
      matchMean(&node);
    }
  }

private:
  ScalarGraph &graph;

  static ScalarNode *userOf(ScalarNode *node, Kind kind) {
    for (ScalarNode *user : node->users)
      if (user->kind == kind)
        return user;
    return nullptr;
  }
  static ScalarNode *other(ScalarNode *node, ScalarNode *one) {
    return node->operands[0] == one ? node->operands[1] : node->operands[0];
  }
  /// Through factors, shifts and signs that are constant.
  static ScalarNode *skipConstants(ScalarNode *node) {
    ScalarNode *next = nullptr;
    double constant = 0;
    while (true) {
      bool arithmetic = node->kind == Kind::Add || node->kind == Kind::Sub ||
                        node->kind == Kind::Mul || node->kind == Kind::Div;
      if (arithmetic && matchWithConstant(node, next, constant))
        node = next;
      else if (node->kind == Kind::Neg)
        node = node->operands[0];
      else
        return node;
    }
  }
  void claim(int group, ScalarNode *node) {
    if (node->kind != Kind::Input && node->kind != Kind::Constant &&
        node->group < 0)
      node->group = group;
  }
  /// Claims what lies between `from` and the nodes it stops at.
  void claimBackwards(int group, ScalarNode *from,
                      ArrayRef<ScalarNode *> stops) {
    SmallVector<ScalarNode *> work = {from};
    llvm::DenseSet<ScalarNode *> seen;
    while (!work.empty()) {
      ScalarNode *node = work.pop_back_val();
      if (llvm::is_contained(stops, node) || !seen.insert(node).second)
        continue;
      if (node->kind == Kind::Contraction || node->kind == Kind::Convolution)
        continue;
      claim(group, node);
      work.append(node->operands.begin(), node->operands.end());
    }
  }
  int open(StringRef name, WorkloadKind kind, ScalarNode *reduction = nullptr) {
    groups.push_back({name.str(), kind, reduction});
    return groups.size() - 1;
  }
  static bool dependsOnInputs(ScalarNode *node) {
    if (node->kind == Kind::Input)
      return true;
    return llvm::any_of(node->operands, dependsOnInputs);
  }

  void matchSoftmax(ScalarNode *exp) {
    if (exp->kind != Kind::Exp || exp->group >= 0)
      return;
    ScalarNode *sum = userOf(exp, Kind::ReduceSum);
    if (!sum)
      return;
    ScalarNode *quotient = nullptr;
    for (ScalarNode *user : exp->users)
      if (user->kind == Kind::Div && user->operands[1] == sum)
        quotient = user;
    ScalarNode *log = userOf(sum, Kind::Log);
    if (!quotient && !log)
      return;
    ScalarNode *shifted = exp->operands[0];
    int group;
    if (quotient) {
      group = open("softmax", WorkloadKind::Softmax, sum);
      claim(group, quotient);
    } else {
      ScalarNode *difference = nullptr;
      for (ScalarNode *user : log->users)
        if (user->kind == Kind::Sub && user->operands[1] == log)
          difference = user;
      group = open(difference ? "log_softmax" : "logsumexp",
                   difference ? WorkloadKind::Softmax : WorkloadKind::Reduction,
                   sum);
      claim(group, log);
      if (difference)
        claim(group, difference);
      else if (ScalarNode *back = userOf(log, Kind::Add))
        claim(group, back);
    }
    claim(group, exp);
    claim(group, sum);
    if (shifted->kind == Kind::Sub) {
      SmallVector<ScalarNode *> path = {shifted->operands[1]};
      ScalarNode *source = shifted->operands[0];
      claim(group, shifted);
      claimBackwards(group, shifted->operands[1], {source});
    }
  }

  void matchAttention(ScalarNode *product) {
    if (product->kind != Kind::Contraction)
      return;
    ScalarNode *weights = product->operands[0];
    if (weights->group < 0 || groups[weights->group].name != "softmax")
      return;
    int group = weights->group;
    // From the maximum or the shift back to the scores.
    SmallVector<ScalarNode *> between;
    SmallVector<ScalarNode *> work;
    llvm::DenseSet<ScalarNode *> seen;
    for (ScalarNode &node : graph.nodes)
      if (node.group == group)
        work.append(node.operands.begin(), node.operands.end());
    ScalarNode *scores = nullptr;
    bool causal = false, masked = false;
    while (!work.empty()) {
      ScalarNode *node = work.pop_back_val();
      if (!seen.insert(node).second)
        continue;
      if (node->kind == Kind::Contraction) {
        scores = node;
        continue;
      }
      if (node->kind == Kind::Select)
        (dependsOnInputs(node->operands[0]) ? masked : causal) = true;
      if (node->kind == Kind::Add && node->operands.size() == 2)
        for (ScalarNode *operand : node->operands)
          masked |= operand->kind == Kind::Input && node->group != group;
      if (node->group < 0 && node->kind != Kind::Input &&
          node->kind != Kind::Constant)
        between.push_back(node);
      work.append(node->operands.begin(), node->operands.end());
    }
    if (!scores)
      return;
    groups[group].name = masked   ? "attention_masked"
                         : causal ? "attention_causal"
                                  : "attention";
    groups[group].kind = WorkloadKind::Attention;
    claim(group, scores);
    claim(group, product);
    for (ScalarNode *node : between)
      claim(group, node);
    // A scale of the queries and keys.
    for (unsigned i : {0, 1}) {
      ScalarNode *side = scores->operands[i];
      ScalarNode *stripped = skipConstants(side);
      if (stripped != side)
        claimBackwards(group, side, {stripped});
    }
  }

  /// Applies `root` (1/sqrt of a variance) to the data, then scale and bias.
  void claimAffine(int group, ScalarNode *root) {
    ScalarNode *at = root;
    for (int step = 0; step < 5; ++step) {
      ScalarNode *next = nullptr;
      for (ScalarNode *user : at->users) {
        bool fits = user->kind == Kind::Mul || user->kind == Kind::Add ||
                    user->kind == Kind::Sub ||
                    (user->kind == Kind::Div && user->operands[1] == at);
        if (!fits || user->operands.size() != 2 || user->group >= 0)
          continue;
        ScalarNode *with = other(user, at);
        bool parameter = with->kind == Kind::Input || with->group == group;
        // The data: where the small statistics meet it.
        bool data = at->elements < user->elements &&
                    (user->kind == Kind::Mul || user->kind == Kind::Div);
        if (data ||
            (parameter && with->elements <= user->elements &&
             !(with->kind == Kind::Input && step > 0 &&
               with->elements == user->elements &&
               at->elements == user->elements && user->kind == Kind::Add)))
          if (!next || user->elements < next->elements)
            next = user;
      }
      if (!next)
        return;
      ScalarNode *with = other(next, at);
      claim(group, next);
      // The data's own centring.
      if (with->kind == Kind::Sub &&
          with->operands[1]->elements < with->elements)
        claim(group, with);
      at = next;
    }
  }

  void matchNorm(ScalarNode *root) {
    bool reciprocal = root->kind == Kind::Rsqrt;
    bool quotient =
        root->kind == Kind::Sqrt &&
        llvm::any_of(root->users, [&](ScalarNode *user) {
          return user->kind == Kind::Div && user->operands[1] == root;
        });
    if ((!reciprocal && !quotient) || root->group >= 0)
      return;
    ScalarNode *variance = skipConstants(root->operands[0]);
    if (variance->kind == Kind::Input) {
      int group = open("batch_norm", WorkloadKind::Norm);
      claimBackwards(group, root, {});
      claimPerChannel(group, root);
      claimAffine(group, root);
      claimShift(group);
      return;
    }
    if (variance->kind != Kind::ReduceSum) {
      // E[x^2] - E[x]^2.
      ScalarNode *sum = nullptr;
      if (variance->kind == Kind::Sub)
        sum = skipConstants(variance->operands[0]);
      if (!sum || sum->kind != Kind::ReduceSum)
        return;
      variance = sum;
    }
    ScalarNode *square = variance->operands[0];
    if (square->operands.empty())
      return;
    ScalarNode *centred = square->operands[0];
    bool centres = centred->kind == Kind::Sub &&
                   skipConstants(centred->operands[1])->kind == Kind::ReduceSum;
    bool subtracts = skipConstants(root->operands[0])->kind == Kind::Sub;
    ScalarNode *data = centres ? centred->operands[0] : centred;
    int group = open(centres || subtracts ? "layer_norm" : "rms_norm",
                     WorkloadKind::Norm, variance);
    claimBackwards(group, root, {data});
    claimAffine(group, root);
    nameByScale(groups[group], group);
  }

  /// Layer norm has a scale for each element of a row; group norm for channels.
  void nameByScale(NamedGroup &named, int group) {
    auto owner = cast<linalg::LinalgOp>(named.reduction->owner);
    SmallVector<unsigned> reduced;
    owner.getReductionDims(reduced);
    double length = 1;
    for (unsigned d : reduced)
      length *= owner.getStaticLoopRanges()[d];
    for (ScalarNode &node : graph.nodes)
      if (node.group == group && node.kind == Kind::Mul)
        for (ScalarNode *operand : node.operands)
          if (operand->kind == Kind::Input && operand->elements < length &&
              length / operand->elements > 1 && operand->elements > 1 &&
              named.name == "layer_norm")
            named.name = "group_norm";
  }

  /// True for what follows from parameters of a channel alone.
  static bool isPerChannel(ScalarNode *node, double channels) {
    if (node->elements > channels || node->isReduction())
      return false;
    return llvm::all_of(node->operands, [&](ScalarNode *operand) {
      return isPerChannel(operand, channels);
    });
  }

  /// What is computed once a channel from `root`, and what goes into that.
  void claimPerChannel(int group, ScalarNode *root) {
    for (ScalarNode &node : graph.nodes) {
      bool touches = llvm::any_of(
          node.operands, [&](ScalarNode *n) { return n->group == group; });
      if (node.group < 0 && touches && isPerChannel(&node, root->elements))
        claimBackwards(group, &node, {});
    }
  }

  /// x * scale + shift with both from the group.
  void claimShift(int group) {
    for (ScalarNode &node : graph.nodes)
      if (node.group < 0 &&
          (node.kind == Kind::Mul || node.kind == Kind::Add) &&
          node.operands.size() == 2)
        for (unsigned i : {0, 1}) {
          ScalarNode *a = node.operands[i], *b = node.operands[1 - i];
          bool scales = node.kind == Kind::Mul && a->group == group &&
                        a->elements < node.elements;
          bool shifts =
              node.kind == Kind::Add && a->group == group && b->group == group;
          if (scales || shifts)
            node.group = group;
        }
  }

  void matchGelu(ScalarNode *inner) {
    if ((inner->kind != Kind::Erf && inner->kind != Kind::Tanh) ||
        inner->group >= 0)
      return;
    ScalarNode *plusOne = userOf(inner, Kind::Add);
    ScalarNode *unused = nullptr;
    double constant = 0;
    if (!plusOne || !matchWithConstant(plusOne, unused, constant))
      return;
    ScalarNode *product = userOf(plusOne, Kind::Mul);
    if (!product)
      return;
    ScalarNode *with = product->operands[0] == plusOne ? product->operands[1]
                                                       : product->operands[0];
    if (with->constant) { // 0.5 * (1 + erf(..)), then times x.
      ScalarNode *outer = userOf(product, Kind::Mul);
      if (!outer)
        return;
      plusOne = product;
      product = outer;
      with = other(product, plusOne);
    }
    ScalarNode *x = skipConstants(with);
    int group = open(inner->kind == Kind::Erf ? "gelu" : "gelu_tanh",
                     WorkloadKind::Elementwise);
    claimBackwards(group, product, {x});
    // x * (1 + erf(..)), then times 0.5.
    ScalarNode *half = userOf(product, Kind::Mul);
    if (with == x && half && matchWithConstant(half, unused, constant) &&
        constant == 0.5)
      claim(group, half);
  }

  void matchSigmoid(ScalarNode *exp) {
    if (exp->kind != Kind::Exp || exp->group >= 0 ||
        exp->operands[0]->kind != Kind::Neg)
      return;
    ScalarNode *sum = userOf(exp, Kind::Add);
    ScalarNode *quotient = sum ? userOf(sum, Kind::Div) : nullptr;
    if (!quotient || quotient->operands[1] != sum)
      return;
    ScalarNode *x = exp->operands[0]->operands[0];
    ScalarNode *product = userOf(quotient, Kind::Mul);
    bool silu = quotient->operands[0] == x ||
                (product && llvm::is_contained(product->operands, x));
    if (!silu && quotient->operands[0]->constant != 1.0)
      return;
    int group = open(silu ? "silu" : "sigmoid", WorkloadKind::Elementwise);
    claimBackwards(group, quotient, {x});
    if (silu && quotient->operands[0] != x)
      claim(group, product);
  }

  void matchRelu(ScalarNode *node) {
    if (node->group >= 0)
      return;
    ScalarNode *x = nullptr;
    double constant = 0;
    if (node->kind == Kind::Max && matchWithConstant(node, x, constant) &&
        constant == 0) {
      claim(open("relu", WorkloadKind::Elementwise), node);
      return;
    }
    if (node->kind != Kind::Select)
      return;
    ScalarNode *condition = node->operands[0];
    if (condition->kind != Kind::Compare ||
        !matchWithConstant(condition, x, constant) || constant != 0 ||
        node->operands[1] != x)
      return;
    ScalarNode *otherwise = node->operands[2];
    StringRef name;
    if (otherwise->constant == 0.0)
      name = "relu";
    else if (skipConstants(otherwise) == x && otherwise->kind == Kind::Mul)
      name = "leaky_relu";
    else
      return;
    int group = open(name, WorkloadKind::Elementwise);
    claim(group, node);
    claim(group, condition);
    claimBackwards(group, otherwise, {x});
  }

  void matchMean(ScalarNode *node) {
    ScalarNode *sum = nullptr;
    double constant = 0;
    if (node->group >= 0 ||
        (node->kind != Kind::Div && node->kind != Kind::Mul) ||
        !matchWithConstant(node, sum, constant) || sum->group >= 0)
      return;
    if (sum->kind == Kind::ReduceSum) {
      int group = open("mean", WorkloadKind::Reduction, sum);
      claim(group, node);
      claim(group, sum);
    } else if (sum->kind == Kind::PoolSum) {
      int group = open("avgpool", WorkloadKind::Pooling, sum);
      claim(group, node);
      claim(group, sum);
    }
  }
};

} // namespace

SmallVector<NamedGroup> nameGroups(ScalarGraph &graph) {
  Namer namer(graph);
  namer.run();
  return std::move(namer.groups);
}

} // namespace fastk
