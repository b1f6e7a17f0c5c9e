#include "services/shard/mutable_tensors.h"

#include <optional>
#include <set>

#include "services/sampler/row_source.h"
#include "services/shard/id_array.h"
#include "services/shard/tensor_initializer.h"

namespace espalier::shard {
namespace {

// Jobs without tensors are forgotten beyond this many.
constexpr size_t kJobs = 4096;

Status Taken(const sampler::TensorId& tensor, const std::string& by) {
  return AlreadyExists("tensor '" + tensor.name + "': the name is taken by " + by);
}

}  // namespace

MutableTensors::MutableTensors(const graph::PartitionBook& book, const graph::Partition& partition,
                               const MutableTensorLimits& limits)
    : book_(book), partition_(partition), limits_(limits) {}

Status MutableTensors::CheckNoColumnHasTheName(const sampler::TensorId& tensor) const {
  const auto refuse = [&] {
    return AlreadyExists("'" + tensor.name + "' is an immutable column of " + NameOf(tensor.rows, book_));
  };
  switch (tensor.rows.of) {
    case sampler::RowsOf::kNodes:
      if (tensor.name == sampler::kOriginalIdColumn) return refuse();
      if (partition_.nodes[tensor.rows.type].columns.contains(tensor.name)) return refuse();
      break;
    case sampler::RowsOf::kEdges:
      if (tensor.name == sampler::kOriginalIdColumn) return refuse();
      if (tensor.rows.type < partition_.edge_columns.size() &&
          partition_.edge_columns[tensor.rows.type].contains(tensor.name)) {
        return refuse();
      }
      break;
    case sampler::RowsOf::kOwn: break;
  }
  return Status();
}

Status MutableTensors::CheckCount(size_t count) const {
  if (count <= limits_.max_rows_per_request) return Status();
  return ResourceExhausted("a request for " + std::to_string(count) + " rows, the limit is " +
                           std::to_string(limits_.max_rows_per_request));
}

Result<std::function<uint64_t(uint64_t)>> MutableTensors::OriginalIds(const sampler::RowSpace& rows) const {
  RETURN_IF_ERROR(CheckRowSpace(rows, book_));
  const auto of_array = [](const Tensor& ids) {
    return std::function<uint64_t(uint64_t)>([ids](uint64_t row) { return IdArray(ids)[row]; });
  };
  switch (rows.of) {
    case sampler::RowsOf::kNodes: return of_array(partition_.nodes[rows.type].original_ids);
    case sampler::RowsOf::kEdges: {
      const EdgeTypeId type(rows.type);
      const bool loaded = rows.type < partition_.original_edge_ids.size() &&
                          static_cast<uint64_t>(partition_.original_edge_ids[rows.type].num_elements()) ==
                              book_.NumOwnedEdges(partition_.id, type);
      if (loaded) return of_array(partition_.original_edge_ids[rows.type]);
      return FailedPrecondition(
          "the partition was loaded without the edges' original ids, which the random values of " +
          NameOf(rows, book_) + " depend on");
    }
    case sampler::RowsOf::kOwn: break;
  }
  const uint64_t first = FirstRows(rows, book_)[partition_.id.value];
  return std::function<uint64_t(uint64_t)>([first](uint64_t row) { return first + row; });
}

Status MutableTensors::EnterIncarnation(const std::string& job, uint64_t incarnation) {
  if (newest_incarnations_.size() >= kJobs && !newest_incarnations_.contains(job)) {
    std::set<std::string> with_tensors;
    for (const auto& [key, entry] : entries_) with_tensors.insert(std::get<0>(key));
    std::erase_if(newest_incarnations_, [&](const auto& known) { return !with_tensors.contains(known.first); });
  }
  uint64_t& newest = newest_incarnations_[job];
  if (incarnation < newest) {
    return Aborted("incarnation " + std::to_string(incarnation) + " of the job creates a tensor after incarnation " +
                   std::to_string(newest));
  }
  if (incarnation == newest) return Status();
  newest = incarnation;
  std::erase_if(entries_, [&](const auto& entry) ABSL_NO_THREAD_SAFETY_ANALYSIS {
    if (std::get<0>(entry.first) != job || entry.second.incarnation >= incarnation) return false;
    size_bytes_ -= entry.second.rows->size_bytes();
    return true;
  });
  return Status();
}

Result<sampler::TensorDescription> MutableTensors::Create(const sampler::TensorSpec& spec, uint64_t creation) {
  RETURN_IF_ERROR(CheckSpec(spec));
  RETURN_IF_ERROR(CheckRowSpace(spec.id.rows, book_));
  RETURN_IF_ERROR(CheckNoColumnHasTheName(spec.id));
  const std::vector<uint64_t> first = FirstRows(spec.id.rows, book_);
  const uint64_t num_rows = first[partition_.id.value + 1] - first[partition_.id.value];
  const std::string what = "tensor '" + spec.id.name + "'";
  if (num_rows > sampler::TensorLimits::kMaxRowsPerPartition) {
    return ResourceExhausted(what + " has " + std::to_string(num_rows) + " rows in one partition, the limit is " +
                             std::to_string(sampler::TensorLimits::kMaxRowsPerPartition));
  }
  std::function<uint64_t(uint64_t)> original_ids;
  if (IsRandom(spec.initializer)) {
    ASSIGN_OR_RETURN(original_ids, OriginalIds(spec.id.rows));
  }
  // Rows have at most 2^32 - 1 of at most kMaxRowBytes: no overflow.
  const uint64_t size_bytes = num_rows * sampler::RowBytes(spec.dtype, spec.row_shape);

  std::shared_ptr<TensorRows> rows;
  std::optional<TensorRows::Filling> filling;
  {
    MutexLock lock(&mutex_);
    RETURN_IF_ERROR(EnterIncarnation(spec.id.job, spec.incarnation));
    const auto found = entries_.find(KeyOf(spec.id));
    if (found != entries_.end()) {
      const Entry& entry = found->second;
      if (entry.num_own_rows != spec.id.rows.num_own_rows) {
        return Taken(spec.id, "one of " + std::to_string(entry.num_own_rows) + " rows, not " +
                                  std::to_string(spec.id.rows.num_own_rows));
      }
      return sampler::TensorDescription{entry.rows->dtype(), entry.rows->row_shape(), entry.creation};
    }
    if (entries_.size() >= sampler::TensorLimits::kMaxTensors) {
      return ResourceExhausted(what + " would be one of more than " +
                               std::to_string(sampler::TensorLimits::kMaxTensors) + " tensors");
    }
    if (size_bytes > limits_.max_bytes - size_bytes_) {
      return ResourceExhausted(what + " needs " + std::to_string(size_bytes) + " bytes; " +
                               std::to_string(limits_.max_bytes - size_bytes_) + " of " +
                               std::to_string(limits_.max_bytes) + " are left");
    }
    Result<std::shared_ptr<TensorRows>> made = TensorRows::Make(spec.dtype, spec.row_shape, num_rows);
    if (!made.ok()) return std::move(made).status().While(what);
    rows = *std::move(made);
    // Who finds the tensor from now on waits for its first values.
    filling.emplace(*rows);
    entries_.emplace(KeyOf(spec.id), Entry{rows, spec.id.rows.num_own_rows, creation, spec.incarnation});
    size_bytes_ += size_bytes;
  }
  FillRows(spec, first.back(), original_ids, num_rows, filling->bytes());
  return sampler::TensorDescription{spec.dtype, spec.row_shape, creation};
}

void MutableTensors::Create(const sampler::TensorSpec& spec, uint64_t creation, Deadline,
                            sampler::Done<sampler::TensorDescription> done) {
  done(Create(spec, creation));
}

void MutableTensors::Drop(const sampler::TensorId& tensor, uint64_t creation, Deadline, sampler::DoneStatus done) {
  if (const Status checked = CheckRowSpace(tensor.rows, book_); !checked.ok()) return done(checked);
  {
    MutexLock lock(&mutex_);
    const auto found = entries_.find(KeyOf(tensor));
    if (found != entries_.end() && (creation == 0 || creation == found->second.creation)) {
      size_bytes_ -= found->second.rows->size_bytes();
      entries_.erase(found);
    }
  }
  done(Status());
}

void MutableTensors::Describe(const sampler::TensorId& tensor, Deadline,
                              sampler::Done<sampler::TensorDescription> done) {
  const Result<Entry> found = FindEntry(tensor);
  if (!found.ok()) return done(found.status());
  done(sampler::TensorDescription{found->rows->dtype(), found->rows->row_shape(), found->creation});
}

Result<std::shared_ptr<TensorRows>> MutableTensors::Find(const sampler::TensorId& tensor) const {
  ASSIGN_OR_RETURN(const Entry entry, FindEntry(tensor));
  return entry.rows;
}

Result<MutableTensors::Entry> MutableTensors::FindEntry(const sampler::TensorId& tensor) const {
  RETURN_IF_ERROR(CheckRowSpace(tensor.rows, book_));
  constexpr int kNamesInMessage = 16;
  MutexLock lock(&mutex_);
  const auto found = entries_.find(KeyOf(tensor));
  if (found != entries_.end() && found->second.num_own_rows == tensor.rows.num_own_rows) return found->second;
  std::string others;
  int count = 0;
  for (const auto& [key, entry] : entries_) {
    const auto& [job, of, type, name] = key;
    if (job != tensor.job || of != tensor.rows.of || type != tensor.rows.type) continue;
    if (++count <= kNamesInMessage) others += (others.empty() ? "'" : ", '") + name + "'";
  }
  if (count > kNamesInMessage) others += " and " + std::to_string(count - kNamesInMessage) + " more";
  return NotFound("there is no tensor '" + tensor.name.substr(0, 128) + "' of " + NameOf(tensor.rows, book_) +
                  "; there are " + (others.empty() ? "none" : others));
}

void MutableTensors::Read(const sampler::TensorId& tensor, std::span<const LocalRowId> rows, sampler::RowSink sink,
                          Deadline, sampler::DoneStatus done) {
  if (const Status checked = CheckCount(rows.size()); !checked.ok()) return done(checked);
  const Result<std::shared_ptr<TensorRows>> found = Find(tensor);
  done(found.ok() ? (**found).Gather(rows, sink) : found.status());
}

void MutableTensors::Write(const sampler::TensorId& tensor, sampler::RowWrite write, std::vector<LocalRowId> rows,
                           Tensor values, Deadline, sampler::DoneStatus done) {
  if (const Status checked = CheckCount(rows.size()); !checked.ok()) return done(checked);
  const Result<std::shared_ptr<TensorRows>> found = Find(tensor);
  done(found.ok() ? (**found).Write(write, rows, values, tensor.name) : found.status());
}

void MutableTensors::Combine(const sampler::TensorId& tensor, sampler::RowWrite write, const std::string& from,
                             Deadline, sampler::DoneStatus done) {
  const Result<std::shared_ptr<TensorRows>> into = Find(tensor);
  if (!into.ok()) return done(into.status());
  const Result<std::shared_ptr<TensorRows>> other = Find({tensor.rows, from, tensor.job});
  done(other.ok() ? (**into).Combine(write, **other, tensor.name) : other.status());
}

void MutableTensors::Reduce(const sampler::TensorId& tensor, sampler::Reduction reduction, Deadline,
                            sampler::Done<Tensor> done) {
  const Result<std::shared_ptr<TensorRows>> found = Find(tensor);
  if (!found.ok()) return done(found.status());
  done((**found).Reduce(reduction));
}

uint64_t MutableTensors::SizeBytes() const {
  MutexLock lock(&mutex_);
  return size_bytes_;
}

}  // namespace espalier::shard
