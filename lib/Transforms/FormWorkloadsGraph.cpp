//===- FormWorkloadsGraph.cpp - The ops of a block as groups --------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FormWorkloadsGraph.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace fastk::form;

int BlockGraph::definition(Value value) const {
  Operation *op = value.getDefiningOp();
  auto it = op ? indices.find(op) : indices.end();
  return it == indices.end() ? -1 : static_cast<int>(it->second);
}

/// True when a member of the group computes the value, or part of it.
static bool comesFromMember(const BlockGraph &graph, Value value, int group) {
  int def = graph.definition(value);
  if (def < 0)
    return false;
  const Node &node = graph.nodes[def];
  switch (node.role) {
  case Role::Outside:
    return false;
  case Role::Compute:
    return node.group == group;
  case Role::Replicated:
  case Role::View:
  case Role::Joining:
    return llvm::any_of(node.uses, [&](Value use) {
      return comesFromMember(graph, use, group);
    });
  }
  llvm_unreachable("unknown role");
}

bool BlockGraph::isInternal(Value value, int group) const {
  int def = definition(value);
  if (def < 0) {
    // Of an enclosing block: constants, and what is filled with them.
    Operation *op = value.getDefiningOp();
    if (!op)
      return false;
    if (op->hasTrait<OpTrait::ConstantLike>())
      return !isa<ShapedType>(value.getType());
    return isa<tensor::EmptyOp, linalg::FillOp>(op) &&
           llvm::all_of(op->getOperands(), [&](Value operand) {
             return isInternal(operand, group);
           });
  }
  const Node &node = nodes[def];
  switch (node.role) {
  case Role::Outside:
    return false;
  case Role::Compute:
    return node.group == group;
  case Role::Replicated:
    return true;
  case Role::View:
    return isInternal(node.op->getOperand(0), group);
  case Role::Joining:
    // Into a filled tensor: a pad by another name.
    if (auto insert = dyn_cast<tensor::InsertSliceOp>(node.op))
      if (insert.getDest().getDefiningOp<linalg::FillOp>())
        return true;
    return comesFromMember(*this, value, group);
  }
  llvm_unreachable("unknown role");
}

void BlockGraph::forEachExternal(unsigned node, int group,
                                 function_ref<void(Value)> visit) const {
  SmallVector<unsigned> stack(1, node);
  DenseSet<unsigned> seen;
  while (!stack.empty()) {
    for (Value use : nodes[stack.pop_back_val()].uses) {
      if (!isInternal(use, group)) {
        visit(use);
        continue;
      }
      int def = definition(use);
      if (def < 0 || nodes[def].role == Role::Compute)
        continue;
      if (seen.insert(def).second)
        stack.push_back(def);
    }
  }
}

int64_t BlockGraph::pointsOf(int group) const {
  SmallVector<unsigned> stack(groups[group].members.begin(),
                              groups[group].members.end());
  DenseSet<unsigned> seen(stack.begin(), stack.end());
  int64_t points = 0;
  while (!stack.empty()) {
    const Node &node = nodes[stack.pop_back_val()];
    points += iterationCount(node.op);
    for (Value use : node.uses)
      if (int def = definition(use);
          def >= 0 && isInternal(use, group) && seen.insert(def).second)
        stack.push_back(def);
  }
  return points;
}

SmallVector<Producer> BlockGraph::producers(Value value) const {
  SmallVector<Producer> found;
  SmallVector<Value> stack(1, value);
  DenseSet<Value> seen;
  while (!stack.empty()) {
    Value next = stack.pop_back_val();
    int def = definition(next);
    if (def < 0 || !seen.insert(next).second)
      continue;
    const Node &node = nodes[def];
    if (node.role == Role::Compute)
      found.push_back({static_cast<unsigned>(def), next});
    else if (node.role != Role::Outside)
      stack.append(node.uses.begin(), node.uses.end());
  }
  return found;
}

bool BlockGraph::forEachConsumer(
    unsigned node, function_ref<bool(unsigned, Value)> visit) const {
  SmallVector<unsigned> stack(1, node);
  DenseSet<unsigned> seen;
  while (!stack.empty()) {
    for (Value result : nodes[stack.pop_back_val()].op->getResults()) {
      for (Operation *user : result.getUsers()) {
        Operation *top = block.findAncestorOpInBlock(*user);
        // A reader in another block reads what leaves this one.
        unsigned index = top ? indices.lookup(top) : nodes.size() - 1;
        Role role = nodes[index].role;
        if (role == Role::Compute || role == Role::Outside) {
          if (!visit(index, result))
            return false;
        } else if (seen.insert(index).second) {
          stack.push_back(index);
        }
      }
    }
  }
  return true;
}

void BlockGraph::addToGroup(unsigned node, int index) {
  Node &added = nodes[node];
  Group &group = groups[index];
  added.group = index;
  group.members.insert(llvm::lower_bound(group.members, node), node);
  forEachExternal(node, index, [&](Value value) { group.taken.insert(value); });
  auto raise = [&](GroupKind kind) { group.kind = std::max(group.kind, kind); };
  switch (added.kind) {
  case Kind::Elementwise:
  case Kind::Transpose:
    break;
  case Kind::Reduction:
    raise(GroupKind::Reduction);
    if (group.reductionDomain.empty())
      group.reductionDomain = reductionDomain(added.op);
    break;
  case Kind::Pooling:
    group.hasPooling = true;
    raise(GroupKind::Opaque);
    break;
  case Kind::Opaque:
    raise(GroupKind::Opaque);
    break;
  case Kind::Convolution:
    group.hasConvolution = true;
    raise(GroupKind::Contraction);
    break;
  case Kind::Contraction:
  case Kind::BatchContraction:
    raise(GroupKind::Contraction);
    break;
  }
}

int BlockGraph::newGroup(unsigned node) {
  groups.emplace_back();
  addToGroup(node, groups.size() - 1);
  return groups.size() - 1;
}

unsigned BlockGraph::firstAround(int group) const {
  unsigned first = groups[group].members.front();
  for (unsigned index = nodes.size(); index-- > first;)
    if (int own = nodes[index].group; own >= 0 && !groups[own].members.empty())
      first = std::min(first, groups[own].members.front());
  return first;
}

bool BlockGraph::dependOn(ArrayRef<Value> values, int group) const {
  // Without a bound each question were one to the whole block.
  auto first = int(firstAround(group));
  SmallVector<Value> stack(values);
  std::vector<bool> seenNode(nodes.size()), seenGroup(groups.size());
  while (!stack.empty()) {
    int def = definition(stack.pop_back_val());
    if (def < first || seenNode[def])
      continue;
    seenNode[def] = true;
    const Node &node = nodes[def];
    if (node.group >= 0) {
      if (node.group == group)
        return true;
      if (seenGroup[node.group])
        continue;
      seenGroup[node.group] = true;
      for (unsigned member : groups[node.group].members)
        forEachExternal(member, node.group,
                        [&](Value value) { stack.push_back(value); });
      continue;
    }
    stack.append(node.uses.begin(), node.uses.end());
    // Effects keep their order, so each op with some waits for the one before.
    for (int effect = node.previousEffect; effect >= 0 && !seenNode[effect];
         effect = nodes[effect].previousEffect) {
      seenNode[effect] = true;
      stack.append(nodes[effect].uses.begin(), nodes[effect].uses.end());
    }
  }
  return false;
}

bool BlockGraph::fitsOperands(int group, ArrayRef<Value> more) {
  DenseSet<Value> &taken = groups[group].taken;
  if (taken.size() + more.size() <= mostOperands)
    return true;
  DenseSet<Value> left;
  for (Value value : taken)
    if (!isInternal(value, group))
      left.insert(value);
  taken = left;
  left.insert_range(more);
  return left.size() <= mostOperands;
}

bool BlockGraph::tryJoin(unsigned node, int group) {
  int before = nodes[node].group;
  nodes[node].group = group;
  // Rules visit ops in block order: nothing that is in a group by now can
  // depend on this node, so only what the node itself takes can close a cycle.
  SmallVector<Value> taken;
  forEachExternal(node, group, [&](Value value) { taken.push_back(value); });
  nodes[node].group = before;
  if (!fitsOperands(group, taken) || dependOn(taken, group))
    return false;
  addToGroup(node, group);
  return true;
}

bool BlockGraph::tryMerge(ArrayRef<int> from, int into) {
  SmallVector<Group> before(llvm::map_range(
      from, [&](int other) { return std::move(groups[other]); }));
  Group target = groups[into];
  for (auto [index, other] : llvm::zip_equal(from, before)) {
    groups[index] = Group();
    for (unsigned member : other.members)
      addToGroup(member, into);
    groups[into].kind = std::max(groups[into].kind, other.kind);
  }
  SetVector<Value> taken;
  for (unsigned member : groups[into].members)
    forEachExternal(member, into, [&](Value value) { taken.insert(value); });
  if (taken.size() <= mostOperands && !dependOn(taken.getArrayRef(), into))
    return true;
  groups[into] = std::move(target);
  for (auto [index, other] : llvm::zip_equal(from, before)) {
    for (unsigned member : other.members)
      nodes[member].group = index;
    groups[index] = std::move(other);
  }
  return false;
}

void BlockGraph::findLive(std::vector<bool> &live,
                          function_ref<void(Value)> onEscape) const {
  live.assign(nodes.size(), false);
  std::vector<bool> liveGroup(groups.size());
  DenseSet<Value> escaped;
  SmallVector<Value> stack;
  for (auto [index, node] : llvm::enumerate(nodes))
    if (node.role == Role::Outside) {
      live[index] = true;
      stack.append(node.uses.begin(), node.uses.end());
    }
  // Values read by other blocks, through control flow.
  for (const Node &node : nodes)
    for (Value result : node.op->getResults())
      if (llvm::any_of(result.getUsers(), [&](Operation *user) {
            return !block.findAncestorOpInBlock(*user);
          }))
        stack.push_back(result);
  while (!stack.empty()) {
    Value value = stack.pop_back_val();
    int def = definition(value);
    if (def < 0)
      continue;
    const Node &node = nodes[def];
    if (node.group < 0) {
      if (!live[def])
        stack.append(node.uses.begin(), node.uses.end());
      live[def] = true;
      continue;
    }
    if (escaped.insert(value).second)
      onEscape(value);
    if (liveGroup[node.group])
      continue;
    liveGroup[node.group] = true;
    for (unsigned member : groups[node.group].members)
      forEachExternal(member, node.group,
                      [&](Value taken) { stack.push_back(taken); });
  }
}

std::vector<SmallVector<Value, 2>> BlockGraph::escapes() const {
  std::vector<SmallVector<Value, 2>> values(groups.size());
  std::vector<bool> live;
  findLive(live, [&](Value value) {
    values[nodes[definition(value)].group].push_back(value);
  });
  // In block order, so that equal groups list equal results.
  for (SmallVector<Value, 2> &list : values)
    llvm::sort(list, [&](Value a, Value b) {
      auto key = [&](Value value) {
        return std::pair(definition(value),
                         cast<OpResult>(value).getResultNumber());
      };
      return key(a) < key(b);
    });
  return values;
}

SmallVector<unsigned> BlockGraph::strayCompute() const {
  std::vector<bool> live;
  findLive(live, [](Value) {});
  SmallVector<unsigned> found;
  for (auto [index, node] : llvm::enumerate(nodes))
    if (live[index] && node.group < 0 && node.role != Role::Outside &&
        isa_and_nonnull<linalg::LinalgDialect>(node.op->getDialect()))
      found.push_back(index);
  return found;
}
