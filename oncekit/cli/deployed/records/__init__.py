"""Records of ids in the table: read consistently, listed, and written only as they were shown."""
