// All formats have the same rule for missing values (graph/label_columns.h): each test reads the same labels, or the
// same incomplete features, from every format.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "services/format/source/source_reader.h"
#include "services/format/source/testing/source_files.h"
#include "services/format/source/testing/zip_files.h"

namespace espalier::format {
namespace {

using ::testing::AllOf;
using testing::BytesOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::Npy;
using testing::TemporaryFolder;

constexpr float kNone = std::numeric_limits<float>::quiet_NaN();

std::string FloatArray(const std::string& shape, const std::vector<float>& values) {
  return Npy("{'descr': '<f4', 'fortran_order': False, 'shape': " + shape + ", }", BytesOf(values));
}
std::string IntegerArray(const std::string& shape, const std::vector<int64_t>& values) {
  return Npy("{'descr': '<i8', 'fortran_order': False, 'shape': " + shape + ", }", BytesOf(values));
}

std::string CsvText(const std::vector<float>& values, const std::string& missing) {
  std::string text;
  for (const float value : values) text += (std::isnan(value) ? missing : std::to_string(value)) + "\n";
  return text;
}

// Writes three nodes and an edge 0 -> 1, with `values` as the column `name`, in one of the formats, and reads them.
Result<graph::SourceGraph> ReadAs(const std::string& format, const std::string& name, const std::vector<float>& values,
                                  const graph::LabelColumns& labels = {}, const std::string& missing = "nan") {
  const TemporaryFolder folder;
  SourceReadOptions options{.path = folder.path(), .labels = labels};
  const std::string metadata_begin = R"({"node_type": ["node"], "num_nodes_per_type": [3], "edge_type": ["node:e:node"],
    "num_edges_per_type": [1], "edges": {"node:e:node": {"format": {"name": "csv"}, "data": ["edges.csv"]}},
    "node_data": {"node": {")";
  if (format == "NPY") {
    options.format = SourceFormat::kNpy;
    folder.Write("graph.yaml", "version: 1\nname: g\nnodes:\n- {type: node, columns: {" + name +
                                   ": values.npy}}\nedges:\n- {type: node:e:node, ids: edges.npy}\n");
    folder.Write("values.npy", FloatArray("(3,)", values));
    folder.Write("edges.npy", IntegerArray("(2, 1)", {0, 1}));
  } else if (format == "DGLChunked of .npy") {
    options.format = SourceFormat::kDglChunked;
    folder.Write("metadata.json", metadata_begin + name + R"(": {"format": {"name": "numpy"}, "data": ["v.npy"]}}}})");
    folder.Write("edges.csv", "0,1\n");
    folder.Write("v.npy", FloatArray("(3,)", values));
  } else if (format == "DGLChunked of CSV") {
    options.format = SourceFormat::kDglChunked;
    folder.Write("metadata.json",
                 metadata_begin + name + R"(": {"format": {"name": "csv"}, "data": ["v0.csv", "v1.csv"]}}}})");
    folder.Write("edges.csv", "0,1\n");
    folder.Write("v0.csv", CsvText({values[0]}, missing));
    folder.Write("v1.csv", CsvText({values[1], values[2]}, missing));
  } else if (format == "OGB CSV") {
    folder.Write("raw/num-node-list.csv", "3\n");
    folder.Write("raw/num-edge-list.csv", "1\n");
    folder.Write("raw/edge.csv", "0,1\n");
    folder.Write("raw/" + name + ".csv", CsvText(values, missing));
  } else {
    folder.Write("raw/data.npz", testing::Zip({{"edge_index.npy", IntegerArray("(2, 1)", {0, 1})},
                                               {"num_nodes_list.npy", IntegerArray("(1,)", {3})},
                                               {"num_edges_list.npy", IntegerArray("(1,)", {1})},
                                               {name + ".npy", FloatArray("(3,)", values)}}));
  }
  return ReadSourceGraph(options);
}

constexpr const char* kFormats[] = {"NPY", "DGLChunked of .npy", "DGLChunked of CSV", "OGB CSV", "OGB binary"};

// Returns the labels in the column as text, "none" for a missing label.
std::vector<std::string> LabelsOf(const Result<graph::SourceGraph>& graph, const std::string& name) {
  if (!graph.ok()) return {graph.status().ToString()};
  const Tensor& column = graph->nodes[0].columns.at(name);
  std::vector<std::string> labels;
  for (int64_t i = 0; i < column.num_elements(); ++i) {
    const double value = column.ValueAsDouble(i);
    labels.push_back(std::isnan(value) ? "none" : std::to_string(static_cast<int>(value * 2)));
  }
  return labels;
}

TEST(MissingValuesTest, NanIsNoLabelInEveryFormat) {
  for (const char* format : kFormats) {
    EXPECT_THAT(LabelsOf(ReadAs(format, "node_label", {0, kNone, 1.5f}), "node_label"), ElementsAre("0", "none", "3"))
        << format;
  }
}

TEST(MissingValuesTest, UsersAddLabelColumns) {
  for (const char* format : kFormats) {
    EXPECT_THAT(LabelsOf(ReadAs(format, "node_score", {kNone, .5f, 1}, {.labels = {"node_score"}}), "node_score"),
                ElementsAre("none", "1", "2"))
        << format;
  }
}

TEST(MissingValuesTest, OtherColumnsAreComplete) {
  for (const char* format : kFormats) {
    const Status score = ReadAs(format, "node_score", {0, kNone, .5f}).status();
    EXPECT_EQ(score.code(), StatusCode::kInvalidArgument) << format;
    EXPECT_THAT(score.message(), AllOf(HasSubstr("only label columns may lack values"), HasSubstr("--label")))
        << format;
    const graph::LabelColumns feature{.labels = {}, .complete = {"node_label"}};
    EXPECT_EQ(ReadAs(format, "node_label", {0, kNone, .5f}, feature).status().code(), StatusCode::kInvalidArgument)
        << format;
    const Status infinite = ReadAs(format, "node_label", {0, std::numeric_limits<float>::infinity(), 1}).status();
    EXPECT_EQ(infinite.code(), StatusCode::kInvalidArgument) << format;
    EXPECT_THAT(infinite.message(), HasSubstr("infinite")) << format;
  }
}

// Errors name the line of a text file, or the row of an array.
TEST(MissingValuesTest, NamesPosition) {
  EXPECT_THAT(ReadAs("OGB CSV", "node_score", {0, .5f, kNone}).status().message(),
              HasSubstr("node_score.csv:3, field 1 is 'nan'"));
  EXPECT_THAT(ReadAs("DGLChunked of CSV", "node_score", {0, kNone, 1}).status().message(), HasSubstr("v1.csv:1"));
  EXPECT_THAT(ReadAs("NPY", "node_score", {0, kNone, 1}).status().message(), HasSubstr("column 'node_score' row 1"));
}

TEST(MissingValuesTest, TextUsesSpellingsOfPandas) {
  for (const char* spelling :
       {"nan", "NaN", "NAN", "-nan", "NA", "N/A", "n/a", "#N/A", "<NA>", "null", "NULL", "None"}) {
    for (const char* format : {"OGB CSV", "DGLChunked of CSV"}) {
      EXPECT_THAT(LabelsOf(ReadAs(format, "node_label", {1, kNone, 2}, {}, spelling), "node_label"),
                  ElementsAre("2", "none", "4"))
          << format << " " << spelling;
    }
  }
  for (const char* other : {"nothing", "?", "-", "nan(0)", "NaNs", "missing"}) {
    EXPECT_THAT(ReadAs("OGB CSV", "node_label", {1, kNone, 2}, {}, other).status().message(),
                HasSubstr("field 1 is '" + std::string(other) + "': expected a number"));
  }
}

// An empty field is a missing value, but a blank line is not a row.
TEST(MissingValuesTest, EmptyFieldsOfTargetsAreMissing) {
  const TemporaryFolder folder;
  testing::WriteOgbTriangle(folder);
  folder.WriteGzip("raw/node-label.csv.gz", "1,0,1\n,0,\n0,NA,1\n1,1,\n");
  const Result<graph::SourceGraph> graph = ReadSourceGraph({.format = SourceFormat::kOgb, .path = folder.path()});
  EXPECT_THAT(LabelsOf(graph, "node-label"),
              ElementsAre("2", "0", "2", "none", "0", "none", "0", "none", "2", "2", "2", "none"));
}

}  // namespace
}  // namespace espalier::format
