/* Reading cutecc bundles from C99 or C++: one header, nothing but the C library.
 *
 *     cutecc_bundle bundle;
 *     cutecc_bundle_code code;
 *     int status = cutecc_bundle_open(&bundle, "gemm.cutecc");
 *     if (status == CUTECC_BUNDLE_OK)
 *         status = cutecc_bundle_find_code(&bundle, 9, 0, &code);
 *     if (status != CUTECC_BUNDLE_OK)
 *         fprintf(stderr, "gemm.cutecc: %s\n", cutecc_bundle_error(status));
 *
 * Opening reads the whole bundle and checks its structure, checksums and content hash. That finds damage, not malice:
 * a bundle is code. Functions return a status; what they give out belongs to the bundle and lives until it is closed.
 * There is no global state; an open bundle may be read by several threads. docs/bundles.md describes the format.
 */
#ifndef CUTECC_BUNDLE_H
#define CUTECC_BUNDLE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The major version of the format that this header reads. */
#define CUTECC_BUNDLE_MAJOR 1
/* Bytes of the largest bundle. */
#define CUTECC_BUNDLE_LONGEST ((size_t)1 << 30)

enum {
    CUTECC_BUNDLE_OK = 0,
    CUTECC_BUNDLE_CANNOT_READ, /* the file does not exist, or reading it failed */
    CUTECC_BUNDLE_NO_MEMORY,
    CUTECC_BUNDLE_NOT_A_BUNDLE,
    CUTECC_BUNDLE_NEWER, /* a major version of the format that this header does not know */
    CUTECC_BUNDLE_DAMAGED,
    CUTECC_BUNDLE_NOT_FOUND, /* no such target, file, kernel, or code for the device */
    CUTECC_BUNDLE_TOO_SMALL  /* the caller's buffer is */
};

typedef struct {
    const unsigned char *data;
    size_t size;
    unsigned char *owned; /* what close() frees */
    size_t files_end;     /* where the directory of the archive begins */
} cutecc_bundle;

typedef struct {
    const char *name; /* "sm_90a/gemm.cubin", without a zero at its end */
    size_t name_length;
    const unsigned char *data; /* 16-byte aligned when the bundle's memory is; without a zero at its end */
    size_t size;
} cutecc_bundle_file;

typedef enum { CUTECC_BUNDLE_CUBIN, CUTECC_BUNDLE_PTX } cutecc_bundle_kind;

typedef struct {
    char target[64]; /* "sm_90a" */
    cutecc_bundle_kind kind;
    cutecc_bundle_file file;
} cutecc_bundle_code;

/* What a status means, in words. */
static inline const char *cutecc_bundle_error(int status)
{
    switch (status) {
    case CUTECC_BUNDLE_OK: return "success";
    case CUTECC_BUNDLE_CANNOT_READ: return "the file cannot be read";
    case CUTECC_BUNDLE_NO_MEMORY: return "out of memory";
    case CUTECC_BUNDLE_NOT_A_BUNDLE: return "not a bundle of cutecc";
    case CUTECC_BUNDLE_NEWER: return "a newer version of the bundle format: a newer cutecc_bundle.h reads it";
    case CUTECC_BUNDLE_DAMAGED: return "the bundle is damaged: copy or build it again";
    case CUTECC_BUNDLE_NOT_FOUND: return "the bundle does not hold that";
    case CUTECC_BUNDLE_TOO_SMALL: return "the buffer is too small";
    default: return "unknown status";
    }
}

/* -- Numbers, checksums and the content hash ---------------------------------------------------------------------- */

static inline uint32_t cutecc__u16(const unsigned char *p) { return (uint32_t)p[0] | (uint32_t)p[1] << 8; }
static inline uint32_t cutecc__u32(const unsigned char *p) { return cutecc__u16(p) | cutecc__u16(p + 2) << 16; }

static inline uint32_t cutecc__crc32(const unsigned char *data, size_t size)
{
    uint32_t table[256], crc = 0xFFFFFFFFu;
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t value = i;
        for (int bit = 0; bit < 8; bit++)
            value = (value & 1) ? value >> 1 ^ 0xEDB88320u : value >> 1;
        table[i] = value;
    }
    for (size_t i = 0; i < size; i++)
        crc = crc >> 8 ^ table[(crc ^ data[i]) & 0xFF];
    return ~crc;
}

typedef struct {
    uint32_t state[8];
    uint64_t length; /* bytes */
    unsigned char block[64];
} cutecc__sha256;

static inline uint32_t cutecc__rotate(uint32_t x, int n) { return x >> n | x << (32 - n); }

static inline void cutecc__sha256_block(cutecc__sha256 *hash, const unsigned char *block)
{
    static const uint32_t k[64] = {
        0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
        0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
        0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
        0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
        0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
        0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
        0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
        0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};
    uint32_t w[64], s[8];
    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 | (uint32_t)block[4 * i + 2] << 8 |
               (uint32_t)block[4 * i + 3];
    for (int i = 16; i < 64; i++) {
        uint32_t a = w[i - 15], b = w[i - 2];
        w[i] = w[i - 16] + (cutecc__rotate(a, 7) ^ cutecc__rotate(a, 18) ^ a >> 3) + w[i - 7] +
               (cutecc__rotate(b, 17) ^ cutecc__rotate(b, 19) ^ b >> 10);
    }
    memcpy(s, hash->state, sizeof s);
    for (int i = 0; i < 64; i++) {
        uint32_t one = s[7] + (cutecc__rotate(s[4], 6) ^ cutecc__rotate(s[4], 11) ^ cutecc__rotate(s[4], 25)) +
                       ((s[4] & s[5]) ^ (~s[4] & s[6])) + k[i] + w[i];
        uint32_t two = (cutecc__rotate(s[0], 2) ^ cutecc__rotate(s[0], 13) ^ cutecc__rotate(s[0], 22)) +
                       ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
        memmove(s + 1, s, 7 * sizeof *s);
        s[4] += one;
        s[0] = one + two;
    }
    for (int i = 0; i < 8; i++)
        hash->state[i] += s[i];
}

static inline void cutecc__sha256_start(cutecc__sha256 *hash)
{
    static const uint32_t start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    memcpy(hash->state, start, sizeof start);
    hash->length = 0;
}

static inline void cutecc__sha256_add(cutecc__sha256 *hash, const void *data, size_t size)
{
    const unsigned char *p = (const unsigned char *)data;
    while (size) {
        size_t used = (size_t)(hash->length % 64), part = 64 - used < size ? 64 - used : size;
        if (part == 64) {
            cutecc__sha256_block(hash, p);
        } else {
            memcpy(hash->block + used, p, part);
            if (used + part == 64)
                cutecc__sha256_block(hash, hash->block);
        }
        hash->length += part;
        p += part;
        size -= part;
    }
}

/* The hash in 64 hexadecimal digits, without a zero at their end. */
static inline void cutecc__sha256_digits(cutecc__sha256 *hash, char *digits)
{
    uint64_t bits = hash->length * 8;
    unsigned char end[72] = {0x80};
    size_t padding = (size_t)((119 - hash->length % 64) % 64 + 1);
    for (int i = 0; i < 8; i++)
        end[padding + (size_t)i] = (unsigned char)(bits >> (56 - 8 * i));
    cutecc__sha256_add(hash, end, padding + 8);
    for (int i = 0; i < 64; i++)
        digits[i] = "0123456789abcdef"[hash->state[i / 8] >> (28 - 4 * (i % 8)) & 15];
}

/* -- JSON: finding a value, without building anything ------------------------------------------------------------- */

static inline const char *cutecc__space(const char *p, const char *end)
{
    while (p && p < end && (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t'))
        p++;
    return p && p < end ? p : NULL;
}

/* Behind the string that begins at p, NULL when there is none. */
static inline const char *cutecc__skip_string(const char *p, const char *end)
{
    if (!p || p >= end || *p != '"')
        return NULL;
    for (p++; p < end; p++) {
        if (*p == '"')
            return p + 1;
        if (*p == '\\' && ++p == end)
            break;
    }
    return NULL;
}

/* Behind the value that begins at p. */
static inline const char *cutecc__skip_value(const char *p, const char *end)
{
    size_t depth = 0;
    if (!p)
        return NULL;
    while (p < end) {
        if (*p == '"') {
            p = cutecc__skip_string(p, end);
            if (!p || !depth)
                return p;
            continue;
        }
        if (*p == '{' || *p == '[') {
            depth++;
        } else if (*p == '}' || *p == ']') {
            if (!depth)
                return p; /* the end of what holds a number */
            if (!--depth)
                return p + 1;
        } else if (*p == ',' && !depth) {
            return p;
        }
        p++;
    }
    return NULL;
}

/* The value of a key in the object that begins at p. */
static inline const char *cutecc__member(const char *p, const char *end, const char *key)
{
    size_t length = strlen(key);
    p = cutecc__space(p, end);
    if (!p || *p != '{')
        return NULL;
    do {
        const char *name = cutecc__space(p + 1, end), *after = cutecc__skip_string(name, end);
        p = cutecc__space(after, end);
        if (!p || *p != ':')
            return NULL;
        p = cutecc__space(p + 1, end);
        if ((size_t)(after - name) == length + 2 && memcmp(name + 1, key, length) == 0)
            return p;
        p = cutecc__space(cutecc__skip_value(p, end), end);
    } while (p && *p == ',');
    return NULL;
}

/* Element number `index` of the array that begins at p. */
static inline const char *cutecc__element(const char *p, const char *end, size_t index)
{
    p = cutecc__space(p, end);
    if (!p || *p != '[')
        return NULL;
    do {
        p = cutecc__space(p + 1, end);
        if (!p || *p == ']')
            return NULL;
        if (!index--)
            return p;
        p = cutecc__space(cutecc__skip_value(p, end), end);
    } while (p && *p == ',');
    return NULL;
}

/* The string that begins at p into a buffer. Names in a bundle are plain: one with an escape in it is not found. */
static inline int cutecc__string(const char *p, const char *end, char *text, size_t capacity)
{
    const char *after = cutecc__skip_string(p, end);
    size_t length = after ? (size_t)(after - p) - 2 : 0;
    if (!after || memchr(p, '\\', length + 1))
        return CUTECC_BUNDLE_NOT_FOUND;
    if (length >= capacity)
        return CUTECC_BUNDLE_TOO_SMALL;
    memcpy(text, p + 1, length);
    text[length] = 0;
    return CUTECC_BUNDLE_OK;
}

/* -- The archive: a zip file in one fixed form -------------------------------------------------------------------- */

/* The bytes between an entry's name and its data, which end at a multiple of 16. */
static inline size_t cutecc__padding(size_t offset)
{
    size_t padding = (16 - offset % 16) % 16;
    return padding && padding < 6 ? padding + 16 : padding;
}

/* The entry at `*offset`, which moves behind it; 0 when there is none of the one form. */
static inline int cutecc__entry(const cutecc_bundle *bundle, size_t *offset, cutecc_bundle_file *file)
{
    static const unsigned char fixed[14] = {'P', 'K', 3, 4, 10, 0, 0, 0, 0, 0, 0, 0, 0x21, 0};
    const unsigned char *p = bundle->data + *offset;
    size_t left = bundle->files_end - *offset, names, padding, size;
    if (left < 30 || memcmp(p, fixed, sizeof fixed) != 0 || memcmp(p + 18, p + 22, 4) != 0)
        return 0;
    size = cutecc__u32(p + 18);
    names = cutecc__u16(p + 26);
    padding = cutecc__padding(*offset + 30 + names);
    if (cutecc__u16(p + 28) != padding || left - 30 < names + padding || left - 30 - names - padding < size)
        return 0;
    for (size_t i = 0; i < padding; i++) {
        const unsigned char field[6] = {0x35, 0xD9, (unsigned char)(padding - 4), 0, 16, 0};
        if (p[30 + names + i] != (i < 6 ? field[i] : 0))
            return 0;
    }
    file->name = (const char *)p + 30;
    file->name_length = names;
    file->data = p + 30 + names + padding;
    file->size = size;
    *offset += 30 + names + padding + size;
    return 1;
}

/* Whether every header, the directory and every checksum are as they have to be. */
static inline int cutecc__is_whole(cutecc_bundle *bundle)
{
    const unsigned char *end = bundle->data + bundle->size - 22, *record;
    cutecc_bundle_file file;
    size_t offset = 0, count = 0;
    static const unsigned char none[12] = {0};
    if (bundle->size < 22 || memcmp(end, "PK\5\6\0\0\0\0", 8) != 0 || memcmp(end + 8, end + 10, 2) != 0 ||
        cutecc__u16(end + 20) != 0)
        return 0;
    bundle->files_end = cutecc__u32(end + 16);
    if ((uint64_t)bundle->files_end + cutecc__u32(end + 12) + 22 != bundle->size)
        return 0;
    record = bundle->data + bundle->files_end;
    while (offset < bundle->files_end) {
        size_t start = offset;
        const unsigned char *local = bundle->data + start;
        if (!cutecc__entry(bundle, &offset, &file) || (size_t)(end - record) < 46 + file.name_length ||
            memcmp(record, "PK\1\2\12\0", 6) != 0 || memcmp(record + 6, local + 4, 24) != 0 ||
            memcmp(record + 30, none, sizeof none) != 0 || cutecc__u32(record + 42) != start ||
            memcmp(record + 46, file.name, file.name_length) != 0 ||
            cutecc__crc32(file.data, file.size) != cutecc__u32(local + 14))
            return 0;
        record += 46 + file.name_length;
        count++;
    }
    return record == end && count == cutecc__u16(end + 8);
}

/* Check the format and version in bundle.json, which stands first in every version, and find the hash in it. */
static inline int cutecc__check_index(const cutecc_bundle *bundle, const char **digest)
{
    const unsigned char *data = bundle->data;
    const char *json, *end, *p;
    char text[32];
    size_t start, size;
    if (bundle->size < 30 || memcmp(data, "PK\3\4", 4) != 0 || cutecc__u16(data + 8) != 0)
        return CUTECC_BUNDLE_NOT_A_BUNDLE;
    start = 30 + (size_t)cutecc__u16(data + 26) + cutecc__u16(data + 28);
    size = cutecc__u32(data + 18);
    if (cutecc__u16(data + 26) != 11 || bundle->size < 41 || memcmp(data + 30, "bundle.json", 11) != 0)
        return CUTECC_BUNDLE_NOT_A_BUNDLE;
    if (bundle->size < start || bundle->size - start < size)
        return CUTECC_BUNDLE_DAMAGED;
    json = (const char *)data + start;
    end = json + size;
    if (cutecc__string(cutecc__member(json, end, "format"), end, text, sizeof text) != CUTECC_BUNDLE_OK ||
        strcmp(text, "cutecc/bundle") != 0)
        return CUTECC_BUNDLE_NOT_A_BUNDLE;
    if (cutecc__string(cutecc__member(json, end, "version"), end, text, sizeof text) != CUTECC_BUNDLE_OK)
        return CUTECC_BUNDLE_DAMAGED;
    if (strtoul(text, NULL, 10) > CUTECC_BUNDLE_MAJOR)
        return CUTECC_BUNDLE_NEWER;
    p = cutecc__member(json, end, "sha256");
    if (!p || cutecc__skip_string(p, end) != p + 66)
        return CUTECC_BUNDLE_DAMAGED;
    *digest = p + 1;
    return CUTECC_BUNDLE_OK;
}

/* Whether the hash over names, sizes and contents, in order, is `digest`: 64 digits that count as zeros in it. */
static inline int cutecc__hash_fits(const cutecc_bundle *bundle, const char *digest)
{
    cutecc__sha256 hash;
    cutecc_bundle_file file;
    char digits[64];
    size_t offset = 0;
    cutecc__sha256_start(&hash);
    while (offset < bundle->files_end && cutecc__entry(bundle, &offset, &file)) {
        unsigned char size[9] = {0};
        const char *data = (const char *)file.data;
        for (int i = 0; i < 8; i++)
            size[1 + i] = (unsigned char)((uint64_t)file.size >> 8 * i);
        cutecc__sha256_add(&hash, file.name, file.name_length);
        cutecc__sha256_add(&hash, size, sizeof size);
        if (digest >= data && digest < data + file.size) {
            memset(digits, '0', sizeof digits);
            cutecc__sha256_add(&hash, data, (size_t)(digest - data));
            cutecc__sha256_add(&hash, digits, sizeof digits);
            cutecc__sha256_add(&hash, digest + 64, file.size - (size_t)(digest - data) - 64);
        } else {
            cutecc__sha256_add(&hash, data, file.size);
        }
    }
    cutecc__sha256_digits(&hash, digits);
    return memcmp(digits, digest, sizeof digits) == 0;
}

/* -- What a program calls ------------------------------------------------------------------------------------------ */

/* Free what open() has read. */
static inline void cutecc_bundle_close(cutecc_bundle *bundle)
{
    free(bundle->owned);
    memset(bundle, 0, sizeof *bundle);
}

/* Open a bundle in memory of the caller's, which has to stay as it is until the bundle is closed. */
static inline int cutecc_bundle_open_memory(cutecc_bundle *bundle, const void *data, size_t size)
{
    const char *digest = NULL;
    int status;
    memset(bundle, 0, sizeof *bundle);
    bundle->data = (const unsigned char *)data;
    bundle->size = size;
    status = size > CUTECC_BUNDLE_LONGEST ? CUTECC_BUNDLE_NOT_A_BUNDLE : cutecc__check_index(bundle, &digest);
    if (status == CUTECC_BUNDLE_OK && (!cutecc__is_whole(bundle) || !cutecc__hash_fits(bundle, digest)))
        status = CUTECC_BUNDLE_DAMAGED;
    if (status != CUTECC_BUNDLE_OK)
        memset(bundle, 0, sizeof *bundle);
    return status;
}

/* Read and open the bundle in a file. */
static inline int cutecc_bundle_open(cutecc_bundle *bundle, const char *path)
{
    unsigned char *data = NULL;
    long size = -1;
    int status = CUTECC_BUNDLE_CANNOT_READ;
    FILE *file = fopen(path, "rb");
    memset(bundle, 0, sizeof *bundle);
    if (!file)
        return status;
    if (fseek(file, 0, SEEK_END) == 0)
        size = ftell(file);
    if (size >= 0 && (size_t)size <= CUTECC_BUNDLE_LONGEST && fseek(file, 0, SEEK_SET) == 0) {
        data = (unsigned char *)malloc(size ? (size_t)size : 1);
        if (!data)
            status = CUTECC_BUNDLE_NO_MEMORY;
        else if (fread(data, 1, (size_t)size, file) == (size_t)size)
            status = cutecc_bundle_open_memory(bundle, data, (size_t)size);
    }
    fclose(file);
    if (status == CUTECC_BUNDLE_OK)
        bundle->owned = data;
    else
        free(data);
    return status;
}

/* The file `name` of a target: ("sm_90a", "manifest.json"). */
static inline int cutecc_bundle_find(const cutecc_bundle *bundle, const char *target, const char *name,
                                     cutecc_bundle_file *file)
{
    size_t offset = 0, folder = strlen(target), length = strlen(name);
    while (offset < bundle->files_end && cutecc__entry(bundle, &offset, file))
        if (file->name_length == folder + 1 + length && memcmp(file->name, target, folder) == 0 &&
            file->name[folder] == '/' && memcmp(file->name + folder + 1, name, length) == 0)
            return CUTECC_BUNDLE_OK;
    memset(file, 0, sizeof *file);
    return CUTECC_BUNDLE_NOT_FOUND;
}

/* File number `index` of a target whose name ends in `suffix`: ".cubin", ".ptx", ".host.json". */
static inline int cutecc_bundle_find_suffix(const cutecc_bundle *bundle, const char *target, const char *suffix,
                                            size_t index, cutecc_bundle_file *file)
{
    size_t offset = 0, folder = strlen(target), length = strlen(suffix);
    while (offset < bundle->files_end && cutecc__entry(bundle, &offset, file))
        if (file->name_length > folder + 1 + length && memcmp(file->name, target, folder) == 0 &&
            file->name[folder] == '/' &&
            memcmp(file->name + file->name_length - length, suffix, length) == 0 && !index--)
            return CUTECC_BUNDLE_OK;
    memset(file, 0, sizeof *file);
    return CUTECC_BUNDLE_NOT_FOUND;
}

/* Target number `index`, such as "sm_90a", into a buffer of `capacity` bytes; NOT_FOUND behind the last. */
static inline int cutecc_bundle_target(const cutecc_bundle *bundle, size_t index, char *target, size_t capacity)
{
    cutecc_bundle_file file;
    size_t offset = 0;
    const char *json, *end;
    if (!bundle->data || !cutecc__entry(bundle, &offset, &file))
        return CUTECC_BUNDLE_NOT_FOUND;
    json = (const char *)file.data;
    end = json + file.size;
    return cutecc__string(cutecc__element(cutecc__member(json, end, "targets"), end, index), end, target, capacity);
}

/* How well code for a target suits a device; 0 when the device cannot run it, higher is better. */
static inline int cutecc__rank(const char *target, cutecc_bundle_kind kind, int major, int minor)
{
    char *suffix;
    long number, its_minor;
    int is_exact, is_family, special;
    if (strncmp(target, "sm_", 3) != 0)
        return 0;
    number = strtol(target + 3, &suffix, 10);
    if (number < 10 || number > 9999 || (*suffix && suffix[1]) || (*suffix && *suffix != 'a' && *suffix != 'f'))
        return 0;
    its_minor = number % 10;
    is_exact = number / 10 == major && its_minor == minor;
    is_family = number / 10 == major && its_minor <= minor;
    special = *suffix == 'a' ? 2 : *suffix == 'f';
    if (*suffix == 'a' ? !is_exact : (*suffix == 'f' || kind == CUTECC_BUNDLE_CUBIN) ? !is_family : 0)
        return 0;
    if (number > 10L * major + minor)
        return 0;
    return (int)(number * 4 + special) + (kind == CUTECC_BUNDLE_CUBIN ? 1 << 20 : 0);
}

/* The code for a device of compute capability `major`.`minor`: a cubin of exactly its architecture, else one that it
 * can run, else PTX, which the driver compiles. Of several device modules of a kernel, the first. */
static inline int cutecc_bundle_find_code(const cutecc_bundle *bundle, int major, int minor, cutecc_bundle_code *code)
{
    static const char *const suffixes[2] = {".cubin", ".ptx"};
    char target[sizeof code->target];
    cutecc_bundle_file file;
    int best = 0, status;
    memset(code, 0, sizeof *code);
    for (size_t index = 0;; index++) {
        status = cutecc_bundle_target(bundle, index, target, sizeof target);
        if (status == CUTECC_BUNDLE_NOT_FOUND)
            break;
        for (int i = 0; i < 2 && status == CUTECC_BUNDLE_OK; i++) {
            cutecc_bundle_kind kind = i ? CUTECC_BUNDLE_PTX : CUTECC_BUNDLE_CUBIN;
            int rank = cutecc__rank(target, kind, major, minor);
            if (rank <= best || cutecc_bundle_find_suffix(bundle, target, suffixes[i], 0, &file) != CUTECC_BUNDLE_OK)
                continue;
            best = rank;
            memcpy(code->target, target, sizeof target);
            code->kind = kind;
            code->file = file;
        }
    }
    return best ? CUTECC_BUNDLE_OK : CUTECC_BUNDLE_NOT_FOUND;
}

/* A copy of a file with a zero at its end, for the caller to free(); NULL when there is no memory. The driver wants PTX
 * that ends so, and takes a cubin that does. */
static inline char *cutecc_bundle_copy(const cutecc_bundle_file *file)
{
    char *copy = (char *)malloc(file->size + 1);
    if (copy) {
        memcpy(copy, file->data, file->size);
        copy[file->size] = 0;
    }
    return copy;
}

static inline const char *cutecc__kernel(const cutecc_bundle *bundle, const char *target, size_t index,
                                         const char **end)
{
    cutecc_bundle_file file;
    const char *json;
    if (cutecc_bundle_find_suffix(bundle, target, ".host.json", 0, &file) != CUTECC_BUNDLE_OK)
        return NULL;
    json = (const char *)file.data;
    *end = json + file.size;
    return cutecc__element(cutecc__member(json, *end, "kernels"), *end, index);
}

/* The symbol of kernel number `index` that a target's host program launches, for cuLibraryGetKernel, into a buffer of
 * `capacity` bytes. Symbols of several hundred characters are common. NOT_FOUND behind the last kernel. */
static inline int cutecc_bundle_kernel_name(const cutecc_bundle *bundle, const char *target, size_t index, char *name,
                                            size_t capacity)
{
    const char *end = NULL, *kernel = cutecc__kernel(bundle, target, index, &end);
    return cutecc__string(cutecc__member(kernel, end, "name"), end, name, capacity);
}

/* The bytes of the block that holds all parameters of that kernel, each at its offset as in a C struct; 0 when there is
 * no such kernel. The host program has the offsets. */
static inline size_t cutecc_bundle_kernel_parameter_bytes(const cutecc_bundle *bundle, const char *target, size_t index)
{
    const char *end = NULL, *kernel = cutecc__kernel(bundle, target, index, &end);
    const char *value = cutecc__member(kernel, end, "parameter_bytes");
    size_t bytes = 0;
    for (; value && value < end && *value >= '0' && *value <= '9' && bytes < 1 << 20; value++)
        bytes = bytes * 10 + (size_t)(*value - '0');
    return bytes;
}

#endif
