// Recomputes the edge cut, the replication factor and the balance from the partitions, and compares them with the
// manifest. A bitmap per node type and partition counts each remote in-neighbor once. The balance of training nodes has
// several possible definitions, and any of them is accepted.
#include <algorithm>
#include <cmath>
#include <set>

#include "services/format/verify/verify_parts.h"

namespace espalier::format {
namespace {

using Loads = std::vector<uint64_t>;  // by partition

// Sets balance[name] to largest load / average load. Does nothing if all loads are 0.
void AddBalance(const std::string& name, const Loads& loads, std::map<std::string, double>* balance) {
  uint64_t total = 0;
  for (const uint64_t load : loads) total += load;
  if (total == 0) return;
  const double largest = static_cast<double>(*std::max_element(loads.begin(), loads.end()));
  (*balance)[name] = largest * static_cast<double>(loads.size()) / static_cast<double>(total);
}

// Returns the number of owned nodes in the training parts of the given splits, by partition. Each node counts once.
Loads CountTrainNodes(const LoadedPartitioning& loaded, const std::set<std::string>& split_names) {
  Loads loads;
  for (const graph::Partition& partition : loaded.partitions) {
    std::set<std::pair<uint16_t, uint32_t>> nodes;
    for (const SplitEntry& split : loaded.manifest.splits) {
      if (!split_names.contains(split.name)) continue;
      for (const uint32_t local : partition.splits.at(split.name).at(split.node_type)[0].local_ids.values<uint32_t>()) {
        nodes.insert({split.node_type, local});
      }
    }
    loads.push_back(nodes.size());
  }
  return loads;
}

// Returns all possible values of the balance of training nodes. The manifest does not record whether the nodes of all
// splits or of a single split were balanced.
std::set<double> ComputeTrainNodeBalances(const LoadedPartitioning& loaded) {
  std::set<std::string> all;
  for (const SplitEntry& split : loaded.manifest.splits) all.insert(split.name);
  std::vector<std::set<std::string>> choices = {all};
  for (const std::string& name : all) choices.push_back({name});
  std::set<double> balances;
  for (const std::set<std::string>& names : choices) {
    std::map<std::string, double> balance;
    AddBalance("train-nodes", CountTrainNodes(loaded, names), &balance);
    for (const auto& [name, value] : balance) balances.insert(value);
  }
  return balances;
}

// Adds the number of cut edges to *cut_edges. Adds to *remote_sources, for each partition, the number of distinct nodes
// that other partitions own and that are sources of its in-edges.
void CountCut(const LoadedPartitioning& loaded, uint64_t* cut_edges, uint64_t* remote_sources) {
  const graph::PartitionBook& book = loaded.book();
  for (const graph::Partition& partition : loaded.partitions) {
    std::vector<std::vector<bool>> seen(book.schema().num_node_types());
    for (uint16_t t = 0; t < partition.in_edges.size(); ++t) {
      const NodeTypeId source = book.schema().SourceOf(EdgeTypeId(t));
      std::vector<bool>& seen_sources = seen[source.value];
      seen_sources.resize(book.num_nodes(source));
      const uint64_t first = book.NodeFirst(source)[partition.id.value];
      const uint64_t num_owned = book.NumOwnedNodes(partition.id, source);
      const IdReader indices(partition.in_edges[t].indices);
      for (uint64_t k = 0; k < static_cast<uint64_t>(partition.in_edges[t].indices.num_rows()); ++k) {
        if (indices[k] - first < num_owned) continue;  // owned; ids below `first` wrap around
        ++*cut_edges;
        *remote_sources += seen_sources[indices[k]] ? 0 : 1;
        seen_sources[indices[k]] = true;
      }
    }
  }
}

// Returns all balances except that of training nodes, by their names in the manifest.
std::map<std::string, double> ComputeBalances(const LoadedPartitioning& loaded) {
  const graph::PartitionBook& book = loaded.book();
  std::map<std::string, double> balance;
  Loads nodes(book.num_partitions(), 0), edges(book.num_partitions(), 0);
  for (uint16_t t = 0; t < book.schema().num_node_types(); ++t) {
    Loads of_type;
    for (uint32_t p = 0; p < book.num_partitions(); ++p) {
      of_type.push_back(book.NumOwnedNodes(PartitionId(p), NodeTypeId(t)));
      nodes[p] += of_type.back();
    }
    AddBalance("nodes:" + book.schema().NodeTypeName(NodeTypeId(t)), of_type, &balance);
  }
  for (uint16_t t = 0; t < book.schema().num_edge_types(); ++t) {
    for (uint32_t p = 0; p < book.num_partitions(); ++p) {
      edges[p] += book.NumOwnedEdges(PartitionId(p), EdgeTypeId(t));
    }
  }
  AddBalance("nodes", nodes, &balance);
  AddBalance("edges", edges, &balance);
  return balance;
}

// Compares with a tolerance, because the partitioner may use another formula with other rounding.
bool IsClose(double a, double b) { return std::abs(a - b) <= 1e-9 * std::max({1.0, std::abs(a), std::abs(b)}); }

void CheckRecorded(const std::string& what, double recorded, double found, VerifyReport* report) {
  if (IsClose(recorded, found)) return;
  report->Add("quality." + what + " is recorded as " + std::to_string(recorded) + ", but is " + std::to_string(found));
}

}  // namespace

void VerifyQuality(const LoadedPartitioning& loaded, VerifyReport* report) {
  Quality& quality = report->quality;
  const uint64_t num_nodes = loaded.book().num_nodes(), num_edges = loaded.book().num_edges();
  uint64_t remote_sources = 0;
  CountCut(loaded, &quality.cut_edges, &remote_sources);
  if (num_edges > 0) quality.cut_ratio = static_cast<double>(quality.cut_edges) / static_cast<double>(num_edges);
  if (num_nodes > 0) {
    quality.replication = static_cast<double>(num_nodes + remote_sources) / static_cast<double>(num_nodes);
  }
  const Quality& recorded = loaded.manifest.quality;
  if (recorded.cut_edges != quality.cut_edges) {
    report->Add("quality.cut_edges is recorded as " + std::to_string(recorded.cut_edges) + ", but is " +
                std::to_string(quality.cut_edges));
  }
  CheckRecorded("cut_ratio", recorded.cut_ratio, quality.cut_ratio, report);
  CheckRecorded("replication", recorded.replication, quality.replication, report);

  const std::map<std::string, double> balances = ComputeBalances(loaded);
  for (const auto& [name, value] : recorded.balance) {
    if (name == "train-nodes") {
      const std::set<double> possible = ComputeTrainNodeBalances(loaded);
      const auto match = std::find_if(possible.begin(), possible.end(),
                                      [&stated = value](double balance) { return IsClose(balance, stated); });
      quality.balance[name] = match != possible.end() ? *match : (possible.empty() ? 0 : *possible.begin());
    } else if (const auto known = balances.find(name); known != balances.end()) {
      quality.balance[name] = known->second;
    } else {
      report->Add("quality.balance has '" + name + "', which is not a balance of nodes or edges");
      continue;
    }
    CheckRecorded("balance." + name, value, quality.balance[name], report);
  }
}

}  // namespace espalier::format
