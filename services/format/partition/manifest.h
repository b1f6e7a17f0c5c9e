// The manifest of a partitioned graph (docs/partition-format.md): its types, columns, splits and quality, and all files
// with sizes and checksums. It is written last: a folder without a manifest holds no partitioning.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "services/format/files/file_entry.h"
#include "services/graph/partition.h"
#include "services/graph/partition_book.h"

namespace espalier::format {

inline constexpr const char* kPartitionFormatName = "espalier.partitioned-graph";
inline constexpr int kPartitionFormatVersion = 1;
// Manifests with ColumnEntry::scales have this version, because readers of version 1 would ignore the scales.
inline constexpr int kScaledPartitionFormatVersion = 2;

struct ColumnEntry {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<int64_t> row_shape;
  bool lacks_values = false;  // the column has NaN (no label); only a label column may (graph/label_columns.h)
  // For edge columns of one number per edge: the first value that cannot be an edge weight because it is negative, NaN
  // or infinite, for example "row 2 is -2.5"; empty: none.
  std::string bad_weight = {};
  bool is_all_zero = false;  // for edge columns of one number per edge: there are rows, and all values are 0
  // For node columns: the first value that cannot be a feature (finite as F64 but infinite as F32), and the first value
  // that cannot be a time (2^63 or more), for example "row 2 is 1e+300"; empty: none.
  std::string bad_feature = {};
  std::string bad_time = {};
  // For node columns of I8 whose values are multiplied by scales: one scale for each element of a row
  // (graph/feature_scales.h).
  std::vector<float> scales = {};
  friend bool operator==(const ColumnEntry&, const ColumnEntry&) = default;
};

struct PartitionEntry {
  FileEntry graph;              // structure, original node ids, splits, directory (global node ids by original id)
  FileEntry node_columns;       // features, labels, times
  FileEntry edge_columns;       // features, labels, weights, times; loaded on request
  FileEntry original_edge_ids;  // loaded on request

  std::array<const FileEntry*, 4> files() const { return {&graph, &node_columns, &edge_columns, &original_edge_ids}; }
  uint64_t size_bytes() const;  // total size of the four files
  friend bool operator==(const PartitionEntry&, const PartitionEntry&) = default;
};

// Whether the values of a column in the rows of a split are labels of one kind (SplitLabels).
struct LabelFacts {
  std::string wrong = {};  // the first value that is neither a label nor missing ("row 5 is 2.5"); empty: none
  bool has_label = true;   // the training part has a label, or is empty
  friend bool operator==(const LabelFacts&, const LabelFacts&) = default;
};
// LabelFacts of one column for each kind of labels.
struct SplitLabels {
  LabelFacts classes;  // class numbers
  LabelFacts flags;    // multi-label: 0 or 1 for each class
  LabelFacts numbers;  // regression
  friend bool operator==(const SplitLabels&, const SplitLabels&) = default;
};

struct SplitEntry {
  std::string name;
  uint16_t node_type = 0;
  uint64_t train = 0, validation = 0, test = 0;    // number of nodes
  std::map<std::string, SplitLabels> labels = {};  // by column, for columns that may be labels
  friend bool operator==(const SplitEntry&, const SplitEntry&) = default;
};

// Says that the validation and test pairs (source, destination) of an edge split are held out: they have been removed
// from the edges and the training pairs of the split's edge type.
struct HeldOut {
  // The edge type from whose edges and training pairs the reverses of these pairs have been removed; nullopt: none.
  std::optional<uint16_t> reverse;
  friend bool operator==(const HeldOut&, const HeldOut&) = default;
};

struct EdgeSplitEntry {
  std::string name;
  uint16_t edge_type = 0;
  uint64_t train = 0, validation = 0, test = 0;    // number of pairs
  std::optional<HeldOut> held_out = {};            // nullopt: validation and test pairs may be edges of the graph
  std::map<std::string, SplitLabels> labels = {};  // by column, for columns that may be labels
  friend bool operator==(const EdgeSplitEntry&, const EdgeSplitEntry&) = default;
};

struct Quality {
  uint64_t cut_edges = 0;  // directed edges whose source and destination have different owners
  double cut_ratio = 0;    // cut_edges / number of edges
  double replication = 0;  // sum over partitions of (owned nodes + distinct remote in-neighbors) / number of nodes
  // constraint ("nodes", "edges", "train-nodes", "nodes:paper") -> largest partition / average
  std::map<std::string, double> balance;
  friend bool operator==(const Quality&, const Quality&) = default;
};

struct Manifest {
  int format_version = kPartitionFormatVersion;  // at least NeededVersion(manifest)
  std::string partition_key;  // 64 hex digits: SHA-256 of source, options, and versions of algorithm and format
  std::string attempt;        // folder of the partition files, next to the manifest
  std::string graph_name;
  std::string algorithm;  // "METIS", ...
  uint64_t seed = 0;
  std::string in_edge_order;                // "source,edge" or "time:<column>,source,edge"
  std::vector<std::string> source_columns;  // node columns that are copied to the edges (graph::SourceColumnName)
  graph::PartitionBook book;
  std::vector<std::vector<ColumnEntry>> node_columns;  // by NodeTypeId, sorted by name
  std::vector<std::vector<ColumnEntry>> edge_columns;  // by EdgeTypeId, sorted by name
  std::vector<SplitEntry> splits;
  std::vector<EdgeSplitEntry> edge_splits;
  std::vector<PartitionEntry> partitions;
  Quality quality;
  double partition_seconds = 0;
  uint64_t peak_memory_bytes = 0;
  // Warnings of the partitioner, one sentence each: input that was ignored or is probably a mistake.
  std::vector<std::string> warnings = {};
};

// Returns the lowest format_version that the manifest may have: kScaledPartitionFormatVersion if a column has scales,
// otherwise kPartitionFormatVersion.
int NeededVersion(const Manifest& manifest);

std::string ManifestToJson(const Manifest& manifest);
// Parses an untrusted manifest. Returns InvalidArgument that names the invalid field, also for another format or
// format_version.
Result<Manifest> ManifestFromJson(const std::string& text);

}  // namespace espalier::format
