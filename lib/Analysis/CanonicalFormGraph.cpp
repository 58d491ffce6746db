//===- CanonicalFormGraph.cpp - A pattern as a coloured graph -------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CanonicalFormGraph.h"
#include "fastk/Dialect/Fastk/FastkDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/xxhash.h"
#include <map>

using namespace mlir;
using namespace fastk::canonical;

//===----------------------------------------------------------------------===//
// Hashes
//===----------------------------------------------------------------------===//

/// The finaliser of splitmix64: every bit of the input reaches every bit of the
/// output.
static Colour scramble(Colour x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

static Colour mix(Colour a, Colour b) { return scramble(scramble(a) + b); }

static Colour hashText(StringRef text) { return llvm::xxh3_64bits(text); }

template <typename... Colours>
static Colour mix(Colour a, Colour b, Colours... rest) {
  return mix(mix(a, b), rest...);
}

bool fastk::canonical::isConstant(Operation *op) {
  return op->getNumOperands() == 0 && op->getNumResults() == 1 &&
         op->hasTrait<OpTrait::ConstantLike>();
}

bool fastk::canonical::hasUnorderedOperands(Operation *op) {
  if (op->hasTrait<OpTrait::IsCommutative>())
    return true;
  if (auto cmp = dyn_cast<arith::CmpIOp>(op))
    return cmp.getPredicate() == arith::CmpIPredicate::eq ||
           cmp.getPredicate() == arith::CmpIPredicate::ne;
  if (auto cmp = dyn_cast<arith::CmpFOp>(op)) {
    switch (cmp.getPredicate()) {
    case arith::CmpFPredicate::AlwaysFalse:
    case arith::CmpFPredicate::AlwaysTrue:
    case arith::CmpFPredicate::OEQ:
    case arith::CmpFPredicate::ONE:
    case arith::CmpFPredicate::ORD:
    case arith::CmpFPredicate::UEQ:
    case arith::CmpFPredicate::UNE:
    case arith::CmpFPredicate::UNO:
      return true;
    default:
      return false;
    }
  }
  return false;
}

Colour PatternGraph::hashAttr(Attribute attr) {
  auto [it, inserted] = textHashes.try_emplace(attr.getAsOpaquePointer(), 0);
  if (!inserted)
    return it->second;
  Colour hash;
  auto dense = dyn_cast<DenseIntOrFPElementsAttr>(attr);
  if (dense && !dense.isSplat()) {
    // Printing a weight is slow; its bytes say the same.
    ArrayRef<char> raw = dense.getRawData();
    hash = mix(hashType(dense.getType()),
               hashText(StringRef(raw.data(), raw.size())));
  } else {
    std::string text;
    llvm::raw_string_ostream os(text);
    attr.print(os);
    hash = hashText(text);
  }
  return textHashes[attr.getAsOpaquePointer()] = hash;
}

Colour PatternGraph::hashType(Type type) {
  auto [it, inserted] = textHashes.try_emplace(type.getAsOpaquePointer(), 0);
  if (!inserted)
    return it->second;
  std::string text;
  llvm::raw_string_ostream os(text);
  type.print(os);
  return textHashes[type.getAsOpaquePointer()] = hashText(text);
}

//===----------------------------------------------------------------------===//
// Construction
//===----------------------------------------------------------------------===//

PatternGraph::PatternGraph(Region &region) {
  Block &block = region.front();
  for (BlockArgument arg : block.getArguments()) {
    unsigned node = addNode(mix(hashText("input"), hashType(arg.getType())));
    valueNodes[arg] = node;
    inputNodes.push_back(node);
  }
  addBlock(block);
  users.resize(nodes.size());
  for (auto [index, node] : llvm::enumerate(nodes))
    for (Edge edge : node.edges)
      users[edge.target].push_back({unsigned(index), edge.label});
}

unsigned PatternGraph::addNode(Colour label, ArrayRef<Edge> edges) {
  unsigned depth = 0;
  for (Edge edge : edges)
    depth = std::max(depth, nodes[edge.target].depth + 1);
  nodes.push_back({label, depth, SmallVector<Edge, 4>(edges)});
  return nodes.size() - 1;
}

void PatternGraph::addBlock(Block &block) {
  for (Operation &op : block)
    addOp(op);
}

void PatternGraph::addOp(Operation &op) {
  Attribute value;
  if (!isConstant(&op) || !matchPattern(&op, m_Constant(&value)))
    value = op.getPropertiesAsAttribute();
  if (!value)
    value = op.getAttrDictionary();
  Colour label = mix(hashText(op.getName().getStringRef()), hashAttr(value));
  for (Type type : op.getResultTypes())
    label = mix(label, hashType(type));

  if (isConstant(&op)) {
    auto [it, inserted] =
        constants.try_emplace({value, op.getResult(0).getType()}, 0);
    if (inserted)
      it->second = addNode(label);
    valueNodes[op.getResult(0)] = it->second;
    return;
  }
  auto generic = dyn_cast<linalg::GenericOp>(op);
  if (generic && generic.hasPureTensorSemantics())
    return addGeneric(generic);

  // The return of the whole region gives its values no order: which result
  // comes first is for the caller to remember.
  bool unordered = hasUnorderedOperands(&op) || isa<fastk::YieldOp>(op);
  SmallVector<Edge> edges;
  for (auto [index, operand] : llvm::enumerate(op.getOperands()))
    edges.push_back({nodeOf(operand), unordered ? 0 : index + 1});
  SmallVector<Edge> all = edges;
  for (Region &region : op.getRegions()) {
    for (Block &block : region) {
      for (BlockArgument arg : block.getArguments())
        valueNodes[arg] =
            addNode(mix(label, hashText("argument"), region.getRegionNumber(),
                        mix(arg.getArgNumber(), hashType(arg.getType()))),
                    edges);
      addBlock(block);
      if (block.mightHaveTerminator()) {
        SmallVector<Edge> yielded;
        for (auto [index, operand] :
             llvm::enumerate(block.getTerminator()->getOperands()))
          yielded.push_back({nodeOf(operand), index + 1});
        all.push_back({addNode(hashText("yielded"), yielded),
                       mix(hashText("region"), region.getRegionNumber())});
      }
    }
  }
  unsigned node = addNode(label, all);
  if (op.getNumResults() == 1) {
    valueNodes[op.getResult(0)] = node;
    return;
  }
  for (OpResult result : op.getResults())
    valueNodes[result] =
        addNode(mix(hashText("result"), result.getResultNumber()), {{node, 0}});
}

void PatternGraph::addGeneric(linalg::GenericOp op) {
  Colour iterators = hashAttr(op.getIteratorTypes());
  SmallVector<Edge> parts;
  SmallVector<unsigned, 2> inits;
  for (OpOperand &operand : op->getOpOperands()) {
    bool isInit = op.isDpsInit(&operand);
    Colour map =
        hashAttr(AffineMapAttr::get(op.getMatchingIndexingMap(&operand)));
    unsigned node =
        addNode(mix(hashText(isInit ? "out" : "in"), map, iterators),
                {{nodeOf(operand.get()), 0}});
    valueNodes[op.getMatchingBlockArgument(&operand)] = node;
    if (isInit)
      inits.push_back(node);
    else
      parts.push_back({node, 1});
  }
  // Not the terminator: it would give the outputs an order.
  for (Operation &inner : op.getBody()->without_terminator())
    addOp(inner);
  SmallVector<unsigned, 2> outputs;
  for (auto [init, value] :
       llvm::zip_equal(inits, op.getBody()->getTerminator()->getOperands())) {
    outputs.push_back(
        addNode(hashText("output"), {{nodeOf(value), 1}, {init, 2}}));
    parts.push_back({outputs.back(), 2});
  }
  unsigned whole = addNode(mix(hashText("generic"), iterators), parts);
  for (auto [result, output] : llvm::zip_equal(op.getResults(), outputs))
    valueNodes[result] =
        addNode(hashText("element"), {{whole, 1}, {output, 2}});
  outputNodes[op] = outputs;
}

//===----------------------------------------------------------------------===//
// Colours
//===----------------------------------------------------------------------===//

/// Combines a colour with those around it, whatever order they come in.
static Colour gather(Colour own, SmallVectorImpl<Colour> &around) {
  llvm::sort(around);
  for (Colour colour : around)
    own = mix(own, colour);
  return own;
}

/// In the order of the nodes, each sees the new colours of all it depends on:
/// one pass carries everything down the DAG.
void PatternGraph::refineForward(std::vector<Colour> &colours) const {
  SmallVector<Colour, 8> around;
  for (auto [index, node] : llvm::enumerate(nodes)) {
    around.clear();
    for (Edge edge : node.edges)
      around.push_back(mix(edge.label, colours[edge.target]));
    colours[index] = gather(colours[index], around);
  }
}

/// The same against the edges.
void PatternGraph::refineBackward(std::vector<Colour> &colours) const {
  SmallVector<Colour, 8> around;
  for (size_t index = nodes.size(); index-- > 0;) {
    around.clear();
    for (Edge edge : users[index])
      around.push_back(mix(edge.label, colours[edge.target]));
    colours[index] = gather(~colours[index], around);
  }
}

static size_t countDistinct(std::vector<Colour> colours) {
  llvm::sort(colours);
  return std::unique(colours.begin(), colours.end()) - colours.begin();
}

void PatternGraph::refine(std::vector<Colour> &colours) const {
  size_t classes = 0;
  while (true) {
    refineForward(colours);
    refineBackward(colours);
    size_t now = countDistinct(colours);
    if (now <= classes)
      return;
    classes = now;
  }
}

SmallVector<Colour> PatternGraph::colourInputs() const {
  std::vector<Colour> colours;
  for (const Node &node : nodes)
    colours.push_back(node.label);
  refine(colours);
  while (true) {
    // The smallest colour that several inputs share.
    std::map<Colour, SmallVector<unsigned>> cells;
    for (unsigned input : inputNodes)
      cells[colours[input]].push_back(input);
    auto cell = llvm::find_if(
        cells, [](const auto &entry) { return entry.second.size() > 1; });
    if (cell == cells.end())
      break;
    // Members of a cell are nearly always images of each other, and then any
    // will do. Where they are not, what the graph looks like after each was
    // singled out tells them apart.
    std::vector<Colour> best;
    Colour bestInvariant = 0;
    for (unsigned member : cell->second) {
      std::vector<Colour> trial = colours;
      trial[member] = mix(trial[member], hashText("individual"));
      refine(trial);
      std::vector<Colour> sorted = trial;
      llvm::sort(sorted);
      Colour invariant = 0;
      for (Colour colour : sorted)
        invariant = mix(invariant, colour);
      if (best.empty() || invariant < bestInvariant) {
        best = std::move(trial);
        bestInvariant = invariant;
      }
    }
    colours = std::move(best);
  }
  SmallVector<Colour> result;
  for (unsigned input : inputNodes)
    result.push_back(colours[input]);
  return result;
}

void PatternGraph::setInputColours(ArrayRef<Colour> inputs) {
  colours.clear();
  for (const Node &node : nodes)
    colours.push_back(node.label);
  for (auto [input, colour] : llvm::zip_equal(inputNodes, inputs))
    colours[input] = mix(colours[input], colour);
  refineForward(colours);
}

Colour PatternGraph::colourOf(Value value) const {
  return colours[nodeOf(value)];
}

Colour PatternGraph::colourOfOutput(linalg::GenericOp op, unsigned k) const {
  return colours[outputNodes.lookup(op)[k]];
}

unsigned PatternGraph::depthOf(Value value) const {
  return nodes[nodeOf(value)].depth;
}
