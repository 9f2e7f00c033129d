"""Drawing of positions: `scene` says what may be drawn, `text` draws it as plain text."""
