"""Write a robot's programs as source code."""
