// Verifies the ownership of nodes, the directory and node splits. VerifyOwners fills the arrays original_of and
// global_of from the original ids of all partitions; all later steps use these arrays instead of the directory, which
// is itself verified against them.
#include <algorithm>

#include "services/format/partition/partition_names.h"
#include "services/format/verify/verify_parts.h"

namespace espalier::format {
namespace {

// Returns "node 17 of 'paper'" for an original id.
std::string NodeName(const LoadedPartitioning& loaded, NodeTypeId type, uint64_t original) {
  return "node " + std::to_string(original) + " of '" + loaded.book().schema().NodeTypeName(type) + "'";
}

void VerifyOwners(NodeTypeId type, LoadedPartitioning* loaded, VerifyReport* report) {
  std::vector<uint64_t>& original_of = loaded->original_of[type.value];
  std::vector<uint64_t>& global_of = loaded->global_of[type.value];
  original_of.assign(loaded->book().num_nodes(type), kNoNode);
  global_of.assign(loaded->book().num_nodes(type), kNoNode);
  for (uint32_t p = 0; p < loaded->partitions.size(); ++p) {
    const graph::OwnedNodes& nodes = loaded->partitions[p].nodes[type.value];
    const IdReader original_ids(nodes.original_ids);
    for (uint64_t local = 0; local < nodes.count; ++local) {
      const uint64_t global = loaded->book().NodeFirst(type)[p] + local, original = original_ids[local];
      original_of[global] = original;
      if (global_of[original] != kNoNode) {
        report->Add(NodeName(*loaded, type, original) + " is owned twice, as global ids " +
                    std::to_string(global_of[original]) + " and " + std::to_string(global));
      }
      global_of[original] = global;
    }
  }
  for (uint64_t original = 0; original < global_of.size(); ++original) {
    if (global_of[original] == kNoNode) report->Add(NodeName(*loaded, type, original) + " is owned by no partition");
  }
}

void VerifyDirectory(NodeTypeId type, const LoadedPartitioning& loaded, VerifyReport* report) {
  for (const graph::Partition& partition : loaded.partitions) {
    const graph::DirectorySlice& slice = partition.directory[type.value];
    const IdReader global_ids(slice.global_ids);
    for (uint64_t k = 0; k < static_cast<uint64_t>(slice.global_ids.num_rows()); ++k) {
      const uint64_t expected = loaded.global_of[type.value][slice.first + k];
      if (global_ids[k] == expected || expected == kNoNode) continue;
      report->Add("the directory of partition " + std::to_string(partition.id.value) + " maps " +
                  NodeName(loaded, type, slice.first + k) + " to global id " + std::to_string(global_ids[k]) +
                  ": expected " + std::to_string(expected));
    }
  }
}

std::string PartName(const LoadedPartitioning& loaded, const SplitEntry& split, graph::SplitPartName part) {
  return "split '" + split.name + "' of '" + loaded.book().schema().NodeTypeName(NodeTypeId(split.node_type)) + "', " +
         graph::ToString(part);
}

// Verifies a part of a split, and adds its nodes to `members`.
void VerifyPart(const LoadedPartitioning& loaded, const SplitEntry& split, graph::SplitPartName part,
                std::vector<uint64_t>* members, VerifyReport* report) {
  uint64_t stored = 0;
  for (const graph::Partition& partition : loaded.partitions) {
    const auto& parts = partition.splits.at(split.name).at(split.node_type);
    stored += static_cast<uint64_t>(parts[static_cast<size_t>(part)].local_ids.num_rows());
  }
  const std::vector<uint64_t> nodes = CollectNodesByOrdinal(loaded, split, part);
  if (stored != nodes.size()) {
    report->Add(PartName(loaded, split, part) + ": partitions hold " + std::to_string(stored) +
                " nodes, the manifest says " + std::to_string(nodes.size()));
  }
  for (uint64_t ordinal = 0; ordinal < nodes.size(); ++ordinal) {
    const std::string where = PartName(loaded, split, part) + ": ordinal " + std::to_string(ordinal);
    if (nodes[ordinal] == kNoNode) {
      report->Add(where + " is in no partition");
    } else if (ordinal > 0 && nodes[ordinal - 1] != kNoNode && nodes[ordinal - 1] >= nodes[ordinal]) {
      report->Add(where + " is node " + std::to_string(nodes[ordinal]) + " after node " +
                  std::to_string(nodes[ordinal - 1]) + ", expected ascending original ids");
    }
  }
  members->insert(members->end(), nodes.begin(), nodes.end());
}

}  // namespace

std::vector<uint64_t> CollectNodesByOrdinal(const LoadedPartitioning& loaded, const SplitEntry& split,
                                            graph::SplitPartName part) {
  const uint64_t totals[] = {split.train, split.validation, split.test};
  std::vector<uint64_t> nodes(totals[static_cast<size_t>(part)], kNoNode);
  for (const graph::Partition& partition : loaded.partitions) {
    const graph::SplitPart& owned = partition.splits.at(split.name).at(split.node_type)[static_cast<size_t>(part)];
    const IdReader local_ids(owned.local_ids), ordinals(owned.ordinals);
    const IdReader original_ids(partition.nodes[split.node_type].original_ids);
    for (uint64_t k = 0; k < static_cast<uint64_t>(owned.local_ids.num_rows()); ++k) {
      nodes[ordinals[k]] = original_ids[local_ids[k]];
    }
  }
  return nodes;
}

void VerifyNodes(LoadedPartitioning* loaded, VerifyReport* report) {
  const size_t num_types = loaded->book().schema().num_node_types();
  loaded->original_of.resize(num_types);
  loaded->global_of.resize(num_types);
  for (uint16_t type = 0; type < num_types; ++type) {
    VerifyOwners(NodeTypeId(type), loaded, report);
    VerifyDirectory(NodeTypeId(type), *loaded, report);
  }
}

void VerifySplits(const LoadedPartitioning& loaded, VerifyReport* report) {
  for (const SplitEntry& split : loaded.manifest.splits) {
    std::vector<uint64_t> members;
    for (const graph::SplitPartName part : kSplitParts) VerifyPart(loaded, split, part, &members, report);
    std::sort(members.begin(), members.end());
    const auto twice = std::adjacent_find(members.begin(), members.end());
    if (twice != members.end() && *twice != kNoNode) {
      report->Add("split '" + split.name + "': " + NodeName(loaded, NodeTypeId(split.node_type), *twice) +
                  " is in two parts");
    }
  }
}

}  // namespace espalier::format
