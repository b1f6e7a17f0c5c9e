// Evidence of what was sampled. With --audit each trainer writes one record per expanded (epoch, step, layer,
// relation, destination): a hash of the original ids drawn for it, in order. Merging the files of all trainers
// counts each expansion once, however many trainers made it, so that the digest does not depend on the number of
// partitions, samplers or trainers, and finds trainers that drew differently.
//
// A file: the magic "ESPAUDT1", then records of 40 bytes, little-endian, in ascending (epoch, step):
//   u32 epoch, u32 step, u16 layer, u16 edge type, u32 drawn, u64 destination's original id, u64 hash[2]
// Of temporal sampling, where a destination is a node at a time, a hash of both stands in place of its original id.
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
  // Replaces the file.
  static Result<std::unique_ptr<AuditWriter>> Open(const std::string& path, graph::GraphSchema schema);

  // original_ids: by NodeTypeId, of all the batch's nodes. Steps in ascending order.
  Status Record(const MiniBatch& batch, const std::vector<std::span<const int64_t>>& original_ids);
  // Everything is on disk when it returns ok; no Record afterwards.
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
  uint64_t num_expansions = 0;  // distinct ones
};

// One step at a time in memory. DataLoss names the file that is cut short, no audit, or out of order, and the
// expansion that two trainers drew differently.
Result<AuditSummary> MergeAudits(const std::vector<std::string>& paths);

}  // namespace espalier::sampler
