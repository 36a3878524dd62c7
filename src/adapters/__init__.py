"""Where people meet Turnwise: each adapter renders the same stream with what its platform has."""
