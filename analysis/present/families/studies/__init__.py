"""What is asked of people before and after they judge: plans of studies, choices of segments."""
