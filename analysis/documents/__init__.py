"""Result documents: each JSON that a command prints, as the one class that writes it and that a report reads."""
