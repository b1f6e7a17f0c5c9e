// Splits of edges over all partitions: complete, and the source's.
#include <optional>

#include "services/format/partition_names.h"
#include "services/format/verify_parts.h"

namespace espalier::format {
namespace {

std::string EdgePartName(const LoadedPartitioning& loaded, const EdgeSplitEntry& split, graph::SplitPartName part) {
  return "split '" + split.name + "' of '" + loaded.book().schema().EdgeType(EdgeTypeId(split.edge_type)).Name() +
         "', " + graph::NameOf(part);
}

const graph::EdgeSplitPart& OwnedPart(const graph::Partition& partition, const EdgeSplitEntry& split,
                                      graph::SplitPartName part) {
  return partition.edge_splits.at(split.name).at(split.edge_type)[static_cast<size_t>(part)];
}

// The part's edges in original ids by ordinal; none where the partitions do not hold each ordinal once (reported).
std::optional<graph::EdgePairs> PairsByOrdinal(const LoadedPartitioning& loaded, const EdgeSplitEntry& split,
                                               graph::SplitPartName part, VerifyReport* report) {
  const uint64_t totals[] = {split.train, split.validation, split.test};
  const uint64_t total = totals[static_cast<size_t>(part)];
  uint64_t stored = 0;
  for (const graph::Partition& partition : loaded.partitions) {
    stored += static_cast<uint64_t>(OwnedPart(partition, split, part).ordinals.num_rows());
  }
  if (stored != total) {
    report->Add(EdgePartName(loaded, split, part) + ": partitions hold " + std::to_string(stored) +
                " edges, the manifest says " + std::to_string(total));
    return std::nullopt;
  }
  const graph::GraphSchema& schema = loaded.book().schema();
  const std::vector<uint64_t>& source_of = loaded.original_of[schema.SourceOf(EdgeTypeId(split.edge_type)).value];
  const NodeTypeId destination_type = schema.DestinationOf(EdgeTypeId(split.edge_type));
  graph::EdgePairs pairs;
  pairs.sources.resize(total);
  pairs.destinations.resize(total);
  std::vector<bool> seen(total, false);
  for (const graph::Partition& partition : loaded.partitions) {
    const graph::EdgeSplitPart& owned = OwnedPart(partition, split, part);
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
      pairs.sources[ordinal] = source_of[sources[k]];
      pairs.destinations[ordinal] = original_ids[destinations[k]];
    }
  }
  return pairs;
}

}  // namespace

void VerifyEdgeSplits(const LoadedPartitioning& loaded, VerifyReport* report) {
  for (const EdgeSplitEntry& split : loaded.manifest.edge_splits) {
    for (const graph::SplitPartName part : kSplitParts) PairsByOrdinal(loaded, split, part, report);
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
      report->Add("split '" + split.name + "' of edges is not in the source");
      continue;
    }
    const graph::EdgeSplit& expected = named->second.at(split.edge_type);
    const graph::EdgePairs* const parts[] = {&expected.train, &expected.validation, &expected.test};
    for (const graph::SplitPartName part : kSplitParts) {
      const std::optional<graph::EdgePairs> pairs = PairsByOrdinal(loaded, split, part, report);
      if (!pairs.has_value() || *pairs == *parts[static_cast<size_t>(part)]) continue;
      report->Add(EdgePartName(loaded, split, part) + ": its edges are not the source's");
    }
  }
}

}  // namespace espalier::format
