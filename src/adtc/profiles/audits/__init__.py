"""The auditor's question: the model in use, its rates, and trees that could take its place."""
