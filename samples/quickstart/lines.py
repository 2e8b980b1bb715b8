"""Line images for the text direction classifier: drawn text, half of it upside down, as the network's input."""

from __future__ import annotations

import numpy as np
from PIL import Image, ImageDraw, ImageFont

HEIGHT, WIDTH = 48, 192
WORDS = ("Ascend", "pyACL", "stream", "profile", "kernel", "memory", "timeline", "device")


def draw(number: int) -> np.ndarray:
    """Image `number`: float32 [3, 48, 192] in -1..1; odd ones stand upside down."""
    image = Image.new("RGB", (WIDTH, HEIGHT), "white")
    font = ImageFont.load_default(size=30)
    ImageDraw.Draw(image).text((6, 4), f"{WORDS[number % len(WORDS)]} {number}", fill=(20, 20, 20), font=font)
    if number % 2:
        image = image.rotate(180)
    pixels = np.asarray(image, np.float32).transpose(2, 0, 1)
    return np.ascontiguousarray(pixels / 127.5 - 1.0)
