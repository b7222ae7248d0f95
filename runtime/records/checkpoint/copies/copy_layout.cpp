#include "runtime/records/checkpoint/copies/copy_layout.h"

#include <map>

#include "kernels/error.h"
#include "runtime/system/files/json.h"

namespace penstock {
namespace {

constexpr const char* kPieces = "pieces";

std::vector<int64_t> extents_of(const Shape& shape) {
  const auto extents = shape.extents();
  return {extents.begin(), extents.end()};
}

DType dtype_of(const TensorInfo& tensor, const std::string& path) {
  for (const DType type : {DType::F32, DType::BF16, DType::F64, DType::I32}) {
    if (tensor.dtype == safetensors_dtype(type)) return type;
  }
  fail_data(path + ": tensor " + quoted(tensor.name) + " is " + tensor.dtype);
}

StoredPiece piece_of(const TensorInfo& tensor, const nlohmann::json& all, const std::string& path) {
  const nlohmann::json& told = json_object(all, tensor.name.c_str(), path);
  StoredPiece piece{.name = tensor.name,
                    .part = json_text(told, "part", path),
                    .dtype = dtype_of(tensor, path),
                    .layer = static_cast<int64_t>(json_count(told, "layer", path)),
                    .whole = {},
                    .first = static_cast<int64_t>(json_count(told, "first", path)),
                    .elements = 1};
  for (const int64_t extent : tensor.shape) piece.elements *= extent;
  const auto whole = told.find("whole");
  if (whole == told.end() || !whole->is_array()) fail_data(path + ": \"whole\" is not a list");
  for (const nlohmann::json& extent : *whole) {
    if (!extent.is_number_unsigned()) fail_data(path + ": \"whole\" has what is no size");
    piece.whole.push_back(extent.get<int64_t>());
  }
  return piece;
}

}  // namespace

CopyLayout lay_out(const std::vector<CopiedPiece>& pieces) {
  SafetensorsHeader header;
  std::map<std::string, Tensor> live;
  nlohmann::json told = nlohmann::json::object();
  for (const CopiedPiece& piece : pieces) {
    const Tensor& tensor = piece.named.tensor;
    header.tensors.push_back({piece.named.name, safetensors_dtype(tensor.dtype()),
                              extents_of(tensor.shape()), 0, tensor.size_bytes()});
    live[piece.named.name] = tensor;
    told[piece.named.name] = {{"part", piece.part},
                              {"layer", piece.layer},
                              {"first", piece.first},
                              {"whole", extents_of(piece.whole)}};
  }
  header.metadata[kPieces] = told.dump();
  CopyLayout layout;
  layout.header = encode_safetensors_header(header);
  for (const TensorInfo& tensor : header.tensors) {
    layout.places.push_back({tensor.begin, live.at(tensor.name)});
    layout.data_bytes = tensor.end;
  }
  return layout;
}

std::vector<StoredPiece> pieces_in(const SafetensorsFile& file) {
  const auto text = file.metadata().find(kPieces);
  if (text == file.metadata().end()) fail_data(file.path() + " is no copy of what a rank keeps");
  const nlohmann::json told = parse_json(text->second, file.path());
  std::vector<StoredPiece> pieces;
  for (const TensorInfo& tensor : file.tensors()) {
    pieces.push_back(piece_of(tensor, told, file.path()));
  }
  return pieces;
}

}  // namespace penstock
