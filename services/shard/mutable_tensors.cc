// How a tensor is created. Partition 0 keeps the register of names: it assigns the creation number, and the tensor is
// complete once the client reports (Complete) that all partitions have the rows. Create reserves name and memory under
// the lock, fills the rows outside it (an initializer may take long; meanwhile is_filled is false, and reads and writes
// return Unavailable), then checks under the lock that the entry still exists. The creation numbers of dropped tensors
// are remembered, so that a Create that arrives after its Drop creates nothing. Memory is always freed outside the lock
// (Freed).
#include "services/shard/mutable_tensors.h"

#include "services/base/unique_number.h"
#include "services/sampler/access/row_source.h"
#include "services/shard/id_array.h"
#include "services/shard/plugin_rows.h"
#include "services/shard/tensor_initializer.h"

namespace espalier::shard {
namespace {

// If more jobs than this are known, the jobs without tensors are forgotten.
constexpr size_t kMaxKnownJobs = 4096;
// How many creation numbers of dropped tensors are remembered.
constexpr size_t kMaxDroppedCreations = 4096;

constexpr int kRegistryShift = 32;  // the upper 32 bits of a creation number identify the register of names

bool AreOfSameRegistry(uint64_t a, uint64_t b) { return a >> kRegistryShift == b >> kRegistryShift; }

Status MakeNameTakenError(const sampler::TensorId& tensor, const std::string& by) {
  return AlreadyExists("tensor '" + tensor.name + "': the name is taken by " + by);
}

}  // namespace

MutableTensors::MutableTensors(const graph::PartitionBook& book, const graph::Partition& partition,
                               const MutableTensorLimits& limits,
                               std::shared_ptr<const sampler::RowInitializers> initializers)
    : book_(book),
      partition_(partition),
      limits_(limits),
      initializers_(std::move(initializers)),
      original_edge_ids_(book, partition),
      registry_(UniqueNumber() << kRegistryShift) {}

Status MutableTensors::CheckNameIsNotAColumn(const sampler::TensorId& tensor) const {
  const auto refuse = [&] {
    return AlreadyExists("'" + tensor.name + "' is an immutable column of " + ToString(tensor.rows, book_));
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
  return ResourceExhausted("the request has " + std::to_string(count) + " rows, the limit is " +
                           std::to_string(limits_.max_rows_per_request));
}

Result<std::function<uint64_t(uint64_t)>> MutableTensors::MakeOriginalIdLookup(const sampler::RowSpace& rows) {
  RETURN_IF_ERROR(CheckRowSpace(rows, book_));
  const auto of_array = [](const Tensor& ids) {
    return std::function<uint64_t(uint64_t)>([ids](uint64_t row) { return IdArray(ids)[row]; });
  };
  switch (rows.of) {
    case sampler::RowsOf::kNodes: return of_array(partition_.nodes[rows.type].original_ids);
    case sampler::RowsOf::kEdges: {
      ASSIGN_OR_RETURN(const Tensor ids, original_edge_ids_.Get(EdgeTypeId(rows.type)));
      return of_array(ids);
    }
    case sampler::RowsOf::kOwn: break;
  }
  const uint64_t first = FirstRows(rows, book_)[partition_.id.value];
  return std::function<uint64_t(uint64_t)>([first](uint64_t row) { return first + row; });
}

Status MutableTensors::EnterIncarnation(const std::string& job, uint64_t incarnation, Freed& freed) {
  if (newest_incarnations_.size() >= kMaxKnownJobs && !newest_incarnations_.contains(job)) {
    std::set<std::string> with_tensors;
    for (const auto& [key, entry] : entries_) with_tensors.insert(std::get<0>(key));
    std::erase_if(newest_incarnations_, [&](const auto& known) { return !with_tensors.contains(known.first); });
  }
  uint64_t& newest = newest_incarnations_[job];
  if (incarnation < newest) {
    return Aborted("incarnation " + std::to_string(incarnation) + " of the job is out of date: the server has seen " +
                   "incarnation " + std::to_string(newest));
  }
  if (incarnation == newest) return Status();
  newest = incarnation;
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    const auto next = std::next(entry);
    if (std::get<0>(entry->first) == job && entry->second.incarnation < incarnation) Erase(entry, freed);
    entry = next;
  }
  return Status();
}

Status MutableTensors::EnterIncarnation(const std::string& job, uint64_t incarnation) {
  Freed freed;  // declared before the lock, so that its memory is freed after the lock is released
  MutexLock lock(&mutex_);
  return EnterIncarnation(job, incarnation, freed);
}

void MutableTensors::Erase(std::map<Key, Entry>::iterator entry, Freed& freed) {
  size_bytes_ -= entry->second.rows->size_bytes();
  freed.push_back(std::move(entry->second.rows));
  entries_.erase(entry);
}

void MutableTensors::RememberDropped(uint64_t creation) {
  if (creation == 0 || !dropped_.insert(creation).second) return;
  dropped_in_order_.push_back(creation);
  if (dropped_in_order_.size() <= kMaxDroppedCreations) return;
  dropped_.erase(dropped_in_order_.front());
  dropped_in_order_.pop_front();
}

sampler::TensorDescription MutableTensors::ToDescription(const Entry& entry) {
  return {.dtype = entry.rows->dtype(),
          .row_shape = entry.rows->row_shape(),
          .creation = entry.creation,
          .maker = entry.maker,
          .num_own_rows = entry.num_own_rows,
          .is_complete = entry.is_complete};
}

uint64_t MutableTensors::AssignCreation() { return registry_ | (++num_creations_ & 0xffff'ffffu); }

Result<std::optional<sampler::TensorDescription>> MutableTensors::FindOrFreeName(const sampler::TensorSpec& spec,
                                                                                 uint64_t creation, Freed& freed) {
  const std::string what = "tensor '" + spec.id.name + "'";
  if (dropped_.contains(creation)) return Aborted(what + " was dropped while it was being created");
  const auto found = entries_.find(ToKey(spec.id));
  if (found == entries_.end()) return std::optional<sampler::TensorDescription>();
  const Entry& entry = found->second;
  if (creation == 0 && !entry.is_complete && entry.maker != spec.maker) {
    if (!entry.maker_deadline.HasPassed()) return Unavailable(what + " is being created by another client");
    Erase(found, freed);
    return std::optional<sampler::TensorDescription>();
  }
  if (creation != 0 && creation != entry.creation) {
    if (!AreOfSameRegistry(creation, entry.creation)) {
      return NotFound(what +
                      " has rows on this partition, but partition 0 no longer has the tensor; drop it by its name "
                      "before you create it again");
    }
    if (creation < entry.creation) return Aborted(what + " has been dropped and recreated");
    Erase(found, freed);
    return std::optional<sampler::TensorDescription>();
  }
  if (entry.num_own_rows != spec.id.rows.num_own_rows) {
    return MakeNameTakenError(spec.id, "a tensor of " + std::to_string(entry.num_own_rows) + " rows, not " +
                                           std::to_string(spec.id.rows.num_own_rows));
  }
  if (!entry.is_filled) return Unavailable(what + " is being filled");
  return std::optional(ToDescription(entry));
}

Status MutableTensors::CheckRoomFor(const std::string& what, uint64_t size_bytes) const {
  if (entries_.size() >= sampler::TensorLimits::kMaxTensors) {
    return ResourceExhausted(what + ": the server already has " + std::to_string(entries_.size()) +
                             " tensors, the limit is " + std::to_string(sampler::TensorLimits::kMaxTensors));
  }
  if (size_bytes <= limits_.max_bytes - size_bytes_) return Status();
  return ResourceExhausted(what + " needs " + std::to_string(size_bytes) + " bytes; " +
                           std::to_string(limits_.max_bytes - size_bytes_) + " of " +
                           std::to_string(limits_.max_bytes) + " are left");
}

Status MutableTensors::CheckInitializerExists(const sampler::Initializer& initializer) const {
  if (initializer.kind != sampler::Initializer::Kind::kPlugin) return Status();
  if (initializers_ != nullptr) return initializers_->CheckExists(initializer.plugin);
  return Unimplemented("no initializer '" + initializer.plugin +
                       "'; the server of this partition has no plugins (spec.servers.plugins)");
}

Status MutableTensors::FillNew(const sampler::TensorSpec& spec, const std::function<uint64_t(uint64_t)>& original_ids,
                               Deadline deadline, TensorRows& rows) const {
  const TensorRows::ExclusiveAccess filling(rows);
  if (spec.initializer.kind != sampler::Initializer::Kind::kPlugin) {
    FillRows(spec, book_, original_ids, rows.num_rows(), filling.bytes());
    return Status();
  }
  return FillByPlugin({*initializers_, spec, book_, partition_, original_ids}, rows.num_rows(), deadline,
                      filling.bytes());
}

Result<sampler::TensorDescription> MutableTensors::Create(const sampler::TensorSpec& spec, uint64_t creation,
                                                          Deadline deadline) {
  RETURN_IF_ERROR(CheckSpec(spec));
  RETURN_IF_ERROR(CheckRowSpace(spec.id.rows, book_));
  RETURN_IF_ERROR(CheckNameIsNotAColumn(spec.id));
  const std::vector<uint64_t> first = FirstRows(spec.id.rows, book_);
  const uint64_t num_rows = first[partition_.id.value + 1] - first[partition_.id.value];
  const std::string what = "tensor '" + spec.id.name + "'";
  if (num_rows > sampler::TensorLimits::kMaxRowsPerPartition) {
    return ResourceExhausted(what + " has " + std::to_string(num_rows) + " rows in one partition, the limit is " +
                             std::to_string(sampler::TensorLimits::kMaxRowsPerPartition));
  }
  RETURN_IF_ERROR(CheckInitializerExists(spec.initializer).While(what));
  // At most 2^32 - 1 rows of at most kMaxRowBytes each, so no overflow.
  const uint64_t size_bytes = num_rows * sampler::RowBytes(spec.dtype, spec.row_shape);

  // On partitions other than 0, and if there is only one partition, the tensor is complete once its rows are filled.
  const bool is_complete_when_filled = creation != 0 || book_.num_partitions() == 1;

  RETURN_IF_ERROR(EnterIncarnation(spec.id.job, spec.id.incarnation));
  Freed freed;  // declared before the locks, so that its memory is freed after they are released
  std::function<uint64_t(uint64_t)> original_ids;
  if (NeedsOriginalIds(spec.initializer)) {
    {
      // If the name is taken, the ids are not needed and must not be fetched.
      MutexLock lock(&mutex_);
      ASSIGN_OR_RETURN(const std::optional<sampler::TensorDescription> found, FindOrFreeName(spec, creation, freed));
      if (found.has_value()) return *found;
    }
    ASSIGN_OR_RETURN(original_ids, MakeOriginalIdLookup(spec.id.rows));
  }
  std::shared_ptr<TensorRows> rows;
  {
    MutexLock lock(&mutex_);
    // Checked again: a newer incarnation may have arrived in between.
    RETURN_IF_ERROR(EnterIncarnation(spec.id.job, spec.id.incarnation, freed));
    ASSIGN_OR_RETURN(const std::optional<sampler::TensorDescription> found, FindOrFreeName(spec, creation, freed));
    if (found.has_value()) return *found;
    RETURN_IF_ERROR(CheckRoomFor(what, size_bytes));
    Result<std::shared_ptr<TensorRows>> made = TensorRows::Make(spec.dtype, spec.row_shape, num_rows);
    if (!made.ok()) return std::move(made).status().While(what);
    rows = *std::move(made);
    if (creation == 0) creation = AssignCreation();
    entries_.emplace(ToKey(spec.id), Entry{.rows = rows,
                                           .num_own_rows = spec.id.rows.num_own_rows,
                                           .creation = creation,
                                           .maker = spec.maker,
                                           .incarnation = spec.id.incarnation,
                                           .maker_deadline = deadline,
                                           .is_filled = false,
                                           .is_complete = false});
    size_bytes_ += size_bytes;
  }
  // Outside the lock: reads and writes of the tensor return Unavailable meanwhile.
  Status filled = FillNew(spec, original_ids, deadline, *rows);
  MutexLock lock(&mutex_);
  const auto entry = entries_.find(ToKey(spec.id));
  if (entry == entries_.end() || entry->second.rows != rows) return Aborted(what + " was dropped while it was filled");
  if (!filled.ok()) {
    Erase(entry, freed);
    return std::move(filled).While(what);
  }
  if (deadline.HasPassed()) {
    // The maker's call has failed with DeadlineExceeded, so the maker will never call Complete.
    Erase(entry, freed);
    return DeadlineExceeded(what + " took too long to fill");
  }
  entry->second.is_filled = true;
  if (is_complete_when_filled) entry->second.is_complete = true;
  return ToDescription(entry->second);
}

void MutableTensors::Create(const sampler::TensorSpec& spec, uint64_t creation, Deadline deadline,
                            sampler::Done<sampler::TensorDescription> done) {
  done(Create(spec, creation, deadline));
}

void MutableTensors::Complete(const sampler::TensorId& tensor, Deadline, sampler::DoneStatus done) {
  Status completed = CheckRowSpace(tensor.rows, book_);
  if (completed.ok()) {
    MutexLock lock(&mutex_);
    const auto found = entries_.find(ToKey(tensor));
    completed = found == entries_.end() ? TensorNotFound(tensor) : CheckMatches(tensor, found->second);
    if (completed.ok()) found->second.is_complete = true;
  }
  done(std::move(completed));
}

void MutableTensors::Drop(const sampler::TensorId& tensor, Deadline, sampler::DoneStatus done) {
  if (const Status checked = CheckRowSpace(tensor.rows, book_); !checked.ok()) return done(checked);
  Freed freed;
  {
    MutexLock lock(&mutex_);
    RememberDropped(tensor.creation);
    const auto found = entries_.find(ToKey(tensor));
    if (found != entries_.end() && CheckMatches(tensor, found->second).ok()) Erase(found, freed);
  }
  freed.clear();
  done(Status());
}

void MutableTensors::Abandon(const sampler::TensorId& tensor, uint64_t maker, Deadline, sampler::DoneStatus done) {
  Status abandoned = CheckRowSpace(tensor.rows, book_);
  Freed freed;
  if (abandoned.ok()) {
    MutexLock lock(&mutex_);
    const auto found = entries_.find(ToKey(tensor));
    const bool is_there =
        found != entries_.end() && found->second.maker == maker && found->second.incarnation == tensor.incarnation;
    if (is_there && found->second.is_complete) {
      abandoned = FailedPrecondition("tensor '" + tensor.name + "' is complete");
    } else if (is_there) {
      Erase(found, freed);
    }
  }
  freed.clear();
  done(std::move(abandoned));
}

void MutableTensors::Describe(const sampler::TensorId& tensor, Deadline,
                              sampler::Done<sampler::TensorDescription> done) {
  const Result<Entry> found = FindEntry(tensor);
  if (!found.ok()) return done(found.status());
  done(ToDescription(*found));
}

Result<std::shared_ptr<TensorRows>> MutableTensors::Find(const sampler::TensorId& tensor) const {
  ASSIGN_OR_RETURN(const Entry entry, FindEntry(tensor));
  if (!entry.is_filled) return Unavailable("tensor '" + tensor.name + "' is being filled");
  return entry.rows;
}

// Looks up and checks under one lock, so that a recreated tensor is never mistaken for the dropped one of the same
// name.
Result<MutableTensors::Entry> MutableTensors::FindEntry(const sampler::TensorId& tensor) const {
  RETURN_IF_ERROR(CheckRowSpace(tensor.rows, book_));
  MutexLock lock(&mutex_);
  const auto found = entries_.find(ToKey(tensor));
  if (found == entries_.end() || found->second.incarnation != tensor.incarnation) return TensorNotFound(tensor);
  RETURN_IF_ERROR(CheckMatches(tensor, found->second));
  return found->second;
}

Status MutableTensors::CheckMatches(const sampler::TensorId& tensor, const Entry& entry) const {
  const std::string what = "tensor '" + tensor.name + "' of " + ToString(tensor.rows, book_);
  if (entry.incarnation != tensor.incarnation) return NotFound(what + " belongs to another incarnation of the job");
  if (tensor.rows.num_own_rows != 0 && tensor.rows.num_own_rows != entry.num_own_rows) {
    return NotFound(what + " has " + std::to_string(entry.num_own_rows) + " rows, not " +
                    std::to_string(tensor.rows.num_own_rows));
  }
  if (tensor.creation == 0 || tensor.creation == entry.creation) return Status();
  return NotFound(what + " has been dropped and recreated");
}

Status MutableTensors::TensorNotFound(const sampler::TensorId& tensor) const {
  constexpr int kNamesInMessage = 16;
  std::string others;
  int count = 0;
  for (const auto& [key, entry] : entries_) {
    const auto& [job, of, type, name] = key;
    if (job != tensor.job || of != tensor.rows.of || type != tensor.rows.type) continue;
    if (entry.incarnation != tensor.incarnation) continue;
    if (++count <= kNamesInMessage) others += (others.empty() ? "'" : ", '") + name + "'";
  }
  if (count > kNamesInMessage) others += " and " + std::to_string(count - kNamesInMessage) + " more";
  return NotFound("there is no tensor '" + tensor.name.substr(0, 128) + "' of " + ToString(tensor.rows, book_) +
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

void MutableTensors::Combine(const sampler::TensorId& tensor, sampler::RowWrite write, const sampler::TensorId& from,
                             Deadline, sampler::DoneStatus done) {
  const Result<std::shared_ptr<TensorRows>> into = Find(tensor);
  if (!into.ok()) return done(into.status());
  const Result<std::shared_ptr<TensorRows>> other = Find(from);
  done(other.ok() ? (**into).Combine(write, **other, tensor.name) : other.status());
}

void MutableTensors::Reduce(const sampler::TensorId& tensor, sampler::Reduction reduction, Deadline,
                            sampler::Done<Tensor> done) {
  const Result<std::shared_ptr<TensorRows>> found = Find(tensor);
  if (!found.ok()) return done(found.status());
  done((**found).Reduce(reduction));
}

bool MutableTensors::WasDropped(uint64_t creation) const {
  MutexLock lock(&mutex_);
  return dropped_.contains(creation);
}

uint64_t MutableTensors::SizeBytes() const {
  MutexLock lock(&mutex_);
  return size_bytes_;
}

}  // namespace espalier::shard
