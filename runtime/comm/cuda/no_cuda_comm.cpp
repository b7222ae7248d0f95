// runtime/comm/cuda/no_cuda_comm.cpp -- stands for the CUDA links in a build without the toolkit.
namespace penstock {}
