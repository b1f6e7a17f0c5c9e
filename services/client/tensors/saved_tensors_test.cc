// Saved tensors: equal rows for any partitioning; damaged, incomplete and foreign ones are refused as a whole.
#include "services/client/tensors/saved_tensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "services/base/failpoint.h"
#include "services/client/testing/open_served.h"
#include "services/client/testing/tensors_everywhere.h"
#include "services/storage/testing/temporary_folder.h"

namespace espalier::client {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::RowRange;
using testing::ServedGraph;

const RowSpace kAuthors = RowSpace::Nodes(NodeTypeId(0)), kPapers = RowSpace::Nodes(NodeTypeId(1));
const RowSpace kEdges = RowSpace::Edges(EdgeTypeId(1)), kOwn = RowSpace::Own(1001);

std::unique_ptr<DistGraph> OpenServedGraph(const ServedGraph& served) {
  return testing::OpenServed(served.addresses());
}

DistTensor MakeTensor(const DistGraph& graph, const DistTensorOptions& options) {
  auto tensor = DistTensor::Create(graph, options);
  ESPALIER_CHECK(tensor.ok()) << tensor.status().ToString();
  return *std::move(tensor);
}

// Original id of each row, for any partitioning.
std::vector<uint64_t> ListRowIds(const ServedGraph& served, const RowSpace& space) {
  if (space.of != sampler::RowsOf::kOwn) return testing::ListOriginalIds(served.local(), space);
  std::vector<uint64_t> numbers(space.num_own_rows);
  for (uint64_t row = 0; row < numbers.size(); ++row) numbers[row] = row;
  return numbers;
}

// I64 [rows, 2], functions of original ids.
Tensor ValuesFor(const ServedGraph& served, const RowSpace& space) {
  std::vector<int64_t> values;
  for (const uint64_t original : ListRowIds(served, space)) {
    values.push_back(static_cast<int64_t>(original * 7 + 1));
    values.push_back(-static_cast<int64_t>(original));
  }
  const auto num_rows = static_cast<int64_t>(values.size() / 2);
  return Tensor::FromVector(std::move(values), {num_rows, 2});
}

DistTensorOptions MakePairOptions(const RowSpace& space) {
  return {.rows = space, .row_shape = {2}, .dtype = DType::kI64, .name = "pairs"};
}

// Returns a tensor with two numbers per row.
DistTensor MakePairs(const DistGraph& graph, const ServedGraph& served, const RowSpace& space) {
  DistTensor tensor = MakeTensor(graph, MakePairOptions(space));
  const Status written = tensor.WriteRows(RowRange(0, tensor.num_rows()), ValuesFor(served, space));
  ESPALIER_CHECK(written.ok()) << written.ToString();
  return tensor;
}

// Returns the paths of all files below a folder, relative to it.
std::vector<std::string> FilesBelow(const std::string& folder) {
  std::vector<std::string> files;
  if (!std::filesystem::exists(folder)) return files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) files.push_back(entry.path().lexically_relative(folder).string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

void FlipAByte(const std::string& path) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(-1, std::ios::end);
  const char last = static_cast<char>(file.get());
  file.seekp(-1, std::ios::end);
  file.put(static_cast<char>(last ^ 1));
  ESPALIER_CHECK(file.good()) << path;
}

struct Partitionings {
  uint32_t saved, loaded;
};

class SavedTensorsTest : public ::testing::TestWithParam<Partitionings> {};

TEST_P(SavedTensorsTest, LoadOverOtherPartitioning) {
  const storage::TemporaryFolder folder;
  const std::string uri = folder.path() + "/saved";
  const ServedGraph from(testing::SmallTypedGraph(), GetParam().saved),
      to(testing::SmallTypedGraph(), GetParam().loaded);
  {
    const auto graph = OpenServedGraph(from);
    std::vector<DistTensor> kept;
    std::vector<TensorName> names;
    for (const RowSpace& space : {kAuthors, kPapers, kEdges, kOwn}) {
      kept.push_back(MakePairs(*graph, from, space));
      names.push_back({space, "pairs"});
    }
    kept.push_back(MakeTensor(*graph, {.rows = RowSpace::Own(0), .name = "none"}));
    names.push_back({RowSpace::Own(), "none"});
    kept.push_back(MakeTensor(
        *graph, {.rows = kPapers, .dtype = DType::kBool, .name = "mask", .initializer = Initializer::Constant(1)}));
    names.push_back({kPapers, "mask"});
    const Status saved = SaveTensors(*graph, names, uri, {.notes = {{"step", "12"}}, .bytes_per_file = 1000});
    ASSERT_TRUE(saved.ok()) << saved.ToString();
  }
  const auto graph = OpenServedGraph(to);

  const auto loaded = LoadTensors(*graph, uri);

  ASSERT_TRUE(loaded.ok()) << loaded.status().ToString();
  EXPECT_EQ(loaded->notes, (std::map<std::string, std::string>{{"step", "12"}}));
  ASSERT_EQ(loaded->tensors.size(), 6u);
  for (size_t i = 0; i < 4; ++i) {
    const DistTensor& tensor = loaded->tensors[i];
    const auto rows = tensor.ReadRows(RowRange(0, tensor.num_rows()));
    ASSERT_TRUE(rows.ok()) << rows.status().ToString();
    const Tensor expected = ValuesFor(to, tensor.rows());
    EXPECT_EQ(rows->shape(), expected.shape());
    EXPECT_TRUE(std::ranges::equal(rows->values<int64_t>(), expected.values<int64_t>())) << i;
  }
  EXPECT_EQ(loaded->tensors[4].num_rows(), 0u);
  EXPECT_EQ(loaded->tensors[5].dtype(), DType::kBool);
  EXPECT_EQ(*loaded->tensors[5].CountNonzero(), graph->num_nodes(NodeTypeId(1)));
}

INSTANTIATE_TEST_SUITE_P(Partitionings, SavedTensorsTest,
                         ::testing::Values(Partitionings{3, 1}, Partitionings{1, 3}, Partitionings{2, 3}));

class SavedFilesTest : public ::testing::Test {
 protected:
  SavedFilesTest()
      : served_(testing::SmallTypedGraph(), 2), graph_(OpenServedGraph(served_)), uri_(folder_.path() + "/a") {}
  ~SavedFilesTest() override { ESPALIER_CHECK(ArmFailpoints("").ok()); }

  // Saves two tensors, then drops them.
  Status SaveAndDrop() {
    const DistTensor papers = MakePairs(*graph_, served_, kPapers), authors = MakePairs(*graph_, served_, kAuthors);
    return SaveTensors(*graph_, {{kPapers, "pairs"}, {kAuthors, "pairs"}}, uri_, {.bytes_per_file = 4000});
  }
  Status LoadError() const { return LoadTensors(*graph_, uri_).status(); }
  bool HasNoFilesLeft() const {
    const auto is_there = [&](const RowSpace& space) {
      const auto made = DistTensor::Create(*graph_, MakePairOptions(space));
      ESPALIER_CHECK(made.ok()) << made.status().ToString();
      return !made->made_by_this();
    };
    return !is_there(kPapers) && !is_there(kAuthors);
  }

  const storage::TemporaryFolder folder_;
  const ServedGraph served_;
  const std::unique_ptr<DistGraph> graph_;
  const std::string uri_;
};

TEST_F(SavedFilesTest, DamagedFilesAreRefusedAndLeaveNothing) {
  ASSERT_TRUE(SaveAndDrop().ok());
  const std::vector<std::string> files = FilesBelow(uri_);
  ASSERT_GT(files.size(), 4u);
  std::string of_second;  // a file of the second tensor, read after the first tensor has been loaded
  for (const std::string& file : files) {
    if (file.find("/00001-pairs/") != std::string::npos) of_second = uri_ + "/" + file;
  }
  ASSERT_FALSE(of_second.empty());
  FlipAByte(of_second);
  EXPECT_EQ(LoadError().code(), StatusCode::kDataLoss);
  EXPECT_TRUE(HasNoFilesLeft());
  FlipAByte(of_second);
  std::filesystem::resize_file(of_second, std::filesystem::file_size(of_second) - 1);
  EXPECT_EQ(LoadError().code(), StatusCode::kDataLoss);
  std::filesystem::remove(of_second);
  EXPECT_EQ(LoadError().code(), StatusCode::kDataLoss);
  EXPECT_THAT(LoadError().message(), HasSubstr("is missing"));
  EXPECT_TRUE(HasNoFilesLeft());
}

TEST_F(SavedFilesTest, IncompleteSaveIsInvisible) {
  ASSERT_TRUE(ArmFailpoints("store.commit=error:UNAVAILABLE@3").ok());
  EXPECT_EQ(SaveAndDrop().code(), StatusCode::kUnavailable);
  EXPECT_THAT(FilesBelow(uri_), ElementsAre());
  ASSERT_TRUE(ArmFailpoints("store.put_if_absent=error:UNAVAILABLE").ok());
  EXPECT_EQ(SaveAndDrop().code(), StatusCode::kUnavailable);
  ASSERT_TRUE(ArmFailpoints("").ok());
  const size_t num_left = FilesBelow(uri_).size();  // the manifest may exist: the outcome of its write is unknown
  EXPECT_GT(num_left, 4u);
  EXPECT_THAT(*ListSavedTensors(folder_.path()), ElementsAre());
  EXPECT_EQ(LoadError().code(), StatusCode::kNotFound);

  ASSERT_TRUE(SaveAndDrop().ok());
  EXPECT_THAT(*ListSavedTensors(folder_.path()), ElementsAre("a"));
  EXPECT_TRUE(LoadTensors(*graph_, uri_, {.lifetime = Lifetime::kScoped}).ok());
  ASSERT_TRUE(RemoveSavedTensors(uri_).ok());
  EXPECT_THAT(FilesBelow(uri_), ElementsAre());
  EXPECT_THAT(*ListSavedTensors(folder_.path()), ElementsAre());
  EXPECT_TRUE(RemoveSavedTensors(uri_).ok());
}

TEST_F(SavedFilesTest, SavedFilesAreNotOverwritten) {
  ASSERT_TRUE(SaveAndDrop().ok());
  const std::vector<std::string> files = FilesBelow(uri_);
  EXPECT_EQ(SaveAndDrop().code(), StatusCode::kAlreadyExists);
  EXPECT_EQ(FilesBelow(uri_), files);
  std::ofstream(folder_.path() + "/manifest.json") << "{\"format\": \"another\"}";
  EXPECT_EQ(RemoveSavedTensors(folder_.path()).code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(FilesBelow(uri_), files);
}

TEST_F(SavedFilesTest, ExistingTensorsAreNotOverwritten) {
  ASSERT_TRUE(SaveAndDrop().ok());
  const DistTensor authors = MakeTensor(*graph_, MakePairOptions(kAuthors));
  const Status refused = LoadError();
  EXPECT_EQ(refused.code(), StatusCode::kAlreadyExists);
  EXPECT_THAT(refused.message(), HasSubstr("'pairs' of nodes/author"));
  EXPECT_EQ(*authors.CountNonzero(), 0u);
  EXPECT_TRUE(MakeTensor(*graph_, MakePairOptions(kPapers)).made_by_this());  // the first tensor was dropped
}

TEST_F(SavedFilesTest, LoadedRowsHaveRequestedLifetime) {
  ASSERT_TRUE(SaveAndDrop().ok());
  ASSERT_TRUE(LoadTensors(*graph_, uri_, {.lifetime = Lifetime::kScoped}).ok());
  ASSERT_TRUE(LoadTensors(*graph_, uri_).ok());
  const auto kept = DistTensor::Open(*graph_, kPapers, "pairs");
  ASSERT_TRUE(kept.ok()) << kept.status().ToString();
  EXPECT_EQ(kept->num_rows(), graph_->num_nodes(NodeTypeId(1)));
}

TEST_F(SavedFilesTest, NamesTensorsThatCannotBeSaved) {
  const auto error_of = [&](const std::vector<TensorName>& names, const SaveOptions& options = {}) {
    return SaveTensors(*graph_, names, uri_, options);
  };
  const DistTensor papers = MakePairs(*graph_, served_, kPapers);
  EXPECT_EQ(error_of({{kPapers, "pears"}}).code(), StatusCode::kNotFound);
  EXPECT_THAT(error_of({{kPapers, "pears"}}).message(), AllOf(HasSubstr("'pears'"), HasSubstr("'pairs'")));
  EXPECT_THAT(error_of({{kPapers, "pairs"}, {kPapers, "pairs"}}).message(), HasSubstr("named twice"));
  EXPECT_EQ(error_of({{kPapers, "pairs"}}, {.notes = {{"a", "\xff"}}}).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(error_of({{kPapers, "pairs"}}, {.bytes_per_file = 0}).code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(FilesBelow(uri_), ElementsAre());
  EXPECT_TRUE(error_of({}).ok());
  EXPECT_TRUE(LoadTensors(*graph_, uri_)->tensors.empty());
}

// Swaps the sources of two edges: the same number of edges, but different ones.
TEST_F(SavedFilesTest, AnotherGraphsTensorsAreRefused) {
  graph::SourceGraph other = testing::SmallTypedGraph();
  graph::EdgeSet& changed = other.edges[1];
  const std::span<const uint32_t> as_before = changed.sources.values<uint32_t>();
  std::vector<uint32_t> sources(as_before.begin(), as_before.end());
  size_t unlike = 1;
  const auto has_an_end_of_the_first = [&](size_t edge) {
    const auto destination = changed.destinations.ValueAsInt(static_cast<int64_t>(edge));
    return sources[edge] == sources[0] || destination == changed.destinations.ValueAsInt(0);
  };
  while (has_an_end_of_the_first(unlike)) ++unlike;
  std::swap(sources[0], sources[unlike]);
  changed.sources = Tensor::FromVector(std::move(sources));
  const ServedGraph served(other, 2);
  const auto graph = OpenServedGraph(served);
  const DistTensor edges = MakePairs(*graph_, served_, kEdges), papers = MakePairs(*graph_, served_, kPapers);
  ASSERT_TRUE(SaveTensors(*graph_, {{kEdges, "pairs"}}, uri_).ok());
  const Status refused = LoadTensors(*graph, uri_).status();
  EXPECT_EQ(refused.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(refused.message(), HasSubstr("its edges or their order differ"));

  const std::string papers_uri = folder_.path() + "/papers";
  ASSERT_TRUE(SaveTensors(*graph_, {{kPapers, "pairs"}}, papers_uri).ok());
  const ServedGraph small(testing::SmallGraph(), 1);
  const Status no_papers = LoadTensors(*OpenServedGraph(small), papers_uri).status();
  EXPECT_EQ(no_papers.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(no_papers.message(), HasSubstr("paper"));
}

}  // namespace
}  // namespace espalier::client
