// A plugin finds a tensor by name and then refers to it by a number, the index in known_. The owner of the tensors
// answers through callbacks; WaitForResult and WaitForStatus block until it has. Change copies the values into
// changes_, which Apply writes after the function has returned. A read of a row that the same call has changed is
// refused, because it would return the old values.
#include "services/server/plugin_tensors.h"

#include <cstring>
#include <future>
#include <limits>
#include <memory>
#include <numeric>
#include <utility>

#include "services/graph/schema.h"

namespace espalier::server {
namespace {

using sampler::RowsOf;
using sampler::RowWrite;

constexpr bool HasNumber(RowsOf of, uint32_t number) { return static_cast<uint32_t>(of) == number; }
static_assert(HasNumber(RowsOf::kNodes, ESPALIER_ROWS_OF_NODES) && HasNumber(RowsOf::kEdges, ESPALIER_ROWS_OF_EDGES) &&
              HasNumber(RowsOf::kOwn, ESPALIER_ROWS_OF_OWN));
constexpr bool HasNumber(RowWrite write, uint32_t number) { return static_cast<uint32_t>(write) == number; }
static_assert(HasNumber(RowWrite::kAssign, ESPALIER_ASSIGN) && HasNumber(RowWrite::kAdd, ESPALIER_ADD) &&
              HasNumber(RowWrite::kMin, ESPALIER_MIN) && HasNumber(RowWrite::kMax, ESPALIER_MAX) &&
              HasNumber(RowWrite::kOr, ESPALIER_OR));

constexpr size_t kMaxNameBytes = 128;      // the limit of graph::CheckName
constexpr uint64_t kBytesPerChange = 256;  // overhead besides rows and values, as documented in espalier_plugin.h

// Calls `ask` with a callback and blocks until the callback is called. An owner in this process calls it at once.
template <class T, class Ask>
Result<T> WaitForResult(Ask ask) {
  const auto answer = std::make_shared<std::promise<Result<T>>>();
  ask([answer](Result<T> result) { answer->set_value(std::move(result)); });
  return answer->get_future().get();
}
template <class Ask>
Status WaitForStatus(Ask ask) {
  const auto answer = std::make_shared<std::promise<Status>>();
  ask([answer](Status status) { answer->set_value(std::move(status)); });
  return answer->get_future().get();
}

Result<sampler::RowSpace> ParseRowSpace(uint32_t rows_of, uint32_t type) {
  if (rows_of > ESPALIER_ROWS_OF_OWN) {
    return InvalidArgument("rows of kind " + std::to_string(rows_of) + " do not exist");
  }
  const bool is_own = rows_of == ESPALIER_ROWS_OF_OWN;
  if (type > (is_own ? 0 : std::numeric_limits<uint16_t>::max())) {
    return InvalidArgument("type " + std::to_string(type) +
                           (is_own ? ": own rows have none, expected 0" : " does not exist"));
  }
  return sampler::RowSpace{static_cast<RowsOf>(rows_of), static_cast<uint16_t>(type), 0};
}

}  // namespace

PluginTensors::PluginTensors(sampler::PartitionTensors& tensors, const graph::PartitionBook& book,
                             PartitionId partition, Caller caller, TensorUse use, const ServiceLimits& limits)
    : tensors_(tensors), book_(book), partition_(partition), caller_(std::move(caller)), use_(use), limits_(limits) {}

EspalierTensor PluginTensors::MakeView(uint32_t number, const Known& known) {
  return {.number = number,
          .dtype = static_cast<uint32_t>(known.description.dtype),
          .row_shape = known.description.row_shape.data(),
          .row_rank = static_cast<uint32_t>(known.description.row_shape.size()),
          .row_bytes = known.row_bytes,
          .count = known.count,
          .first = known.first,
          .total = known.total};
}

Result<PluginTensors::Known> PluginTensors::Describe(const sampler::TensorId& id) {
  Known known;
  known.id = id;
  ASSIGN_OR_RETURN(known.description, WaitForResult<sampler::TensorDescription>([&](auto done) {
                     tensors_.Describe(id, caller_.deadline, std::move(done));
                   }));
  if (!known.description.is_complete) return Unavailable("tensor '" + id.name + "' is being created by another client");
  known.id.creation = known.description.creation;
  known.id.rows.num_own_rows = known.description.num_own_rows;
  known.row_bytes = sampler::RowBytes(known.description.dtype, known.description.row_shape);
  const std::vector<uint64_t> first = FirstRows(known.id.rows, book_);
  known.first = first[partition_.value];
  known.count = first[partition_.value + 1] - known.first;
  known.total = first.back();
  return known;
}

Status PluginTensors::Find(uint32_t rows_of, uint32_t type, const char* name, EspalierTensor* out) {
  if (name == nullptr || out == nullptr) {
    return InvalidArgument("find_tensor was given null for its name or its result");
  }
  sampler::TensorId id;
  ASSIGN_OR_RETURN(id.rows, ParseRowSpace(rows_of, type));
  id.name.assign(name, strnlen(name, kMaxNameBytes + 1));
  RETURN_IF_ERROR(graph::CheckName("tensor", id.name));
  id.job = caller_.job;
  id.incarnation = caller_.incarnation;
  for (uint32_t number = 0; number < known_.size(); ++number) {
    const sampler::TensorId& known = known_[number].id;
    const bool is_same = known.rows.of == id.rows.of && known.rows.type == id.rows.type && known.name == id.name;
    if (!is_same) continue;
    *out = MakeView(number, known_[number]);
    return Status();
  }
  ASSIGN_OR_RETURN(Known found, Describe(id));
  known_.push_back(std::move(found));
  *out = MakeView(static_cast<uint32_t>(known_.size() - 1), known_.back());
  return Status();
}

Result<PluginTensors::Known*> PluginTensors::FindByNumber(uint32_t tensor) {
  if (tensor < known_.size()) return &known_[tensor];
  return InvalidArgument("no tensor has number " + std::to_string(tensor) + ": this call has found " +
                         std::to_string(known_.size()) + " tensors, numbered from 0");
}

Result<std::vector<LocalRowId>> PluginTensors::CheckRows(const Known& known, const EspalierTensorRows& rows) const {
  const std::string what = "tensor '" + known.id.name + "'";
  const DType dtype = known.description.dtype;
  if (rows.dtype != static_cast<uint32_t>(dtype)) {
    return InvalidArgument(what + " has elements of dtype " + std::to_string(static_cast<uint32_t>(dtype)) + " (" +
                           ToString(dtype) + "), not " + std::to_string(rows.dtype));
  }
  if (rows.count > limits_.max_rows) {
    return ResourceExhausted(what + ": " + std::to_string(rows.count) + " rows at once, the limit is " +
                             std::to_string(limits_.max_rows));
  }
  if (rows.count > 0 && rows.rows == nullptr) return InvalidArgument(what + ": the array of row numbers is null");
  if (rows.value_bytes != rows.count * known.row_bytes) {  // at most 2^28 times 16 MiB, so no overflow
    return InvalidArgument(what + ": " + std::to_string(rows.value_bytes) + " bytes for " + std::to_string(rows.count) +
                           " rows of " + std::to_string(known.row_bytes) + " bytes");
  }
  if (rows.value_bytes > 0 && rows.values == nullptr)
    return InvalidArgument(what + ": the array of row values is null");
  std::vector<LocalRowId> checked;
  checked.reserve(rows.count);
  for (uint64_t i = 0; i < rows.count; ++i) {
    if (rows.rows[i] >= known.count) {
      return InvalidArgument("row " + std::to_string(rows.rows[i]) + " of " + what + " is not one of the " +
                             std::to_string(known.count) + " that the partition owns");
    }
    checked.emplace_back(static_cast<uint32_t>(rows.rows[i]));
  }
  return checked;
}

Status PluginTensors::CheckUnchanged(uint32_t tensor, Known& known, const std::vector<LocalRowId>& rows) {
  if (known.row_bytes == 0) return Status();  // nothing to read
  for (; known.changes_seen < changes_.size(); ++known.changes_seen) {
    const RowChange& change = changes_[known.changes_seen];
    if (change.tensor != tensor) continue;
    known.is_changed.resize(known.count);  // one bit per row, so less memory than the rows
    for (const LocalRowId row : change.rows) known.is_changed[row.value] = true;
  }
  if (known.is_changed.empty()) return Status();
  for (const LocalRowId row : rows) {
    if (!known.is_changed[row.value]) continue;
    return FailedPrecondition("row " + std::to_string(row.value) + " of tensor '" + known.id.name +
                              "' is read after a change, which takes effect when the function returns: read it before");
  }
  return Status();
}

Status PluginTensors::Read(uint32_t tensor, const EspalierTensorRows& rows) {
  ASSIGN_OR_RETURN(Known* const known, FindByNumber(tensor));
  ASSIGN_OR_RETURN(const std::vector<LocalRowId> requested, CheckRows(*known, rows));
  RETURN_IF_ERROR(CheckUnchanged(tensor, *known, requested));
  std::vector<uint32_t> positions(requested.size());
  std::iota(positions.begin(), positions.end(), uint32_t{0});
  const sampler::RowSink sink{static_cast<std::byte*>(rows.values), known->row_bytes, positions};
  return WaitForStatus(
      [&](auto done) { tensors_.Read(known->id, requested, sink, caller_.deadline, std::move(done)); });
}

Status PluginTensors::Change(uint32_t tensor, uint32_t how, const EspalierTensorRows& rows) {
  ASSIGN_OR_RETURN(Known* const known, FindByNumber(tensor));
  const std::string what = "tensor '" + known->id.name + "'";
  if (use_ != TensorUse::kChanges) {
    return FailedPrecondition(what + " cannot be changed by a function that is not ESPALIER_CHANGING");
  }
  if (how > ESPALIER_OR) return InvalidArgument("there is no change of kind " + std::to_string(how));
  const auto write = static_cast<RowWrite>(how);
  RETURN_IF_ERROR(sampler::CheckWrite(write, known->description.dtype).While(what));
  ASSIGN_OR_RETURN(std::vector<LocalRowId> changed, CheckRows(*known, rows));
  const uint64_t bytes = kBytesPerChange + changed.size() * sizeof(LocalRowId) + rows.value_bytes;
  if (bytes > limits_.max_change_bytes - change_bytes_) {
    return ResourceExhausted(what + ": the call's changes would take " + std::to_string(change_bytes_ + bytes) +
                             " bytes, the limit is " + std::to_string(limits_.max_change_bytes));
  }
  std::vector<int64_t> shape = {static_cast<int64_t>(changed.size())};
  const std::vector<int64_t>& row_shape = known->description.row_shape;
  shape.insert(shape.end(), row_shape.begin(), row_shape.end());
  const auto* const given = static_cast<const std::byte*>(rows.values);
  const auto bytes_given = std::make_shared<std::vector<std::byte>>(given, given + rows.value_bytes);
  Tensor values = Tensor::Wrap(known->description.dtype, std::move(shape), bytes_given->data(), bytes_given);
  changes_.push_back({tensor, write, std::move(changed), std::move(values)});
  change_bytes_ += bytes;
  return Status();
}

Status PluginTensors::Apply() {
  if (changes_.empty()) return Status();
  if (caller_.deadline.HasPassed()) {
    return DeadlineExceeded("the function has returned after the caller's deadline: no changes are made");
  }
  for (RowChange& change : std::exchange(changes_, {})) {
    const Known& known = known_[change.tensor];
    const Status made = WaitForStatus([&](auto done) {
      tensors_.Write(known.id, change.write, std::move(change.rows), std::move(change.values), caller_.deadline,
                     std::move(done));
    });
    // Change has checked the rows and values. A tensor that has been dropped since gives NotFound, which is no error.
    if (!made.ok() && made.code() != StatusCode::kNotFound) return Internal("changing rows: " + made.message());
  }
  return Status();
}

}  // namespace espalier::server
