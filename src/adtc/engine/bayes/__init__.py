"""Bayesian averaging over all trees: priors, evidence, mixtures, single trees of a posterior."""
