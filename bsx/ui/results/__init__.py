"""Reading results on the page: the answer, the ranking, the segments, what is exported; its routes are in `views`."""
