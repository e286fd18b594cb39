"""What a metric reacts to: controlled edits of single factors, beside what it goes with in data as they come."""
