"""Systems compared under metrics: scores with intervals, paired tests, ranks, and what people said of them."""
