"""From a table to Boolean features, labels, groups and weights."""

from adtc.data.binarize import Binarizer, Feature
from adtc.data.bits import Codes, Words
from adtc.data.columns import Scalar
from adtc.data.datasets import DatasetInfo, datasets, load_dataset
from adtc.data.description import Description, describe
from adtc.data.files import read_table
from adtc.data.read import read
from adtc.data.table import Data
from adtc.data.warnings import TableWarning
from adtc.hooks import register

__all__ = [
    "Binarizer",
    "Codes",
    "Data",
    "DatasetInfo",
    "Description",
    "Feature",
    "Scalar",
    "TableWarning",
    "Words",
    "datasets",
    "describe",
    "load_dataset",
    "read",
    "read_table",
]

# Tables that are read in pieces are made by modules that make tables.
register({"data_of": "adtc.data.read:data_of", "stream_frame": "adtc.data.read:stream_frame"})
