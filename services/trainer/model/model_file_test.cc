// Model files are loaded into matching models; others are rejected with the field of the document that does not match.
#include "services/trainer/model/model_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "services/storage/memory_store.h"
#include "services/storage/testing/put_text.h"
#include "services/trainer/model/parameters.h"
#include "services/trainer/outputs.h"
#include "services/trainer/task/link_task.h"

namespace espalier::trainer {
namespace {

using testing::HasSubstr;

RunFacts ModelFacts() {
  RunFacts facts;
  facts.job.training.model.hidden_size = 8;
  facts.job.training.sampling.layers.resize(2);
  facts.job.training.inputs = {{"", {"feat"}}};
  facts.num_outputs = 3;
  facts.incarnation = 1;
  return facts;
}

std::shared_ptr<Model> NewModel(uint64_t seed) {
  ModelOptions options;
  options.model = ModelFacts().job.training.model;
  options.schema = *graph::GraphSchema::Make({"n"}, {{"n", "e", "n"}});
  options.input_widths = {5};
  options.num_outputs = 3;
  options.relations = {{EdgeTypeId(0)}, {EdgeTypeId(0)}};
  options.seed = seed;
  return *MakeModel(options);
}

// A store with a model file written by Outputs.
class ModelFileTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto outputs = Outputs::Open({store_, ""}, ModelFacts());
    ASSERT_TRUE(outputs.ok() && (*outputs)->WriteModel("best", GetState(*trained_)).ok());
  }
  Result<ModelFile> Read(const std::string& key = "results/000001/model/best.safetensors") {
    return ReadModelFile({store_, key});
  }

  std::shared_ptr<storage::MemoryStore> store_ = std::make_shared<storage::MemoryStore>();
  std::shared_ptr<Model> trained_ = NewModel(1);
};

TEST_F(ModelFileTest, RoundTripsParameters) {
  const Result<ModelFile> file = Read();
  ASSERT_TRUE(file.ok()) << file.status().ToString();
  EXPECT_EQ(*ReadNumOutputs(*file), 3);
  const std::shared_ptr<Model> model = NewModel(2);
  ASSERT_NE(DigestParameters(*model), DigestParameters(*trained_));
  const Status loaded = LoadModelFile(*file, ModelMetadata(ModelFacts()), *model);
  ASSERT_TRUE(loaded.ok()) << loaded.ToString();
  EXPECT_EQ(DigestParameters(*model), DigestParameters(*trained_));
}

TEST_F(ModelFileTest, NamesMismatchedField) {
  const Result<ModelFile> file = Read();
  ASSERT_TRUE(file.ok());
  const auto refused = [&](const std::function<void(RunFacts*)>& change) {
    RunFacts facts = ModelFacts();
    change(&facts);
    const Status status = LoadModelFile(*file, ModelMetadata(facts), *trained_);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    return status.message();
  };
  EXPECT_THAT(refused([](RunFacts* f) { f->job.training.model.hidden_size = 9; }),
              HasSubstr("spec.training.model.hiddenSize is '9', but the model in"));
  EXPECT_THAT(refused([](RunFacts* f) { f->job.training.model.aggregator = job::Aggregator::kPool; }),
              HasSubstr("spec.training.model.aggregator"));
  EXPECT_THAT(refused([](RunFacts* f) { f->job.training.sampling.layers.resize(3); }),
              HasSubstr("spec.training.sampling.layers is '3'"));
  EXPECT_THAT(refused([](RunFacts* f) { f->job.training.inputs[0].features = {"other"}; }),
              HasSubstr("spec.training.inputs.features is 'other'"));
  EXPECT_THAT(refused([](RunFacts* f) { f->num_outputs = 4; }), HasSubstr("was made with '3'"));
}

// The parameters of DistMult and TransE have the same names and shapes, so only the metadata distinguishes them.
TEST_F(ModelFileTest, NamesMismatchedScorer) {
  const auto facts_of = [](job::Scorer scorer) {
    RunFacts facts = ModelFacts();
    facts.job.training.task.type = job::TaskType::kLinkPrediction;
    facts.job.training.task.scorer = scorer;
    facts.task.model_metadata = LinkModelMetadata(facts.job.training.task, {});
    return facts;
  };
  const auto outputs = Outputs::Open({store_, "links"}, facts_of(job::Scorer::kTransE));
  ASSERT_TRUE(outputs.ok() && (*outputs)->WriteModel("best", GetState(*trained_)).ok());
  const Result<ModelFile> links = Read("links/results/000001/model/best.safetensors");
  ASSERT_TRUE(links.ok()) << links.status().ToString();
  EXPECT_EQ(LoadModelFile(*links, ModelMetadata(facts_of(job::Scorer::kTransE)), *trained_), Status());
  const Status other = LoadModelFile(*links, ModelMetadata(facts_of(job::Scorer::kDistMult)), *trained_);
  EXPECT_EQ(other.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(other.message(), HasSubstr("spec.training.task.scorer is 'DistMult', but the model in"));
  EXPECT_THAT(other.message(), HasSubstr("was made with 'TransE'"));

  const Result<ModelFile> nodes = Read();
  ASSERT_TRUE(nodes.ok());
  EXPECT_THAT(LoadModelFile(*nodes, ModelMetadata(facts_of(job::Scorer::kDot)), *trained_).message(),
              HasSubstr("was made for another task: it has no scorer of links"));
}

// The relations of the rows of scorer.relation must match, however the documents name the edge types.
TEST_F(ModelFileTest, NamesMismatchedRelation) {
  const auto facts_of = [](const std::string& edge_type, const std::vector<std::string>& relations) {
    RunFacts facts = ModelFacts();
    facts.job.training.task.type = job::TaskType::kLinkPrediction;
    facts.job.training.task.scorer = job::Scorer::kDistMult;
    facts.job.training.task.edge_type = edge_type;
    facts.task.model_metadata = LinkModelMetadata(facts.job.training.task, relations);
    return facts;
  };
  const auto file_of = [&](const std::string& folder, const RunFacts& facts) {
    const auto outputs = Outputs::Open({store_, folder}, facts);
    EXPECT_TRUE(outputs.ok() && (*outputs)->WriteModel("best", GetState(*trained_)).ok());
    return Read(folder + "/results/000001/model/best.safetensors");
  };
  const auto status_of = [&](const Result<ModelFile>& file, const RunFacts& facts) {
    return file.ok() ? LoadModelFile(*file, ModelMetadata(facts), *trained_) : file.status();
  };
  const Result<ModelFile> two = file_of("two", facts_of("", {"n:a:n", "n:b:n"}));
  EXPECT_EQ(status_of(two, facts_of("", {"n:a:n", "n:b:n"})), Status());
  const Status renamed = status_of(two, facts_of("", {"n:0b:n", "n:a:n"}));
  EXPECT_EQ(renamed.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(renamed.message(), HasSubstr("relation 0 of the scorer is 'n:0b:n', but in the model in"));
  EXPECT_THAT(renamed.message(), HasSubstr("it is 'n:a:n'"));
  EXPECT_THAT(status_of(two, facts_of("a", {"n:a:n"})).message(), HasSubstr("relation 1 of the scorer is none"));

  const Result<ModelFile> one = file_of("one", facts_of("a", {"n:a:n"}));
  EXPECT_EQ(status_of(one, facts_of("n:a:n", {"n:a:n"})), Status());
  EXPECT_EQ(status_of(one, facts_of("a", {"node:a:node"})), Status()) << "the same name on another graph";
  EXPECT_THAT(status_of(one, facts_of("b", {"n:b:n"})).message(), HasSubstr("it is 'n:a:n'"));

  const Result<ModelFile> older = file_of("older", facts_of("a", {}));
  EXPECT_EQ(status_of(older, facts_of("a", {"n:a:n"})), Status());
  EXPECT_THAT(status_of(older, facts_of("b", {"n:b:n"})).message(),
              HasSubstr("spec.training.task.edgeType is 'b', but the model in"));
}

TEST_F(ModelFileTest, RefusesOtherFiles) {
  EXPECT_EQ(Read("nowhere").status().code(), StatusCode::kNotFound);
  ASSERT_TRUE(storage::PutText(*store_, "text", "no safetensors at all").ok());
  EXPECT_THAT(Read("text").status().message(), HasSubstr("/text"));
  const auto writer = store_->Put("foreign");
  ASSERT_TRUE(format::WriteSafetensors({{{"w", Tensor::Zeros(DType::kF32, {1})}}, {}}, **writer).ok());
  ASSERT_TRUE((*writer)->Commit().ok());
  EXPECT_THAT(Read("foreign").status().message(), HasSubstr("is not an Espalier model file"));
}

TEST_F(ModelFileTest, NamesFilesOfPytorchAndTheRemedy) {
  ASSERT_TRUE(
      storage::PutText(*store_, "module.pt", std::string("PK\3\4", 4) + "m/data.pkl m/constants.pkl PK\5\6").ok());
  EXPECT_THAT(
      Read("module.pt").status().message(),
      HasSubstr("module.pt is a TorchScript archive (torch.jit.save): set spec.training.model.type to TorchScript"));
  ASSERT_TRUE(storage::PutText(*store_, "state.pt", std::string("PK\3\4", 4) + "archive/data.pkl PK\5\6").ok());
  EXPECT_THAT(Read("state.pt").status().message(),
              HasSubstr("state.pt is a file of torch.save: built-in models read files that a run wrote to model/"));
  EXPECT_EQ(Read("state.pt").status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace espalier::trainer
