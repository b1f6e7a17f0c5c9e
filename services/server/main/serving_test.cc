// Partition files on disk, served, and mapped by a client of the same host; job checks; nonces.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "services/base/testing/soon.h"
#include "services/client/session/session.h"
#include "services/client/testing/served_graph.h"
#include "services/client/testing/written_partitions.h"
#include "services/format/partition/partition_files.h"
#include "services/server/graph_server.h"
#include "services/server/main/job_check.h"
#include "services/server/main/nonce_file.h"
#include "services/server/main/partition_metrics.h"
#include "services/server/main/served_graph.h"
#include "services/storage/memory_store.h"
#include "services/storage/open_store.h"

namespace espalier::server {
namespace {

using ::testing::HasSubstr;

using client::testing::TemporaryFolder;

const std::string kKey(64, 'a');

// Writes the small graph in two partitions to <folder>/parts.
std::string WritePartitions(const TemporaryFolder& folder) {
  return client::testing::WritePartitions(client::testing::SmallGraph(), 2, folder.path() + "/parts", kKey);
}

// Serves a partition in the same way as graph_server_main.
class Served {
 public:
  explicit Served(const std::string& uri, const ServedPartitionOptions& options = {}) {
    for (uint32_t p = 0; p < 2; ++p) {
      auto loaded = LoadServedPartition(uri, p, options);
      ESPALIER_CHECK(loaded.ok()) << loaded.status().ToString();
      auto nonce = NonceFile::Create(std::filesystem::temp_directory_path().string());
      ESPALIER_CHECK(nonce.ok()) << nonce.status().ToString();
      nonces_.push_back(*std::move(nonce));
      ServedGraph served;
      served.name = loaded->manifest.graph_name;
      served.warnings = {"one edge is left out"};
      served.description = DescribeGraph(loaded->manifest);
      served.mapped_files.emplace();
      served.mapped_files->set_nonce_path(nonces_.back().path());
      served.mapped_files->set_nonce(nonces_.back().nonce());
      served.mapped_files->set_partitions_uri(loaded->local_uri);
      GraphServerOptions server_options;
      server_options.partition_key = loaded->manifest.partition_key;
      auto server = GraphServer::Start(server_options, std::move(served), loaded->shard);
      ESPALIER_CHECK(server.ok()) << server.status().ToString();
      servers_.push_back(*std::move(server));
    }
  }
  Result<client::Session> Connect(client::Access access) const {
    client::SessionOptions options;
    for (const auto& server : servers_) options.addresses.push_back(server->address());
    options.access = access;
    return client::Connect(options);
  }
  void CorruptNonces() {
    for (const NonceFile& nonce : nonces_) std::ofstream(nonce.path()) << "other";
  }

 private:
  std::vector<NonceFile> nonces_;
  std::vector<std::unique_ptr<GraphServer>> servers_;
};

Result<Tensor> AllRows(sampler::PartitionedGraph& graph, const std::string& column) {
  std::vector<GlobalNodeId> nodes;
  for (uint64_t i = 0; i < graph.book().num_nodes(NodeTypeId(0)); ++i) nodes.emplace_back(i);
  return graph.GatherRows(NodeTypeId(0), column, nodes, Soon());
}

TEST(ServingTest, MappedAndRemoteAccessAnswerAlike) {
  const TemporaryFolder folder;
  const Served served(WritePartitions(folder));
  const auto mapped = served.Connect(client::Access::kAuto);
  const auto remote = served.Connect(client::Access::kRpc);
  ASSERT_TRUE(mapped.ok()) << mapped.status().ToString();
  ASSERT_TRUE(remote.ok()) << remote.status().ToString();
  EXPECT_THAT(mapped->access, ::testing::Each(client::Access::kMapped));
  EXPECT_THAT(remote->access, ::testing::Each(client::Access::kRpc));
  EXPECT_EQ(mapped->graph_name, "small");
  EXPECT_EQ(mapped->warnings, std::vector<std::string>{"one edge is left out"});
  ASSERT_EQ(mapped->graph->columns().size(), remote->graph->columns().size());
  // Compares the columns in the manifest with those of the partitions themselves.
  const client::testing::ServedGraph whole(client::testing::SmallGraph(), 2);
  EXPECT_FALSE(remote->graph->description().edge_columns.empty());
  EXPECT_EQ(remote->graph->description().edge_columns, whole.local_graph().description().edge_columns);

  for (const std::string column : {"node-feat", "original_id"}) {
    const auto a = AllRows(*mapped->graph, column), b = AllRows(*remote->graph, column);
    ASSERT_TRUE(a.ok() && b.ok()) << a.status().ToString() << b.status().ToString();
    EXPECT_TRUE(std::equal(a->byte_span().begin(), a->byte_span().end(), b->byte_span().begin()));
  }
  const std::vector<GlobalNodeId> seeds = {GlobalNodeId(1400), GlobalNodeId(2)};
  sampler::HopQuery query{.relations = {{EdgeTypeId(0), 5, seeds}}, .seed = 4, .draw = {.weight_column = "weight"}};
  const auto a = mapped->graph->SampleInEdges(query, Soon()), b = remote->graph->SampleInEdges(query, Soon());
  ASSERT_TRUE(a.ok() && b.ok()) << a.status().ToString() << b.status().ToString();
  EXPECT_EQ(a->relations[0].sources, b->relations[0].sources);
}

TEST(ServingTest, MutableTensorsStayWithTheServerUnderMappedAccess) {
  const TemporaryFolder folder;
  const Served served(WritePartitions(folder));
  const auto writer = served.Connect(client::Access::kMapped);
  const auto reader = served.Connect(client::Access::kMapped);
  ASSERT_TRUE(writer.ok() && reader.ok());
  const NodeTypeId type(0);
  ASSERT_TRUE(writer->graph->CreateTensor(type, "hidden", DType::kF32, {2}, Soon()).ok());
  ASSERT_TRUE(reader->graph->CreateTensor(type, "hidden", DType::kF32, {2}, Soon()).ok());
  const std::vector<GlobalNodeId> nodes = {GlobalNodeId(1400), GlobalNodeId(2)};
  const Tensor rows = Tensor::FromVector<float>({1, 2, 3, 4}, {2, 2});

  ASSERT_TRUE(writer->graph->WriteRows(type, "hidden", nodes, rows, Soon()).ok());
  const auto read = reader->graph->GatherRows(type, "hidden", nodes, Soon());

  ASSERT_TRUE(read.ok()) << read.status().ToString();
  EXPECT_TRUE(std::equal(rows.byte_span().begin(), rows.byte_span().end(), read->byte_span().begin()));
}

TEST(ServingTest, ReportsSizeOfPartition) {
  const TemporaryFolder folder;
  const std::string uri = WritePartitions(folder);
  telemetry::MetricRegistry registry;
  for (uint32_t p = 0; p < 2; ++p) {
    const auto loaded = LoadServedPartition(uri, p, {});
    ASSERT_TRUE(loaded.ok()) << loaded.status().ToString();
    SetPartitionMetrics(*loaded, 1.5, registry);
    const graph::PartitionBook& book = loaded->manifest.book;
    uint64_t nodes = 0;
    for (uint16_t type = 0; type < book.schema().node_types().size(); ++type) {
      nodes += book.NodeFirst(NodeTypeId(type))[p + 1] - book.NodeFirst(NodeTypeId(type))[p];
    }
    EXPECT_THAT(registry.Serialize(), HasSubstr("espalier_partition_nodes_count{partition=\"" + std::to_string(p) +
                                                "\"} " + std::to_string(nodes) + "\n"));
  }
  EXPECT_THAT(registry.Serialize(), HasSubstr("espalier_partition_copied_bytes{from=\"store\",partition=\"1\"} 0\n"));
}

// Returns a store with the files of a partitioning as objects below graphs/small.
std::shared_ptr<storage::MemoryStore> InABucket(const std::string& uri) {
  const auto files = storage::OpenStore(uri);
  auto bucket = std::make_shared<storage::MemoryStore>();
  const auto objects = files->store->List("");
  for (const storage::ObjectInfo& object : *objects) {
    const std::string bytes = *files->store->Get(object.key);
    const auto writer = bucket->Put("graphs/small/" + object.key);
    ESPALIER_CHECK((*writer)->Write(std::as_bytes(std::span(bytes))).ok());
    ESPALIER_CHECK((*writer)->Commit().ok());
  }
  return bucket;
}

// Two servers with one cache; clients of the same host map the servers' copies and need no store.
TEST(ServingTest, ClientsMapTheCopiesOfPartitionsThatAreNotLocal) {
  const TemporaryFolder folder, cache;
  const std::string local = WritePartitions(folder);
  const auto bucket = InABucket(local);
  ServedPartitionOptions options;
  options.cache.folder = cache.path();
  options.open_store = [&](const std::string&) { return storage::StoreLocation{bucket, "graphs/small"}; };
  const Served served("mem://graphs/small", options);
  const auto again = LoadServedPartition("mem://graphs/small", 1, options);
  ASSERT_TRUE(again.ok()) << again.status().ToString();
  const format::PartitionEntry& entry = again->manifest.partitions[1];
  EXPECT_EQ(again->copied.fetched, 0u);
  EXPECT_GE(again->copied.found, entry.graph.size_bytes + entry.node_columns.size_bytes);
  const auto objects = bucket->List("");
  for (const storage::ObjectInfo& object : *objects) ASSERT_TRUE(bucket->Delete(object.key).ok());

  const auto mapped = served.Connect(client::Access::kMapped);
  ASSERT_TRUE(mapped.ok()) << mapped.status().ToString();
  const Served on_files(local);
  const auto original = on_files.Connect(client::Access::kMapped);
  const auto a = AllRows(*mapped->graph, "node-feat");
  ASSERT_TRUE(a.ok()) << a.status().ToString();
  ASSERT_TRUE(original.ok()) << original.status().ToString();
  const auto b = AllRows(*original->graph, "node-feat");
  EXPECT_TRUE(std::equal(a->byte_span().begin(), a->byte_span().end(), b->byte_span().begin()));
}

size_t NumFilesOfEdgeIds(const std::string& folder) {
  size_t count = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().filename() == "edge_ids.safetensors") ++count;
  }
  return count;
}

// Returns the initial random rows of a new tensor of all edges.
Result<Tensor> RandomRowsOfEdges(sampler::PartitionedGraph& graph, const std::string& name) {
  const EdgeTypeId type(0);
  ASSIGN_OR_RETURN(const sampler::TensorHandle tensor,
                   graph.tensors().Create({.id = {sampler::RowSpace::Edges(type), name, {}},
                                           .row_shape = {3},
                                           .initializer = sampler::Initializer::Uniform(-1, 1, 4)},
                                          Soon()));
  std::vector<GlobalRowId> rows;
  for (uint64_t row = 0; row < graph.book().num_edges(type); ++row) rows.emplace_back(row);
  return graph.tensors().Read(tensor, rows, Soon());
}

// Original ids of edges are in separate files, which a server fetches at the first request that needs them.
TEST(ServingTest, FirstValuesOfEdgesAreThoseOfTheirOriginalIds) {
  const TemporaryFolder folder, cache;
  const auto bucket = InABucket(WritePartitions(folder));
  ServedPartitionOptions options;
  options.cache.folder = cache.path();
  options.open_store = [&](const std::string&) { return storage::StoreLocation{bucket, "graphs/small"}; };
  const Served served("mem://graphs/small", options);
  const client::testing::ServedGraph same_cut(client::testing::SmallGraph(), 2);
  EXPECT_EQ(NumFilesOfEdgeIds(cache.path()), 0u);
  for (const client::Access access : {client::Access::kRpc, client::Access::kMapped}) {
    const auto session = served.Connect(access);
    ASSERT_TRUE(session.ok()) << session.status().ToString();
    const std::string name = std::string("rows-") + client::ToString(access);
    const auto rows = RandomRowsOfEdges(*session->graph, name);
    ASSERT_TRUE(rows.ok()) << rows.status().ToString();
    EXPECT_EQ(NumFilesOfEdgeIds(cache.path()), 2u);
    const auto expected = RandomRowsOfEdges(same_cut.local_graph(), name);
    ASSERT_TRUE(expected.ok()) << expected.status().ToString();
    EXPECT_TRUE(std::ranges::equal(rows->byte_span(), expected->byte_span()));
  }
}

TEST(ServingTest, ReportsMissingOriginalEdgeIds) {
  const TemporaryFolder folder, cache;
  const auto bucket = InABucket(WritePartitions(folder));
  ServedPartitionOptions options;
  options.cache.folder = cache.path();
  options.open_store = [&](const std::string&) { return storage::StoreLocation{bucket, "graphs/small"}; };
  const Served served("mem://graphs/small", options);
  const auto objects = bucket->List("");
  for (const storage::ObjectInfo& object : *objects) {
    if (!object.key.ends_with("edge_ids.safetensors")) continue;
    ASSERT_TRUE(bucket->Delete(object.key).ok());
  }
  const auto session = served.Connect(client::Access::kRpc);
  ASSERT_TRUE(session.ok()) << session.status().ToString();
  const Status missing = RandomRowsOfEdges(*session->graph, "rows").status();
  EXPECT_EQ(missing.code(), StatusCode::kDataLoss);
  EXPECT_THAT(missing.message(), HasSubstr("it is missing"));
}

TEST(ServingTest, MapsNothingWithoutTheNonce) {
  const TemporaryFolder folder;
  Served served(WritePartitions(folder));
  served.CorruptNonces();
  const auto automatic = served.Connect(client::Access::kAuto);
  ASSERT_TRUE(automatic.ok());
  EXPECT_THAT(automatic->access, ::testing::Each(client::Access::kRpc));
  EXPECT_EQ(served.Connect(client::Access::kMapped).status().code(), StatusCode::kFailedPrecondition);
}

// SIGTERM while a server verifies files on the local disk.
TEST(ServedGraphTest, StopEndsVerification) {
  const TemporaryFolder folder;
  const std::string uri = WritePartitions(folder);
  for (const int first_yes : {1, 2, 3}) {
    std::atomic<int> num_asked = 0;
    ServedPartitionOptions options;
    options.stop_requested = [&] { return ++num_asked >= first_yes; };
    EXPECT_EQ(LoadServedPartition(uri, 0, options).status().code(), StatusCode::kCancelled) << first_yes;
  }
}

TEST(ServedGraphTest, NamesMissingFiles) {
  const TemporaryFolder folder;
  const std::string uri = WritePartitions(folder);
  EXPECT_EQ(LoadServedPartition(uri, 2, {}).status().code(), StatusCode::kOutOfRange);
  EXPECT_EQ(LoadServedPartition("file://" + folder.path() + "/none", 0, {}).status().code(), StatusCode::kNotFound);
}

TEST(NonceFileTest, IsPrivateAndDeletedAtEnd) {
  const TemporaryFolder folder;
  std::string path;
  {
    const auto nonce = NonceFile::Create(folder.path());
    ASSERT_TRUE(nonce.ok()) << nonce.status().ToString();
    path = nonce->path();
    EXPECT_EQ(std::filesystem::status(path).permissions(),
              std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
    std::ifstream file(path);
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), nonce->nonce());
    EXPECT_EQ(nonce->nonce().size(), 64u);
  }
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_THAT(NonceFile::Create(folder.path() + "/none").status().message(), HasSubstr("/none"));
}

TEST(NonceFileTest, DeletesFilesOfKilledServers) {
  const TemporaryFolder folder;
  const std::string left = folder.path() + "/.espalier-nonce-0123456789abcdef";
  std::ofstream(left) << "a killed server's";
  const auto first = NonceFile::Create(folder.path());
  ASSERT_TRUE(first.ok()) << first.status().ToString();
  EXPECT_FALSE(std::filesystem::exists(left));
  const auto second = NonceFile::Create(folder.path());
  ASSERT_TRUE(second.ok()) << second.status().ToString();
  EXPECT_TRUE(std::filesystem::exists(first->path()));
}

TEST(JobCheckTest, NamesTheFirstDifference) {
  job::DistTraining job;
  job.name = "cora";
  job::Training& training = job.training;
  training.seed = 3;
  training.batch_size = 64;
  training.task.split = "public";
  training.sampling.layers.resize(2);
  messages::StreamPlan good;
  good.job = "cora";
  good.spec.seed = 3;
  good.spec.layers.resize(2);
  good.plan.batch_size = 64;
  good.plan.split = "public";
  EXPECT_TRUE(CheckStreamIsOfJob(good, job, job.name).ok());

  const auto message_of = [&](auto change) {
    messages::StreamPlan stream = good;
    change(stream);
    const Status status = CheckStreamIsOfJob(stream, job, job.name);
    EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
    return status.message();
  };
  EXPECT_THAT(message_of([](auto& stream) { stream.job = "citeseer"; }),
              HasSubstr("the stream is of job 'citeseer', but this sampler's job is 'cora'"));
  EXPECT_THAT(message_of([](auto& stream) { stream.spec.seed = 4; }), HasSubstr("seed 4"));
  EXPECT_THAT(message_of([](auto& stream) { stream.plan.batch_size = 65; }), HasSubstr("batch size 65"));
  EXPECT_THAT(message_of([](auto& stream) { stream.plan.split = "other"; }), HasSubstr("split other"));
  EXPECT_THAT(message_of([](auto& stream) { stream.spec.layers.resize(3); }), HasSubstr("layers 3"));
  EXPECT_THAT(message_of([](auto& stream) { stream.spec.draw.replace = true; }), HasSubstr("replace on"));
  EXPECT_THAT(message_of([](auto& stream) { stream.spec.draw.weight_column = "w"; }), HasSubstr("weight 'w'"));
  EXPECT_THAT(message_of([](auto& stream) { stream.spec.draw.method = sampler::DrawMethod::kLast; }),
              HasSubstr("method"));
  EXPECT_THAT(message_of([](auto& stream) { stream.spec.draw.layer_dependency = true; }),
              HasSubstr("layerDependency on"));
  EXPECT_THAT(message_of([](auto& stream) { stream.spec.draw.expand = sampler::Expand::kOnce; }),
              HasSubstr("expand Once, but this sampler's job has Always"));
  EXPECT_THAT(message_of([](auto& stream) { stream.spec.seed_time_column = "t"; }), HasSubstr("seedTime 't'"));
  EXPECT_THAT(message_of([](auto& stream) { stream.spec.draw.time_column = "when"; }), HasSubstr("time column 'when'"));
  training.sampling.seed_time = good.spec.seed_time_column = "t";
  training.sampling.draw.time_column = good.spec.draw.time_column = "when";
  EXPECT_TRUE(CheckStreamIsOfJob(good, job, job.name).ok());
  EXPECT_THAT(message_of([](auto& stream) { stream.spec.draw.time_column = "then"; }), HasSubstr("job has 'when'"));
}

TEST(JobCheckTest, LinksMustMatchJob) {
  job::DistTraining job;
  job.training.task.type = job::TaskType::kLinkPrediction;
  job.training.task.negatives = sampler::NegativeKind::kJoint;
  job.training.task.num_negatives = 16;
  messages::StreamPlan stream;
  stream.spec.seed = job.training.seed;
  stream.plan.batch_size = static_cast<uint64_t>(job.training.batch_size);
  stream.spec.layers.resize(1);  // one layer that draws nothing, as for the model Embedding
  EXPECT_THAT(CheckStreamIsOfJob(stream, job, job.name).message(), HasSubstr("batches of nodes"));
  stream.plan.seeds.emplace<sampler::LinkPlan>().negatives = {sampler::NegativeKind::kJoint, 16};
  EXPECT_EQ(CheckStreamIsOfJob(stream, job, job.name), Status());
  stream.plan.links()->edge_columns = {"amount"};  // not compared, because a program may choose them
  stream.plan.links()->want_pair_ids = true;
  EXPECT_EQ(CheckStreamIsOfJob(stream, job, job.name), Status());
  stream.plan.links()->exclude_batch = false;
  EXPECT_THAT(CheckStreamIsOfJob(stream, job, job.name).message(), HasSubstr("may sample a step's seed edges"));
  stream.plan.links()->exclude_batch = true;
  stream.plan.links()->negatives.count = 15;
  EXPECT_THAT(CheckStreamIsOfJob(stream, job, job.name).message(),
              HasSubstr("negatives per edge 15, but this sampler's job has 16"));
  stream.plan.links()->negatives.kind = sampler::NegativeKind::kUniform;
  EXPECT_THAT(CheckStreamIsOfJob(stream, job, job.name).message(), HasSubstr("this sampler's job has Joint"));
  job.training.task.type = job::TaskType::kNodeClassification;
  EXPECT_THAT(CheckStreamIsOfJob(stream, job, job.name).message(),
              HasSubstr("batches of links, but this sampler's job has batches of nodes"));
}

TEST(JobCheckTest, LabeledEdgesMustMatchJob) {
  job::DistTraining job;
  job::Task& task = job.training.task;
  task.type = job::TaskType::kEdgeRegression;
  task.label = "rating";
  task.exclude = job::ExcludeEdges::kReverseEdges;
  messages::StreamPlan stream;
  stream.spec.seed = job.training.seed;
  stream.plan.batch_size = static_cast<uint64_t>(job.training.batch_size);
  stream.spec.layers.resize(1);
  EXPECT_THAT(CheckStreamIsOfJob(stream, job, job.name).message(), HasSubstr("batches of nodes"));
  sampler::EdgePlan& plan = stream.plan.seeds.emplace<sampler::EdgePlan>();
  plan = {.edge_type = EdgeTypeId(0), .label = "rating", .exclude_batch = true, .exclude_reverse = EdgeTypeId(1)};
  EXPECT_EQ(CheckStreamIsOfJob(stream, job, job.name), Status());
  plan.exclude_reverse.reset();
  EXPECT_THAT(CheckStreamIsOfJob(stream, job, job.name).message(),
              HasSubstr("exclude Self, but this sampler's job has ReverseEdges"));
  plan.label = "stars";
  EXPECT_THAT(CheckStreamIsOfJob(stream, job, job.name).message(),
              HasSubstr("label 'stars', but this sampler's job has 'rating'"));
  task.type = job::TaskType::kLinkPrediction;
  EXPECT_THAT(CheckStreamIsOfJob(stream, job, job.name).message(),
              HasSubstr("batches of labeled edges, but this sampler's job has batches of links"));

  // The links of a program's loader.
  task.type = job::TaskType::kEdgeRegression;
  sampler::LinkPlan& links = stream.plan.seeds.emplace<sampler::LinkPlan>();
  links.types = {{EdgeTypeId(0), EdgeTypeId(1)}};
  links.negatives.count = 0;
  EXPECT_EQ(CheckStreamIsOfJob(stream, job, job.name), Status());
  links.types[0].reverse_type.reset();
  EXPECT_THAT(CheckStreamIsOfJob(stream, job, job.name).message(), HasSubstr("exclude Self"));
  links.exclude_batch = false;
  EXPECT_THAT(CheckStreamIsOfJob(stream, job, job.name).message(), HasSubstr("exclude None"));
  links.negatives.count = 1;
  EXPECT_THAT(CheckStreamIsOfJob(stream, job, job.name).message(),
              HasSubstr("batches of links, but this sampler's job has batches of labeled edges"));
}

}  // namespace
}  // namespace espalier::server
