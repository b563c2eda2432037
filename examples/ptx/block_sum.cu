// The sum of each block's elements.
// nvcc -ptx -lineinfo -arch=sm_80 block_sum.cu
extern "C" __global__ void __launch_bounds__(64) block_sum(const float *x, float *sums, int n) {
  __shared__ float part[64];
  int thread = threadIdx.x, i = blockIdx.x * 64 + thread;
  part[thread] = i < n ? x[i] : 0.0f;
  __syncthreads();
  for (int half = 32; half > 0; half /= 2) {
    if (thread < half)
      part[thread] += part[thread + half];
    __syncthreads();
  }
  if (thread == 0)
    sums[blockIdx.x] = part[0];
}
