// The settings that must be the same for a run to resume from a checkpoint, by name: those that determine results,
// except some that may change between runs. Not included are the number of epochs (to train longer), outputs, timeouts,
// the number and placement of processes, and settings of arithmetic. If a change of a setting that is not included may
// change results, DescribeChanges (checkpoint_state.h) reports it.
#pragma once

#include <map>
#include <string>

#include "services/graph/partition_book.h"
#include "services/job/dist_training.h"

namespace espalier::trainer {

// The field with the canonical names of a link prediction task's edge types, independent of how the document spells
// them. Older checkpoints lack it.
inline constexpr char kCanonicalEdgeTypes[] = "training.task.edgeTypes";

// Maps each name by which a document may refer to edge types to the canonical name "source:relation:destination". The
// keys are the canonical names, the relations that only one edge type has, and "", which means all edge types. The
// value of "" is the list of all canonical names, joined by ",".
using EdgeTypeSpellings = std::map<std::string, std::string>;
EdgeTypeSpellings ListEdgeTypeSpellings(const graph::GraphSchema& schema);

// Returns `value`, the value of field `path`, with canonical names of edge types, so that two documents that refer to
// the same edge types by different names have the same text. Fields without edge types, and names that are not in
// `names`, are unchanged.
std::string ToCanonicalText(const std::string& path, const std::string& value, const EdgeTypeSpellings& names);

// The input of ListDecidingFields besides the document.
struct GraphFacts {
  const graph::PartitionBook& book;
  NodeTypeId seed_type;
  int64_t num_outputs = 0;  // of the model
  uint32_t steps_per_epoch = 0;
  uint64_t inference_chunk_nodes = 0;                   // nodes per chunk of full-neighbor inference
  std::string module_digest;                            // SHA-256 of the user's module; empty: none
  std::map<std::string, std::string> task_fields = {};  // from ListEdgeTaskFields or ListLinkTaskFields
};

// Returns the fields that only edge classification and regression have. `num_edge_outputs` is the number of outputs of
// the edge head.
std::map<std::string, std::string> ListEdgeTaskFields(const job::Task& task, int64_t num_edge_outputs);
// Returns the fields that only link prediction has.
std::map<std::string, std::string> ListLinkTaskFields(const job::Training& training, const graph::GraphSchema& schema);

// Returns all settings that must be the same, for example "training.optimizer.learningRate" -> "0.01". Most names are
// paths below the document's spec; names that begin with "graph.num" are for counts that the document does not contain,
// such as the number of nodes or of the model's outputs.
std::map<std::string, std::string> ListDecidingFields(const job::DistTraining& job, const GraphFacts& graph);

}  // namespace espalier::trainer
