// The names of the document's enum values, in the order of dist_training.h. The names for the enums of sampler/spec are
// in the headers there.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "services/job/dist_training.h"
#include "services/sampler/spec/spelling.h"

namespace espalier::sampler {

template <>
struct Spelling<job::GraphFormat> {
  using enum job::GraphFormat;
  static constexpr std::pair<job::GraphFormat, const char*> kNames[] = {
      {kOgb, "OGB"}, {kNpy, "NPY"}, {kTriples, "Triples"}, {kDglChunked, "DGLChunked"}};
};

template <>
struct Spelling<job::RowNormalization> {
  using enum job::RowNormalization;
  static constexpr std::pair<job::RowNormalization, const char*> kNames[] = {{kNone, "None"}, {kRow, "Row"}};
};

template <>
struct Spelling<job::FeatureDType> {
  using enum job::FeatureDType;
  static constexpr std::pair<job::FeatureDType, const char*> kNames[] = {
      {kSource, "Source"}, {kF32, "F32"}, {kF16, "F16"}, {kBf16, "BF16"}, {kI8, "I8"}};
};

template <>
struct Spelling<job::PartitionAlgorithm> {
  using enum job::PartitionAlgorithm;
  static constexpr std::pair<job::PartitionAlgorithm, const char*> kNames[] = {{kMetis, "METIS"},
                                                                               {kMultilevel, "Multilevel"},
                                                                               {kRandom, "Random"},
                                                                               {kStreaming, "Streaming"},
                                                                               {kExternal, "External"}};
};

template <>
struct Spelling<job::PartitionObjective> {
  using enum job::PartitionObjective;
  static constexpr std::pair<job::PartitionObjective, const char*> kNames[] = {
      {kEdgeCut, "EdgeCut"}, {kCommunicationVolume, "CommunicationVolume"}};
};

template <>
struct Spelling<job::PartitionBalance> {
  using enum job::PartitionBalance;
  static constexpr std::pair<job::PartitionBalance, const char*> kNames[] = {
      {kNodeTypes, "NodeTypes"}, {kTrainNodes, "TrainNodes"}, {kEdges, "Edges"}};
};

template <>
struct Spelling<job::PartitionReuse> {
  using enum job::PartitionReuse;
  static constexpr std::pair<job::PartitionReuse, const char*> kNames[] = {{kIfPresent, "IfPresent"},
                                                                           {kNever, "Never"}};
};

template <>
struct Spelling<job::TaskType> {
  using enum job::TaskType;
  static constexpr std::pair<job::TaskType, const char*> kNames[] = {{kNodeClassification, "NodeClassification"},
                                                                     {kNodeRegression, "NodeRegression"},
                                                                     {kEdgeClassification, "EdgeClassification"},
                                                                     {kEdgeRegression, "EdgeRegression"},
                                                                     {kLinkPrediction, "LinkPrediction"}};
};

template <>
struct Spelling<job::ExcludeEdges> {
  using enum job::ExcludeEdges;
  static constexpr std::pair<job::ExcludeEdges, const char*> kNames[] = {
      {kNone, "None"}, {kSelf, "Self"}, {kReverseEdges, "ReverseEdges"}};
};

template <>
struct Spelling<job::Scorer> {
  using enum job::Scorer;
  static constexpr std::pair<job::Scorer, const char*> kNames[] = {
      {kDot, "Dot"}, {kDistMult, "DistMult"}, {kComplEx, "ComplEx"}, {kTransE, "TransE"}, {kRotatE, "RotatE"}};
};

template <>
struct Spelling<job::LinkLoss> {
  using enum job::LinkLoss;
  static constexpr std::pair<job::LinkLoss, const char*> kNames[] = {{kBinaryCrossEntropy, "BinaryCrossEntropy"},
                                                                     {kCrossEntropy, "CrossEntropy"}};
};

template <>
struct Spelling<job::ModelType> {
  using enum job::ModelType;
  static constexpr std::pair<job::ModelType, const char*> kNames[] = {{kGraphSage, "GraphSAGE"},
                                                                      {kRgcn, "RGCN"},
                                                                      {kGcn, "GCN"},
                                                                      {kGat, "GAT"},
                                                                      {kGatv2, "GATv2"},
                                                                      {kEmbedding, "Embedding"},
                                                                      {kTorchScript, "TorchScript"}};
};

template <>
struct Spelling<job::Aggregator> {
  using enum job::Aggregator;
  static constexpr std::pair<job::Aggregator, const char*> kNames[] = {{kMean, "Mean"}, {kGcn, "GCN"}, {kPool, "Pool"}};
};

template <>
struct Spelling<job::LayerNormalization> {
  using enum job::LayerNormalization;
  static constexpr std::pair<job::LayerNormalization, const char*> kNames[] = {
      {kNone, "None"}, {kLayer, "Layer"}, {kBatch, "Batch"}};
};

template <>
struct Spelling<job::OptimizerType> {
  using enum job::OptimizerType;
  static constexpr std::pair<job::OptimizerType, const char*> kNames[] = {
      {kAdam, "Adam"}, {kAdamW, "AdamW"}, {kSgd, "SGD"}};
};

template <>
struct Spelling<job::RowDType> {
  using enum job::RowDType;
  static constexpr std::pair<job::RowDType, const char*> kNames[] = {{kF32, "F32"}, {kF16, "F16"}, {kBf16, "BF16"}};
};

template <>
struct Spelling<job::RowInitializerType> {
  using enum job::RowInitializerType;
  static constexpr std::pair<job::RowInitializerType, const char*> kNames[] = {{kUniform, "Uniform"},
                                                                               {kNormal, "Normal"},
                                                                               {kXavierUniform, "XavierUniform"},
                                                                               {kZeros, "Zeros"},
                                                                               {kPlugin, "Plugin"}};
};

template <>
struct Spelling<job::SparseOptimizerType> {
  using enum job::SparseOptimizerType;
  static constexpr std::pair<job::SparseOptimizerType, const char*> kNames[] = {
      {kAdagrad, "Adagrad"}, {kRowWiseAdagrad, "RowWiseAdagrad"}, {kAdam, "Adam"}, {kAdamW, "AdamW"}, {kSgd, "SGD"}};
};

template <>
struct Spelling<job::DuplicateGradients> {
  using enum job::DuplicateGradients;
  static constexpr std::pair<job::DuplicateGradients, const char*> kNames[] = {{kSum, "Sum"}, {kMean, "Mean"}};
};

template <>
struct Spelling<job::ScheduleType> {
  using enum job::ScheduleType;
  static constexpr std::pair<job::ScheduleType, const char*> kNames[] = {
      {kConstant, "Constant"}, {kLinear, "Linear"}, {kCosine, "Cosine"}, {kStep, "Step"}};
};

template <>
struct Spelling<job::Precision> {
  using enum job::Precision;
  static constexpr std::pair<job::Precision, const char*> kNames[] = {{kF32, "F32"}, {kBf16, "BF16"}};
};

template <>
struct Spelling<job::Metric> {
  using enum job::Metric;
  static constexpr std::pair<job::Metric, const char*> kNames[] = {{kAccuracy, "Accuracy"},
                                                                   {kMacroF1, "MacroF1"},
                                                                   {kMicroF1, "MicroF1"},
                                                                   {kRocAuc, "ROCAUC"},
                                                                   {kMeanSquaredError, "MeanSquaredError"},
                                                                   {kMeanAbsoluteError, "MeanAbsoluteError"},
                                                                   {kMrr, "MRR"},
                                                                   {kHitsAtK, "HitsAtK"}};
};

template <>
struct Spelling<job::EvaluationNeighborhood> {
  using enum job::EvaluationNeighborhood;
  static constexpr std::pair<job::EvaluationNeighborhood, const char*> kNames[] = {{kFull, "Full"},
                                                                                   {kSampled, "Sampled"}};
};

template <>
struct Spelling<job::OutputKind> {
  using enum job::OutputKind;
  static constexpr std::pair<job::OutputKind, const char*> kNames[] = {
      {kModel, "Model"}, {kEmbeddings, "Embeddings"}, {kPredictions, "Predictions"}, {kTorchScript, "TorchScript"}};
};

template <>
struct Spelling<job::TlsMode> {
  using enum job::TlsMode;
  static constexpr std::pair<job::TlsMode, const char*> kNames[] = {
      {kDisabled, "Disabled"}, {kManaged, "Managed"}, {kSecretRef, "SecretRef"}};
};

template <>
struct Spelling<job::Device> {
  using enum job::Device;
  static constexpr std::pair<job::Device, const char*> kNames[] = {{kAuto, "Auto"}, {kCpu, "CPU"}, {kCuda, "CUDA"}};
};

}  // namespace espalier::sampler

namespace espalier::job {

using sampler::ParseName;
using sampler::Spelled;
using sampler::ToString;

// Returns the names of all values, in the order of the enum's Spelling.
template <Spelled E>
std::vector<std::string> EnumNames() {
  std::vector<std::string> names;
  for (const auto& [value, name] : sampler::Spelling<E>::kNames) names.emplace_back(name);
  return names;
}

}  // namespace espalier::job
