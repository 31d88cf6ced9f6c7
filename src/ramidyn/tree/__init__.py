"""The moving tree: bodies, joints, frames, and the names that users know them by."""
