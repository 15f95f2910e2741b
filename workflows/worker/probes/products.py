"""The precision of products, from a number whose low bits are lost in reduced precision."""

# 1 + 2^-9 + 2^-12: float32 keeps it, TF32 (and float16) with 10 bits keeps 1 + 2^-9, and
# bfloat16 with 7 keeps 1, rounded or cut off.
NUMBER = 1 + 2.0**-9 + 2.0**-12
KEPT = {"float32": NUMBER, "tf32": 1 + 2.0**-9, "bfloat16": 1.0}
WITHIN = 1e-4  # relative; the closest two squares are 5e-4 apart
