// Records of sampled edges, with which the batches of a program can be compared with those of trainers.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include "python/bindings/bindings.h"
#include "python/bindings/loaded_batch.h"
#include "python/bindings/waits.h"
#include "services/client/graph/dist_graph.h"
#include "services/sampler/batches/audit.h"

namespace nb = nanobind;

namespace espalier::python {
namespace {

using client::DistGraph;

class Audit {
 public:
  Audit(std::shared_ptr<const DistGraph> graph, const std::string& path)
      : graph_(std::move(graph)), writer_(ValueOrThrow(sampler::AuditWriter::Open(path, graph_->schema()))) {}

  void Record(const LoadedBatch& loaded) {
    const sampler::MiniBatch& batch = loaded.batch;
    CallInterruptibly({}, graph_->CallDeadline(), [&](Deadline deadline) -> Status {
      std::vector<Tensor> original_ids;
      for (uint16_t type = 0; type < batch.nodes.size(); ++type) {
        ASSIGN_OR_RETURN(Tensor ids, graph_->GatherNodeRows(NodeTypeId(type), graph::kOriginalIdColumn,
                                                            batch.nodes[type], deadline));
        original_ids.push_back(std::move(ids));
      }
      std::vector<std::span<const int64_t>> by_type;
      for (const Tensor& ids : original_ids) {  // 64-bit integers, signed or not
        by_type.emplace_back(reinterpret_cast<const int64_t*>(ids.bytes()), static_cast<size_t>(ids.num_elements()));
      }
      return writer_->Record(batch, by_type);
    });
  }
  void Close() { ThrowIfError(writer_->Close()); }

 private:
  const std::shared_ptr<const DistGraph> graph_;
  const std::unique_ptr<sampler::AuditWriter> writer_;
};

}  // namespace

void BindAudit(nb::module_& m) {
  nb::class_<Audit>(m, "Audit").def("record", &Audit::Record).def("close", &Audit::Close);
  m.def("open_audit", [](const std::shared_ptr<DistGraph>& graph, const std::string& path) {
    return std::make_unique<Audit>(graph, path);
  });
  m.def("merge_audits", [](const std::vector<std::string>& paths) {
    const sampler::AuditSummary summary = ValueOrThrow(sampler::MergeAudits(paths));
    return std::pair(summary.samples_digest, summary.num_expansions);
  });
}

}  // namespace espalier::python
