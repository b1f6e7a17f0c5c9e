// The fields of spec.training.inputs[].embedding: learnable rows.
#include "services/job/fields/field_table.h"

namespace espalier::job {

std::vector<FieldSpec> EmbeddingFields() {
  using enum FieldType;
  const std::string embedding = "spec.training.inputs[].embedding";
  const std::string initializer = embedding + ".initializer", optimizer = embedding + ".optimizer";
  const std::string schedule = embedding + ".learningRateSchedule";
  std::vector<FieldSpec> table = {
      {.path = embedding,
       .member = &Input::embedding,
       .meaning = "learnable embedding of the node type, concatenated to its features"},
      {.path = embedding + ".size",
       .member = &Embedding::size,
       .required = true,
       .minimum_integer = 1,
       .maximum_integer = 16'384,
       .meaning = "embedding dimension"},
      {.path = embedding + ".dtype",
       .member = &Embedding::dtype,
       .meaning = "data type of the rows that trainers read; updates are computed in F32"},
      {.path = initializer,
       .member = &Embedding::initializer,
       .meaning = "initial values; they depend on the seed and the original node id"},
      {.path = initializer + ".type",
       .member = &RowInitializer::type,
       .meaning = "distribution of the initial values; Plugin: an initializer of a server plugin"},
      {.path = initializer + ".low",
       .member = &RowInitializer::low,
       .minimum = -1000,
       .maximum = 1000,
       .meaning = "Uniform: lower bound"},
      {.path = initializer + ".high",
       .member = &RowInitializer::high,
       .minimum = -1000,
       .maximum = 1000,
       .meaning = "Uniform: upper bound"},
      {.path = initializer + ".mean",
       .member = &RowInitializer::mean,
       .minimum = -1000,
       .maximum = 1000,
       .meaning = "Normal: mean"},
      {.path = initializer + ".deviation",
       .member = &RowInitializer::deviation,
       .minimum = 0,
       .maximum = 1000,
       .meaning = "Normal: standard deviation"},
      {.path = initializer + ".plugin",
       .member = &RowInitializer::plugin,
       .type = kPluginItem,
       .meaning = "Plugin: initializer, as `<name of the plugin in spec.servers.plugins>/<initializer>`"},
      {.path = initializer + ".arguments",
       .member = &RowInitializer::arguments,
       .meaning = "Plugin: argument of the initializer"},
      {.path = optimizer,
       .member = &Embedding::optimizer,
       .meaning = "sparse optimizer of the rows; it runs on the servers that own them"},
      {.path = optimizer + ".type",
       .member = &SparseOptimizer::type,
       .meaning = "optimization algorithm; a step updates only the rows of its mini-batch"},
      {.path = optimizer + ".learningRate",
       .member = &SparseOptimizer::learning_rate,
       .minimum = 0,
       .maximum = 1000,
       .above_minimum = true,
       .meaning = "learning rate"},
      {.path = optimizer + ".weightDecay",
       .member = &SparseOptimizer::weight_decay,
       .minimum = 0,
       .maximum = 1000,
       .meaning = "weight decay of the rows of a step: an L2 penalty, decoupled for AdamW"},
      {.path = optimizer + ".duplicates",
       .member = &SparseOptimizer::duplicates,
       .meaning = "reduction of a step's gradients of the same row"},
      {.path = optimizer + ".initialAccumulator",
       .member = &SparseOptimizer::initial_accumulator,
       .minimum = 0,
       .maximum = 1000,
       .meaning = "Adagrad, RowWiseAdagrad: initial value of the sums of squares"},
      {.path = schedule, .member = &Embedding::schedule, .meaning = "learning-rate schedule of the rows"},
  };
  const std::vector<FieldSpec> schedule_fields = ScheduleFields(schedule);
  table.insert(table.end(), schedule_fields.begin(), schedule_fields.end());
  return table;
}

}  // namespace espalier::job
