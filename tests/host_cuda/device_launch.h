// tests/host_cuda/device_launch.h -- cudaLaunchKernelEx() for a kernel whose parameter types are
// known, in the place of the template in the toolkit's header: the emulated CUDA runtime learns the
// types here (know_kernel(), kernel.h).
#pragma once

#include <array>
#include <tuple>
#include <type_traits>
#include <utility>

#include "tests/host_cuda/kernel.h"

namespace penstock::host_cuda {

// Calls the kernel at `function`, whose parameters have the types P, with the values at
// arguments[0], arguments[1], ...
template <class... P, size_t... I>
void call_kernel(const void* function, void* const* arguments, std::index_sequence<I...>) {
  const auto kernel = reinterpret_cast<void (*)(P...)>(const_cast<void*>(function));
  kernel(*static_cast<std::remove_reference_t<P>*>(arguments[I])...);
}

template <class... P>
void call_kernel_of(const void* function, void* const* arguments) {
  call_kernel<P...>(function, arguments, std::index_sequence_for<P...>{});
}

}  // namespace penstock::host_cuda

template <class... P, class... A>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(P...),
                               A&&... arguments) {
  namespace hc = penstock::host_cuda;
  const auto* function = reinterpret_cast<const void*>(kernel);
  hc::know_kernel(function, {&hc::call_kernel_of<P...>, {sizeof(P)...}});
  std::tuple<P...> values{std::forward<A>(arguments)...};
  return std::apply(
      [&](P&... each) {
        const std::array<void*, sizeof...(P)> addresses{
            const_cast<void*>(static_cast<const void*>(&each))...};
        return hc::launch_kernel(*config, function, addresses.data());
      },
      values);
}

template <class... P>
cudaError_t cudaFuncSetAttribute(void (*kernel)(P...), cudaFuncAttribute attribute, int value) {
  return cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel), attribute, value);
}
