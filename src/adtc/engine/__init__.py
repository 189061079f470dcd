"""The engine room: from a checked question to exact values over all trees."""

from adtc.hooks import register

# What a run on a cluster does instead: it is made of the stages that call it.
register(
    {
        "grow_remotely": "adtc.engine.executors.cluster:grow_remotely",
        "inside_remotely": "adtc.engine.executors.cluster:inside_remotely",
        "visit_remotely": "adtc.engine.executors.cluster:visit",
    }
)
