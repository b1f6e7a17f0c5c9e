// FetchEdges fetches the step's global batch and selects this trainer's share. MakeLinks draws the negatives of the
// share by the global positions of its edges, so that they do not depend on the number of trainers. It masks the
// negatives that are edges of the batch, and numbers all endpoints by node type. The sampler then expands these nodes
// as seeds of several types, with the step's edges excluded if LinkPlan::exclude_batch is set.
#include "services/sampler/batches/link_batch.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "services/base/select_rows.h"
#include "services/sampler/seeds/seed_order.h"

namespace espalier::sampler {
namespace {

constexpr uint64_t kMaxNegatives = uint64_t{1} << 28;  // in one trainer's share

// The negatives of a share, laid out as in LinkSeeds.
struct Negatives {
  std::vector<uint32_t> set_ends;
  std::vector<GlobalNodeId> destinations;  // [sets * count]
  std::vector<GlobalNodeId> sources;       // [pairs * count], or empty
  std::vector<uint8_t> weights;            // [pairs * count]; 0: masked
};

// An edge of the batch, ordered by type first, so that the edges of one type and source are adjacent.
using TypedEnds = std::tuple<uint16_t, GlobalNodeId, GlobalNodeId>;  // type, source, destination

// Returns the random seed for drawing negatives. It differs by rank if each rank has its own edges (LinkPlan::owner).
uint64_t DeriveNegativesSeed(uint64_t seed, Rank owner) {
  return owner == Rank(0) ? seed : RandomKey(seed, RandomPurpose::kNegatives, owner.value);
}

class LinkBatchMaker {
 public:
  LinkBatchMaker(SeedSource& seeds, const graph::PartitionBook& book, const EpochPlan& plan, uint64_t seed,
                 uint32_t epoch, uint32_t step, Deadline deadline)
      : seeds_(seeds),
        book_(book),
        plan_(plan),
        links_(*plan.links()),
        seed_(seed),
        negatives_seed_(DeriveNegativesSeed(seed, plan.links()->owner)),
        epoch_(epoch),
        step_(step),
        deadline_(deadline) {
    for (const LinkType& link : links_.types) {
      source_types_.push_back(book.schema().SourceOf(link.edge_type));
      destination_types_.push_back(book.schema().DestinationOf(link.edge_type));
    }
  }

  // Fetches the global batch, this trainer's share and its rows of the edge columns. Must be called first.
  Status FetchEdges() {
    SeedQuery query{.split = plan_.split,
                    .part = plan_.part,
                    .shuffle = plan_.shuffle,
                    .seed = seed_,
                    .epoch = epoch_,
                    .step = step_,
                    .batch_size = plan_.batch_size};
    query.edge_types = links_.edge_types();
    query.want_edge_ids = links_.want_pair_ids;
    // With one trainer the share is the whole step, so the first column's rows can be fetched together with the edges.
    if (plan_.num_trainers == 1 && !links_.edge_columns.empty()) query.edge_column = links_.edge_columns.front();
    ASSIGN_OR_RETURN(batch_, seeds_.SeedsOfStep(query, deadline_));
    share_ = PositionsOfShare(batch_, book_, destination_types_, plan_.num_trainers, plan_.rank);
    if (is_joint()) {
      std::stable_sort(share_.begin(), share_.end(),
                       [this](uint32_t a, uint32_t b) { return JointKey(a) < JointKey(b); });
    }
    if (share_.size() * uint64_t{count()} <= kMaxNegatives) return FetchRows(std::move(query));
    return ResourceExhausted("a trainer's share would have " + std::to_string(share_.size()) + " edges with " +
                             std::to_string(count()) + " negatives each, the limit is " +
                             std::to_string(kMaxNegatives) + " negatives; use smaller batches or fewer negatives");
  }

  const GlobalBatch& batch() const { return batch_; }

  // Writes the distinct nodes of the share's pairs and negatives to `nodes`, one list for each NodeTypeId. Returns the
  // pairs and negatives; each endpoint is the index of its node in the concatenation of these lists (LinkSeeds).
  Result<LinkSeeds> MakeLinks(std::vector<std::vector<GlobalNodeId>>& nodes) {
    ASSIGN_OR_RETURN(Negatives negatives, DrawNegatives());
    MaskEdgesOfTheBatch(negatives);
    LinkSeeds links{.negatives_per_pair = count(), .set_ends = std::move(negatives.set_ends)};
    links.rows = std::move(rows_);
    nodes.assign(book_.schema().num_node_types(), {});
    std::vector<absl::flat_hash_map<uint64_t, uint32_t>> row_of(nodes.size());
    const auto add_node = [&](NodeTypeId type, GlobalNodeId node) {
      std::vector<GlobalNodeId>& of_type = nodes[type.value];
      const auto [at, added] = row_of[type.value].try_emplace(node.value, static_cast<uint32_t>(of_type.size()));
      if (added) of_type.push_back(node);
      return at->second;
    };
    size_t set = 0;
    for (size_t i = 0; i < share_.size(); ++i) {
      const NodeTypeId source = SourceType(share_[i]), destination = DestinationType(share_[i]);
      links.sources.push_back(add_node(source, batch_.sources[share_[i]]));
      links.destinations.push_back(add_node(destination, batch_.seeds[share_[i]]));
      links.relations.push_back(batch_.types[share_[i]]);
      if (!batch_.edge_ids.empty()) links.edge_ids.push_back(batch_.edge_ids[share_[i]]);
      if (i > 0 && i < links.set_ends[set]) continue;  // the negatives of this set have been added
      if (i > 0) ++set;
      for (size_t k = 0; k < count(); ++k) {
        if (!negatives.sources.empty()) {
          links.negative_sources.push_back(add_node(source, negatives.sources[i * count() + k]));
        }
        links.negative_destinations.push_back(add_node(destination, negatives.destinations[set * count() + k]));
      }
    }
    links.negative_weights = std::move(negatives.weights);
    OffsetRowsByType(nodes, links);
    return links;
  }

 private:
  uint32_t count() const { return links_.negatives.count; }  // negatives per pair
  bool is_joint() const { return links_.negatives.kind == NegativeKind::kJoint; }
  NodeTypeId SourceType(uint32_t position) const { return source_types_[batch_.types[position]]; }
  NodeTypeId DestinationType(uint32_t position) const { return destination_types_[batch_.types[position]]; }
  // kJoint: edges with the same key share their negatives.
  std::pair<uint64_t, uint16_t> JointKey(uint32_t position) const {
    return {FindJointGroup(position, count()), DestinationType(position).value};
  }

  // Fetches the share's rows of the edge columns, with one request per column. A column that was fetched together with
  // the edges is not requested again. `query` is the one that has fetched the edges.
  Status FetchRows(SeedQuery query) {
    std::vector<uint32_t> positions = share_;
    std::sort(positions.begin(), positions.end());
    std::vector<uint32_t> places;  // indices of the share's edges in `positions`
    for (const uint32_t position : share_) {
      const auto at = std::lower_bound(positions.begin(), positions.end(), position);
      places.push_back(static_cast<uint32_t>(at - positions.begin()));
    }
    const std::string fetched_column = std::exchange(query.edge_column, "");
    query.want_edge_ids = false;
    if (plan_.num_trainers > 1) query.positions = std::move(positions);
    for (const std::string& column : links_.edge_columns) {
      if (column == fetched_column) {
        rows_[column] = SelectRows<uint32_t>(batch_.rows, share_);
        continue;
      }
      query.edge_column = column;
      ASSIGN_OR_RETURN(const GlobalBatch mine, seeds_.SeedsOfStep(query, deadline_));
      rows_[column] = SelectRows<uint32_t>(mine.rows, places);
    }
    return {};
  }

  // Changes row numbers within a node type to row numbers among the seeds of all types.
  void OffsetRowsByType(const std::vector<std::vector<GlobalNodeId>>& nodes, LinkSeeds& links) const {
    std::vector<uint32_t> first = {0};
    for (const auto& of_type : nodes) first.push_back(first.back() + static_cast<uint32_t>(of_type.size()));
    size_t set = 0;
    for (size_t i = 0; i < share_.size(); ++i) {
      const uint32_t first_source = first[SourceType(share_[i]).value];
      const uint32_t first_destination = first[DestinationType(share_[i]).value];
      links.sources[i] += first_source;
      links.destinations[i] += first_destination;
      if (i > 0 && i < links.set_ends[set]) continue;
      if (i > 0) ++set;
      for (size_t k = set * count(); k < (set + 1) * count(); ++k) {
        links.negative_destinations[k] += first_destination;
        if (!links.negative_sources.empty()) links.negative_sources[k] += first_source;
      }
    }
  }

  Result<Negatives> DrawNegatives() {
    Negatives negatives;
    negatives.weights.assign(share_.size() * count(), 1);

    for (uint32_t i = 0; i < share_.size(); ++i) {
      const bool is_last = i + 1 == share_.size() || !is_joint() || JointKey(share_[i]) != JointKey(share_[i + 1]);
      if (is_last) negatives.set_ends.push_back(i + 1);
    }
    if (count() == 0) return negatives;
    switch (links_.negatives.kind) {
      case NegativeKind::kUniform:
      case NegativeKind::kJoint: {
        ASSIGN_OR_RETURN(negatives.destinations, DrawEnds(NegativeEnd::kDestination, negatives.set_ends));
        break;
      }
      case NegativeKind::kInBatch: AddInBatchNegatives(negatives); break;
      case NegativeKind::kInDegree: RETURN_IF_ERROR(AddInDegreeNegatives(negatives)); break;
      case NegativeKind::kGlobalUniform: {
        ASSIGN_OR_RETURN(negatives.sources, DrawEnds(NegativeEnd::kSource, negatives.set_ends));
        ASSIGN_OR_RETURN(negatives.destinations, DrawEnds(NegativeEnd::kDestination, negatives.set_ends));
        break;
      }
    }
    return negatives;
  }

  // Draws count() nodes for each set. The random stream of a set is the position of its only edge or, for kJoint, the
  // number of its group.
  Result<std::vector<GlobalNodeId>> DrawEnds(NegativeEnd end, const std::vector<uint32_t>& set_ends) {
    const uint64_t key = NegativesKey(negatives_seed_, epoch_, step_, end);
    std::vector<OriginalNodeId> originals;
    std::vector<NodeTypeId> types;  // by set
    originals.reserve(set_ends.size() * count());
    for (const uint32_t set_end : set_ends) {
      const uint32_t position = share_[set_end - 1];
      types.push_back(end == NegativeEnd::kSource ? SourceType(position) : DestinationType(position));
      const uint64_t stream = is_joint() ? FindJointGroup(position, count()) : position;
      for (const uint64_t node : DrawNodes(key, stream, book_.num_nodes(types.back()), count())) {
        originals.emplace_back(node);
      }
    }
    std::vector<GlobalNodeId> nodes(originals.size());
    for (uint16_t type = 0; type < book_.schema().num_node_types(); ++type) {
      RETURN_IF_ERROR(LookUpSets(NodeTypeId(type), types, originals, nodes));
    }
    return nodes;
  }

  // Looks up the nodes of the sets whose node type is `type`: writes the global id of originals[i] to nodes[i] for each
  // entry i of such a set (types[i / count()] == type). A node that was drawn several times is looked up once.
  Status LookUpSets(NodeTypeId type, const std::vector<NodeTypeId>& types, const std::vector<OriginalNodeId>& originals,
                    std::vector<GlobalNodeId>& nodes) {
    std::vector<OriginalNodeId> distinct;
    for (size_t i = 0; i < originals.size(); ++i) {
      if (types[i / count()] == type) distinct.push_back(originals[i]);
    }
    if (distinct.empty()) return {};
    std::sort(distinct.begin(), distinct.end());
    distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
    ASSIGN_OR_RETURN(const std::vector<GlobalNodeId> globals, seeds_.ToGlobalIds(type, distinct, deadline_));
    for (size_t i = 0; i < originals.size(); ++i) {
      if (types[i / count()] != type) continue;
      const auto at = std::lower_bound(distinct.begin(), distinct.end(), originals[i]);
      nodes[i] = globals[static_cast<size_t>(at - distinct.begin())];
    }
    return {};
  }

  // Adds a placeholder for a negative that the edge at `position` lacks: the edge's own destination with weight 0.
  void AddPlaceholder(uint32_t position, Negatives& negatives) const {
    negatives.weights[negatives.destinations.size()] = 0;
    negatives.destinations.push_back(batch_.seeds[position]);
  }

  // kInBatch: adds, for each edge of the share, the destinations of the other edges in its group.
  void AddInBatchNegatives(Negatives& negatives) const {
    for (size_t i = 0; i < share_.size(); ++i) {
      const uint32_t position = share_[i];
      const BatchGroup group = FindInBatchGroup(position, count(), batch_.seeds.size());
      for (uint64_t other = group.first; other < group.last; ++other) {
        if (other == position) continue;
        if (DestinationType(static_cast<uint32_t>(other)) == DestinationType(position)) {
          negatives.destinations.push_back(batch_.seeds[other]);
        } else {
          AddPlaceholder(position, negatives);
        }
      }
      // The last group may be incomplete.
      while (negatives.destinations.size() < (i + 1) * count()) AddPlaceholder(position, negatives);
    }
  }

  // kInDegree: adds the destinations of the training edges that MakeInDegreeQuery selects.
  Status AddInDegreeNegatives(Negatives& negatives) {
    if (share_.empty()) return {};
    const std::vector<EdgeTypeId> types = links_.edge_types();
    ASSIGN_OR_RETURN(const std::vector<uint64_t> first,
                     FirstOrdinals(seeds_, types, plan_.split, graph::SplitPartName::kTrain));
    if (first.back() == 0) {
      return InvalidArgument(
          "split '" + plan_.split +
          "' has no training edges: InDegree negatives are destinations of training edges; choose another kind");
    }
    const SeedQuery query = MakeInDegreeQuery(types, plan_.split, negatives_seed_, epoch_, step_,
                                              uint64_t{count()} * plan_.batch_size, first.back());
    ASSIGN_OR_RETURN(const GlobalBatch drawn, seeds_.SeedsOfStep(query, deadline_));
    for (const uint32_t position : share_) {
      for (uint64_t k = 0; k < count(); ++k) {
        const size_t at = (uint64_t{position} * count() + k) % drawn.seeds.size();
        if (destination_types_[drawn.types[at]] == DestinationType(position)) {
          negatives.destinations.push_back(drawn.seeds[at]);
        } else {
          AddPlaceholder(position, negatives);
        }
      }
    }
    return {};
  }

  void MaskEdgesOfTheBatch(Negatives& negatives) const {
    std::vector<TypedEnds> edges;
    edges.reserve(batch_.seeds.size());
    for (size_t i = 0; i < batch_.seeds.size(); ++i) {
      const auto& [type, reverse] = links_.types[batch_.types[i]];
      edges.emplace_back(batch_.types[i], batch_.sources[i], batch_.seeds[i]);
      // If a type is its own reverse, the reverse of each of its edges is an edge, too.
      if (reverse == type) edges.emplace_back(batch_.types[i], batch_.seeds[i], batch_.sources[i]);
    }
    std::sort(edges.begin(), edges.end());
    size_t set = 0;
    for (size_t i = 0; i < share_.size(); ++i) {
      if (i == negatives.set_ends[set]) ++set;
      const uint16_t type = batch_.types[share_[i]];
      const GlobalNodeId source = batch_.sources[share_[i]];
      // Finds the source's edges once. They are few, so looking up each negative among them is fast.
      const auto [first, last] = std::equal_range(
          edges.begin(), edges.end(), TypedEnds(type, source, GlobalNodeId(0)), [](const auto& a, const auto& b) {
            return std::tie(std::get<0>(a), std::get<1>(a)) < std::tie(std::get<0>(b), std::get<1>(b));
          });
      for (size_t k = 0; k < count(); ++k) {
        const GlobalNodeId destination = negatives.destinations[set * count() + k];
        const bool is_edge = negatives.sources.empty()
                                 ? std::binary_search(first, last, TypedEnds(type, source, destination))
                                 : std::binary_search(edges.begin(), edges.end(),
                                                      TypedEnds(type, negatives.sources[i * count() + k], destination));
        if (is_edge) negatives.weights[i * count() + k] = 0;
      }
    }
  }

  SeedSource& seeds_;
  const graph::PartitionBook& book_;
  const EpochPlan& plan_;
  const LinkPlan& links_;
  const uint64_t seed_;
  const uint64_t negatives_seed_;
  const uint32_t epoch_, step_;
  const Deadline deadline_;
  std::vector<NodeTypeId> source_types_, destination_types_;  // by index in links_.types
  GlobalBatch batch_;
  std::vector<uint32_t> share_;         // positions in the batch, ascending; kJoint: by JointKey first
  std::map<std::string, Tensor> rows_;  // of the share's edges, by edge column
};

}  // namespace

Status CheckLinkPlan(const EpochPlan& plan, const graph::GraphSchema& schema) {
  if (plan.links() == nullptr || plan.links()->types.empty()) return InvalidArgument("the plan names no edges");
  const LinkPlan& links = *plan.links();
  SeedQuery query;
  query.edge_types = links.edge_types();
  if (!links.edge_columns.empty()) query.edge_column = links.edge_columns.front();
  query.want_edge_ids = links.want_pair_ids;
  RETURN_IF_ERROR(CheckSeedTypes(query, schema));
  for (const std::string& column : links.edge_columns) {
    if (column.empty()) return InvalidArgument("an edge column without a name");
  }
  for (const auto& [type, reverse] : links.types) {
    if (!reverse.has_value()) continue;
    const std::string name = schema.EdgeType(type).Name();
    RETURN_IF_ERROR(schema.CheckEdgeType(*reverse).While("the reverse edge type of '" + name + "'"));
    if (schema.SourceOf(*reverse) != schema.DestinationOf(type) ||
        schema.DestinationOf(*reverse) != schema.SourceOf(type)) {
      return InvalidArgument("the reverse edge type does not reverse the node types of '" + name + "'");
    }
  }
  return CheckNegatives(links.negatives);
}

Result<MiniBatch> MakeLinkBatch(SeedSource& seeds, FanoutSampler& sampler, const graph::PartitionBook& book,
                                const EpochPlan& plan, uint64_t seed, uint32_t epoch, uint32_t step, bool want_edge_ids,
                                Deadline deadline) {
  LinkBatchMaker maker(seeds, book, plan, seed, epoch, step, deadline);
  RETURN_IF_ERROR(maker.FetchEdges());
  std::vector<std::vector<GlobalNodeId>> nodes;
  ASSIGN_OR_RETURN(LinkSeeds links, maker.MakeLinks(nodes));
  const EdgeExclusions excluded = FindExclusions(maker.batch(), plan.links()->types, book.schema().num_edge_types());
  BatchRequest request{.epoch = epoch,
                       .step = step,
                       .seed_type = book.schema().DestinationOf(plan.links()->types.front().edge_type),
                       .seeds = {},
                       .global_num_seeds = static_cast<uint32_t>(maker.batch().seeds.size()),
                       .want_edge_ids = want_edge_ids};
  request.typed_seeds = nodes;
  if (plan.links()->exclude_batch) request.excluded = &excluded;
  ASSIGN_OR_RETURN(MiniBatch batch, sampler.Sample(request, deadline));
  batch.links = std::move(links);
  return batch;
}

}  // namespace espalier::sampler
