/* Reads bundles as a C program would, and prints what is in them.
 *
 *     read_bundle show FILE MAJOR MINOR     the targets, the code for a device, the kernels of that code's target
 *     read_bundle fuzz FILE SEED ROUNDS     opens cut and altered copies of FILE; each has to be refused
 */
#include "cutecc_bundle.h"

static int show(const char *path, int major, int minor)
{
    cutecc_bundle bundle;
    cutecc_bundle_code code;
    cutecc_bundle_file file;
    char text[512];
    int status = cutecc_bundle_open(&bundle, path);
    if (status != CUTECC_BUNDLE_OK) {
        printf("error %d: %s\n", status, cutecc_bundle_error(status));
        return 0;
    }
    for (size_t i = 0; cutecc_bundle_target(&bundle, i, text, sizeof text) == CUTECC_BUNDLE_OK; i++)
        printf("target %s\n", text);
    status = cutecc_bundle_find_code(&bundle, major, minor, &code);
    if (status == CUTECC_BUNDLE_OK) {
        char *copy = cutecc_bundle_copy(&code.file);
        printf("%s %.*s %lu %d\n", code.kind == CUTECC_BUNDLE_PTX ? "ptx" : "cubin", (int)code.file.name_length,
               code.file.name, (unsigned long)code.file.size, (int)((uintptr_t)code.file.data % 16));
        if (!copy || strlen(copy) > code.file.size || memcmp(copy, code.file.data, code.file.size) != 0)
            return 1;
        free(copy);
        for (size_t i = 0;; i++) {
            status = cutecc_bundle_kernel_name(&bundle, code.target, i, text, sizeof text);
            if (status != CUTECC_BUNDLE_OK)
                break;
            printf("kernel %s %lu\n", text,
                   (unsigned long)cutecc_bundle_kernel_parameter_bytes(&bundle, code.target, i));
        }
        if (status != CUTECC_BUNDLE_NOT_FOUND)
            printf("kernel error: %s\n", cutecc_bundle_error(status));
        if (cutecc_bundle_kernel_name(&bundle, code.target, 0, text, 2) == CUTECC_BUNDLE_TOO_SMALL)
            printf("a buffer of 2 bytes is too small\n");
        if (cutecc_bundle_find(&bundle, code.target, "manifest.json", &file) == CUTECC_BUNDLE_OK)
            printf("manifest %lu\n", (unsigned long)file.size);
        if (cutecc_bundle_find(&bundle, code.target, "missing", &file) != CUTECC_BUNDLE_NOT_FOUND)
            return 1;
    } else {
        printf("no code\n");
    }
    cutecc_bundle_close(&bundle);
    return 0;
}

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

/* Every copy is in memory of exactly its size, so that a sanitizer sees a byte read too far. */
static int is_refused(const unsigned char *data, size_t size)
{
    cutecc_bundle bundle;
    unsigned char *copy = (unsigned char *)malloc(size ? size : 1);
    int status;
    memcpy(copy, data, size);
    status = cutecc_bundle_open_memory(&bundle, copy, size);
    free(copy);
    return status != CUTECC_BUNDLE_OK;
}

static int fuzz(const char *path, uint32_t seed, long rounds)
{
    cutecc_bundle bundle;
    unsigned char *data;
    size_t size;
    if (cutecc_bundle_open(&bundle, path) != CUTECC_BUNDLE_OK)
        return 1;
    size = bundle.size;
    data = (unsigned char *)malloc(size);
    memcpy(data, bundle.data, size);
    for (size_t length = 0; length < size; length++)
        if (!is_refused(data, length))
            return 1;
    for (long round = 0; round < rounds; round++) {
        uint32_t edits = 1 + next_random(&seed) % 3;
        int changed = 0;
        for (uint32_t i = 0; i < edits; i++) {
            size_t position = next_random(&seed) % size;
            unsigned char value = (unsigned char)(next_random(&seed) % 4 ? next_random(&seed) : 0xFF);
            data[position] = value;
        }
        changed = memcmp(data, bundle.data, size) != 0;
        if (changed && !is_refused(data, size))
            return 1;
        memcpy(data, bundle.data, size);
    }
    free(data);
    cutecc_bundle_close(&bundle);
    printf("refused all\n");
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 5 && strcmp(argv[1], "show") == 0)
        return show(argv[2], atoi(argv[3]), atoi(argv[4]));
    if (argc == 5 && strcmp(argv[1], "fuzz") == 0)
        return fuzz(argv[2], (uint32_t)atol(argv[3]), atol(argv[4]));
    return 2;
}
