"""What a question will cost, before it runs: estimates, refusals, explanations."""
