"""The web page: plain files that a browser runs as they are."""
