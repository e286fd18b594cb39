"""What a metric reacts to: controlled edits of single factors, beside what it needs in data as they come."""
