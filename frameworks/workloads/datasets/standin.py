"""Handwritten digits for machines without MNIST, made from what scikit-learn brings along.

Each of its 1,797 digits of 8x8 (Alpaydin and Kaynak 1998) is enlarged smoothly to 20x20 in
the middle of 28x28, like MNIST's digits. Each copy is turned, sheared, scaled and shifted a
little, until there are enough. All arithmetic after the weights of the enlargement is on
integers, so that every machine gets the same bytes.
"""

import numpy as np

SEED = 1998
SIDE = 28
BOX = 20
BITS = 12  # of fraction, in coordinates
WEIGHT_BITS = 7  # of fraction, between neighbouring pixels
CHUNK = 128  # small enough for the processor's cache
FLOOR, GAIN = 112, 3  # thin and saturate the strokes to about MNIST's mean and deviation

DEGREES = 10  # each of these: largest jitter, either way
SHEAR_PERCENT = 12
SCALE_PERCENT = 8
SHIFT = 1 << BITS


def generate(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Images uint8 (count, 28, 28) and labels uint8 (count,), the same at every call; the
    first ones do not depend on `count`."""
    digits, labels = enlarged()
    random = np.random.default_rng(SEED)
    bounds = np.array([DEGREES, SHEAR_PERCENT, SCALE_PERCENT, SCALE_PERCENT, SHIFT, SHIFT])
    jitter = random.integers(-bounds, bounds, (count, len(bounds)), endpoint=True)
    source = np.arange(count) % len(digits)
    images = np.empty((count, SIDE, SIDE), np.uint8)
    for start in range(0, count, CHUNK):
        part = slice(start, start + CHUNK)
        images[part] = jittered(digits, source[part], jitter[part].astype(np.int32))
    return images, labels[source].astype(np.uint8)


def enlarged() -> tuple[np.ndarray, np.ndarray]:
    """The digits as int32 (1797, 28, 28) in 0 to 255, and their labels."""
    from scipy.ndimage import zoom
    from sklearn.datasets import load_digits

    small = load_digits()
    # Enlarging is linear: what it does to the unit vectors is its matrix, (20, 8).
    weights = zoom(np.eye(8), (BOX / 8, 1), order=3, mode="grid-constant", grid_mode=True)
    matrix = np.rint(weights * 2**BITS).astype(np.int64)
    large = matrix @ small.images.astype(np.int64) @ matrix.T
    grey = large * 255 >> (2 * BITS + 4)  # the digits' own values go to 16
    sharp = ((grey - FLOOR) * GAIN).clip(0, 255).astype(np.int32)
    margin = (SIDE - BOX) // 2
    pads = ((0, 0), (margin, margin), (margin, margin))
    return np.pad(sharp, pads), small.target


def jittered(digits: np.ndarray, source: np.ndarray, jitter: np.ndarray) -> np.ndarray:
    """Sample `digits[source]` bilinearly where each pixel came from.

    `jitter` is int32 (n, 6): degrees, per cent of shear, of width and of height, then shift
    right and down in 1 / 4096 pixel. Returns values in 0 to 255, (n, 28, 28).
    """
    degrees, shear, width, height, right, down = jitter.T[:, :, None, None]
    cosine, sine = (
        np.rint(turn(np.deg2rad(degrees)) * 2**BITS).astype(np.int32) for turn in (np.cos, np.sin)
    )
    u = 2 * np.arange(SIDE, dtype=np.int32) - (SIDE - 1)  # from the centre, in half pixels
    v = u[:, None]
    x = ((cosine * u + sine * v) * 100 // (100 + width) + (shear * v << BITS) // 100) >> 1
    y = (cosine * v - sine * u) * 100 // (100 + height) >> 1
    centre = (SIDE - 1 << BITS) // 2
    last = (SIDE - 1 << BITS) - 1
    x = np.clip(x + centre - right, 0, last)
    y = np.clip(y + centre - down, 0, last)

    corner = source[:, None, None] * SIDE**2 + (y >> BITS) * SIDE + (x >> BITS)
    one, fraction = 1 << WEIGHT_BITS, (1 << BITS) - 1
    across = (x & fraction) >> (BITS - WEIGHT_BITS)
    along = (y & fraction) >> (BITS - WEIGHT_BITS)
    pixels = digits.reshape(-1)
    above = pixels[corner] * (one - across) + pixels[corner + 1] * across
    below = pixels[corner + SIDE] * (one - across) + pixels[corner + SIDE + 1] * across
    blend: np.ndarray = (above * (one - along) + below * along) >> (2 * WEIGHT_BITS)
    return blend
