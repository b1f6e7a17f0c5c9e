// MakeParts builds the parts in the order of their dependencies: the columns of the graph, the model file or module,
// the number of outputs (from the labels or the file), sampling, the model (which sets the number of outputs if it is a
// user's module), and finally the task's head, which becomes a submodule of the model so that it is trained, saved and
// loaded with it. Then the initial parameters are loaded. Reads that may fail on a single rank (files, labels) exchange
// statuses, so that all ranks fail.
#include "services/trainer/training_parts.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "services/collective/agreement.h"
#include "services/trainer/data/sampling_plan.h"
#include "services/trainer/epoch_plan.h"
#include "services/trainer/evaluation/chunk_nodes.h"
#include "services/trainer/model/model_file.h"
#include "services/trainer/model/parameters.h"
#include "services/trainer/model/torch_error.h"
#include "services/trainer/outputs.h"
#include "services/trainer/task/make_task.h"

namespace espalier::trainer {
namespace {

// Sets steps_per_epoch. Sets no_metric_reason if the graph lacks the labels or, for a job that only applies a model,
// the split.
Status SetStepsAndNoMetricReason(const job::Training& training, const GraphAccess& graph, Parts* parts) {
  const Result<uint32_t> steps = StepsPerEpoch(training, *parts->task, parts->data, graph);
  if (steps.ok()) parts->steps_per_epoch = *steps;
  parts->no_metric_reason = parts->task->ReasonForNoMetric(parts->data);
  const bool lacks_split = !steps.ok() && steps.status().code() == StatusCode::kNotFound;
  if (parts->no_metric_reason.empty() && lacks_split && OnlyInfers(training)) {
    parts->no_metric_reason = steps.status().message();
  }
  return steps.ok() || !parts->no_metric_reason.empty() ? Status() : steps.status();
}

// For node types without nodes, removes the features whose columns the graph lacks: for such a type this is no error,
// and the model does not read these features.
job::Training RemoveAbsentFeatures(job::Training training, const GraphAccess& graph) {
  const auto& columns = graph.rows.columns();
  for (job::Input& input : training.inputs) {
    const Result<NodeTypeId> type =
        input.node_type.empty() ? graph.schema().OnlyNodeType() : graph.schema().FindNodeType(input.node_type);
    if (!type.ok() || graph.neighbors.book().num_nodes(*type) > 0) continue;  // NodeData reports the error
    std::erase_if(input.features, [&](const std::string& name) {
      return std::none_of(columns.begin(), columns.end(), [&](const sampler::ColumnDescription& column) {
        return column.node_type == *type && column.name == name;
      });
    });
  }
  return training;
}

// Reads the initial model's file on every rank. An error of one rank is returned on all ranks.
Result<std::optional<ModelFile>> ReadInitialModel(const job::Training& training, const TrainOptions& options,
                                                  collective::Collective& collective) {
  if (options.model.store == nullptr || training.model.type == job::ModelType::kTorchScript) {
    return std::optional<ModelFile>();
  }
  Result<ModelFile> file = ReadModelFile(options.model);
  RETURN_IF_ERROR(
      collective::AgreeOn(file.status(), collective, options.timeouts.collective).While("spec.training.model.uri"));
  return std::optional<ModelFile>(*std::move(file));
}

// Loads the file into the model and compares the parameters of all ranks. Without the comparison, if the file was
// replaced while the trainers started, they would train different models and detect it only at the end.
Status LoadInitialModel(const ModelFile& file, const RunFacts& facts, collective::Collective& collective,
                        const Timeouts& timeouts, Model& model) {
  const Status loaded = LoadModelFile(file, ModelMetadata(facts), model);
  RETURN_IF_ERROR(collective::AgreeOn(loaded, collective, timeouts.collective));
  const std::string own = DigestParameters(model);
  ASSIGN_OR_RETURN(const std::vector<std::byte> all,
                   collective.AllGather(std::as_bytes(std::span<const char>(own)), timeouts.ForCollective()));
  for (size_t at = 0; at < all.size(); at += own.size()) {
    if (std::memcmp(all.data() + at, own.data(), own.size()) == 0) continue;
    return InvalidArgument("spec.training.model.uri: trainers read different models from " + file.where +
                           ", expected one file that does not change while a job starts");
  }
  return Status();
}

// Sets the number of outputs to that of the module. InvalidArgument if it is below the number that the labels need. For
// single-label classification it may be larger; for other labels it must be equal (NodeData::SetOutputs). Without
// labels of nodes, any number is accepted.
Status SetOutputsOfModule(const Model& model, NodeData* data) {
  const int64_t num_outputs = model.OutputWidth(model.num_layers() - 1);
  if (data->has_labels() && num_outputs < data->num_outputs()) {
    return InvalidArgument("spec.training.model.uri: the module has " + std::to_string(num_outputs) +
                           " outputs, but the labels need " + std::to_string(data->num_outputs()));
  }
  return data->SetOutputs(num_outputs);
}

// Returns the width of the rows that each layer reads, by layer.
std::vector<int64_t> ListWidthsRead(const Parts& parts) {
  const std::vector<int64_t>& inputs = parts.data.input_widths();
  std::vector<int64_t> widths = {*std::max_element(inputs.begin(), inputs.end())};
  for (int layer = 0; layer + 1 < parts.model->num_layers(); ++layer) widths.push_back(parts.model->OutputWidth(layer));
  widths.resize(parts.sampling.layers.size(), widths.back());
  return widths;
}

}  // namespace

uint64_t CountEdges(const sampler::SamplingSpec& sampling, const graph::PartitionBook& book) {
  uint64_t count = 0;
  for (const std::vector<EdgeTypeId>& layer : ListRelations(sampling)) {
    for (const EdgeTypeId type : layer) count += book.num_edges(type);
  }
  return count;
}

ModelOptions MakeModelOptions(const job::Training& training, const graph::GraphSchema& schema, const Parts& parts) {
  ModelOptions options;
  options.model = training.model;
  options.num_layers = static_cast<int>(parts.sampling.layers.size());
  options.schema = schema;
  options.input_widths = parts.data.input_widths();
  options.num_outputs = parts.data.num_outputs();
  options.relations = ListRelations(parts.sampling);
  options.seed_type = parts.data.seed_type();
  options.seed_types = parts.data.seed_types();
  options.seed = training.seed;
  options.module = parts.module;
  options.trains = !OnlyInfers(training);
  options.precision = training.precision;
  for (const int64_t width : parts.data.feature_widths()) options.rows_are_embeddings.push_back(width == 0);
  return options;
}

Result<Parts> MakeParts(const job::DistTraining& job, GraphAccess graph, collective::Collective& collective,
                        const TrainOptions& options) {
  const job::Training& training = job.training;
  std::unique_ptr<Task> task = MakeTask(training);
  ASSIGN_OR_RETURN(NodeData data, task->MakeData(RemoveAbsentFeatures(training, graph), graph.schema(), graph.rows));
  ASSIGN_OR_RETURN(const std::optional<ModelFile> file, ReadInitialModel(training, options, collective));
  ASSIGN_OR_RETURN(std::shared_ptr<const ModuleFile> module,
                   ReadJobModule(training, options.model, collective, options.timeouts.collective));
  std::vector<std::string> warnings;
  if (!OnlyInfers(training)) {
    ASSIGN_OR_RETURN(const LabelCensus labels,
                     data.CountOutputs(training.task.split, graph.seeds, collective, options.timeouts.collective));
    warnings = labels.Warnings();
  }
  if (file.has_value()) {
    ASSIGN_OR_RETURN(const int64_t num_outputs, ReadNumOutputs(*file));
    RETURN_IF_ERROR(data.SetOutputs(num_outputs));
  }
  ASSIGN_OR_RETURN(sampler::SamplingSpec sampling, MakeSamplingSpec(training.sampling, graph.schema(), training.seed));
  Parts parts{.data = std::move(data),
              .sampling = std::move(sampling),
              .module = std::move(module),
              .task = std::move(task),
              .warnings = std::move(warnings)};
  RETURN_IF_ERROR(SetStepsAndNoMetricReason(training, graph, &parts));
  ASSIGN_OR_RETURN(parts.model, MakeModel(MakeModelOptions(training, graph.schema(), parts)));
  parts.chunk_nodes = options.inference_chunk_nodes;
  if (parts.chunk_nodes == 0) {
    parts.chunk_nodes = ChooseChunkNodes(parts.sampling, training.evaluation.neighborhood, graph.neighbors.book(),
                                         ListWidthsRead(parts));
  }
  if (parts.module != nullptr) {
    RETURN_IF_ERROR(SetOutputsOfModule(*parts.model, &parts.data));
    // Frees the archive, which may be large and is no longer needed.
    parts.module = std::make_shared<const ModuleFile>(ModuleFile{parts.module->where, {}, parts.module->sha256});
  }
  if (parts.model->needs_degrees()) {
    parts.data.SetDegreeSource(DegreeSource(graph.neighbors, graph.rows, ListRelations(parts.sampling)));
  }
  ASSIGN_OR_RETURN(
      const std::vector<std::string> label_warnings,
      parts.task->AddHead({file, graph, parts.data.num_outputs(), collective, options.timeouts}, *parts.model));
  parts.warnings.insert(parts.warnings.end(), label_warnings.begin(), label_warnings.end());
  if (parts.no_metric_reason.empty()) parts.no_metric_reason = parts.task->ReasonForNoMetric(parts.data);
  // Without layers in the document, parts.sampling has one that draws nothing.
  const bool draws = !job.training.sampling.layers.empty();
  if (draws && CountEdges(parts.sampling, graph.neighbors.book()) == 0) {
    parts.warnings.push_back("the relations in spec.training.sampling.layers have no " +
                             std::string(parts.task->words().drawn_edge) +
                             ": the model uses each node without neighbors");
  }
  if (file.has_value()) {
    RunFacts facts;
    facts.job = job;
    facts.num_outputs = parts.data.num_outputs();
    facts.task = parts.task->Facts(graph.schema());
    RETURN_IF_ERROR(LoadInitialModel(*file, facts, collective, options.timeouts, *parts.model));
  }
  try {
    parts.model->MoveTo(options.device);
  } catch (const std::exception& error) {  // for example if memory runs out
    return FromTorchError(error).While("copying the model to the device");
  }
  return parts;
}

}  // namespace espalier::trainer
