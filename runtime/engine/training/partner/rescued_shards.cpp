#include "runtime/engine/training/partner/rescued_shards.h"

#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "kernels/error.h"
#include "runtime/records/checkpoint/copies/copy_slot.h"
#include "runtime/records/checkpoint/writer/documents.h"
#include "runtime/records/checkpoint/writer/outcome.h"
#include "runtime/system/comm/agreement.h"
#include "runtime/system/files/json.h"
#include "runtime/system/files/long_work.h"

namespace penstock {
namespace {

using nlohmann::json;

json packed_piece(const HeldPiece& held) {
  const StoredPiece& piece = held.piece;
  return {piece.name,     piece.part,  static_cast<int>(piece.dtype),
          piece.layer,    piece.whole, piece.first,
          piece.elements, held.holder, held.file};
}

HeldPiece unpacked_piece(const json& list) {
  return {{list[0], list[1], static_cast<DType>(list[2].get<int>()), list[3], list[4], list[5],
           list[6]},
          list[7],
          list[8]};
}

using PiecesByName = std::map<std::string, std::vector<const HeldPiece*>>;

Shape whole_shape(const HeldPiece& held) {
  return Shape(std::span<const int64_t>(held.piece.whole));
}

PiecesByName by_name(const std::vector<HeldPiece>& pieces) {
  PiecesByName named;
  for (const HeldPiece& held : pieces) named[held.piece.name].push_back(&held);
  for (auto& [name, list] : named) {
    std::ranges::sort(list, {}, [](const HeldPiece* held) { return held->piece.first; });
    int64_t next = 0;
    for (const HeldPiece* held : list) {
      if (held->piece.first != next) next = -1;
      if (next < 0) break;
      next += held->piece.elements;
    }
    if (next == whole_shape(*list.front()).elements()) continue;
    throw Error(ErrorKind::Data,
                "copies in memory lack a part of " + name +
                    ", so that they are of no use: remove " + list.front()->file,
                ErrorScope::EveryRank);
  }
  return named;
}

// Cuts the tensors of one part into shards. The cuts depend on the network alone, as in a
// checkpoint that is written while training goes on.
std::vector<Shard> shards_of(const PiecesByName& named, const std::string& part, Memory& memory) {
  std::vector<PlacedTensor> tensors;
  for (const auto& [name, list] : named) {
    const StoredPiece& first = list.front()->piece;
    if (first.part != part) continue;
    const Shape whole = whole_shape(*list.front());
    // This tensor has no memory: only its type counts here, and the shape stands beside it.
    const Tensor none(memory.take(0, Purpose::Communication), Shape{0}, first.dtype);
    tensors.push_back({{name, none}, first.layer, whole, {0, whole.elements()}});
  }
  return cut_shards(part, std::move(tensors));
}

class ShardWriter {
 public:
  ShardWriter(std::string directory, const PiecesByName& named, Collective& world)
      : directory_(std::move(directory)), named_(named), world_(world) {}

  void write(Shard shard, const std::string& file) {
    const int writer = named_.at(shard.tensors.front().named.name).front()->holder;
    for (PlacedTensor& tensor : shard.tensors) {
      const std::vector<const HeldPiece*>& pieces = named_.at(tensor.named.name);
      if (writer == world_.rank()) tensor = room_for(tensor);
      for (const HeldPiece* held : pieces) pass(*held, tensor.named.tensor, writer);
    }
    if (writer != world_.rank() || has_failed(report_)) return;
    json done = attempt([&] { return write_shard(directory_, file, shard, nullptr); });
    if (has_failed(done)) {
      report_ = std::move(done);
    } else {
      report_["shards"].push_back(std::move(done));
    }
  }
  [[nodiscard]] std::string report() const { return packed_json(report_); }

 private:
  PlacedTensor room_for(const PlacedTensor& tensor) {
    Block* block = memory_.take(tensor.size_bytes(), Purpose::Communication);
    return {{tensor.named.name, Tensor(block, tensor.whole, tensor.named.tensor.dtype())},
            tensor.layer};
  }

  void pass(const HeldPiece& held, const Tensor& whole, int writer) {
    const size_t size = size_of(held.piece.dtype);
    const size_t bytes = static_cast<size_t>(held.piece.elements) * size;
    std::byte* place = writer != world_.rank() ? nullptr
                                               : static_cast<std::byte*>(whole.raw()) +
                                                     static_cast<size_t>(held.piece.first) * size;
    if (held.holder == world_.rank()) {
      if (place == nullptr) buffer_.resize(std::max(buffer_.size(), bytes));
      const std::span<std::byte> to(place == nullptr ? buffer_.data() : place, bytes);
      json read = attempt([&] {
        file_at(held.file).read(held.piece.name, to);
        return json::object();
      });
      if (has_failed(read) && !has_failed(report_)) report_ = std::move(read);
      if (place == nullptr) world_.give(to, writer);  // also if the read failed: the writer waits
    } else if (place != nullptr) {
      world_.take({place, bytes}, held.holder);
    }
    work_.went_on(static_cast<int64_t>(bytes));
  }

  const SafetensorsFile& file_at(const std::string& path) {
    std::unique_ptr<SafetensorsFile>& file = files_[path];
    if (file == nullptr) file = std::make_unique<SafetensorsFile>(path);
    return *file;
  }

  std::string directory_;
  const PiecesByName& named_;
  Collective& world_;
  Memory memory_{host_memory_source()};
  std::vector<std::byte> buffer_;
  std::map<std::string, std::unique_ptr<SafetensorsFile>> files_;
  json report_ = {{"shards", json::array()}};
  LongWork work_{"writing what was in memory", 0};
};

}  // namespace

std::vector<HeldPiece> gather_pieces(const std::vector<FoundCopy>& copies, Collective& world) {
  json mine = json::array();
  agree(world, "", [&] {
    for (const FoundCopy& copy : copies) {
      if (copy.holder != world.rank()) continue;
      const std::string path = copy.folder + "/" + kCopyFile;
      for (StoredPiece& piece : pieces_in(SafetensorsFile(path))) {
        mine.push_back(packed_piece({std::move(piece), world.rank(), path}));
      }
    }
  });
  std::string joined;
  for (const std::string& list : world.gather_text(packed_json(mine))) joined += list + "\n";
  std::vector<HeldPiece> pieces;
  std::istringstream lists(world.broadcast(joined, 0));
  for (std::string list; std::getline(lists, list);) {
    for (const json& piece : unpacked_json(list)) pieces.push_back(unpacked_piece(piece));
  }
  return pieces;
}

std::string write_rescued_shards(const std::string& directory, const std::vector<HeldPiece>& pieces,
                                 Collective& world) {
  const PiecesByName named = by_name(pieces);
  Memory sizes(host_memory_source());
  ShardWriter writer(directory, named, world);
  for (const char* part : {"model", "optimizer"}) {
    std::vector<Shard> shards = shards_of(named, part, sizes);
    const auto total = std::ssize(shards);
    for (int64_t i = 0; i < total; ++i) {
      Shard& shard = shards[static_cast<size_t>(i)];
      writer.write(std::move(shard), shard_file(part, i + 1, total));
    }
  }
  return writer.report();
}

}  // namespace penstock
