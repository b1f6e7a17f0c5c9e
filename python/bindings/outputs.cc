// Writes outputs by original ids, with the writers that jobs use (docs/outputs.md).
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include "python/bindings/arrays.h"
#include "python/bindings/bindings.h"
#include "python/bindings/waits.h"
#include "services/client/graph/dist_graph.h"
#include "services/format/results/edge_results.h"
#include "services/format/results/node_results.h"
#include "services/format/results/outputs_manifest.h"
#include "services/storage/object_key.h"
#include "services/storage/open_store.h"
#include "services/telemetry/log.h"

namespace nb = nanobind;

namespace espalier::python {
namespace {

using Attributes = std::map<std::string, std::string>;
using Environment = std::map<std::string, std::string>;

// The incarnation of a program that runs without a job, equal to the first incarnation of a job. 0 stands for no run.
constexpr uint64_t kOnlyIncarnation = 1;

// Writes results of one rank below `results/<incarnation>/` and adds them to the manifest, which keeps the results of
// other kinds (format::OutputFile::kind) that this incarnation has committed before. Thread-compatible.
class OutputsWriter {
 public:
  OutputsWriter(const OutputsWriter&) = delete;
  OutputsWriter& operator=(const OutputsWriter&) = delete;

  // Removes from the manifest the results of `kinds` that this incarnation has committed before, then deletes their
  // files. Returns FailedPrecondition if a newer incarnation has committed.
  static Result<std::unique_ptr<OutputsWriter>> Open(storage::StoreLocation to, uint64_t incarnation,
                                                     const std::vector<std::string>& kinds, Attributes attributes) {
    std::unique_ptr<OutputsWriter> writer(new OutputsWriter(std::move(to), incarnation, std::move(attributes)));
    RETURN_IF_ERROR(writer->RemoveKinds(kinds));
    return writer;
  }

  Status Begin(const std::string& kind, const format::NodeResultShape& shape) {
    return node_writers_.try_emplace(kind, *to_.store, Folder(), kind, attributes_).first->second.Begin(shape);
  }
  Status Append(const std::string& kind, const Tensor& ids, const Tensor& values) {
    return node_writers_.at(kind).Append(ids, values);
  }

  // Begins a part (shape.part). All parts of a kind get the edge type and the split of the first call for this kind.
  Status BeginEdges(const std::string& kind, const std::string& edge_type, const std::string& split,
                    const format::EdgeResultShape& shape) {
    return edge_writers_.try_emplace(kind, *to_.store, Folder(), kind, edge_type, split, attributes_)
        .first->second.Begin(shape);
  }
  Status AppendEdges(const std::string& kind, const Tensor& sources, const Tensor& destinations, const Tensor& values) {
    return edge_writers_.at(kind).Append(sources, destinations, values);
  }

  Status Commit(const std::string& result_json) {
    for (auto& [kind, writer] : node_writers_) RETURN_IF_ERROR(AddFiles(writer.Commit()));
    for (auto& [kind, writer] : edge_writers_) RETURN_IF_ERROR(AddFiles(writer.Commit()));
    // Keeps manifest_.result_json if an earlier commit of this incarnation has set it.
    if (manifest_.result_json.empty()) manifest_.result_json = result_json;
    RETURN_IF_ERROR(format::CommitOutputs(*to_.store, to_.prefix, manifest_));
    ASSIGN_OR_RETURN(const bool replaceable, CanReplaceResult());
    if (replaceable) RETURN_IF_ERROR(format::WriteResultJson(*to_.store, to_.prefix, manifest_));
    const Status removed = format::RemoveOlderResults(*to_.store, to_.prefix, manifest_.incarnation);
    if (!removed.ok()) {
      telemetry::Log(telemetry::Level::kWarning, "older results were not deleted", {{"error", removed}});
    }
    return Status();
  }

 private:
  OutputsWriter(storage::StoreLocation to, uint64_t incarnation, Attributes attributes)
      : to_(std::move(to)), attributes_(std::move(attributes)) {
    manifest_.incarnation = incarnation;
  }

  std::string Folder() const { return storage::JoinKey(to_.prefix, format::ResultsFolder(manifest_.incarnation)); }

  // Adds the files of a writer to the manifest.
  Status AddFiles(Result<std::vector<format::OutputFile>> files) {
    if (!files.ok()) return files.status();
    for (format::OutputFile& file : *files) {
      if (!to_.prefix.empty()) file.file.key.erase(0, to_.prefix.size() + 1);
      manifest_.files.push_back(std::move(file));
    }
    return Status();
  }

  Status RemoveKinds(const std::vector<std::string>& kinds) {
    ASSIGN_OR_RETURN(std::optional<format::OutputsManifest> before,
                     format::ReadReplaceableOutputs(*to_.store, to_.prefix, manifest_.incarnation));
    if (!before.has_value()) return Status();
    earlier_result_ = before->result_json;
    if (before->incarnation < manifest_.incarnation) return Status();
    manifest_ = *std::move(before);
    const auto is_old = [&](const format::OutputFile& output) {
      return std::find(kinds.begin(), kinds.end(), output.kind) != kinds.end();
    };
    std::vector<std::string> old;
    for (const format::OutputFile& output : manifest_.files) {
      if (is_old(output)) old.push_back(storage::JoinKey(to_.prefix, output.file.key));
    }
    if (old.empty()) return Status();
    std::erase_if(manifest_.files, is_old);
    RETURN_IF_ERROR(format::CommitOutputs(*to_.store, to_.prefix, manifest_));
    return to_.store->DeleteMany(old);
  }

  // Returns false if the program has written its own result.json, which is kept.
  Result<bool> CanReplaceResult() {
    const Result<std::string> current = to_.store->Get(storage::JoinKey(to_.prefix, "result.json"));
    if (current.status().code() == StatusCode::kNotFound) return true;
    if (!current.ok()) return current.status();
    return *current == earlier_result_;
  }

  const storage::StoreLocation to_;
  const Attributes attributes_;
  format::OutputsManifest manifest_;  // the manifest that the next commit writes
  std::string earlier_result_;        // result_json of the manifest that Open found; empty: there was no manifest
  // The writers by kind. They refer to to_.
  std::map<std::string, format::NodeResultsWriter> node_writers_;
  std::map<std::string, format::EdgeResultsWriter> edge_writers_;
};

// Ids are unsigned in files.
Tensor UnsignedIds(const IdArray& ids) {
  const std::span<const uint64_t> values = SpanOf<uint64_t>(ids);
  return Tensor::FromVector(std::vector<uint64_t>(values.begin(), values.end()));
}

// Calls `call` without the interpreter's lock. KeyboardInterrupt is raised only when the call has ended, because the
// call cannot be stopped. Each request to the store ends at the latest after the store's own timeout.
template <class Call>
auto CallStore(Call call) {
  return CallInterruptibly({}, Deadline::Never(), [&](Deadline) { return call(); });
}

std::unique_ptr<OutputsWriter> OpenOutputs(const client::DistGraph& graph, const std::string& uri,
                                           const std::vector<std::string>& kinds, const Attributes& attributes,
                                           const Environment& environment) {
  storage::StoreLocation to =
      ValueOrThrow(storage::OpenStore(uri, ValueOrThrow(storage::ParseStoreSettings(environment))));
  const uint64_t incarnation = std::max(graph.context().session.incarnation.value_or(0), kOnlyIncarnation);
  return CallStore([&] { return OutputsWriter::Open(std::move(to), incarnation, kinds, attributes); });
}

}  // namespace

void BindOutputs(nb::module_& m) {
  nb::class_<OutputsWriter>(m, "OutputsWriter")
      .def("begin",
           [](OutputsWriter& writer, const std::string& kind, const std::string& node_type, uint64_t rows,
              const std::string& dtype, std::vector<int64_t> row_shape) {
             const format::NodeResultShape shape{.node_type = node_type,
                                                 .rows = rows,
                                                 .value_dtype = DTypeFromNumpyName(dtype),
                                                 .row_shape = std::move(row_shape)};
             CallStore([&] { return writer.Begin(kind, shape); });
           })
      .def("append",
           [](OutputsWriter& writer, const std::string& kind, const IdArray& ids, const AnyArray& values) {
             const Tensor of_ids = UnsignedIds(ids), of_values = FromNumpy(values);
             CallStore([&] { return writer.Append(kind, of_ids, of_values); });
           })
      .def("begin_edges",
           [](OutputsWriter& writer, const std::string& kind, const std::string& edge_type, const std::string& split,
              const std::string& part, uint64_t rows, const std::string& dtype, std::vector<int64_t> row_shape) {
             const format::EdgeResultShape shape{.part = part,
                                                 .rows = rows,
                                                 .value_dtype = DTypeFromNumpyName(dtype),
                                                 .row_shape = std::move(row_shape)};
             CallStore([&] { return writer.BeginEdges(kind, edge_type, split, shape); });
           })
      .def("append_edges",
           [](OutputsWriter& writer, const std::string& kind, const IdArray& sources, const IdArray& destinations,
              const AnyArray& values) {
             const Tensor of_sources = UnsignedIds(sources), of_destinations = UnsignedIds(destinations);
             const Tensor of_values = FromNumpy(values);
             CallStore([&] { return writer.AppendEdges(kind, of_sources, of_destinations, of_values); });
           })
      .def("commit", [](OutputsWriter& writer, const std::string& result_json) {
        CallStore([&] { return writer.Commit(result_json); });
      });
  m.def("open_outputs", &OpenOutputs);
}

}  // namespace espalier::python
