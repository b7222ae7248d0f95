// kernels/cpu/onednn/onednn_prepared.h -- Prepared: a primitive of oneDNN with its memory objects,
// ready to run. Included by onednn*.cpp only.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "kernels/cpu/onednn/onednn.h"
#include "kernels/cpu/onednn/onednn_api.h"

namespace penstock {

struct Argument {
  int name;  // DNNL_ARG_SRC ...
  dnnl_api::Desc desc;
};

// Throws Error(Resource) where the host has no room for what making a primitive takes: the library
// writes the code of its kernels (2.6) and their descriptors (3.7) into memory without looking
// whether it was given any, and the process would end.
void require_room_for_code();

// A primitive and a memory object of oneDNN for each of its arguments. Each run gives the memory
// objects the addresses of that run's buffers, which the caller owns.
class Prepared {
 public:
  // Makes the primitive of the descriptor `desc`. `arguments` are what it reads and writes, each
  // with its layout, but for the scratch memory. Throws dnnl::error where the library refuses it,
  // and Error(Resource) as require_room_for_code() does.
  template <class Primitive>
  Prepared(OneDnn::State& state, std::type_identity<Primitive>,
           const typename Primitive::primitive_desc& desc, const std::vector<Argument>& arguments)
      : Prepared(state, (require_room_for_code(), Primitive(desc)), desc.scratchpad_desc(),
                 arguments) {}

  // Runs the primitive and returns when it has ended. `buffers` are in the order of the arguments
  // given at construction. Scratch memory is taken from state.memory. Throws Error(Internal) where
  // the library fails, Error(Resource) when memory ran out.
  void run(OneDnn::State& state, std::initializer_list<const void*> buffers);
  // run() with scratch memory that the caller owns: scratch_bytes() bytes, or null where that is 0.
  // Returns the library's status and throws nothing. Several threads may call it at a time, each on
  // an object of its own.
  [[nodiscard]] dnnl_status_t execute(OneDnn::State& state, std::span<const void* const> buffers,
                                      const void* scratch) noexcept;
  [[nodiscard]] int64_t scratch_bytes() const { return scratch_bytes_; }

 private:
  Prepared(OneDnn::State& state, dnnl::primitive primitive, const dnnl_api::Desc& scratch,
           const std::vector<Argument>& arguments);

  dnnl::primitive primitive_;
  std::vector<dnnl::memory> memories_;  // own the C handles below; the scratch pad last
  std::vector<dnnl_exec_arg_t> arguments_;
  int64_t scratch_bytes_;
};

// Returns new attributes for a primitive whose scratch memory comes from us and not from the
// library. They are new for each primitive, since a copy of a dnnl::primitive_attr is the same
// object.
[[nodiscard]] dnnl::primitive_attr new_attributes();
[[nodiscard]] dnnl::memory::data_type library_type(DType type);
[[nodiscard]] dnnl::algorithm library_algorithm(Activation f);
// Throws Error(Internal), or Error(Resource) when memory ran out: `what` failed as `error` says.
[[noreturn]] void fail_library(const std::string& what, const dnnl::error& error);
// Throws as fail_library() does where `status` is not success: `what` failed.
void check(dnnl_status_t status, const char* what);

}  // namespace penstock
