"""From a table to Boolean features, labels, groups and weights."""

from adtc.data.binarize import Binarizer, Feature
from adtc.data.bits import Codes, Words
from adtc.data.columns import Scalar
from adtc.data.datasets import DatasetInfo, datasets, load_dataset
from adtc.data.files import read_table
from adtc.data.read import read
from adtc.data.table import Data

__all__ = [
    "Binarizer",
    "Codes",
    "Data",
    "DatasetInfo",
    "Feature",
    "Scalar",
    "Words",
    "datasets",
    "load_dataset",
    "read",
    "read_table",
]
