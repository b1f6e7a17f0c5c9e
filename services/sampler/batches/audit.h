// A record of the edges that were sampled. With --audit each trainer writes one record for each expansion, that is, for
// each (epoch, step, layer, relation, destination): a hash of the original ids of the drawn sources, in order. Merging
// the files of all trainers counts each expansion once, however many trainers made it, so the digest does not depend on
// the number of partitions, samplers or trainers, and the merge finds trainers that drew differently. With
// Expand::kOnce, draws depend on each trainer's seeds, so only a run with one trainer can be audited.
//
// A file: the magic "ESPAUDT1", then records of 40 bytes, little-endian, in ascending (epoch, step):
//   u32 epoch, u32 step, u16 layer, u16 edge type, u32 number of sources, u64 destination's original id, u64 hash[2]
// In temporal sampling a destination is a pair of a node and a time; a hash of its original id and the time replaces
// the original id.
#pragma once

#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "services/base/status.h"
#include "services/graph/schema.h"
#include "services/sampler/batches/mini_batch.h"

namespace espalier::sampler {

// Owned by one thread.
class AuditWriter {
 public:
  // Creates the file at `path`, replacing an existing one.
  static Result<std::unique_ptr<AuditWriter>> Open(const std::string& path, graph::GraphSchema schema);

  // Appends a batch's records. original_ids[type] has the original ids of batch.nodes[type]. Steps must be in ascending
  // order.
  Status Record(const MiniBatch& batch, const std::vector<std::span<const int64_t>>& original_ids);
  // Flushes and closes the file; the last call on this object.
  Status Close();

 private:
  struct Closer {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  AuditWriter(std::string path, graph::GraphSchema schema, std::FILE* file);

  std::string path_;
  graph::GraphSchema schema_;
  std::unique_ptr<std::FILE, Closer> file_;
};

struct AuditSummary {
  std::string samples_digest;   // 64 hexadecimal digits
  uint64_t num_expansions = 0;  // distinct expansions
};

// Merges the files, holding one step at a time in memory. DataLoss names a file that is truncated, not an audit file,
// or out of order, or an expansion that two trainers drew differently.
Result<AuditSummary> MergeAudits(const std::vector<std::string>& paths);

}  // namespace espalier::sampler
