#include "services/sampler/link_batch.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "services/sampler/seed_order.h"

namespace espalier::sampler {
namespace {

constexpr uint64_t kMaxNegatives = uint64_t{1} << 28;  // of one trainer's share: more is a mistake

// The negatives of a share, as LinkSeeds says.
struct Negatives {
  std::vector<uint32_t> set_ends;
  std::vector<GlobalNodeId> destinations;  // [sets * count]
  std::vector<GlobalNodeId> sources;       // [pairs * count], or empty
  std::vector<uint8_t> weights;            // [pairs * count]; 0: there is none here
};

// An edge of the batch: by its type first, so that those from one source stand together.
using TypedEnds = std::tuple<uint16_t, GlobalNodeId, GlobalNodeId>;  // type, source, destination

class LinkBatchMaker {
 public:
  LinkBatchMaker(SeedSource& seeds, const graph::PartitionBook& book, const EpochPlan& plan, uint64_t seed,
                 uint32_t epoch, uint32_t step, Deadline deadline)
      : seeds_(seeds), plan_(plan), links_(*plan.links), seed_(seed), epoch_(epoch), step_(step), deadline_(deadline) {
    node_type_ = book.schema().DestinationOf(links_.types.front().edge_type);
    num_nodes_ = book.num_nodes(node_type_);
  }

  Status FindEdges(const graph::PartitionBook& book) {
    SeedQuery query{.split = plan_.split,
                    .part = plan_.part,
                    .shuffle = plan_.shuffle,
                    .seed = seed_,
                    .epoch = epoch_,
                    .step = step_,
                    .batch_size = plan_.batch_size};
    query.edge_types = links_.edge_types();
    ASSIGN_OR_RETURN(batch_, seeds_.SeedsOfStep(query, deadline_));
    share_ = PositionsOfShare(batch_, book, node_type_, plan_.num_trainers, plan_.rank);
    if (share_.size() * uint64_t{count()} <= kMaxNegatives) return {};
    return ResourceExhausted("a trainer's share would have " + std::to_string(share_.size()) + " edges with " +
                             std::to_string(count()) + " negatives each; use smaller batches or fewer negatives");
  }

  const GlobalBatch& batch() const { return batch_; }

  // The share's pairs as rows of `nodes`, the distinct ends.
  Result<LinkSeeds> Link(std::vector<GlobalNodeId>& nodes) {
    ASSIGN_OR_RETURN(Negatives negatives, DrawNegatives());
    MaskEdgesOfTheBatch(negatives);
    LinkSeeds links{.negatives_per_pair = count(), .set_ends = std::move(negatives.set_ends)};
    absl::flat_hash_map<uint64_t, uint32_t> row_of;
    const auto row = [&](GlobalNodeId node) {
      const auto [at, added] = row_of.try_emplace(node.value, static_cast<uint32_t>(nodes.size()));
      if (added) nodes.push_back(node);
      return at->second;
    };
    size_t set = 0;
    for (size_t i = 0; i < share_.size(); ++i) {
      links.sources.push_back(row(batch_.sources[share_[i]]));
      links.destinations.push_back(row(batch_.seeds[share_[i]]));
      links.relations.push_back(batch_.types[share_[i]]);
      if (!batch_.edge_ids.empty()) links.edge_ids.push_back(batch_.edge_ids[share_[i]]);
      if (i > 0 && i < links.set_ends[set]) continue;  // the set's nodes stand there already
      if (i > 0) ++set;
      for (size_t k = 0; k < count(); ++k) {
        if (!negatives.sources.empty()) links.negative_sources.push_back(row(negatives.sources[i * count() + k]));
        links.negative_destinations.push_back(row(negatives.destinations[set * count() + k]));
      }
    }
    links.negative_weights = std::move(negatives.weights);
    return links;
  }

 private:
  uint32_t count() const { return links_.negatives.count; }

  Result<Negatives> DrawNegatives() {
    Negatives negatives;
    negatives.weights.assign(share_.size() * count(), 1);
    const bool joint = links_.negatives.kind == NegativeKind::kJoint;  // count() > 0
    for (uint32_t i = 0; i < share_.size(); ++i) {
      const bool is_last =
          i + 1 == share_.size() || !joint || JointGroupOf(share_[i], count()) != JointGroupOf(share_[i + 1], count());
      if (is_last) negatives.set_ends.push_back(i + 1);
    }
    if (count() == 0) return negatives;
    switch (links_.negatives.kind) {
      case NegativeKind::kUniform:
      case NegativeKind::kJoint: {
        ASSIGN_OR_RETURN(negatives.destinations, DrawEnds(NegativeEnd::kDestination, negatives.set_ends));
        break;
      }
      case NegativeKind::kInBatch: TakeFromBatch(negatives); break;
      case NegativeKind::kInDegree: RETURN_IF_ERROR(TakeDestinations(negatives)); break;
      case NegativeKind::kGlobalUniform: {
        ASSIGN_OR_RETURN(negatives.sources, DrawEnds(NegativeEnd::kSource, negatives.set_ends));
        ASSIGN_OR_RETURN(negatives.destinations, DrawEnds(NegativeEnd::kDestination, negatives.set_ends));
        break;
      }
    }
    return negatives;
  }

  // For each set its `count` nodes.
  Result<std::vector<GlobalNodeId>> DrawEnds(NegativeEnd end, const std::vector<uint32_t>& set_ends) {
    const uint64_t key = NegativesKey(seed_, epoch_, step_, end);
    std::vector<OriginalNodeId> originals;
    originals.reserve(set_ends.size() * count());
    for (const uint32_t set_end : set_ends) {
      const uint32_t position = share_[set_end - 1];
      const bool joint = links_.negatives.kind == NegativeKind::kJoint;
      const uint64_t stream = joint ? JointGroupOf(position, count()) : position;
      for (const uint64_t node : DrawNodes(key, stream, num_nodes_, count())) originals.emplace_back(node);
    }
    // Shared negatives are asked for once.
    std::vector<OriginalNodeId> distinct = originals;
    std::sort(distinct.begin(), distinct.end());
    distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
    ASSIGN_OR_RETURN(const std::vector<GlobalNodeId> globals, seeds_.LookUp(node_type_, distinct, deadline_));
    std::vector<GlobalNodeId> nodes;
    nodes.reserve(originals.size());
    for (const OriginalNodeId original : originals) {
      const auto at = std::lower_bound(distinct.begin(), distinct.end(), original);
      nodes.push_back(globals[static_cast<size_t>(at - distinct.begin())]);
    }
    return nodes;
  }

  void TakeFromBatch(Negatives& negatives) const {
    for (size_t i = 0; i < share_.size(); ++i) {
      const uint32_t position = share_[i];
      const BatchGroup group = InBatchGroupOf(position, count(), batch_.seeds.size());
      size_t at = i * count();
      for (uint64_t other = group.first; other < group.last; ++other) {
        if (other == position) continue;
        negatives.destinations.push_back(batch_.seeds[other]);
        ++at;
      }
      // What a short group lacks stands for the edge's own destination and weighs nothing.
      for (; at < (i + 1) * count(); ++at) {
        negatives.destinations.push_back(batch_.seeds[position]);
        negatives.weights[at] = 0;
      }
    }
  }

  Status TakeDestinations(Negatives& negatives) {
    if (share_.empty()) return {};
    const std::vector<EdgeTypeId> types = links_.edge_types();
    ASSIGN_OR_RETURN(const std::vector<uint64_t> first,
                     FirstOrdinals(seeds_, types, plan_.split, graph::SplitPartName::kTrain));
    const SeedQuery query =
        InDegreeQuery(types, plan_.split, seed_, epoch_, step_, uint64_t{count()} * plan_.batch_size, first.back());
    ASSIGN_OR_RETURN(const GlobalBatch drawn, seeds_.SeedsOfStep(query, deadline_));
    for (const uint32_t position : share_) {
      for (uint64_t k = 0; k < count(); ++k) {
        negatives.destinations.push_back(drawn.seeds[(uint64_t{position} * count() + k) % drawn.seeds.size()]);
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
      // An edge type whose edges stand for both directions.
      if (reverse == type) edges.emplace_back(batch_.types[i], batch_.seeds[i], batch_.sources[i]);
    }
    std::sort(edges.begin(), edges.end());
    size_t set = 0;
    for (size_t i = 0; i < share_.size(); ++i) {
      if (i == negatives.set_ends[set]) ++set;
      const uint16_t type = batch_.types[share_[i]];
      const GlobalNodeId source = batch_.sources[share_[i]];
      // A source has few edges of a type in a batch: they are found once for all its negatives.
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
  const EpochPlan& plan_;
  const LinkPlan& links_;
  const uint64_t seed_;
  const uint32_t epoch_, step_;
  const Deadline deadline_;
  NodeTypeId node_type_;
  uint64_t num_nodes_ = 0;
  GlobalBatch batch_;
  std::vector<uint32_t> share_;  // positions of the batch, ascending
};

}  // namespace

Status CheckLinkPlan(const EpochPlan& plan, const graph::GraphSchema& schema) {
  if (!plan.links.has_value() || plan.links->types.empty()) return InvalidArgument("the plan names no edges");
  const LinkPlan& links = *plan.links;
  SeedQuery query;
  query.edge_types = links.edge_types();
  RETURN_IF_ERROR(CheckSeedTypes(query, schema));
  for (const auto& [type, reverse] : links.types) {
    const std::string name = schema.EdgeType(type).Name();
    if (schema.SourceOf(type) != schema.DestinationOf(type)) {
      return InvalidArgument("edge type '" + name +
                             "': links are predicted between nodes of one type, its ends are of two");
    }
    if (reverse.has_value() &&
        (reverse->value >= schema.num_edge_types() || schema.SourceOf(*reverse) != schema.DestinationOf(type) ||
         schema.DestinationOf(*reverse) != schema.SourceOf(type))) {
      return InvalidArgument("the reverse edge type does not lead back along '" + name + "'");
    }
  }
  if (links.negatives.count == 0 && links.negatives.kind != NegativeKind::kUniform) {
    return InvalidArgument("each edge needs at least one negative of this kind; none are those of kUniform");
  }
  return {};
}

Result<MiniBatch> MakeLinkBatch(SeedSource& seeds, FanoutSampler& sampler, const graph::PartitionBook& book,
                                const EpochPlan& plan, uint64_t seed, uint32_t epoch, uint32_t step, bool want_edge_ids,
                                Deadline deadline) {
  LinkBatchMaker maker(seeds, book, plan, seed, epoch, step, deadline);
  RETURN_IF_ERROR(maker.FindEdges(book));
  std::vector<GlobalNodeId> nodes;
  ASSIGN_OR_RETURN(LinkSeeds links, maker.Link(nodes));
  const EdgeExclusions excluded = ExclusionsOf(maker.batch(), plan.links->types, book.schema().num_edge_types());
  BatchRequest request{.epoch = epoch,
                       .step = step,
                       .seed_type = book.schema().DestinationOf(plan.links->types.front().edge_type),
                       .seeds = nodes,
                       .global_num_seeds = static_cast<uint32_t>(maker.batch().seeds.size()),
                       .want_edge_ids = want_edge_ids};
  if (plan.links->exclude_batch) request.excluded = &excluded;
  ASSIGN_OR_RETURN(MiniBatch batch, sampler.Sample(request, deadline));
  batch.links = std::move(links);
  return batch;
}

}  // namespace espalier::sampler
