// Verifies splits of edges over all partitions. CollectPairsByOrdinal joins a part of a split from all partitions into
// one list of pairs in original ids and checks that the list is complete. CompareEdgeSplits compares the list with the
// source. Held-out pairs are sorted by destination and source. Binary searches find the pairs whose destination is in a
// partition, and tell whether an in-edge of such a destination is one of the pairs.
#include <algorithm>
#include <optional>

#include "services/format/partition/partition_names.h"
#include "services/format/verify/verify_parts.h"
#include "services/partition/parallel_edges.h"

namespace espalier::format {
namespace {

std::string EdgeSplitName(const LoadedPartitioning& loaded, const EdgeSplitEntry& split) {
  return "split '" + split.name + "' of '" + loaded.book().schema().EdgeType(EdgeTypeId(split.edge_type)).Name() + "'";
}

std::string EdgePartName(const LoadedPartitioning& loaded, const EdgeSplitEntry& split, graph::SplitPartName part) {
  return EdgeSplitName(loaded, split) + ", " + graph::ToString(part);
}

// Returns the edges of a part that a partition owns.
const graph::EdgeSplitPart& GetOwnedPart(const graph::Partition& partition, const EdgeSplitEntry& split,
                                         graph::SplitPartName part) {
  return partition.edge_splits.at(split.name).at(split.edge_type)[static_cast<size_t>(part)];
}

// Returns the edges of a part by ordinal, in original ids. Reports a violation and returns nullopt if the partitions do
// not have each ordinal exactly once.
std::optional<graph::EdgePairs> CollectPairsByOrdinal(const LoadedPartitioning& loaded, const EdgeSplitEntry& split,
                                                      graph::SplitPartName part, VerifyReport* report) {
  const uint64_t totals[] = {split.train, split.validation, split.test};
  const uint64_t total = totals[static_cast<size_t>(part)];
  uint64_t stored = 0;
  for (const graph::Partition& partition : loaded.partitions) {
    stored += static_cast<uint64_t>(GetOwnedPart(partition, split, part).ordinals.num_rows());
  }
  if (stored != total) {
    report->Add(EdgePartName(loaded, split, part) + ": partitions hold " + std::to_string(stored) +
                " edges, the manifest says " + std::to_string(total));
    return std::nullopt;
  }
  const graph::GraphSchema& schema = loaded.book().schema();
  const std::vector<uint64_t>& source_of = loaded.original_of[schema.SourceOf(EdgeTypeId(split.edge_type)).value];
  const NodeTypeId destination_type = schema.DestinationOf(EdgeTypeId(split.edge_type));
  std::vector<uint64_t> pair_sources(total), pair_destinations(total);
  std::vector<bool> seen(total, false);
  for (const graph::Partition& partition : loaded.partitions) {
    const graph::EdgeSplitPart& owned = GetOwnedPart(partition, split, part);
    const IdReader sources(owned.sources), destinations(owned.destinations), ordinals(owned.ordinals);
    const IdReader original_ids(partition.nodes[destination_type.value].original_ids);
    for (uint64_t k = 0; k < static_cast<uint64_t>(owned.ordinals.num_rows()); ++k) {
      const uint64_t ordinal = ordinals[k];
      if (seen[ordinal]) {
        report->Add(EdgePartName(loaded, split, part) + ": ordinal " + std::to_string(ordinal) +
                    " is in two partitions");
        return std::nullopt;
      }
      seen[ordinal] = true;
      pair_sources[ordinal] = source_of[sources[k]];
      pair_destinations[ordinal] = original_ids[destinations[k]];
    }
  }
  return graph::EdgePairs{.sources = std::move(pair_sources), .destinations = std::move(pair_destinations)};
}

// Returns true if the stored positions (EdgeSplitPart::positions) are those of the edges in `expected`, which has the
// same sources and destinations as the part.
bool PositionsMatch(const LoadedPartitioning& loaded, const EdgeSplitEntry& split, graph::SplitPartName part,
                    const graph::EdgePairs& expected) {
  const std::span<const uint64_t> expected_ids = expected.edge_ids.ids();
  for (const graph::Partition& partition : loaded.partitions) {
    const graph::EdgeSplitPart& owned = GetOwnedPart(partition, split, part);
    std::vector<uint64_t> sources, edge_ids;
    const IdReader source_ids(owned.sources), ordinals(owned.ordinals);
    for (uint64_t k = 0; k < static_cast<uint64_t>(owned.ordinals.num_rows()); ++k) {
      sources.push_back(source_ids[k]);
      if (!expected_ids.empty()) edge_ids.push_back(expected_ids[ordinals[k]]);
    }
    Tensor positions;
    if (!edge_ids.empty()) {
      positions = partition::FindSelectedPositions(
          partition.in_edges[split.edge_type], partition.original_edge_ids[split.edge_type],
          {.sources = sources, .destinations = owned.destinations.values<uint32_t>(), .edge_ids = edge_ids});
    }
    if (positions.dtype() != owned.positions.dtype() ||
        !std::ranges::equal(positions.byte_span(), owned.positions.byte_span())) {
      return false;
    }
  }
  return true;
}

using EndPairs = std::vector<std::pair<uint64_t, uint64_t>>;  // (destination, source), global ids, ascending

// Returns the pairs of these parts of a split from all partitions.
EndPairs ReadPairs(const LoadedPartitioning& loaded, const EdgeSplitEntry& split,
                   std::initializer_list<graph::SplitPartName> parts) {
  const NodeTypeId destination_type = loaded.book().schema().DestinationOf(EdgeTypeId(split.edge_type));
  EndPairs pairs;
  for (const graph::Partition& partition : loaded.partitions) {
    const uint64_t first = loaded.book().NodeFirst(destination_type)[partition.id.value];
    for (const graph::SplitPartName part : parts) {
      const graph::EdgeSplitPart& owned = GetOwnedPart(partition, split, part);
      const IdReader sources(owned.sources), destinations(owned.destinations);
      for (uint64_t k = 0; k < static_cast<uint64_t>(owned.ordinals.num_rows()); ++k) {
        pairs.emplace_back(first + destinations[k], sources[k]);
      }
    }
  }
  std::sort(pairs.begin(), pairs.end());
  return pairs;
}

EndPairs SwapEnds(EndPairs pairs) {
  for (auto& [destination, source] : pairs) std::swap(destination, source);
  std::sort(pairs.begin(), pairs.end());
  return pairs;
}

// The held-out pairs of one edge type.
class HeldOutPairs {
 public:
  HeldOutPairs(const LoadedPartitioning& loaded, const EdgeSplitEntry& split, EdgeTypeId type, EndPairs held_out)
      : loaded_(loaded), split_(split), type_(type), held_out_(std::move(held_out)) {}

  // Reports each held-out pair that is an edge.
  void ReportEdges(VerifyReport* report) const {
    const NodeTypeId destination_type = loaded_.book().schema().DestinationOf(type_);
    for (const graph::Partition& partition : loaded_.partitions) {
      const graph::InEdges& edges = partition.in_edges[type_.value];
      const IdReader indptr(edges.indptr), indices(edges.indices);
      const uint64_t first = loaded_.book().NodeFirst(destination_type)[partition.id.value];
      const uint64_t last = first + partition.nodes[destination_type.value].count;
      auto pair = std::lower_bound(held_out_.begin(), held_out_.end(), std::pair(first, uint64_t{0}));
      while (pair != held_out_.end() && pair->first < last) {
        const uint64_t destination = pair->first, row = destination - first;
        const auto next = std::lower_bound(pair, held_out_.end(), std::pair(destination + 1, uint64_t{0}));
        for (uint64_t k = indptr[row]; k < indptr[row + 1]; ++k) {
          const std::pair ends(destination, indices[k]);
          if (std::binary_search(pair, next, ends)) report->Add(Describe(ends) + " is held out and is an edge");
        }
        pair = next;
      }
    }
  }

  // Reports each held-out pair that is also in the training part. `type` must be the split's edge type.
  void ReportTrainingPairs(VerifyReport* report) const {
    for (const auto& ends : ReadPairs(loaded_, split_, {graph::SplitPartName::kTrain})) {
      if (!std::binary_search(held_out_.begin(), held_out_.end(), ends)) continue;
      report->Add(Describe(ends) + " is held out and is trained on");
    }
  }

 private:
  std::string Describe(const std::pair<uint64_t, uint64_t>& ends) const {
    const graph::GraphSchema& schema = loaded_.book().schema();
    return "split '" + split_.name +
           "': " + std::to_string(loaded_.original_of[schema.SourceOf(type_).value][ends.second]) + " -> " +
           std::to_string(loaded_.original_of[schema.DestinationOf(type_).value][ends.first]) + " of '" +
           schema.EdgeType(type_).Name() + "'";
  }

  const LoadedPartitioning& loaded_;
  const EdgeSplitEntry& split_;
  const EdgeTypeId type_;
  const EndPairs held_out_;
};

void VerifyHeldOut(const LoadedPartitioning& loaded, const EdgeSplitEntry& split, VerifyReport* report) {
  const EdgeTypeId type(split.edge_type);
  EndPairs pairs = ReadPairs(loaded, split, {graph::SplitPartName::kValidation, graph::SplitPartName::kTest});
  const std::optional<uint16_t> reverse = split.held_out->reverse;
  if (reverse.has_value()) {
    EndPairs swapped = SwapEnds(pairs);
    if (*reverse == type.value) {
      pairs.insert(pairs.end(), swapped.begin(), swapped.end());
      std::sort(pairs.begin(), pairs.end());
    } else {
      HeldOutPairs(loaded, split, EdgeTypeId(*reverse), std::move(swapped)).ReportEdges(report);
    }
  }
  const HeldOutPairs held_out(loaded, split, type, std::move(pairs));
  held_out.ReportEdges(report);
  held_out.ReportTrainingPairs(report);
}

}  // namespace

void VerifyEdgeSplits(const LoadedPartitioning& loaded, VerifyReport* report) {
  for (const EdgeSplitEntry& split : loaded.manifest.edge_splits) {
    for (const graph::SplitPartName part : kSplitParts) CollectPairsByOrdinal(loaded, split, part, report);
    if (split.held_out.has_value()) VerifyHeldOut(loaded, split, report);
  }
}

void CompareEdgeSplits(const LoadedPartitioning& loaded, const graph::SourceGraph& source, VerifyReport* report) {
  size_t num_expected = 0;
  for (const auto& [name, types] : source.edge_splits) num_expected += types.size();
  if (num_expected != loaded.manifest.edge_splits.size()) {
    report->Add("the partitioning has " + std::to_string(loaded.manifest.edge_splits.size()) +
                " splits of edges, the source " + std::to_string(num_expected));
  }
  for (const EdgeSplitEntry& split : loaded.manifest.edge_splits) {
    const auto named = source.edge_splits.find(split.name);
    if (named == source.edge_splits.end() || !named->second.contains(split.edge_type)) {
      report->Add(EdgeSplitName(loaded, split) + " is not in the source");
      continue;
    }
    const graph::EdgeSplit& expected = named->second.at(split.edge_type);
    const graph::EdgePairs* const parts[] = {&expected.train, &expected.validation, &expected.test};
    for (const graph::SplitPartName part : kSplitParts) {
      const std::optional<graph::EdgePairs> pairs = CollectPairsByOrdinal(loaded, split, part, report);
      if (!pairs.has_value()) continue;
      const graph::EdgePairs& of_source = *parts[static_cast<size_t>(part)];
      if (pairs->sources != of_source.sources || pairs->destinations != of_source.destinations) {
        report->Add(EdgePartName(loaded, split, part) + ": its edges differ from the source's");
      } else if (!PositionsMatch(loaded, split, part, of_source)) {
        report->Add(EdgePartName(loaded, split, part) +
                    ": among edges with the same endpoints, it selects others than the source's split");
      }
    }
  }
}

}  // namespace espalier::format
