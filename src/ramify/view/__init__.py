"""What a person looks at: HTML for reports and notebooks."""
