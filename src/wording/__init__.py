"""How things are said to people, and how what they say is understood: the same on every screen."""
