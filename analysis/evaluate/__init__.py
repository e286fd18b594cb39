"""Systems in, the answer out: scores, tests, agreement with human scores, a report."""
