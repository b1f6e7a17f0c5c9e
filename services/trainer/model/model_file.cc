// The tensors of a model file fit only a model of the same structure. The file's metadata records the properties that
// determine the structure (kProperties). LoadModelFile compares them with those of the run before it loads any tensor,
// so that an error names a field of the document. The rows of the scorer's relation parameter are identified by their
// order alone, so the metadata also lists their relations, which CheckScorerRelations compares.
#include "services/trainer/model/model_file.h"

#include <algorithm>
#include <memory>
#include <span>
#include <string_view>

#include "services/base/parse_number.h"
#include "services/format/files/model_kind.h"
#include "services/trainer/model/parameters.h"

namespace espalier::trainer {
namespace {

constexpr uint64_t kMaxBytes = uint64_t{16} << 30;

// A property on which a model's tensors depend: its name in the metadata, and the field of the document that sets it.
struct Property {
  const char* name;
  const char* field;
};
constexpr const char* kScorer = "scorer";
constexpr const char* kEdgeType = "edgeType";  // as written in the document
constexpr const char* kScorerRelations =
    "scorerRelations";  // for each row of scorer.relation, its relation; absent for scorer Dot and in older files
constexpr Property kProperties[] = {{"model", "spec.training.model.type"},
                                    {"aggregator", "spec.training.model.aggregator"},
                                    {"hiddenSize", "spec.training.model.hiddenSize"},
                                    {"layers", "the number of spec.training.sampling.layers"},
                                    {"normalization", "spec.training.model.normalization"},
                                    {"numBases", "spec.training.model.numBases"},
                                    {"heads", "spec.training.model.heads"},
                                    {"outputHeads", "spec.training.model.outputHeads"},
                                    {"negativeSlope", "spec.training.model.negativeSlope"},
                                    {"features", "spec.training.inputs.features"},
                                    {kScorer, "spec.training.task.scorer"},
                                    {kEdgeType, "spec.training.task.edgeType"},
                                    {"edgeOutputs", "the number of an edge's outputs (spec.training.task)"},
                                    {"outputs", "the number of the model's outputs (spec.training.task)"}};

std::string FindValue(const std::map<std::string, std::string>& metadata, const char* name) {
  const auto found = metadata.find(name);
  return found == metadata.end() ? "" : found->second;
}

bool NamesRelations(const std::map<std::string, std::string>& metadata) {
  return !FindValue(metadata, kScorerRelations).empty();
}

// Removes the first name from the comma-separated list and returns it; returns "" if the list is empty.
std::string_view TakeName(std::string_view* names) {
  const std::string_view name = names->substr(0, names->find(','));
  names->remove_prefix(std::min(names->size(), name.size() + 1));
  return name;
}

// Compares, row by row, the relations of scorer.relation in the file and in the run. If each has one relation, the
// two names may differ, provided that the documents of this run and of the run that wrote the file have the same
// task.edgeType or both have none.
Status CheckScorerRelations(const ModelFile& file, const std::map<std::string, std::string>& expected) {
  const std::string ours = FindValue(expected, kScorerRelations);
  const std::string theirs = FindValue(file.content.metadata, kScorerRelations);
  const bool is_one = (ours + theirs).find(',') == std::string::npos;
  if (ours == theirs || (is_one && FindValue(expected, kEdgeType) == FindValue(file.content.metadata, kEdgeType))) {
    return Status();
  }
  std::string_view our_names = ours, their_names = theirs, our_name, their_name;
  uint64_t row = 0;
  for (;; ++row) {
    our_name = TakeName(&our_names);
    their_name = TakeName(&their_names);
    if (our_name != their_name || (our_names.empty() && their_names.empty())) break;
  }
  const auto text_of = [](std::string_view name) { return name.empty() ? "none" : "'" + std::string(name) + "'"; };
  return InvalidArgument("spec.training.task.edgeType: relation " + std::to_string(row) + " of the scorer is " +
                         text_of(our_name) + ", but in the model in " + file.where + " it is " + text_of(their_name));
}

Status CheckProperties(const ModelFile& file, const std::map<std::string, std::string>& expected) {
  const bool names_relations = NamesRelations(expected) && NamesRelations(file.content.metadata);
  for (const Property& property : kProperties) {
    const auto of_job = expected.find(property.name);
    if (of_job == expected.end()) continue;  // models of this type do not have the property
    const auto of_file = file.content.metadata.find(property.name);
    if (of_file == file.content.metadata.end()) {
      if (std::string_view(property.name) == kScorer) {
        return InvalidArgument("the model in " + file.where + " was made for another task: it has no scorer of links");
      }
      return InvalidArgument("the metadata of " + file.where + " lack '" + property.name + "'");
    }
    if (of_job->second == of_file->second) continue;
    // "cites" and "paper:cites:paper" may name the same relation; CheckScorerRelations compares the full names.
    if (names_relations && std::string_view(property.name) == kEdgeType) continue;
    return InvalidArgument(std::string(property.field) + " is '" + of_job->second + "', but the model in " +
                           file.where + " was made with '" + of_file->second + "'");
  }
  return names_relations ? CheckScorerRelations(file, expected) : Status();
}

}  // namespace

Result<ModelFile> ReadModelFile(const storage::StoreLocation& file) {
  ModelFile model;
  model.where = file.store->Describe() + "/" + file.prefix;
  const std::string reading = "reading the model in " + model.where;
  const auto head = file.store->Head(file.prefix);
  if (!head.ok()) return head.status().While(reading);
  if (head->size_bytes > kMaxBytes) {
    return InvalidArgument(model.where + " has " + std::to_string(head->size_bytes) +
                           " bytes, expected a model file of at most " + std::to_string(kMaxBytes));
  }
  Result<std::string> got = file.store->Get(file.prefix);
  if (!got.ok()) return got.status().While(reading);
  auto bytes = std::make_shared<const std::string>(*std::move(got));
  const std::span<const char> view(bytes->data(), bytes->size());
  const Status kind = format::CheckIsModelFile(format::DetectFileKind(std::as_bytes(view)));
  if (!kind.ok()) return Status(kind.code(), model.where + " " + kind.message());
  Result<format::Safetensors> content = format::ReadSafetensors(std::as_bytes(view), bytes);
  if (!content.ok()) return content.status().While(reading);
  model.content = *std::move(content);
  const Status metadata = format::CheckIsModelFile(model.content.metadata);
  if (!metadata.ok()) return Status(metadata.code(), model.where + " " + metadata.message());
  return model;
}

namespace {

// Returns the number with this name in the metadata; 0 if there is no such number or it is below 1.
int64_t ReadNumber(const ModelFile& file, const char* name) {
  const auto found = file.content.metadata.find(name);
  if (found == file.content.metadata.end()) return 0;
  return std::max<int64_t>(ParseNumber<int64_t>(found->second).value_or(0), 0);
}

}  // namespace

Result<int64_t> ReadNumOutputs(const ModelFile& file) {
  const int64_t outputs = ReadNumber(file, "outputs");
  if (outputs >= 1) return outputs;
  return InvalidArgument("the metadata of " + file.where + " lack the number of the model's outputs ('outputs')");
}

Result<int64_t> ReadNumEdgeOutputs(const ModelFile& file) {
  const int64_t outputs = ReadNumber(file, "edgeOutputs");
  if (outputs >= 1) return outputs;
  return InvalidArgument("the model in " + file.where + " was made for another task: it has no head for edges");
}

Status LoadModelFile(const ModelFile& file, const std::map<std::string, std::string>& expected, Model& model) {
  RETURN_IF_ERROR(CheckProperties(file, expected));
  const auto loading = [&](Status status) { return std::move(status).While("loading " + file.where); };
  const Result<NamedTensors> state = ToNamedTensors(file.content.tensors);
  return loading(state.ok() ? LoadState(model, *state) : state.status());
}

}  // namespace espalier::trainer
