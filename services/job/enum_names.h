// The document's spelling of each enum, in both directions; those of sampler/spec bring their own (spelling.h).
#pragma once

#include <string>

#include "services/job/dist_training.h"

namespace espalier::job {

const char* NameOf(GraphFormat value);
const char* NameOf(RowNormalization value);
const char* NameOf(PartitionAlgorithm value);
const char* NameOf(PartitionObjective value);
const char* NameOf(PartitionBalance value);
const char* NameOf(PartitionReuse value);
const char* NameOf(TaskType value);
const char* NameOf(ExcludeEdges value);
const char* NameOf(Scorer value);
const char* NameOf(LinkLoss value);
const char* NameOf(ModelType value);
const char* NameOf(Aggregator value);
const char* NameOf(LayerNormalization value);
const char* NameOf(OptimizerType value);
const char* NameOf(RowDType value);
const char* NameOf(RowInitializerType value);
const char* NameOf(SparseOptimizerType value);
const char* NameOf(DuplicateGradients value);
const char* NameOf(ScheduleType value);
const char* NameOf(Metric value);
const char* NameOf(EvaluationNeighborhood value);
const char* NameOf(OutputKind value);
const char* NameOf(TlsMode value);

// False, and *value unchanged, for a name that is none.
bool ParseName(const std::string& name, GraphFormat* value);
bool ParseName(const std::string& name, RowNormalization* value);
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

}  // namespace espalier::job
