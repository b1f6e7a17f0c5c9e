// Binds tables of learnable rows, and saves and loads distributed tensors.
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include "python/bindings/arrays.h"
#include "python/bindings/bindings.h"
#include "python/bindings/process_group.h"
#include "python/bindings/rows.h"
#include "python/bindings/waits.h"
#include "services/client/embedding/embedding_table.h"
#include "services/client/tensors/saved_embeddings.h"
#include "services/collective/agreement.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace espalier::python {
namespace {

using client::DistGraph;
using client::EmbeddingTable;
using Seconds = std::optional<double>;
using Environment = std::map<std::string, std::string>;
using Notes = std::map<std::string, std::string>;  // of saved tensors

constexpr sampler::SparseOptimizerType kOptimizers[] = {
    sampler::SparseOptimizerType::kSgd, sampler::SparseOptimizerType::kAdagrad,
    sampler::SparseOptimizerType::kRowWiseAdagrad, sampler::SparseOptimizerType::kAdam,
    sampler::SparseOptimizerType::kAdamW};

sampler::SparseOptimizerType ParseOptimizerType(const std::string& name) {
  for (const sampler::SparseOptimizerType type : kOptimizers) {
    if (name == sampler::ToString(type)) return type;
  }
  throw StatusError(InvalidArgument("optimizer '" + name + "'; expected SGD, Adagrad, RowWiseAdagrad, Adam or AdamW"));
}

// (weight decay, epsilon, initial accumulator, beta1, beta2)
using OptimizerNumbers = std::tuple<double, std::optional<double>, double, double, double>;

constexpr uint64_t kInitialRowsAtOnce = 1 << 16;  // per call of the Python function

// Reads the initial values of rows from a Python function `rows(first, count)`, which returns float32 [count, size].
// Only rank 0 calls the function, because only rank 0 restores the rows. The optimizer's state keeps its initial
// values. An exception of the function becomes a Status on the other ranks and is raised again on rank 0.
class InitialRows final : public sampler::SavedLearnableRows {
 public:
  InitialRows(nb::object rows, uint64_t num_rows) : rows_(std::move(rows)), num_rows_(num_rows) {}

  uint64_t version() const override { return 0; }
  Status CheckFits(const sampler::EmbeddingSpec&) const override { return Status(); }
  Result<bool> RestoreSome(sampler::EmbeddingStore& store, const sampler::EmbeddingSpec& spec,
                           Deadline deadline) override {
    const uint64_t first = std::exchange(next_, 0);  // after an error the next call starts at row 0
    const uint64_t count = std::min(kInitialRowsAtOnce, num_rows_ - first);
    if (count == 0) return false;
    ASSIGN_OR_RETURN(const Tensor values, Values(first, count, spec));
    std::vector<GlobalRowId> ids;
    ids.reserve(count);
    for (uint64_t row = first; row < first + count; ++row) ids.emplace_back(row);
    ASSIGN_OR_RETURN(const Tensor state, store.ReadState(spec, ids, deadline));
    RETURN_IF_ERROR(store.Restore(spec, ids, values, state, deadline));
    next_ = first + count;
    return true;
  }
  // Throws the exception of the function, if it has raised one.
  void Rethrow() {
    if (raised_) throw nb::python_error(*raised_);
  }

 private:
  Result<Tensor> Values(uint64_t first, uint64_t count, const sampler::EmbeddingSpec& spec) {
    const nb::gil_scoped_acquire acquired;
    try {
      Tensor values = FromNumpy(nb::cast<AnyArray>(rows_(first, count)));
      if (values.dtype() != DType::kF32 ||
          values.shape() != std::vector<int64_t>{static_cast<int64_t>(count), spec.width}) {
        return InvalidArgument("initial rows " + values.ToString() + ", expected F32 [" + std::to_string(count) + ", " +
                               std::to_string(spec.width) + "]");
      }
      return values;
    } catch (nb::python_error& error) {
      raised_.emplace(std::move(error));
      return InvalidArgument(std::string("the function of the initial rows has failed: ") + raised_->what());
    }
  }

  const nb::object rows_;
  const uint64_t num_rows_;
  uint64_t next_ = 0;
  std::optional<nb::python_error> raised_;
};

std::unique_ptr<EmbeddingTable> CreateTable(const DistGraph& graph, ProcessGroup& group, const std::string& of,
                                            uint32_t type, uint64_t num_rows, int64_t size, const std::string& name,
                                            const std::string& initializer, const std::vector<double>& init_values,
                                            uint64_t seed, std::optional<nb::object> initial_rows,
                                            const std::string& optimizer, const OptimizerNumbers& numbers,
                                            bool mean_of_duplicates, const std::string& resume_from,
                                            const Environment& environment) {
  client::EmbeddingTableOptions options{.rows = MakeRowSpace(graph, of, type, num_rows),
                                        .size = size,
                                        .name = name,
                                        .initializer = MakeInitializer(initializer, init_values, seed),
                                        .call_timeout = graph.context().call_timeout};
  options.optimizer.type = ParseOptimizerType(optimizer);
  options.optimizer.duplicates =
      mean_of_duplicates ? sampler::DuplicateGradients::kMean : sampler::DuplicateGradients::kSum;
  std::tie(options.optimizer.weight_decay, options.optimizer.epsilon, options.optimizer.initial_accumulator,
           options.optimizer.beta1, options.optimizer.beta2) = numbers;
  const storage::StoreSettings stores = ValueOrThrow(storage::ParseStoreSettings(environment));
  std::unique_ptr<InitialRows> initial;
  if (initial_rows && resume_from.empty() && group.group().rank() == Rank(0)) {
    initial =
        std::make_unique<InitialRows>(*std::move(initial_rows), sampler::FirstRows(options.rows, graph.book()).back());
  }
  std::optional<Result<std::unique_ptr<EmbeddingTable>>> created;
  const auto create = [&](collective::Collective& ranks, const Deadline& deadline) -> Status {
    const DistGraph handle = graph.WithStop(deadline.stop());
    options.stop = deadline.stop();
    std::unique_ptr<client::SavedEmbedding> saved;
    if (!resume_from.empty()) {  // only rank 0 opens the file; all ranks return the error
      Status opened;
      if (ranks.rank() == Rank(0)) {
        auto file = client::SavedEmbedding::Open(handle, resume_from, {options.rows, name}, stores);
        opened = file.status();
        if (file.ok()) saved = *std::move(file);
      }
      RETURN_IF_ERROR(collective::AgreeOn(opened, ranks, options.call_timeout));
    }
    sampler::SavedLearnableRows* const restored =
        initial != nullptr ? static_cast<sampler::SavedLearnableRows*>(initial.get()) : saved.get();
    ASSIGN_OR_RETURN(std::unique_ptr<EmbeddingTable> table,
                     EmbeddingTable::Create(graph.embeddings(), ranks, options, restored));
    created.emplace(std::move(table));
    return Status();
  };
  try {
    group.Run({}, create);
  } catch (const StatusError&) {
    if (initial != nullptr) initial->Rethrow();
    throw;
  }
  return ValueOrThrow(*std::move(created));
}

nb::object Gather(EmbeddingTable& table, const DistGraph& graph, const IdArray& ids, Seconds timeout) {
  CheckIds(ids);
  const std::span<const int64_t> rows(ids.data(), ids.size());
  Tensor values = Tensor::Uninitialized(DType::kF32, {static_cast<int64_t>(ids.size()), table.size()});
  CallInterruptibly(timeout, graph.CallDeadline(), [&](Deadline deadline) {
    return table.GatherRowsInto(rows, values.mutable_values<float>(), deadline);
  });
  return ShareWithNumpy(values);
}

using Gradients = nb::ndarray<const float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

void Step(EmbeddingTable& table, const DistGraph& graph, const IdArray& ids, const Gradients& gradients,
          double learning_rate, Seconds timeout) {
  CheckIds(ids);
  const std::span<const int64_t> rows(ids.data(), ids.size());
  const std::span<const float> values(gradients.data(), gradients.size());
  CallInterruptibly(timeout, graph.CallDeadline(),
                    [&](Deadline deadline) { return table.Step(rows, values, learning_rate, deadline); });
}

// (of, type, name) of a tensor; `of` and `type` as for MakeRowSpace.
using TensorKey = std::tuple<std::string, uint32_t, std::string>;

void Save(const DistGraph& graph, const std::string& uri, const std::vector<TensorKey>& tensors,
          const std::vector<EmbeddingTable*>& embeddings, const Notes& notes, const Environment& environment) {
  std::vector<client::TensorName> names;
  for (const auto& [of, type, name] : tensors) names.push_back({MakeRowSpace(graph, of, type, 0), name});
  client::SaveOptions options{.notes = notes, .stores = ValueOrThrow(storage::ParseStoreSettings(environment))};
  for (const EmbeddingTable* table : embeddings) options.embeddings.push_back(table->Now());
  CallWithStop(graph, [&](const DistGraph& handle) { return client::SaveTensors(handle, names, uri, options); });
}

std::pair<std::vector<client::DistTensor>, Notes> Load(const DistGraph& graph, const std::string& uri,
                                                       const Environment& environment) {
  const client::LoadOptions options{.stores = ValueOrThrow(storage::ParseStoreSettings(environment))};
  client::LoadedTensors loaded =
      CallWithStop(graph, [&](const DistGraph& handle) { return client::LoadTensors(handle, uri, options); });
  return {std::move(loaded.tensors), std::move(loaded.notes)};
}

}  // namespace

void BindEmbeddings(nb::module_& m) {
  nb::class_<EmbeddingTable>(m, "Embedding")
      .def_prop_ro("name", &EmbeddingTable::name)
      .def_prop_ro("size", &EmbeddingTable::size)
      .def_prop_ro("version", &EmbeddingTable::version)
      .def("gather", &Gather, "graph"_a, "ids"_a, "timeout"_a.none())
      .def("step", &Step, "graph"_a, "ids"_a, "gradients"_a, "learning_rate"_a, "timeout"_a.none())
      .def(
          "await_steps",
          [](EmbeddingTable& table, const DistGraph& graph, Seconds timeout) {
            CallInterruptibly(timeout, graph.CallDeadline(),
                              [&](Deadline deadline) { return table.AwaitSteps(deadline); });
          },
          "graph"_a, "timeout"_a.none())
      .def("drop", [](EmbeddingTable& table, ProcessGroup& group) {
        group.Run({}, [&](collective::Collective&, Deadline) { return table.Drop(); });
      });
  // The table refers to the group.
  m.def("create_embedding", &CreateTable, nb::keep_alive<0, 2>());
  m.def("save_tensors", &Save);
  m.def("load_tensors", &Load);
  m.def("list_saved_tensors", [](const std::string& uri, const Environment& environment) {
    const storage::StoreSettings stores = ValueOrThrow(storage::ParseStoreSettings(environment));
    return CallInterruptibly({}, Deadline::Never(), [&](Deadline) { return client::ListSavedTensors(uri, stores); });
  });
  m.def("remove_saved_tensors", [](const std::string& uri, const Environment& environment) {
    const storage::StoreSettings stores = ValueOrThrow(storage::ParseStoreSettings(environment));
    CallInterruptibly({}, Deadline::Never(), [&](Deadline) { return client::RemoveSavedTensors(uri, stores); });
  });
}

}  // namespace espalier::python
