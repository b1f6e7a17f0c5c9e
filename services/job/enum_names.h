// Conversions between the enums of the document and their spelling in YAML. (The enums of sampler/spec have theirs in
// spelling.h.)
#pragma once

#include <string>

#include "services/job/dist_training.h"

namespace espalier::job {

// Returns the spelling of `value` in the document; a static string.
const char* ToString(GraphFormat value);
const char* ToString(RowNormalization value);
const char* ToString(FeatureDType value);
const char* ToString(PartitionAlgorithm value);
const char* ToString(PartitionObjective value);
const char* ToString(PartitionBalance value);
const char* ToString(PartitionReuse value);
const char* ToString(TaskType value);
const char* ToString(ExcludeEdges value);
const char* ToString(Scorer value);
const char* ToString(LinkLoss value);
const char* ToString(ModelType value);
const char* ToString(Aggregator value);
const char* ToString(LayerNormalization value);
const char* ToString(OptimizerType value);
const char* ToString(RowDType value);
const char* ToString(RowInitializerType value);
const char* ToString(SparseOptimizerType value);
const char* ToString(DuplicateGradients value);
const char* ToString(ScheduleType value);
const char* ToString(Metric value);
const char* ToString(EvaluationNeighborhood value);
const char* ToString(OutputKind value);
const char* ToString(TlsMode value);
const char* ToString(Device value);

// Sets *value to the enumerator that the document spells `name` (case-sensitive) and returns true; returns false and
// leaves *value unchanged if there is none.
bool ParseName(const std::string& name, GraphFormat* value);
bool ParseName(const std::string& name, RowNormalization* value);
bool ParseName(const std::string& name, FeatureDType* value);
bool ParseName(const std::string& name, PartitionAlgorithm* value);
bool ParseName(const std::string& name, PartitionObjective* value);
bool ParseName(const std::string& name, PartitionBalance* value);
bool ParseName(const std::string& name, PartitionReuse* value);
bool ParseName(const std::string& name, TaskType* value);
bool ParseName(const std::string& name, ExcludeEdges* value);
bool ParseName(const std::string& name, Scorer* value);
bool ParseName(const std::string& name, LinkLoss* value);
bool ParseName(const std::string& name, ModelType* value);
bool ParseName(const std::string& name, Aggregator* value);
bool ParseName(const std::string& name, LayerNormalization* value);
bool ParseName(const std::string& name, OptimizerType* value);
bool ParseName(const std::string& name, RowDType* value);
bool ParseName(const std::string& name, RowInitializerType* value);
bool ParseName(const std::string& name, SparseOptimizerType* value);
bool ParseName(const std::string& name, DuplicateGradients* value);
bool ParseName(const std::string& name, ScheduleType* value);
bool ParseName(const std::string& name, Metric* value);
bool ParseName(const std::string& name, EvaluationNeighborhood* value);
bool ParseName(const std::string& name, OutputKind* value);
bool ParseName(const std::string& name, TlsMode* value);
bool ParseName(const std::string& name, Device* value);

}  // namespace espalier::job
