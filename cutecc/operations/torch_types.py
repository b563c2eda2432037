"""The types of results as torch names them."""

from __future__ import annotations

TYPES = {
    "f64": "float64",
    "f32": "float32",
    "f16": "float16",
    "bf16": "bfloat16",
    "f8E4M3FN": "float8_e4m3fn",
    "f8E5M2": "float8_e5m2",
    "i8": "int8",
    "u8": "uint8",
    "i32": "int32",
}
