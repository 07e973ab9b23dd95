"""What each part of the system is worth."""
