/* The functions of the CUDA driver that examples/c/launch_add.c calls, on a machine without a GPU: memory is host memory,
 * the device has compute capability 9.0, and a launch adds two arrays and prints what it was given. A test double: it
 * says what the program asks of the driver, and nothing about what a GPU does with it. */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef SIZES
#error "SIZES: the bytes of each kernel parameter, separated by commas"
#endif

CUresult cuInit(unsigned flags) { return flags ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS; }
CUresult cuDeviceGet(CUdevice *device, int ordinal) { *device = ordinal; return CUDA_SUCCESS; }
CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) { *context = NULL; (void)device; return CUDA_SUCCESS; }
CUresult cuDevicePrimaryCtxRelease(CUdevice device) { (void)device; return CUDA_SUCCESS; }
CUresult cuCtxSetCurrent(CUcontext context) { (void)context; return CUDA_SUCCESS; }
CUresult cuGetErrorString(CUresult error, const char **text) { (void)error; *text = "failed"; return CUDA_SUCCESS; }
CUresult cuMemFree(CUdeviceptr pointer) { free((void *)pointer); return CUDA_SUCCESS; }
CUresult cuLibraryUnload(CUlibrary library) { (void)library; return CUDA_SUCCESS; }

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
    (void)device;
    *value = attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR ? 9 : 0;
    return CUDA_SUCCESS;
}

CUresult cuLibraryLoadData(CUlibrary *library, const void *code, CUjit_option *options, void **values, unsigned count,
                           CUlibraryOption *more, void **more_values, unsigned more_count)
{
    (void)options, (void)values, (void)more, (void)more_values;
    *library = NULL;
    return memcmp(code, "\177ELF", 4) || count || more_count ? CUDA_ERROR_INVALID_IMAGE : CUDA_SUCCESS;
}

CUresult cuLibraryGetKernel(CUkernel *kernel, CUlibrary library, const char *name)
{
    (void)library;
    *kernel = NULL;
    printf("kernel %s\n", name);
    return CUDA_SUCCESS;
}

CUresult cuMemAlloc(CUdeviceptr *pointer, size_t size)
{
    *pointer = (CUdeviceptr)malloc(size);
    return CUDA_SUCCESS;
}

CUresult cuMemcpyHtoD(CUdeviceptr to, const void *from, size_t size)
{
    memcpy((void *)to, from, size);
    return CUDA_SUCCESS;
}

CUresult cuMemcpyDtoH(void *to, CUdeviceptr from, size_t size)
{
    memcpy(to, (void *)from, size);
    return CUDA_SUCCESS;
}

CUresult cuMemsetD8(CUdeviceptr pointer, unsigned char value, size_t count)
{
    memset((void *)pointer, value, count);
    return CUDA_SUCCESS;
}

CUresult cuLaunchKernel(CUfunction kernel, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                        unsigned block_y, unsigned block_z, unsigned shared, CUstream stream, void **parameters,
                        void **extra)
{
    static const size_t sizes[] = {SIZES};
    (void)kernel, (void)stream, (void)extra;
    printf("launch %u %u %u  %u %u %u  %u\n", grid_x, grid_y, grid_z, block_x, block_y, block_z, shared);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        printf("parameter ");
        for (size_t j = 0; j < sizes[i]; j++)
            printf("%02x", ((unsigned char *)parameters[i])[j]);
        printf("\n");
    }
    const float *a = *(float **)parameters[0], *b = *(float **)parameters[1];
    float *c = *(float **)parameters[2];
    size_t count = (size_t)*(int *)parameters[4] * (size_t)*(int *)parameters[5];
    for (size_t i = 0; i < count; i++)
        c[i] = a[i] + b[i];
    return CUDA_SUCCESS;
}
