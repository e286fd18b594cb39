"""What each family of results says: a module turns its results into parts, the sentence that answers first."""
