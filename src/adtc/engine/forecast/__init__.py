"""What a question will cost, told before it runs: estimates, refusals, explanations."""
