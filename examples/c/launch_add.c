/* Launch the kernel of examples/elementwise_add.py from C: no Python, no CUDA runtime, only the driver.
 *
 *     cutecc compile ../elementwise_add.py --target sm_80,sm_90a --bundle add.cutecc
 *     make && ./launch_add add.cutecc
 */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>

#include "cutecc_bundle.h"

enum { M = 1000, N = 2044, TILE_M = 16, TILE_N = 128, THREADS = 128 };

/* The kernel's parameters, in order, as docs/bundles.md explains: of a tensor, its pointer, then the sizes and strides that
 * are known only at run time. The host function has divided the row-major (M, N) tensors into tiles of (16, 128); of their
 * layout ((16, 128), (rest_m, rest_n)):((row, 1), (16 * row, 128)), four numbers depend on the arguments. */
struct tiled_tensor {
    CUdeviceptr data;
    int32_t rest_m, rest_n;
    int64_t row_stride, tile_stride; /* in elements */
};

/* The tensor of coordinates has no data and static strides: its sizes are all there is of it. */
struct tiled_coordinates {
    int32_t rest_m, rest_n;
};

static void check(CUresult result, const char *call)
{
    const char *text = NULL;
    if (result == CUDA_SUCCESS)
        return;
    cuGetErrorString(result, &text);
    fprintf(stderr, "%s: %s\n", call, text ? text : "unknown error");
    exit(1);
}
#define CHECK(call) check(call, #call)

static void check_bundle(int status, const char *path)
{
    if (status == CUTECC_BUNDLE_OK)
        return;
    fprintf(stderr, "%s: %s\n", path, cutecc_bundle_error(status));
    exit(1);
}

int main(int argc, char **argv)
{
    const char *path = argc > 1 ? argv[1] : "add.cutecc";
    cutecc_bundle bundle;
    cutecc_bundle_code code;
    char name[1024], *image;
    int major, minor;
    CUdevice device;
    CUcontext context;
    CUlibrary library;
    CUkernel kernel;
    CUdeviceptr a, b, c;
    size_t bytes = (size_t)M * N * sizeof(float);
    float *host_a = malloc(bytes), *host_b = malloc(bytes), *host_c = malloc(bytes);

    check_bundle(cutecc_bundle_open(&bundle, path), path);

    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&device, 0));
    CHECK(cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device));
    CHECK(cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device));
    CHECK(cuDevicePrimaryCtxRetain(&context, device));
    CHECK(cuCtxSetCurrent(context));

    /* The machine code for this GPU, and the kernel in it. */
    check_bundle(cutecc_bundle_find_code(&bundle, major, minor, &code), path);
    check_bundle(cutecc_bundle_kernel_name(&bundle, code.target, 0, name, sizeof name), path);
    image = cutecc_bundle_copy(&code.file);
    if (!image || !host_a || !host_b || !host_c)
        return 1;
    CHECK(cuLibraryLoadData(&library, image, NULL, NULL, 0, NULL, NULL, 0));
    free(image);
    CHECK(cuLibraryGetKernel(&kernel, library, name));

    for (int i = 0; i < M * N; i++) {
        host_a[i] = (float)(i % 1009) * 0.5f;
        host_b[i] = (float)(i % 757) * -0.25f;
    }
    CHECK(cuMemAlloc(&a, bytes));
    CHECK(cuMemAlloc(&b, bytes));
    CHECK(cuMemAlloc(&c, bytes));
    CHECK(cuMemcpyHtoD(a, host_a, bytes));
    CHECK(cuMemcpyHtoD(b, host_b, bytes));
    CHECK(cuMemsetD8(c, 0xFF, bytes)); /* not a number, wherever the kernel does not write */

    int32_t rest_m = (M + TILE_M - 1) / TILE_M, rest_n = (N + TILE_N - 1) / TILE_N, m = M, n = N;
    struct tiled_tensor tiled_a = {a, rest_m, rest_n, N, TILE_M * N};
    struct tiled_tensor tiled_b = {b, rest_m, rest_n, N, TILE_M * N};
    struct tiled_tensor tiled_c = {c, rest_m, rest_n, N, TILE_M * N};
    struct tiled_coordinates coordinates = {rest_m, rest_n};
    void *parameters[] = {&tiled_a, &tiled_b, &tiled_c, &coordinates, &m, &n};
    CHECK(cuLaunchKernel((CUfunction)kernel, (unsigned)(rest_m * rest_n), 1, 1, THREADS, 1, 1, 0, NULL, parameters,
                         NULL));
    CHECK(cuMemcpyDtoH(host_c, c, bytes));

    long wrong = 0;
    for (int i = 0; i < M * N; i++)
        wrong += !(host_c[i] == host_a[i] + host_b[i]);
    if (wrong)
        printf("%ld of %d elements are wrong\n", wrong, M * N);
    else
        printf("OK: %s code of %s\n", code.kind == CUTECC_BUNDLE_PTX ? "PTX" : "machine", code.target);

    cuMemFree(a);
    cuMemFree(b);
    cuMemFree(c);
    cuLibraryUnload(library);
    cuDevicePrimaryCtxRelease(device);
    cutecc_bundle_close(&bundle);
    free(host_a);
    free(host_b);
    free(host_c);
    return wrong != 0;
}
