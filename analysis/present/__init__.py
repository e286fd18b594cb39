"""The one room that shows results: a module for each family turns results into parts, and a back end writes them."""
