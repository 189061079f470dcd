"""The engine room: from a checked question to exact values over all trees."""
