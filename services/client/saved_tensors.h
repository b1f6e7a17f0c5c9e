// Tensors in a store: what a program writes at its own checkpoints and goes on from, over any partitioning of the same
// graph and any number of servers (docs/saved-tensors.md).
//
//   RETURN_IF_ERROR(SaveTensors(*graph, {{RowSpace::Nodes(paper), "visits"}}, folder + "/000012",
//                               {.notes = {{"epoch", "12"}}}));
//
//   ASSIGN_OR_RETURN(const std::vector<std::string> saved, ListSavedTensors(folder));  // the next incarnation
//   ASSIGN_OR_RETURN(LoadedTensors loaded, LoadTensors(*graph, folder + "/" + saved.back()));
//
// One process calls these, and others do not write to the tensors meanwhile: who shares them with others meets them
// before and after.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "services/client/dist_tensor.h"
#include "services/sampler/routing/embedding_store.h"
#include "services/storage/store_settings.h"

namespace espalier::client {

struct TensorName {
  RowSpace rows;  // of own rows: RowSpace::Own() is enough
  std::string name;
};

struct SaveOptions {
  std::map<std::string, std::string> notes = {};  // the program's own, in UTF-8: which step it was, for one
  // Learnable rows beside the tensors, of which no two have a name and rows in common, each at the version that its
  // DistEmbedding on this rank has now (DistEmbedding::Now): it takes no step before this returns. Other ranks may be a
  // step ahead, and wait. Their way back is saved_embeddings.h.
  std::vector<sampler::EmbeddingAt> embeddings = {};
  storage::StoreSettings stores = {};        // of an s3:// URI
  size_t bytes_per_file = size_t{64} << 20;  // about; so much is held in memory at once. 1 byte to 512 MiB
};

// All rows of the tensors, which exist, and of options.embeddings, to a folder of their own, `uri`. All or nothing:
// what it has not come to the end of is never taken for something saved. AlreadyExists where the folder holds something
// that was saved, which is never written over; NotFound: a tensor that does not exist; Unavailable: its rows were lost
// meanwhile, or the store cannot be reached.
Status SaveTensors(const DistGraph& graph, const std::vector<TensorName>& tensors, const std::string& uri,
                   const SaveOptions& options = {});

struct LoadOptions {
  storage::StoreSettings stores = {};
  Lifetime lifetime = Lifetime::kPersistent;
};

struct LoadedTensors {
  std::vector<DistTensor> tensors;  // in the order in which they were saved
  std::map<std::string, std::string> notes;
};

// Makes the tensors that were saved in the folder `uri`, with their rows; embeddings are left there. After an error
// none of them is left, whichever it was of. NotFound: nothing was saved there; DataLoss: a file that is damaged;
// AlreadyExists: a tensor has one of the names; FailedPrecondition: they are those of another graph. While it runs
// others find tensors whose rows are not there yet.
Result<LoadedTensors> LoadTensors(const DistGraph& graph, const std::string& uri, const LoadOptions& options = {});

// Names of the folders right below `uri` in which tensors were saved, sorted; what else has a manifest is passed over.
Result<std::vector<std::string>> ListSavedTensors(const std::string& uri, const storage::StoreSettings& stores = {});
// What was saved in the folder `uri`, and what saves that never ended have left there; nothing else that lies there, as
// what was saved in folders below it. FailedPrecondition where it is something else. What does not exist is fine.
Status RemoveSavedTensors(const std::string& uri, const storage::StoreSettings& stores = {});

}  // namespace espalier::client
