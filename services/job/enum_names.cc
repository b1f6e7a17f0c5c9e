// One table per enum contains its enumerators and their names, and ESPALIER_ENUM_NAMES defines both conversions from
// it. The tables have at most 8 entries, so a linear search is sufficient.
#include "services/job/enum_names.h"

#include <array>
#include <utility>

#include "services/base/check.h"

namespace espalier::job {
namespace {

template <class E, size_t N>
using Names = std::array<std::pair<E, const char*>, N>;

constexpr Names<GraphFormat, 4> kGraphFormats = {{{GraphFormat::kOgb, "OGB"},
                                                  {GraphFormat::kNpy, "NPY"},
                                                  {GraphFormat::kTriples, "Triples"},
                                                  {GraphFormat::kDglChunked, "DGLChunked"}}};
constexpr Names<RowNormalization, 2> kRowNormalizations = {
    {{RowNormalization::kNone, "None"}, {RowNormalization::kRow, "Row"}}};
constexpr Names<FeatureDType, 4> kFeatureDTypes = {{{FeatureDType::kSource, "Source"},
                                                    {FeatureDType::kF32, "F32"},
                                                    {FeatureDType::kF16, "F16"},
                                                    {FeatureDType::kBf16, "BF16"}}};
constexpr Names<PartitionAlgorithm, 5> kAlgorithms = {{{PartitionAlgorithm::kMetis, "METIS"},
                                                       {PartitionAlgorithm::kMultilevel, "Multilevel"},
                                                       {PartitionAlgorithm::kRandom, "Random"},
                                                       {PartitionAlgorithm::kStreaming, "Streaming"},
                                                       {PartitionAlgorithm::kExternal, "External"}}};
constexpr Names<PartitionObjective, 2> kObjectives = {
    {{PartitionObjective::kEdgeCut, "EdgeCut"}, {PartitionObjective::kCommunicationVolume, "CommunicationVolume"}}};
constexpr Names<PartitionBalance, 3> kBalances = {{{PartitionBalance::kNodeTypes, "NodeTypes"},
                                                   {PartitionBalance::kTrainNodes, "TrainNodes"},
                                                   {PartitionBalance::kEdges, "Edges"}}};
constexpr Names<PartitionReuse, 2> kReuses = {
    {{PartitionReuse::kIfPresent, "IfPresent"}, {PartitionReuse::kNever, "Never"}}};
constexpr Names<TaskType, 5> kTasks = {{{TaskType::kNodeClassification, "NodeClassification"},
                                        {TaskType::kNodeRegression, "NodeRegression"},
                                        {TaskType::kEdgeClassification, "EdgeClassification"},
                                        {TaskType::kEdgeRegression, "EdgeRegression"},
                                        {TaskType::kLinkPrediction, "LinkPrediction"}}};
constexpr Names<ExcludeEdges, 3> kExclusions = {
    {{ExcludeEdges::kNone, "None"}, {ExcludeEdges::kSelf, "Self"}, {ExcludeEdges::kReverseEdges, "ReverseEdges"}}};
constexpr Names<Scorer, 5> kScorers = {{{Scorer::kDot, "Dot"},
                                        {Scorer::kDistMult, "DistMult"},
                                        {Scorer::kComplEx, "ComplEx"},
                                        {Scorer::kTransE, "TransE"},
                                        {Scorer::kRotatE, "RotatE"}}};
constexpr Names<LinkLoss, 2> kLinkLosses = {
    {{LinkLoss::kBinaryCrossEntropy, "BinaryCrossEntropy"}, {LinkLoss::kCrossEntropy, "CrossEntropy"}}};
constexpr Names<ModelType, 7> kModels = {{{ModelType::kGraphSage, "GraphSAGE"},
                                          {ModelType::kRgcn, "RGCN"},
                                          {ModelType::kGcn, "GCN"},
                                          {ModelType::kGat, "GAT"},
                                          {ModelType::kGatv2, "GATv2"},
                                          {ModelType::kEmbedding, "Embedding"},
                                          {ModelType::kTorchScript, "TorchScript"}}};
constexpr Names<Aggregator, 3> kAggregators = {
    {{Aggregator::kMean, "Mean"}, {Aggregator::kGcn, "GCN"}, {Aggregator::kPool, "Pool"}}};
constexpr Names<LayerNormalization, 3> kLayerNormalizations = {{{LayerNormalization::kNone, "None"},
                                                                {LayerNormalization::kLayer, "Layer"},
                                                                {LayerNormalization::kBatch, "Batch"}}};
constexpr Names<OptimizerType, 3> kOptimizers = {
    {{OptimizerType::kAdam, "Adam"}, {OptimizerType::kAdamW, "AdamW"}, {OptimizerType::kSgd, "SGD"}}};
constexpr Names<Device, 3> kDevices = {{{Device::kAuto, "Auto"}, {Device::kCpu, "CPU"}, {Device::kCuda, "CUDA"}}};
constexpr Names<RowDType, 3> kRowDTypes = {
    {{RowDType::kF32, "F32"}, {RowDType::kF16, "F16"}, {RowDType::kBf16, "BF16"}}};
constexpr Names<RowInitializerType, 5> kRowInitializers = {{{RowInitializerType::kUniform, "Uniform"},
                                                            {RowInitializerType::kNormal, "Normal"},
                                                            {RowInitializerType::kXavierUniform, "XavierUniform"},
                                                            {RowInitializerType::kZeros, "Zeros"},
                                                            {RowInitializerType::kPlugin, "Plugin"}}};
constexpr Names<SparseOptimizerType, 5> kSparseOptimizers = {{{SparseOptimizerType::kAdagrad, "Adagrad"},
                                                              {SparseOptimizerType::kRowWiseAdagrad, "RowWiseAdagrad"},
                                                              {SparseOptimizerType::kAdam, "Adam"},
                                                              {SparseOptimizerType::kAdamW, "AdamW"},
                                                              {SparseOptimizerType::kSgd, "SGD"}}};
constexpr Names<DuplicateGradients, 2> kDuplicates = {
    {{DuplicateGradients::kSum, "Sum"}, {DuplicateGradients::kMean, "Mean"}}};
constexpr Names<ScheduleType, 4> kSchedules = {{{ScheduleType::kConstant, "Constant"},
                                                {ScheduleType::kLinear, "Linear"},
                                                {ScheduleType::kCosine, "Cosine"},
                                                {ScheduleType::kStep, "Step"}}};
constexpr Names<Metric, 8> kMetrics = {{{Metric::kAccuracy, "Accuracy"},
                                        {Metric::kMacroF1, "MacroF1"},
                                        {Metric::kMicroF1, "MicroF1"},
                                        {Metric::kRocAuc, "ROCAUC"},
                                        {Metric::kMeanSquaredError, "MeanSquaredError"},
                                        {Metric::kMeanAbsoluteError, "MeanAbsoluteError"},
                                        {Metric::kMrr, "MRR"},
                                        {Metric::kHitsAtK, "HitsAtK"}}};
constexpr Names<EvaluationNeighborhood, 2> kNeighborhoods = {
    {{EvaluationNeighborhood::kFull, "Full"}, {EvaluationNeighborhood::kSampled, "Sampled"}}};
constexpr Names<OutputKind, 4> kOutputs = {{{OutputKind::kModel, "Model"},
                                            {OutputKind::kEmbeddings, "Embeddings"},
                                            {OutputKind::kPredictions, "Predictions"},
                                            {OutputKind::kTorchScript, "TorchScript"}}};
constexpr Names<TlsMode, 3> kTlsModes = {
    {{TlsMode::kDisabled, "Disabled"}, {TlsMode::kManaged, "Managed"}, {TlsMode::kSecretRef, "SecretRef"}}};

template <class Table, class E>
const char* NameIn(const Table& table, E value) {
  for (const auto& [candidate, name] : table) {
    if (candidate == value) return name;
  }
  ESPALIER_CHECK(false) << "an enum without a name";
  return "";
}

template <class Table, class E>
bool ParseIn(const Table& table, const std::string& name, E* value) {
  for (const auto& [candidate, candidate_name] : table) {
    if (name != candidate_name) continue;
    *value = candidate;
    return true;
  }
  return false;
}

}  // namespace

#define ESPALIER_ENUM_NAMES(Enum, table)                            \
  const char* ToString(Enum value) { return NameIn(table, value); } \
  bool ParseName(const std::string& name, Enum* value) { return ParseIn(table, name, value); }

ESPALIER_ENUM_NAMES(GraphFormat, kGraphFormats)
ESPALIER_ENUM_NAMES(RowNormalization, kRowNormalizations)
ESPALIER_ENUM_NAMES(FeatureDType, kFeatureDTypes)
ESPALIER_ENUM_NAMES(PartitionAlgorithm, kAlgorithms)
ESPALIER_ENUM_NAMES(PartitionObjective, kObjectives)
ESPALIER_ENUM_NAMES(PartitionBalance, kBalances)
ESPALIER_ENUM_NAMES(PartitionReuse, kReuses)
ESPALIER_ENUM_NAMES(TaskType, kTasks)
ESPALIER_ENUM_NAMES(ExcludeEdges, kExclusions)
ESPALIER_ENUM_NAMES(Scorer, kScorers)
ESPALIER_ENUM_NAMES(LinkLoss, kLinkLosses)
ESPALIER_ENUM_NAMES(ModelType, kModels)
ESPALIER_ENUM_NAMES(Aggregator, kAggregators)
ESPALIER_ENUM_NAMES(LayerNormalization, kLayerNormalizations)
ESPALIER_ENUM_NAMES(OptimizerType, kOptimizers)
ESPALIER_ENUM_NAMES(RowDType, kRowDTypes)
ESPALIER_ENUM_NAMES(RowInitializerType, kRowInitializers)
ESPALIER_ENUM_NAMES(SparseOptimizerType, kSparseOptimizers)
ESPALIER_ENUM_NAMES(DuplicateGradients, kDuplicates)
ESPALIER_ENUM_NAMES(ScheduleType, kSchedules)
ESPALIER_ENUM_NAMES(Metric, kMetrics)
ESPALIER_ENUM_NAMES(EvaluationNeighborhood, kNeighborhoods)
ESPALIER_ENUM_NAMES(OutputKind, kOutputs)
ESPALIER_ENUM_NAMES(TlsMode, kTlsModes)
ESPALIER_ENUM_NAMES(Device, kDevices)

#undef ESPALIER_ENUM_NAMES

}  // namespace espalier::job
