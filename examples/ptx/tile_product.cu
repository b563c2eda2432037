// C = A B of 16-bit floats, by tensor cores: a warp for each tile of 16 by 16.
// nvcc -ptx -lineinfo -arch=sm_75 tile_product.cu
#include <mma.h>
using namespace nvcuda::wmma;

extern "C" __global__ void tile_product(const half *a, const half *b, float *c, int n, int k) {
  fragment<matrix_a, 16, 16, 16, half, row_major> left;
  fragment<matrix_b, 16, 16, 16, half, row_major> right;
  fragment<accumulator, 16, 16, 16, float> sum;
  int row = blockIdx.y * 16, column = blockIdx.x * 16;
  fill_fragment(sum, 0.0f);
  for (int i = 0; i < k; i += 16) {
    load_matrix_sync(left, a + row * k + i, k);
    load_matrix_sync(right, b + i * n + column, n);
    mma_sync(sum, left, right, sum);
  }
  store_matrix_sync(c + row * n + column, sum, n, mem_row_major);
}
