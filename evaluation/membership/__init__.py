"""A membership attack on the promise itself, through the whole system (``make membership``)."""
