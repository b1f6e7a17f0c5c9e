#include "services/partitioner/checks/value_errors.h"

#include <string_view>

#include "services/graph/label_columns.h"
#include "services/partitioner/checks/column_values.h"

namespace espalier::partitioner {

std::string DescribeType(NodeTypeId type, const graph::GraphSchema& schema) {
  return "node type '" + schema.NodeTypeName(type) + "'";
}

std::string DescribeType(EdgeTypeId type, const graph::GraphSchema& schema) {
  return "edge type '" + schema.EdgeType(type).Name() + "'";
}

std::string FeatureField(size_t input, size_t feature) {
  return "spec.training.inputs[" + std::to_string(input) + "].features[" + std::to_string(feature) + "]";
}

std::string DescribeElement(const Tensor& column, int64_t element) {
  const int64_t width = column.num_elements() / column.num_rows();
  const std::string index = width == 1 ? "" : ", at index " + std::to_string(element % width) + ",";
  return "row " + std::to_string(element / width) + index + " is " + ElementText(column, element);
}

Status WrongValue(const NamedColumn& column, const std::string& fact, const std::string& expected) {
  const size_t end_of_row = fact.find_first_of(", ", std::string_view("row ").size());
  const std::string row = fact.substr(0, end_of_row), rest = fact.substr(row.size());
  return InvalidArgument(column.field + ": " + row + " of column '" + column.name + "' of " + column.type + rest +
                         ": expected " + expected);
}

Status LacksValuesError(const NamedColumn& column) {
  return InvalidArgument(column.field + ": column '" + column.name + "' of " + column.type +
                         " lacks values: some are NaN; " + graph::kOnlyLabelsLackValues);
}

Status AllWeightsAreZeroError(const std::string& column) {
  return InvalidArgument(std::string(kWeightField) + ": all weights in column '" + column +
                         "' are 0, so no edge would be sampled: expected some above 0");
}

}  // namespace espalier::partitioner
