"""Makes the font of the formulas, ``_static/fonts/STIXTwoMath-subset.woff2``, from STIX Two Math.

Needs fontTools, which matplotlib brings, and brotli::

    python docs/mathematics_font.py STIXTwoMath-Regular.otf

Where the source is from, and which signs are kept, ``_static/fonts/README.txt`` says.
"""

import re
import sys
from pathlib import Path

from fontTools.pens.t2CharStringPen import T2CharStringPen
from fontTools.pens.transformPen import TransformPen
from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTFont

FONTS = Path(__file__).resolve().parent / "_static" / "fonts"
ROOT_SIGN = 0x221A


def main(source: str) -> None:
    """Keep what pages need, and narrow the tall radical signs."""
    options = Options()
    options.layout_features = ["math", "ssty", "dtls", "flac", "kern", "liga", "mark", "mkmk", "ccmp"]
    options.desubroutinize, options.hinting, options.flavor = True, False, "woff2"
    font = TTFont(source)
    subsetter = Subsetter(options)
    subsetter.populate(unicodes=kept())
    subsetter.subset(font)
    narrow_radicals(font)
    font.flavor = "woff2"
    font.save(FONTS / "STIXTwoMath-subset.woff2")


def kept() -> set[int]:
    """The signs that the note beside the font lists."""
    note = (FONTS / "README.txt").read_text(encoding="utf-8")
    ranges = re.findall(r"U\+([0-9A-F]+)(?:-([0-9A-F]+))?", note)
    return {code for first, last in ranges for code in range(int(first, 16), int(last or first, 16) + 1)}


def narrow_radicals(font: TTFont) -> None:
    """Give all radical signs the width of the smallest one.

    A browser makes room for the widest of them before it knows which one it takes. The smallest, which stands
    in nearly every line of text, is narrower by 0.4 em, and that gap stays behind the root.
    """
    name = font.getBestCmap()[ROOT_SIGN]
    variants = font["MATH"].table.MathVariants
    radical = variants.VertGlyphConstruction[variants.VertGlyphCoverage.glyphs.index(name)]
    parts = [part.glyph for part in radical.GlyphAssembly.PartRecords]
    width = font["hmtx"][name][0]
    letters, shapes = font["CFF "].cff.topDictIndex[0].CharStrings, font.getGlyphSet()
    for glyph in {*(record.VariantGlyph for record in radical.MathGlyphVariantRecord), *parts} - {name}:
        advance, bearing = font["hmtx"][glyph]
        scale = width / advance
        pen = T2CharStringPen(width, shapes)
        shapes[glyph].draw(TransformPen(pen, (scale, 0, 0, 1, 0, 0)))
        old = letters[glyph]
        letters[glyph] = pen.getCharString(old.private, old.globalSubrs)
        font["hmtx"][glyph] = (width, round(bearing * scale))


if __name__ == "__main__":
    main(sys.argv[1])
