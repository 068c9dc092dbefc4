#!/usr/bin/env python3
"""Computes what Tests/ImageProcessingTests/ComparisonTests.swift expects: python3 Fixtures/recipes/comparison.py

Needs numpy. Everything in float64 and straight from the definitions: windows as a full two-dimensional kernel.
"""
import numpy as np


def picture(width, height, seed, top):
    """The pictures of the test: the same integers in Swift and here."""
    y, x, c = np.meshgrid(np.arange(height), np.arange(width), np.arange(4), indexing="ij")
    value = (x * 7 + y * 13 + c * 29 + (x * y) % 31 * seed + (x + seed) * (y + c) // 3) % 256
    value = value if top == 255 else value * 257 + (x * 11 + y * 5 + seed) % 200
    return np.minimum(value, top).astype(np.int64)


def near(a, seed, top):
    """Another picture that is not far from a."""
    height, width, _ = a.shape
    y, x, c = np.meshgrid(np.arange(height), np.arange(width), np.arange(4), indexing="ij")
    step = ((x * 5 + y * 3 + c * seed) % 11 - 5) * (1 if top == 255 else 100)
    return np.clip(a + step, 0, top)


def premultiplied(a, top):
    result = a.copy()
    result[..., :3] = (a[..., :3] * a[..., 3:] + top // 2) // top
    return result


def window(side):
    count = 11 if side >= 11 else side - (side + 1) % 2
    place = np.arange(count) - count // 2
    weights = np.exp(-(place**2) / (2 * 1.5**2))
    return weights / weights.sum()


def ssim(a, b, top):
    a, b = a * 255.0 / top, b * 255.0 / top
    kernel = np.outer(window(a.shape[0]), window(a.shape[1]))
    c1, c2 = (0.01 * 255) ** 2, (0.03 * 255) ** 2

    def mean(p):
        views = np.lib.stride_tricks.sliding_window_view(p, kernel.shape)
        return (views * kernel).sum(axis=(2, 3))

    ma, mb = mean(a), mean(b)
    va, vb, cov = mean(a * a) - ma * ma, mean(b * b) - mb * mb, mean(a * b) - ma * mb
    return (((2 * ma * mb + c1) * (2 * cov + c2)) / ((ma**2 + mb**2 + c1) * (va + vb + c2))).mean()


def report(width, height, top, kind, is_opaque, a, b):
    """Prints a line of the table in the test."""
    a, b = premultiplied(a, top), premultiplied(b, top)
    channels = 3 if (a[..., 3] == top).all() and (b[..., 3] == top).all() else 4
    a, b = a[..., :channels], b[..., :channels]
    d = np.abs(a - b)
    mse = (d.astype(np.float64) ** 2).mean()
    y, x, c = (int(v) for v in np.unravel_index(d.argmax(), d.shape))
    similarity = np.mean([ssim(a[..., k], b[..., k], top) for k in range(channels)])
    print(f"        Golden(\n            {width}, {height}, {16 if top > 255 else 8}, .{kind}, isOpaque: "
          f"{str(is_opaque).lower()}, {channels}, differing: {int((d > 0).any(axis=2).sum())}, maximum: "
          f"{int(d.max())}, ({x}, {y}, {c}),\n            mae: {d.mean():.9f}, psnr: "
          f"{10 * np.log10(top**2 / mse):.9f}, ssim: {similarity:.9f}),")


for top in (255, 65535):
    for width, height in ((40, 33), (300, 12), (10, 25), (7, 4), (1, 1)):
        for kind in ("near", "far"):
            for is_opaque in (False, True):
                a = picture(width, height, 1, top)
                b = near(a, 3, top) if kind == "near" else picture(width, height, 5, top)
                if is_opaque:
                    a[..., 3] = top
                    b[..., 3] = top
                report(width, height, top, kind, is_opaque, a, b)
