"""The colours of painted trees: Okabe and Ito's palette, told apart with any colour vision."""

CLASS_COLOURS = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#CC79A7",
    "#D55E00",
    "#56B4E9",
    "#F0E442",
    "#7F7F7F",
)
PAPER, INK, FAINT, LINE, SPLIT, LEAF, STRONG = (
    "#FFFFFF",
    "#1A1A1A",
    "#555555",
    "#9A9A9A",
    "#F2F2F2",
    "#FFFFFF",
    "#000000",
)


def class_colour(label: int) -> str:
    """Return the colour of a class; after eight classes they come again."""
    return CLASS_COLOURS[label % len(CLASS_COLOURS)]
